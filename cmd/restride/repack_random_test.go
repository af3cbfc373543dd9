package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/adversary"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// repackRounds is how many sources TestRepackRandom converts, with which seed, and how long
// at most: few, or as many as SOAKTIME seconds allow, with SEED.
func repackRounds(t *testing.T) (rounds, seed uint64, most time.Duration) {
	if !soak.Enabled() {
		return 8, 1, time.Hour
	}
	number := func(name string, other uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return other
		}
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, name)
		return n
	}
	return 20_000, number("SEED", uint64(time.Now().Unix())), time.Duration(number("SOAKTIME", 300)) * time.Second
}

// TestRepackRandom: whatever the weights, the output is the same whole and by pieces, with
// --verify and without, resumed or not; --verify says the same of fresh and of earlier
// outputs, never of damaged ones; and reports count what was done.
func TestRepackRandom(t *testing.T) {
	defer func(n int64) { batchBytes = n }(batchBytes)
	rounds, seed, most := repackRounds(t)
	began, done := time.Now(), uint64(0)
	for i := uint64(0); done < rounds && i < 100*rounds && time.Since(began) < most; i++ {
		rng := rand.New(rand.NewPCG(seed, i))
		c := &repackCase{T: t, rng: rng, dir: t.TempDir(), what: fmt.Sprintf("seed %d, case %d: ", seed, i)}
		if c.source() && c.hold() {
			done++
		}
		require.NoError(t, os.RemoveAll(c.dir))
	}
	t.Logf("%d conversions, of seed %d", done, seed)
	require.Positive(t, done)
}

// repackCase is a source that is converted in several ways.
type repackCase struct {
	*testing.T
	rng  *rand.Rand
	dir  string
	what string
	from string
	to   string
	file string // the extension of the output's files
}

func (c *repackCase) at(name string) string { return filepath.Join(c.dir, name) }

// source writes a file with two weights that are alike and a tensor beside; false: they are
// none of a safetensors file.
func (c *repackCase) source() bool {
	w, data := adversary.RandomWeight(c.rng)
	if w == nil {
		return false
	}
	h := checkpoint.Header{Format: checkpoint.Safetensors}
	bytes := map[string][]byte{"norm": {1, 2, 3}}
	said := sameWeight{kind: kindOf(w)}
	for i := range 2 {
		for j, x := range slices.Concat(w.Tensors, w.Sidecars) {
			kind, err := checkpoint.Safetensors.Type(x.Type)
			if err != nil {
				return false
			}
			name := fmt.Sprintf("l.%d.%s", i, x.Name)
			h.Tensors, bytes[name] = append(h.Tensors, &checkpoint.Tensor{Name: name, Type: kind, Dims: x.Dims}), data[x.Name]
			if bytes[name] == nil { // which nothing reads
				n, err := checkpoint.Safetensors.Size(kind, x.Dims)
				require.NoError(c, err)
				bytes[name] = make([]byte, n)
			}
			if j == 0 {
				said.Codes = append(said.Codes, name)
			}
		}
	}
	h.Tensors = append(h.Tensors, safetensor(c.T, "norm", "U8", 3))
	text, err := json.Marshal(record{Format: w.Format.Name, Weights: []sameWeight{said}})
	require.NoError(c, err)
	h.Metadata = append(h.Metadata, checkpoint.Entry{Key: recordKey, Value: checkpoint.ValueOf(string(text))})
	f, err := checkpoint.Create(c.at("in.safetensors"), h, "")
	require.NoError(c, err, c.what)
	for i, x := range f.Tensors {
		require.NoError(c, f.WriteAt(i, bytes[x.Name], 0))
		require.NoError(c, f.Finish(i))
	}
	require.NoError(c, f.Commit())
	c.from = w.Format.Name
	return true
}

// run runs repack of the source by batches of so many bytes, or of any number.
func (c *repackCase) run(batch int64, output string, more ...string) (said repackReport, err error) {
	batchBytes = batch
	out, err := restride(append([]string{"repack", c.at("in.safetensors"), "--json", "--from", c.from, "--to", c.to, "--output", c.at(output)}, more...)...)
	if err != nil {
		require.True(c, errors.Is(err, layout.ErrInvalid) || errors.Is(err, layout.ErrUnsupported), "%s: %v", c.what, err)
		require.Empty(c, out, c.what)
		require.NoFileExists(c, c.at(output), c.what)
		require.NoFileExists(c, c.at(output)+checkpoint.Partial, c.what)
		return said, err
	}
	require.NoError(c, json.Unmarshal([]byte(out), &said), c.what)
	total := said.Bytes
	if said.Earlier != nil {
		total += said.Earlier.Bytes
	}
	written := int64(0)
	for _, path := range said.Files {
		f, err := checkpoint.OpenFile(path)
		require.NoError(c, err, c.what)
		written += f.Size()
		require.NoError(c, f.Close())
	}
	require.Equal(c, written, total, c.what)
	return said, nil
}

const wholeBatch, fewBytes = 64 << 20, 1 << 9

// hold converts the source to a format that can have it; false: there was none.
func (c *repackCase) hold() bool {
	formats := quant.Formats()
	what := c.what
	var err error
	for _, i := range c.rng.Perm(len(formats))[:8] {
		c.to = formats[i].Name
		c.file = "." + formats[i].File().String()
		c.what = what + c.from + " to " + c.to
		if _, err = c.run(wholeBatch, "want"+c.file); err == nil {
			break
		}
	}
	if err != nil {
		return false
	}
	c.verifies()
	c.resumes()
	return true
}

// verifies tries --verify of fresh and of earlier outputs, whole and by pieces.
func (c *repackCase) verifies() {
	want := c.read("want" + c.file)
	pieces := fewBytes << c.rng.IntN(12)
	_, err := c.run(int64(pieces), "pieces"+c.file)
	require.NoError(c, err, c.what)
	require.Equal(c, want, c.read("pieces"+c.file), c.what)
	_, fresh := c.run(wholeBatch, "checked"+c.file, "--verify")
	_, other := c.run(int64(pieces), "again"+c.file, "--verify")
	require.Equal(c, fresh == nil, other == nil, "%s: whole %v, by pieces %v", c.what, fresh, other)
	require.True(c, fresh == nil || errors.Is(fresh, quant.ErrDiffers) && errors.Is(other, quant.ErrDiffers), "%s: whole %v, by pieces %v", c.what, fresh, other)
	if fresh == nil {
		require.Equal(c, want, c.read("checked"+c.file), c.what)
		require.Equal(c, want, c.read("again"+c.file), c.what)
	}

	_, err = c.run(wholeBatch, "out")
	require.NoError(c, err, c.what)
	said, err := c.run(wholeBatch, "out")
	require.NoError(c, err, c.what)
	require.Equal(c, &amount{2, 1, said.Earlier.Bytes}, said.Earlier, c.what)
	require.Zero(c, said.Bytes+int64(said.Copied), c.what)
	said, err = c.run(int64(pieces), "out", "--verify")
	require.Equal(c, fresh == nil, err == nil, "%s: fresh %v, earlier %v", c.what, fresh, err)
	if err == nil {
		require.Equal(c, amount{2, 1, said.Earlier.Bytes}, *said.Earlier, c.what)
		c.findsDamage(said.Files[0])
	}
}

// findsDamage damages a byte of a file that is right.
func (c *repackCase) findsDamage(path string) {
	name, at := c.somewhere(path)
	damage(c.T, path, name, at)
	_, err := c.run(wholeBatch, "out", "--verify")
	require.ErrorIs(c, err, quant.ErrDiffers, "%s: byte %d of %s", c.what, at, name)
	damage(c.T, path, name, at)
}

// somewhere chooses a byte of a file's tensors.
func (c *repackCase) somewhere(path string) (name string, at int) {
	f, err := checkpoint.OpenFile(path)
	require.NoError(c, err)
	defer f.Close()
	for {
		if x := f.Tensors[c.rng.IntN(len(f.Tensors))]; x.Size() > 0 {
			return x.Name, c.rng.IntN(int(x.Size()))
		}
	}
}

// resumes goes on with what interruptions leave, some of it damaged.
func (c *repackCase) resumes() {
	output, want := "resumed"+c.file, c.at("want"+c.file)
	damaged, at := c.somewhere(want)
	for _, verify := range []bool{false, true} {
		for _, wrong := range []bool{false, true} {
			found := false
			interrupt(c.T, c.at("in.safetensors"), c.to, c.at(output), func(name string) []byte {
				if c.rng.IntN(2) == 0 {
					return nil
				}
				b := tensorBytes(c.T, want, name)
				if wrong && name == damaged {
					b[at] ^= 1
					found = true
				}
				return b
			})
			more := map[bool][]string{true: {"--verify"}}[verify]
			_, err := c.run(int64(fewBytes<<c.rng.IntN(12)), output, more...)
			switch {
			case verify && found:
				require.ErrorIs(c, err, quant.ErrDiffers, c.what)
			case err == nil && !found:
				require.Equal(c, c.read("want"+c.file), c.read(output), c.what)
			case !verify:
				require.NoError(c, err, c.what)
			}
			_ = os.Remove(c.at(output)) // after errors it is not there
		}
	}
	c.interrupted(want)
}

// interrupted ends a run at any time, and goes on.
func (c *repackCase) interrupted(want string) {
	output := c.at("stopped" + c.file)
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(c.rng.IntN(3000))*time.Microsecond)
	defer stop()
	root := newRoot()
	root.SetArgs([]string{"repack", c.at("in.safetensors"), "--from", c.from, "--to", c.to, "--output", output})
	root.SetOut(io.Discard)
	batchBytes = fewBytes
	if err := root.ExecuteContext(ctx); err != nil {
		require.ErrorIs(c, err, context.DeadlineExceeded, c.what)
		require.NoFileExists(c, output)
	}
	_, err := c.run(wholeBatch, "stopped"+c.file)
	require.NoError(c, err, c.what)
	require.Equal(c, c.read("want"+c.file), c.read("stopped"+c.file), c.what)
}

func (c *repackCase) read(name string) []byte {
	b, err := os.ReadFile(c.at(name))
	require.NoError(c, err, c.what)
	return b
}
