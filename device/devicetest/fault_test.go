package devicetest

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// faulty is a correct queue that does some damage after each operation.
type faulty struct {
	*refQueue
	damage func(dst, src device.Operand)
}

func (q faulty) Copy(dst, src device.Operand) error {
	return q.then(q.refQueue.Copy(dst, src), dst, src)
}

func (q faulty) Fill(dst device.Operand, pattern []byte) error {
	return q.then(q.refQueue.Fill(dst, pattern), dst, device.Operand{})
}

func (q faulty) Convert(dst, src device.Operand, how device.Rounding) error {
	return q.then(q.refQueue.Convert(dst, src, how), dst, src)
}

func (q faulty) Take(dst, src, at device.Operand, by ...layout.Index) error {
	sources := [2]device.Operand{src, at}
	return q.then(q.refQueue.Take(dst, src, at, by...), dst, sources[at.Buffer.Size()%2]) // as random as the guard behind them
}

func (q faulty) Dequantize(dst, src device.Operand, by device.Scaling) error {
	sources := [3]device.Operand{src, by.Scale, by.Add}
	i := by.Scale.Buffer.Size() % 3
	if sources[i].Buffer == nil {
		i = 1
	}
	return q.then(q.refQueue.Dequantize(dst, src, by), dst, sources[i])
}

func (q faulty) Quantize(dst, src device.Operand, by device.Quantization) error {
	sources := [2]device.Operand{src, by.Scale}
	return q.then(q.refQueue.Quantize(dst, src, by), dst, sources[by.Scale.Buffer.Size()%2])
}

func (q faulty) Map(dst, src, table device.Operand) error {
	sources := [2]device.Operand{src, table}
	return q.then(q.refQueue.Map(dst, src, table), dst, sources[table.Buffer.Size()%2])
}

func (q faulty) Where(dst, cond, a, b device.Operand) error {
	sources := [3]device.Operand{cond, a, b}
	return q.then(q.refQueue.Where(dst, cond, a, b), dst, sources[cond.Buffer.Size()%3])
}

func (q faulty) Put(dst, src, at device.Operand, how device.Reduction, by ...layout.Index) error {
	sources := [2]device.Operand{src, at}
	return q.then(q.refQueue.Put(dst, src, at, how, by...), dst, sources[at.Buffer.Size()%2])
}

func (q faulty) FillString(dst device.Operand, s string) error {
	return q.then(q.refQueue.FillString(dst, s), dst, device.Operand{})
}

func (q faulty) then(err error, dst, src device.Operand) error {
	if err == nil {
		err = q.Wait()
		q.damage(dst, src)
	}
	return err
}

// flip changes one bit.
func flip(b device.Buffer, bit int64) { memory(b)[bit/8] ^= 1 << (bit % 8) }

// bitOf returns the first bit of an element.
func bitOf(o device.Operand, position int64) int64 { return position * int64(o.Type.Bits()) }

func bounds(o device.Operand) (first, end int64) {
	lo, hi, _ := o.Layout.Extent()
	return bitOf(o, lo), bitOf(o, hi+1)
}

func TestCheckSees(t *testing.T) {
	for _, c := range []struct {
		fault  string
		on     string // the case
		damage func(dst, src device.Operand)
		report string
	}{
		{"nothing", "copy/int4/3x5/dst=5,1@1/src=-1,3@14", func(dst, src device.Operand) {}, ""},
		{"the nibble behind the tail", "copy/int4/3x5/dst=5,1@0/src=1,3@1", func(dst, src device.Operand) {
			_, end := bounds(dst)
			flip(dst.Buffer, end)
		}, "changed outside dst's elements, in 1 bytes, the first at 7"},
		{"the nibble before the first", "copy/int4/3x5/dst=5,1@1/src=1,3@1", func(dst, src device.Operand) {
			first, _ := bounds(dst)
			flip(dst.Buffer, first-1)
		}, "changed outside dst's elements, in 1 bytes, the first at 0"},
		{"the crumb in a gap", "fill/uint2/3/dst=2@4", func(dst, src device.Operand) {
			flip(dst.Buffer, 5*2)
		}, "changed outside dst's elements, in 1 bytes, the first at 1"},
		{"the byte before dst", "copy/float/4/dst=1@4/src=1@0", func(dst, src device.Operand) {
			flip(dst.Buffer, 15*8)
		}, "changed outside dst's elements, in 1 bytes, the first at 15"},
		{"one element", "copy/float/3x4/dst=4,1@4/src=1,3@0", func(dst, src device.Operand) {
			flip(dst.Buffer, bitOf(dst, 4+6)+31)
		}, "element 6, at [1 2]: got 0x"},
		{"the top bit of one element", "copy/complex128/2/dst=1@0/src=1@0", func(dst, src device.Operand) {
			flip(dst.Buffer, 255)
		}, "element 1, at [1]: got 0x"},
		{"an element and its neighbour", "copy/uint4/2/dst=3@0/src=1@0", func(dst, src device.Operand) {
			memory(dst.Buffer)[0] ^= 0xff
			memory(dst.Buffer)[1] ^= 0xff
		}, "changed outside dst's elements, in 2 bytes, the first at 0"},
		{"the source", "copy/float/4/dst=1@0/src=0@3", func(dst, src device.Operand) {
			flip(src.Buffer, 0)
		}, "src was changed, in 1 bytes, the first at 0"},
		{"the source in a shared buffer", "copy/int4/4/dst=2@0/src=2@1/shared", func(dst, src device.Operand) {
			flip(src.Buffer, 4)
		}, "changed outside dst's elements, in 1 bytes, the first at 0"},
		{"the sign", "convert/int4-int8/64/dst=1@0/src=1@1", func(dst, src device.Operand) {
			for i := range memory(dst.Buffer)[:64] {
				memory(dst.Buffer)[i] &= 15
			}
		}, "elements differ"},
		{"a bit in packing", "convert/uint8-float4e2m1/7/dst=1@0/src=1@1", func(dst, src device.Operand) {
			flip(dst.Buffer, 0)
		}, "element 0, at [0]: got 0x"},
		{"a scalar", "copy/bool/scalar/dst=@2/src=@0", func(dst, src device.Operand) {
			flip(dst.Buffer, 16)
		}, "element 0, at []: got 0x"},
		{"a string", "copy/string/2x2/dst=2,1@1/src=1,2@0", func(dst, src device.Operand) {
			dst.Buffer.(*refStrings).words[3] += "?"
		}, "element 2, at [1 0]: got \""},
		{"a string before dst", "fill/string/2x2/dst=2,1@1", func(dst, src device.Operand) {
			dst.Buffer.(*refStrings).words[0] += "?"
		}, "changed outside dst's elements"},
		{"a string of the source", "copy/string/2/dst=1@1/src=1@0", func(dst, src device.Operand) {
			src.Buffer.(*refStrings).words[1] = "?"
		}, "src was changed"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			r := runner{open: func(*testing.T) device.Device { return &reference{} }}.rig(t)
			parsed, err := oracle.ParseCase(c.on)
			r.ok(err)
			for seed := range uint64(8) {
				err := oracle.CheckOn(r.dev, faulty{r.q.(*refQueue), c.damage}, parsed, seed)
				switch {
				case c.report == "" && err != nil:
					t.Error(err)
				case c.report != "" && (!errors.Is(err, oracle.ErrWrong) || !strings.Contains(err.Error(), c.report) || !strings.Contains(err.Error(), c.on)):
					t.Errorf("got error %v, want %q", err, c.report)
				}
			}
		})
	}
}

// A fault in any one bit near the operands of a random case is detected.
func TestCheckSeesEveryBit(t *testing.T) {
	r := runner{open: func(*testing.T) device.Device { return &reference{} }}.rig(t)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := oracle.Random(rng, oracle.Limits{MaxBytes: 1 << 10, Types: widths})
		err := oracle.CheckOn(r.dev, faulty{r.q.(*refQueue), func(dst, src device.Operand) {
			side := dst
			if src.Buffer != nil && src.Buffer.Size() > 0 && rng.IntN(2) == 0 {
				side = src
			}
			if side.Buffer.Size() == 0 {
				side.Buffer = nil
				return
			}
			flip(side.Buffer, rng.Int64N(8*side.Buffer.Size()))
		}}, c, seed)
		if !errors.Is(err, oracle.ErrWrong) && c.Dst.Count() > 0 {
			t.Errorf("%v with seed %d: a flipped bit was not seen: %v", c, seed, err)
		}
	}
}

// wordless is a device without strings.
type wordless struct{ *reference }

func (wordless) Info() device.Info { return device.Info{} }

func TestCheckSkipsStrings(t *testing.T) {
	c, err := oracle.ParseCase("copy/string/2/dst=1@0/src=1@0")
	if err != nil {
		t.Fatal(err)
	}
	if err := oracle.Check(wordless{&reference{}}, c, 1); !errors.Is(err, oracle.ErrSkipped) {
		t.Errorf("got %v", err)
	}
	if err := oracle.Check(&reference{}, c, 1); err != nil {
		t.Error(err)
	}
}

// Check returns a device's refusal; and it refuses a case of absurd size before it allocates.
func TestCheckRefused(t *testing.T) {
	for _, name := range []string{
		"copy/int8/4/dst=0@0/src=1@0",
		"copy/int8-int16/4/dst=1@0/src=1@0",
		"copy/int8-string/4/dst=1@0/src=1@0",
		"copy/int8/4/dst=1@0/src=1@1/shared",
		"convert/int8-int8/4/dst=1@0/src=1@3/shared",
		"fill/int8/4/dst=0@0",
		"copy/complex128/4611686018427387904/dst=1@0/src=0@0",
		"copy/uint2/2/dst=1@0/src=1@9223372036854775806",
	} {
		c, err := oracle.ParseCase(name)
		if err != nil {
			t.Fatal(err)
		}
		dev := &reference{}
		if err := oracle.Check(dev, c, 1); !errors.Is(err, device.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
		if s := dev.Stats(); s.Buffers != 0 {
			t.Errorf("%s: %d buffers were not freed", name, s.Buffers)
		}
	}
	for _, c := range []oracle.Case{
		{},
		{Op: "move", DstType: layout.Int8, SrcType: layout.Int8},
		{Op: oracle.OpCopy, DstType: layout.Int8},
		{Op: oracle.OpFill, DstType: 255},
		{Op: oracle.OpCopy, DstType: layout.Int8, SrcType: layout.Int8, Dst: dense(0, 2), Src: dense(0, 3)},
		{Op: oracle.OpCopy, DstType: layout.Int8, SrcType: layout.String},
		{Op: oracle.OpConvert, DstType: layout.Int8, SrcType: layout.String},
		{Op: oracle.OpConvert, DstType: layout.String, SrcType: layout.String},
		{Op: oracle.OpConvert, DstType: layout.Complex64, SrcType: layout.Int8},
		{Op: oracle.OpConvert, DstType: layout.Int8, SrcType: layout.Float32, How: device.Rounding{Scale: 3}},
	} {
		if err := oracle.Check(&reference{}, c, 1); !errors.Is(err, device.ErrInvalid) {
			t.Errorf("%v: got %v, want ErrInvalid", c, err)
		}
	}
}
