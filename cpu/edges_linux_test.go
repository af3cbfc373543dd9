package cpu_test

import (
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// fence is memory between pages that nobody may touch.
type fence struct{ inside []byte }

func newFence(t *testing.T, size int) fence {
	page := os.Getpagesize()
	size = (size + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(m)) })
	require.NoError(t, syscall.Mprotect(m[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(m[page+size:], syscall.PROT_NONE))
	return fence{m[page : page+size]}
}

// cut returns n bytes of noise: right before the page behind, right after the one
// before, or anywhere.
func (f fence) cut(rng *rand.Rand, n int64) []byte {
	from := []int64{0, int64(len(f.inside)) - n, rng.Int64N(int64(len(f.inside)) - n + 1)}[rng.IntN(3)]
	b := f.inside[from : from+n : from+n]
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// reach returns the bytes of an operand up to the end of its last element, and the
// layout such that the first byte of all is that of its lowest element.
func reach(t *testing.T, l layout.Layout, typ layout.DType) (layout.Layout, int64) {
	lo, hi, some := l.Extent()
	if !some {
		return l, 1
	}
	per := int64(max(1, 8/typ.Bits()))
	l, err := l.Rebase(l.Offset() - lo/per*per)
	require.NoError(t, err)
	size, ok := layout.PackedBytes(hi-lo/per*per+1, typ.Bits())
	require.True(t, ok)
	return l, size
}

// Calls on memory that ends where pages end that nobody may touch, and starts at any
// byte: nothing outside of the elements is read beyond them, or written.
func TestEdgesOfMemory(t *testing.T) {
	cpu.EachLevel(t, testEdgesOfMemory)
	t.Run("otherwise", func(t *testing.T) {
		cpu.Otherwise(t)
		testEdgesOfMemory(t)
	})
}

func testEdgesOfMemory(t *testing.T) {
	const most = 3 << 20
	cases := 100
	if !testing.Short() {
		cases = 2000
	}
	severalWorkers(t, 3)
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	a, b := newFence(t, most), newFence(t, most)
	for seed := range uint64(cases) {
		if cpu.Elsewhere(int(seed)) {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, 20))
		limits := oracle.Limits{MaxBytes: int64(200) << rng.IntN(14), MaxRank: 6, Ops: []oracle.Op{oracle.OpCopy, oracle.OpFill, oracle.OpConvert}}
		c := oracle.Random(rng, limits)
		switch seed % 6 {
		case 0, 3:
			c = smallAxes(t, rng)
		case 1:
			c = packedTranspose(t, rng)
		}
		if c.Shared || c.DstType == layout.String || c.SrcType == layout.String {
			continue
		}
		cpu.StreamFrom(t, []int64{1, 5000, 4 << 20}[rng.IntN(3)])
		d, dSize := reach(t, c.Dst, c.DstType)
		s, sSize := d, int64(1)
		if c.Op != oracle.OpFill {
			s, sSize = reach(t, c.Src, c.SrcType)
		}
		if dSize > most || sSize > most {
			continue
		}
		to, from := a.cut(rng, dSize), b.cut(rng, sSize)
		want, kept := append([]byte{}, to...), append([]byte{}, from...)
		dst := device.Operand{Buffer: cpu.Wrap(to), Layout: d, Type: c.DstType}
		src := device.Operand{Buffer: cpu.Wrap(from), Layout: s, Type: c.SrcType}
		for range 2 { // the second time by a plan that is kept
			switch c.Op {
			case oracle.OpConvert:
				err = q.Convert(dst, src, c.How)
				oracle.Convert(want, d, c.DstType, from, s, c.SrcType, c.How)
			case oracle.OpFill:
				pattern := []byte("0123456789abcdef")[:(c.DstType.Bits()+7)/8]
				err = q.Fill(dst, pattern)
				oracle.Fill(want, d, pattern, c.DstType.Bits())
			default:
				err = q.Copy(dst, src)
				oracle.Copy(want, d, from, s, c.DstType.Bits())
			}
			require.NoError(t, err, "seed %d: %v", seed, c)
			if string(want) != string(to) {
				t.Fatalf("seed %d: %v at %p from %p", seed, c, &to[0], &from[0])
			}
			require.True(t, string(kept) == string(from), "seed %d: %v: the source has changed", seed, c)
		}
	}
}

// Somebody counts up every byte between the elements while these are written: none
// of the counts is lost, so the bytes were not even written with what they had.
func TestGapsAreSomebodyElses(t *testing.T) { cpu.EachLevel(t, testGaps) }

// gapCases leave gaps between elements of dst.
var gapCases = []string{
	"copy/uint8/3000/dst=2@1/src=1@0",
	"copy/uint8/900/dst=7@1/src=1@0",
	"copy/float16/900/dst=3@1/src=1@0",
	"copy/float/900/dst=2@1/src=1@0",
	"copy/double/300/dst=3@1/src=-1@299",
	"copy/complex128/200/dst=2@1/src=1@0",
	"copy/uint8/100x33/dst=40,1@1/src=33,1@0",
	"copy/uint8/300x3/dst=4,1@1/src=3,1@0",
	"copy/float/100x3/dst=4,1@1/src=3,1@0",
	"copy/uint8/20x200/dst=211,1@1/src=201,1@0",
	"copy/uint8/3x2000/dst=2100,1@1/src=2000,1@0",
	"copy/uint8/200x21/dst=40,1@1/src=1,200@0",
	"copy/uint8/20x100/dst=128,1@0/src=1,20@0",
	"copy/float16/20x70/dst=96,1@0/src=1,20@0",
	"copy/float/50x35/dst=40,1@1/src=1,50@0",
	"copy/double/50x11/dst=13,1@1/src=1,50@0",
	"copy/uint8/300x3/dst=3,1@1/src=1,300@0",
	"copy/uint8/3x300/dst=333,1@1/src=1,3@0",
	"copy/uint8/30x80/dst=96,1@0/src=80,-1@79",
	"copy/uint8/30x80/dst=97,1@0/src=1,0@0",
	"copy/int4/30x180/dst=256,1@0/src=181,1@1",
	"copy/int4/60x180/dst=256,1@0/src=1,60@0",
	"copy/int2/60x180/dst=256,1@0/src=1,60@0",
	"copy/int4/60x128/dst=256,1@0/src=1,64@0",
	"copy/int2/68x256/dst=512,1@0/src=1,68@0",
	"convert/float-float16/30x90/dst=99,1@1/src=90,1@0",
	"convert/float16-float/30x90/dst=99,1@1/src=90,1@0",
	"convert/int4-int8/30x90/dst=99,1@1/src=90,1@0",
	"convert/int8-int4/30x90/dst=98,1@0/src=90,1@0",
	"fill/uint8/30x90/dst=99,1@1",
	"fill/int4/30x90/dst=98,1@0",
}

func testGaps(t *testing.T) {
	severalWorkers(t, 2)
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for _, name := range gapCases {
		for _, from := range []int64{1, 4 << 20} {
			c, err := oracle.ParseCase(name)
			require.NoError(t, err)
			cpu.StreamFrom(t, from)
			m := make([]byte, 20<<10)
			written := make([]byte, len(m))
			oracle.Fill(written, c.Dst, []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")[:(c.DstType.Bits()+7)/8], c.DstType.Bits())
			_, hi, _ := c.Dst.Extent()
			var gaps []*byte
			for i, w := range written[:hi*int64(c.DstType.Bits())/8] {
				if w == 0 {
					gaps = append(gaps, &m[i])
				}
			}
			var stop atomic.Bool
			var rounds atomic.Int64
			var counting sync.WaitGroup
			counting.Go(func() {
				for ; !stop.Load(); rounds.Add(1) {
					for _, g := range gaps {
						*g++
					}
				}
			})
			dst := device.Operand{Buffer: cpu.Wrap(m), Layout: c.Dst, Type: c.DstType}
			src := device.Operand{Buffer: cpu.Wrap(make([]byte, 20<<10)), Layout: c.Src, Type: c.SrcType}
			for rounds.Load() < 40 {
				switch c.Op {
				case oracle.OpConvert:
					err = q.Convert(dst, src, c.How)
				case oracle.OpFill:
					err = q.Fill(dst, make([]byte, (c.DstType.Bits()+7)/8))
				default:
					err = q.Copy(dst, src)
				}
				require.NoError(t, err)
			}
			stop.Store(true)
			counting.Wait()
			for _, g := range gaps {
				if *g != byte(rounds.Load()) {
					t.Fatalf("%s, streamed from %d: a gap was written, or written back", name, from)
				}
			}
		}
	}
}
