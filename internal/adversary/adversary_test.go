package adversary

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/cudasim"
	"github.com/restride/restride/internal/graphs"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// few is the number of tries of each generator in this package's tests, and moment the most
// time for them, as some tries are long.
const (
	few    = 25
	moment = 2 * time.Second
)

func open(t *testing.T, dev device.Device) *tensor.Stream {
	s, err := tensor.NewStream(dev)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, dev.Close())
	})
	return s
}

func openCPU(t *testing.T) device.Device {
	dev, err := cpu.Open()
	require.NoError(t, err)
	return dev
}

// openSimulated opens the simulated CUDA device.
func openSimulated(t *testing.T) device.Device {
	_, err := cudasim.Path()
	devicetest.Require(t, "compilers", err)
	require.NoError(t, cudasim.Default())
	dev, err := cuda.OpenWith(0, cuda.Options{})
	devicetest.Require(t, "cuda", err)
	if !simulated(dev) {
		_ = dev.Close()
		t.Skip("this is a GPU")
	}
	return dev
}

// TestGenerators tries each generator on the cpu device, or on the simulated one.
func TestGenerators(t *testing.T) {
	for _, g := range Generators() {
		t.Run(g.Name, func(t *testing.T) {
			opened := openCPU
			if g.Simulated {
				opened = openSimulated
			}
			s, dir := open(t, opened(t)), t.TempDir()
			began := time.Now()
			for i := uint64(0); i < few && time.Since(began) < moment; i++ {
				require.NoError(t, Once(g, s, dir, 1, i, time.Minute), "try %d of seed 1", i)
			}
		})
	}
}

// damaged is the cpu device, without its special abilities, with a wrong element after every n
// calls of its queues.
type damaged struct {
	device.Device
	every, calls int
}

type damagedQueue struct {
	device.Queue
	dev *damaged
}

func (d *damaged) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	return &damagedQueue{q, d}, err
}

// after flips a bit of dst's first element, if it is time.
func (q *damagedQueue) after(err error, dst device.Operand) error {
	q.dev.calls++
	if err != nil || dst.Layout.Count() == 0 || q.dev.calls%q.dev.every != 0 {
		return err
	}
	bit := dst.Layout.Offset() * int64(dst.Type.Bits())
	one := make([]byte, 1)
	if err := q.Read(one, dst.Buffer, bit/8); err != nil {
		return err
	}
	one[0] ^= 1 << (bit % 8)
	return q.Write(dst.Buffer, bit/8, one)
}

func (q *damagedQueue) Copy(dst, src device.Operand) error {
	return q.after(q.Queue.Copy(dst, src), dst)
}
func (q *damagedQueue) Fill(dst device.Operand, pattern []byte) error {
	return q.after(q.Queue.Fill(dst, pattern), dst)
}
func (q *damagedQueue) Convert(dst, src device.Operand, how device.Rounding) error {
	return q.after(q.Queue.Convert(dst, src, how), dst)
}
func (q *damagedQueue) Take(dst, src, at device.Operand, by ...layout.Index) error {
	return q.after(q.Queue.Take(dst, src, at, by...), dst)
}
func (q *damagedQueue) Dequantize(dst, src device.Operand, by device.Scaling) error {
	return q.after(q.Queue.Dequantize(dst, src, by), dst)
}
func (q *damagedQueue) Quantize(dst, src device.Operand, by device.Quantization) error {
	return q.after(q.Queue.Quantize(dst, src, by), dst)
}

// TestWrongElementsAreFound plants one wrong bit in every third call of the device.
func TestWrongElementsAreFound(t *testing.T) {
	for _, name := range []string{"casts", "conversions", "graphs", "sequences"} {
		some, err := Named(name)
		require.NoError(t, err)
		s := open(t, &damaged{Device: openCPU(t), every: 3})
		found := 0
		for i := range uint64(few) {
			if Once(some[0], s, t.TempDir(), 1, i, time.Minute) != nil {
				found++
			}
		}
		require.NotZero(t, found, name)
	}
}

// TestFaultsOfATry: each is found, with advice.
func TestFaultsOfATry(t *testing.T) {
	s := open(t, openCPU(t))
	end := make(chan struct{})
	defer close(end)
	for _, c := range []struct {
		fault string
		try   func(*Trial) error
		says  string
	}{
		{"none", func(*Trial) error { return nil }, ""},
		{"error", func(*Trial) error { return errors.New("wrong") }, "wrong"},
		{"panic", func(*Trial) error { panic("unexpected") }, "adversary_test.go"},
		{"memory", func(t *Trial) error {
			_, err := tensor.New(t.Stream, layout.Int4, 9)
			return err
		}, "not released: int4[9]"},
		{"host memory", func(t *Trial) error {
			_, err := tensor.New(tensor.Host(), layout.Int4, 9)
			return err
		}, "not released: int4[9]"},
		{"buffer", func(t *Trial) error {
			_, err := t.Stream.Device().Alloc(100)
			return err
		}, "memory in use was"},
		{"goroutine", func(*Trial) error { // more than may still be ending
			for range 8 {
				go func() { <-end }()
			}
			return nil
		}, "goroutines, and are"},
		{"no end", func(*Trial) error { <-end; return nil }, "what runs:\ngoroutine"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			dir := t.TempDir()
			err := Once(Generator{Name: "planted", Try: func(trial *Trial) error {
				if err := os.WriteFile(filepath.Join(trial.Dir, "file"), nil, 0o600); err != nil {
					return err
				}
				return c.try(trial)
			}}, s, dir, 1, 0, 100*time.Millisecond)
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
			if !errors.Is(err, ErrStuck) {
				left, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Empty(t, left)
			}
		})
	}
}

// TestRun: tries differ from each other and are reproducible; a failure names the command of
// its try; Host generators run once; the run ends after enough failures.
func TestRun(t *testing.T) {
	seen := map[string][]uint64{}
	note := func(name string, fail uint64) func(*Trial) error {
		return func(t *Trial) error {
			n := uint64(len(seen[name]))
			seen[name] = append(seen[name], t.Rand.Uint64())
			if n >= fail {
				return fmt.Errorf("planted in %s", name)
			}
			return nil
		}
	}
	var out bytes.Buffer
	p := Plan{
		Devices: []string{"cpu", "cpu:0"}, Seed: 5, Tries: 4, Deadline: time.Minute, Failures: 3, Out: &out,
		Generators: []Generator{{Name: "device", Try: note("device", 100)}, {Name: "host", Host: true, Try: note("host", 100)}},
	}
	require.NoError(t, p.Run())
	require.Len(t, seen["device"], 8)
	require.Len(t, seen["host"], 4)
	require.ElementsMatch(t, append(seen["host"], seen["host"]...), seen["device"])
	require.NotEqual(t, seen["host"][0], seen["host"][1])
	require.Contains(t, out.String(), "seed 5;")
	require.Regexp(t, `device +cpu:0 +4 +0 `, out.String())
	require.Regexp(t, `RSS [1-9]\d* MiB`, out.String())

	first := seen["host"]
	p.First, p.Tries, p.Generators = 2, 1, p.Generators[1:]
	require.NoError(t, p.Run())
	require.Equal(t, first[2], seen["host"][4])

	out.Reset()
	p.Devices = p.Devices[:1]
	p.First, p.Tries, p.Time, p.Generators = 0, 0, time.Minute, []Generator{{Name: "bad", Try: note("bad", 2)}}
	require.EqualError(t, p.Run(), "3 tries failed")
	require.Contains(t, out.String(), "planted in bad\n  again: ")
	require.Contains(t, out.String(), "go run ./cmd/soak --device cpu --only bad --seed 5 --first 2 --tries 1\n")
	require.Equal(t, 3, strings.Count(out.String(), "FAIL"))
}

func TestNamed(t *testing.T) {
	all, err := Named("")
	require.NoError(t, err)
	require.Len(t, all, len(Generators()))
	_, err = Named("casts,nonesuch")
	require.ErrorContains(t, err, `there is no generator "nonesuch"; there are `)
	require.ErrorContains(t, err, "casts")
}

// TestInvalidMissesNothing: given a valid model instead of a broken one, it fails.
func TestInvalidMissesNothing(t *testing.T) {
	s := open(t, openCPU(t))
	for seed := range uint64(few) {
		trial := &Trial{Stream: s, Rand: rand.New(rand.NewPCG(seed, 1))}
		g := graphs.Random(trial.Rand, graphs.Limits{Nodes: 5, Ranks: 4})
		require.ErrorContains(t, refused(trial, g, "nothing"), "no error of nothing")
	}
}
