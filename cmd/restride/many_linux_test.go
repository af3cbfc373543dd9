package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/internal/soak"
)

// many are files of which much becomes in memory: n says how many parts they have. Each is
// written to a folder; what is opened is returned.
var many = map[string]func(t *testing.T, dir string, n int) string{
	"tensors": writeMany,
	"keys of metadata": func(t *testing.T, dir string, n int) string {
		return writeHeader(t, dir, 0, func(b *bytes.Buffer) {
			b.WriteString(`"__metadata__":{`)
			for i := range 4 * n {
				fmt.Fprintf(b, `"%d":"",`, i)
			}
			b.WriteString(`"":""},`)
		})
	},
	"axes": func(t *testing.T, dir string, n int) string {
		return writeHeader(t, dir, 0, func(b *bytes.Buffer) {
			b.WriteString(`"x":{"dtype":"U8","data_offsets":[0,0],"shape":[` + strings.Repeat("0,", 20*n) + `0]},`)
		})
	},
	"weights": func(t *testing.T, dir string, n int) string {
		return writeHeader(t, dir, 144*n, func(b *bytes.Buffer) {
			b.WriteString(`"__metadata__":{"quantization_config":"{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32,\"sym\":true}"},`)
			for i := range n {
				fmt.Fprintf(b, `"%d.qweight":{"dtype":"I32","shape":[4,8],"data_offsets":[%d,%d]},"%d.scales":{"dtype":"F16","shape":[1,8],"data_offsets":[%d,%d]},`, i, 144*i, 144*i+128, i, 144*i+128, 144*i+144)
			}
		})
	},
	"listed tensors": func(t *testing.T, dir string, n int) string {
		var b bytes.Buffer
		b.WriteString(`{"weight_map":{`)
		for i := range 8 * n {
			fmt.Fprintf(&b, `"%d":"a.safetensors",`, i)
		}
		b.WriteString(`"a":"a.safetensors"}}`)
		path := filepath.Join(dir, "model.safetensors.index.json")
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
		return path
	},
	"objects of config.json": func(t *testing.T, dir string, n int) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"x":[`+strings.Repeat("{},", 5*n)+`{}]}`), 0o600))
		return writeMany(t, dir, 1)
	},
	"depths of config.json": func(t *testing.T, dir string, n int) string {
		deep := strings.Repeat("[", 120) + strings.Repeat("0,", 10*n) + "0" + strings.Repeat("]", 120)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"x":`+deep+`}`), 0o600))
		return writeMany(t, dir, 1)
	},
	"keys of GGUF": func(t *testing.T, dir string, n int) string {
		return writeGGUFMetadata(t, dir, 4*n, func(b []byte, i int) []byte {
			b = appendText(b, fmt.Sprint(i))
			return append(binary.LittleEndian.AppendUint32(b, 0), 1) // a byte
		})
	},
	"texts of GGUF": func(t *testing.T, dir string, n int) string {
		return writeGGUFMetadata(t, dir, 1, func(b []byte, _ int) []byte {
			b = binary.LittleEndian.AppendUint32(appendText(b, "k"), 9)
			b = binary.LittleEndian.AppendUint32(b, 8)
			b = binary.LittleEndian.AppendUint64(b, uint64(40*n))
			return append(b, make([]byte, 8*40*n)...) // empty texts
		})
	},
	"arrays of GGUF": func(t *testing.T, dir string, n int) string {
		return writeGGUFMetadata(t, dir, 1, func(b []byte, _ int) []byte {
			b = binary.LittleEndian.AppendUint32(appendText(b, "k"), 9)
			b = binary.LittleEndian.AppendUint32(b, 9)
			b = binary.LittleEndian.AppendUint64(b, uint64(20*n))
			return append(b, make([]byte, 12*20*n)...) // of no uint8 each
		})
	},
}

// writeMany writes a file of tensors of a byte each.
func writeMany(t *testing.T, dir string, n int) string {
	return writeHeader(t, dir, n, func(b *bytes.Buffer) {
		for i := range n {
			fmt.Fprintf(b, `"%d":{"dtype":"U8","shape":[],"data_offsets":[%d,%d]},`, i, i, i+1)
		}
	})
}

// writeHeader writes a file of safetensors, its data a hole; each member ends in a comma.
func writeHeader(t *testing.T, dir string, data int, members func(b *bytes.Buffer)) string {
	b := bytes.NewBuffer(make([]byte, 8))
	b.WriteByte('{')
	members(b)
	b.Truncate(b.Len() - 1)
	b.WriteByte('}')
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	path := filepath.Join(dir, "model.safetensors")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	require.NoError(t, os.Truncate(path, int64(b.Len()+data)))
	return path
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

func writeGGUFMetadata(t *testing.T, dir string, entries int, entry func(b []byte, i int) []byte) string {
	b := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(entries))
	for i := range entries {
		b = entry(b, i)
	}
	path := filepath.Join(dir, "model.gguf")
	require.NoError(t, os.WriteFile(path, append(b, make([]byte, 64)...), 0o600))
	return path
}

// TestBugMemoryOfMany: headers of many small parts took many times --max-memory. What
// becomes of them is within it, and 64 MiB beside, or refused.
func TestBugMemoryOfMany(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector's memory is several times the program's")
	}
	n, limits := 15_000, []int64{8 << 20}
	if soak.Enabled() {
		n, limits = 400_000, []int64{128 << 20, 450 << 20, 1 << 30}
	}
	for name, write := range many {
		dir := t.TempDir()
		source := write(t, dir, n)
		for _, limit := range limits {
			for _, args := range [][]string{{"inspect", source}, {"repack", source, "--to", "packed", "--dry-run", "--output", filepath.Join(dir, "out")}} {
				used, out, refused := peakOf(t, append(args, "--max-memory", fmt.Sprint(limit))...)
				t.Logf("%s: %s within %d MiB: %d MiB, refused: %v", name, args[0], limit>>20, used>>20, refused)
				assert.Less(t, used, limit+64<<20, "%s: %v", name, args)
				if limit == limits[0] {
					says := "bytes are asked for"
					if name == "axes" {
						says = "more than 64 axes"
					}
					assert.Contains(t, out, says, "%s: %v", name, args)
				}
			}
		}
	}
}

// peakOf runs the command as a process, and returns the most memory that it had, the
// beginning and the end of what it said, and whether it failed.
func peakOf(t *testing.T, args ...string) (bytes int64, out string, failed bool) {
	cmd := command(t, args...)
	file := filepath.Join(t.TempDir(), "status")
	cmd.Env = append(cmd.Env, statusFile+"="+file)
	text, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if failed = errors.As(err, &ended); !failed {
		require.NoError(t, err)
	}
	status, err := os.ReadFile(file)
	require.NoError(t, err, "%.1000s", text)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	_, err = fmt.Sscan(rest, &bytes)
	require.NoError(t, err)
	return bytes << 10, fmt.Sprintf("%.500s ... %s", text, text[max(0, len(text)-500):]), failed
}

// TestMemoryOfWeights: weights and their plans are counted, beside the tensors.
func TestMemoryOfWeights(t *testing.T) {
	dir := t.TempDir()
	source := many["weights"](t, dir, 2000)
	for limit, says := range map[string]string{"2M": "the work on the source's tensors", "4M": "the source's weights", "6M": "the plans of weights", "64M": ""} {
		out, err := process(t, ":", "repack", source, "--to", "packed", "--dry-run", "--output", filepath.Join(dir, "out"), "--max-memory", limit)
		if says == "" {
			require.NoError(t, err, out)
			continue
		}
		require.Error(t, err)
		assert.Contains(t, out, says+": ")
		assert.Contains(t, out, "(--max-memory)")
	}
}
