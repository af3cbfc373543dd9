package checkpoint

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/soak"
)

// official reads files, a line of base64 each, with the format's own reader, and writes for
// each its tensors' names, types, shapes and bytes, or null and the error.
const official = `
import base64, json, sys
from safetensors import deserialize
for line in sys.stdin:
    try:
        all = deserialize(base64.b64decode(line))
        print(json.dumps([{"N": n, "T": t["dtype"], "D": t["shape"], "B": list(t["data"])} for n, t in sorted(all)]))
    except Exception as e:
        print("null", str(e).replace("\n", " "))
`

// officialTensor is what it writes of a tensor.
type officialTensor struct {
	N, T string
	D    []uint64
	B    []int
}

// mayDiffer are texts of our errors about what the official reader reads: see refusedByUs.
var mayDiffer = []string{"two tensors are named", " twice", "an object is wanted", "dtype is an object", "more than 64 axes", "from 0 to 9223372036854775807"}

// TestOfficialReader: what the format's own reader refuses is refused, and what both read
// is the same. It needs Python's safetensors: make quant-peers has it.
func TestOfficialReader(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err == nil && exec.CommandContext(t.Context(), python, "-c", "import safetensors").Run() != nil {
		err = fmt.Errorf("safetensors of Python: %w", fs.ErrNotExist)
	}
	devicetest.Require(t, "safetensors", err)
	n := 1000
	if soak.Enabled() {
		n = 20_000
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	files := hostileFiles(rng, n)
	cmd := exec.CommandContext(t.Context(), python, "-c", official)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	go func() {
		for _, b := range files {
			_, _ = in.Write(append(base64.StdEncoding.AppendEncode(nil, b), '\n'))
		}
		_ = in.Close()
	}()
	lines := bufio.NewReader(out)
	count := map[string]int{}
	for _, b := range files {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		count[compare(t, b, line)]++
	}
	require.NoError(t, cmd.Wait())
	t.Log(count)
}

// compare compares our reading of a file with the official one, and says what came out.
func compare(t *testing.T, b []byte, line string) string {
	h, err := parse(b)
	var want []officialTensor
	rest, refused := strings.CutPrefix(line, "null")
	if refused {
		require.Error(t, err, "%q is read; the official reader says %s", b, rest)
		return "both refuse"
	}
	require.NoError(t, json.Unmarshal([]byte(line), &want))
	if err != nil {
		i := slices.IndexFunc(mayDiffer, func(rule string) bool { return strings.Contains(err.Error(), rule) })
		require.GreaterOrEqual(t, i, 0, "%q: %v; the official reader reads it", b, err)
		return "only we refuse: " + mayDiffer[i]
	}
	require.Len(t, h.Tensors, len(want))
	for _, w := range want {
		x := h.Lookup(w.N)
		require.NotNil(t, x, "%q: %q", b, w.N)
		assert.Equal(t, fmt.Sprint(w.D), fmt.Sprint(x.Dims))
		assert.Equal(t, w.T, x.Type.Name)
		require.EqualValues(t, len(w.B), x.size)
		for i, v := range w.B {
			require.Equal(t, byte(v), b[x.offset+int64(i)], "%q: %q", b, w.N)
		}
	}
	return "both read"
}

// fragments are what headers are made of.
var fragments = []string{
	"{", "}", "[", "]", ",", ":", `"`, "0", "1", "2", "8", "-1", "1.0", "1e0", "-0", "9223372036854775807", "9223372036854775808", "18446744073709551615", "4294967296", "01", "null", "true",
	`""`, `"a"`, `"dtype"`, `"Dtype"`, `"shape"`, `"data_offsets"`, `"__metadata__"`, `"U8"`, `"u8"`, `"I16"`, `"F4"`, `"F6_E2M3"`, `"F8_E8M0"`, `"BF16"`, `"C64"`, `"BOOL"`, `"E8M0"`,
	`\u0041`, `\ud800`, `\udc00`, `\ud83d\ude00`, `\`, `\/`, "\xff", "\xc0\x80", "é", "\x00", "\x01", "\x7f", "\ufeff", " ", "\n", "\t", "\v", "1e999", "NaN", "{}", "[]", `"x":[{"y":0}],`,
}

// hostileFiles are files whose headers are right, or wrong in one place or a few; the
// others of the tests here are among them.
func hostileFiles(rng *rand.Rand, n int) (files [][]byte) {
	for _, header := range slices.Concat(refusedByAll, readByAll) {
		files = append(files, safetensors(header, 7))
	}
	for header := range refusedByUs {
		files = append(files, safetensors(header, 7))
	}
	for len(files) < n {
		text, size := rightHeader(rng)
		for range rng.IntN(4) {
			at, to := rng.IntN(len(text)+1), fragments[rng.IntN(len(fragments))]
			cut := 0
			if rng.IntN(2) == 0 {
				cut = min(rng.IntN(4), len(text)-at)
			}
			if rng.IntN(2) == 0 {
				to = ""
			}
			if rng.IntN(3) == 0 { // a part that is there twice
				from := rng.IntN(len(text) + 1)
				to = text[from:min(len(text), from+rng.IntN(60))]
			}
			text = text[:at] + to + text[at+cut:]
		}
		if rng.IntN(10) == 0 {
			size += rng.Int64N(3) - 1
		}
		b := make([]byte, max(0, size))
		for i := range b {
			b[i] = byte(i)
		}
		file := safetensors(text, b...)
		if rng.IntN(50) == 0 {
			file[rng.IntN(8)] = byte(rng.Uint32())
		}
		files = append(files, file[:len(file)-min(len(file), max(0, rng.IntN(200)-195))])
	}
	return files
}

// rightHeader returns a header and how many bytes of tensors there are.
func rightHeader(rng *rand.Rand) (text string, size int64) {
	var members []string
	if rng.IntN(3) == 0 {
		members = append(members, `"__metadata__":`+[]string{"null", "{}", `{"k":"v"}`, `{"k":"v","l":"\u00e9"}`}[rng.IntN(4)])
	}
	for i := range 1 + rng.IntN(3) {
		typ := safetensorsTypes[rng.IntN(len(safetensorsTypes))]
		dims := []int64{typ.Block * rng.Int64N(3)}
		for range rng.IntN(3) {
			dims = append(dims, rng.Int64N(3))
		}
		bytes, err := Safetensors.Size(typ, dims)
		if err != nil {
			panic(err)
		}
		shape, _ := json.Marshal(dims)
		fields := []string{fmt.Sprintf(`"dtype":%q`, typ.Name), `"shape":` + string(shape), fmt.Sprintf(`"data_offsets":[%d,%d]`, size, size+bytes)}
		size += bytes
		rng.Shuffle(3, func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		members = append(members, fmt.Sprintf(`"%c":{%s}`, 'a'+i, strings.Join(fields, ",")))
	}
	rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}", size
}
