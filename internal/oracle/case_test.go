package oracle

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

func TestCaseNames(t *testing.T) {
	for _, name := range []string{
		"copy/int4/3x5/dst=5,1@1/src=-1,3@14",
		"copy/float-int32/3x5/dst=5,1@0/src=0,1@0",
		"copy/string/2/dst=1@0/src=-1@1/shared",
		"convert/int4-int8/scalar/dst=@0/src=@7",
		"convert/float-float8e8m0/3/dst=1@0/src=1@0/how=unsaturated,down,legacy",
		"convert/float-float8e8m0/3/dst=1@0/src=1@9/how=nearest/shared",
		"fill/double/4x0/dst=0,0@0",
		"take/int4/3x5/dst=5,1@1/src=0,1@0/at=1,0@2/int32/by=0:7:5/wrong=1",
		"take/string/scalar/dst=@0/src=@9/at=@2/int64/by=0:7:-1,5:2:1/wrong=0",
		"take/int4/3/dst=1@1/src=0@0/at=1@2/int32/by=0:7:5:skip,1:2:3:clamp,2:9:1:clampzero,3:4:5,4:2:6:strict/wrong=1",
		"put/int4/3x5/dst=0,1@1/src=5,1@0/at=1,0@2/int32/by=0:7:5/wrong=1/set",
		"put/int8/3/dst=0@1/src=5@0/at=1@2/int32/by=0:7:5/wrong=0/max",
		"put/int4/3x5/dst=0,1@1/src=5,1@0/at=1,0@2/int32/by=0:7:5:skip/wrong=1/set/once",
		"copy/uint2/4611686018427387904/dst=1@0/src=0@9223372036854775807",
		"dequantize/uint4-float16/3x5/dst=5,1@0/src=5,1@0/scale=float:1,0@0/zero=uint4:1,0@2/add=bfloat16:1,0@0/subtract",
		"dequantize/float-double/scalar/dst=@0/src=@3/scale=float8e8m0:@1",
		"quantize/float-int8/3/dst=1@0/src=1@0/scale=float16:0@0/zero=int8:0@9/precision=float16",
		"quantize/float-uint4/3x5/dst=5,1@0/src=5,1@0/scale=float16:1,0@0/find",
		"quantize/float16-float8e5m2/3/dst=1@0/src=1@0/scale=float16:0@0/how=unsaturated",
		"map/uint4-float16/3x5/dst=5,1@1/src=1,3@0/table=7",
		"map/int8/3/dst=1@1/src=1@1/table=0/shared",
		"where/int4/3x5/dst=5,1@1/src=0,0@3/b=5,1@1/cond=1,0@2/shared-b",
		"where/string/scalar/dst=@0/src=@0/b=@0/cond=@7/shared/shared-b",
	} {
		c, err := ParseCase(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.String() != name {
			t.Errorf("%s is read as %v", name, c)
		}
	}
	for _, name := range []string{
		"", "copy", "move/int4/3/dst=1@0/src=1@0", "copy/int5/3/dst=1@0/src=1@0", "copy/int4/3/dst=1@0",
		"copy/int4/3/src=1@0/dst=1@0", "copy/int4/3x/dst=1@0/src=1@0", "copy/int4/3/dst=1/src=1@0",
		"copy/int4/3/dst=1@-1/src=1@0", "copy/int4/3/dst=1,2@0/src=1@0", "copy/int4/-3/dst=1@0/src=1@0",
		"fill/int4/3/dst=1@0/shared", "fill/int4-int8/3/dst=1@0", "copy/int4/3/dst=1@0/src=x@0",
		"copy/-/3/dst=1@0/src=1@0", "copy/int4/3/dst=1@0/src=1@0/how=down",
		"convert/float-int8/3/dst=1@0/src=1@0/how=", "convert/float-int8/3/dst=1@0/src=1@0/how=legacy,down", "copy/int4/3/dst=1@0/src=1@0/more", "shared",
		"take/int4/3/dst=1@0/src=1@0", "take/int4/3/dst=1@0/src=1@0/at=1@0/int32/by=0:7:5/wrong=-1", "take/int4/3/dst=1@0/src=1@0/at=1@0/int5/by=0:7:5/wrong=1",
		"take/int4/3/dst=1@0/src=1@0/at=1@0/int32/by=0:7/wrong=1", "take/int4/3/dst=1@0/src=1@0/at=1@0/int32/by=0:7:5/wrong=x",
		"dequantize/int4-float/3/dst=1@0/src=1@0/zero=int4:1@0/scale=float:1@0", "dequantize/int4-float/3/dst=1@0/src=1@0/scale=float", "dequantize/int4-float/3/dst=1@0/src=1@0/scale=float:1,1@0",
		"dequantize/int4-float/3/dst=1@0/src=1@0/scale=float5:1@0", "quantize/float-uint4/3/dst=1@0/src=1@0/scale=float:0@0/find/find", "dequantize/int4-float/3/dst=1@0/src=1@0/scale=float:1@0/precision=x", "quantize/float-int4/3/dst=1@0/src=1@0/scale=float:1@0/how=wild",
		"take/int4/3/dst=1@0/src=1@0/at=1@0/int32/by=0:7:5:error/wrong=1", "take/int4/3/dst=1@0/src=1@0/at=1@0/int32/by=0:7:5:no/wrong=1",
		"take/int4/3/dst=1@0/src=1@0/at=1@0/int32/by=0:7:5/wrong=1/once", "take/int4/3/dst=1@0/src=1@0/at=1@0/int32/by=0:7:5/wrong=1/set",
		"put/int4/3/dst=1@0/src=1@0/at=1@0/int32/by=0:7:5/wrong=1", "put/int4/3/dst=1@0/src=1@0/at=1@0/int32/by=0:7:5/wrong=1/no",
		"take/int4/3/dst=1@0/src=1@0/at=1@0/int32/0:7:5/wrong=1", "take/int4-int8/3/dst=1@0/src=1@0/at=1@0/int32/by=0:7:5/wrong=1",
		"map/int8/3/dst=1@1/src=1@1", "map/int8/3/dst=1@1/src=1@1/table=-1", "map/int8/3/dst=1@1/src=1@1/at=1", "map/int8/3/dst=1@1/src=1@1/table=0/shared-b",
		"where/int4/3/dst=1@0/src=1@0/b=1@0", "where/int4/3/dst=1@0/src=1@0/cond=1@0/b=1@0", "where/int4-uint4/3/dst=1@0/src=1@0/b=1@0/cond=1@0",
	} {
		if c, err := ParseCase(name); !errors.Is(err, device.ErrInvalid) {
			t.Errorf("%q: got %v and error %v, want ErrInvalid", name, c, err)
		}
	}
}

// A random case keeps the rules, can be parsed from its name, and is reproducible from its
// seed.
func TestRandomKeepsTheRules(t *testing.T) {
	n := 20000
	if testing.Short() {
		n = 2000
	}
	for seed := range uint64(n) {
		limits := Limits{}
		if seed%2 == 0 {
			limits = Limits{MaxBytes: 1 << 10, MaxRank: 4}
		}
		c := Random(rand.New(rand.NewPCG(seed, 1)), limits)
		if again := Random(rand.New(rand.NewPCG(seed, 1)), limits); !reflect.DeepEqual(c, again) {
			t.Fatalf("seed %d gives %v, then %v", seed, c, again)
		}
		if back, err := ParseCase(c.String()); err != nil || !reflect.DeepEqual(c, back) {
			t.Fatalf("seed %d: %v is read as %v, error %v", seed, c, back, err)
		}
		if limits.MaxBytes > 0 && (slots(c.Dst, c.DstType) > limits.MaxBytes || c.Dst.Rank() > limits.MaxRank) {
			t.Fatalf("seed %d: %v exceeds the limits", seed, c)
		}
		if err := rules(c); err != nil {
			t.Fatalf("seed %d: %v breaks a rule: %v", seed, c, err)
		}
		if n := c.Dst.Count(); n <= 1<<12 && c.Op != OpPut {
			seen := map[int64]bool{}
			walk(c.Dst, c.Dst, func(p, _ int64) { seen[p] = true })
			if int64(len(seen)) != n {
				t.Fatalf("seed %d: %v writes an element twice", seed, c)
			}
			walk(c.Src, c.Src, func(p, _ int64) {
				if c.Shared && c.Op == OpCopy && seen[p] {
					t.Fatalf("seed %d: %v reads what it writes", seed, c)
				}
			})
		}
	}
}

// rules asks package device, with buffers that fit exactly.
func rules(c Case) error {
	operand := func(l layout.Layout, t layout.DType, size int64) device.Operand {
		b := &sized{size: size}
		if t == layout.String {
			return device.Operand{Buffer: stringsSized{b}, Layout: l, Type: t}
		}
		return device.Operand{Buffer: b, Layout: l, Type: t}
	}
	dstSize, srcSize, atSize := c.Sizes()
	dst := operand(c.Dst, c.DstType, dstSize)
	if c.Op == OpFill {
		if c.DstType == layout.String {
			return nil
		}
		return backend.CheckFill(&dst, make([]byte, (c.DstType.Bits()+7)/8))
	}
	src := operand(c.Src, c.SrcType, srcSize)
	if c.hasIndices() {
		at := operand(c.At, c.AtType, atSize)
		if c.Op == OpPut {
			return backend.CheckPut(&dst, &src, &at, c.Reduction, c.By)
		}
		return backend.CheckTake(&dst, &src, &at, c.By)
	}
	if c.Shared {
		if dst.Buffer.Size() < src.Buffer.Size() {
			dst.Buffer = src.Buffer
		}
		src.Buffer = dst.Buffer
	}
	term := func(t Term) device.Operand {
		if t.Type == layout.Invalid {
			return device.Operand{}
		}
		return operand(t.Layout, t.Type, slots(t.Layout, t.Type))
	}
	scale, zero, add := term(c.Terms.Scale), term(c.Terms.Zero), term(c.Terms.Add)
	switch c.Op {
	case OpDequantize:
		return backend.CheckDequantize(&dst, &src, &device.Scaling{Scale: scale, Zero: zero, Add: add})
	case OpQuantize:
		return backend.CheckQuantize(&dst, &src, &device.Quantization{Scale: scale, Zero: zero, FindScale: c.Terms.FindScale})
	case OpConvert:
		return backend.CheckConvert(&dst, &src, c.How)
	case OpMap:
		l, err := c.table()
		if err != nil {
			return err
		}
		table := operand(l, c.DstType, atSize)
		return backend.CheckMap(&dst, &src, &table)
	case OpWhere:
		b, cond := operand(c.B, c.DstType, c.sizeB()), operand(c.Cond, layout.Bool, atSize)
		if c.SharedB {
			if dst.Buffer.Size() < b.Buffer.Size() {
				dst.Buffer = b.Buffer
			}
			b.Buffer = dst.Buffer
			if c.Shared {
				src.Buffer = dst.Buffer
			}
		}
		return backend.CheckWhere(&dst, &cond, &src, &b)
	}
	return backend.CheckCopy(&dst, &src)
}

type sized struct{ size int64 }

func (b *sized) Size() int64 { return b.size }
func (b *sized) Free() error { return nil }

type stringsSized struct{ *sized }

func (stringsSized) HoldsStrings() {}

// The generator covers what it promises.
func TestRandomCovers(t *testing.T) {
	got := map[string]int{}
	for seed := range uint64(20000) {
		c := Random(rand.New(rand.NewPCG(seed, 2)), Limits{})
		got[string(c.Op)]++
		got[c.DstType.String()]++
		note := func(name string, is bool) {
			if is {
				got[name]++
			}
		}
		note("rank 0", c.Dst.Rank() == 0)
		note("rank 8", c.Dst.Rank() == 8)
		note("rank 12", c.Dst.Rank() == 12)
		note("empty", c.Dst.Count() == 0)
		note("shared", c.Shared)
		note("two indices", len(c.By) == 2)
		note("an index out of range", c.Wrong > 0)
		note("shared b", c.SharedB)
		note("a put that names elements once", c.Once)
		note("a reduction", c.Reduction != device.ReduceSet)
		note("a put of rows", c.Op == OpPut && c.Dst.Rank() > 0 && c.At.Stride(c.Dst.Rank()-1) == 0)
		for _, x := range c.By {
			note("outside "+x.OutOfRange.String(), true)
		}
		note("mixed types", c.Op == OpCopy && c.DstType != c.SrcType)
		note("pack", c.Op == OpConvert && c.DstType.Container() == c.SrcType)
		note("rounding", c.How.Unsaturated || c.How.Scale != 0 || c.How.Legacy)
		note("over 1 MB", slots(c.Dst, c.DstType) > 1<<20)
		note("contiguous", c.Dst.IsContiguous() && c.Src.IsContiguous() && c.Dst.Rank() > 0)
		note("odd offset below a byte", c.DstType.Bits() < 8 && (c.Dst.Offset()%2 == 1 || c.Src.Offset()%2 == 1))
		for i := range c.Dst.Rank() {
			note("negative dst", c.Op != OpPut && c.Dst.Stride(i) < 0)
			note("size 1", c.Dst.Dim(i) == 1)
			note("edge 33", c.Dst.Dim(i) == 33)
			if c.Op != OpFill {
				note("negative src", c.Src.Stride(i) < 0)
				note("broadcast", c.Src.Stride(i) == 0 && c.Src.Dim(i) > 1)
			}
		}
	}
	want := []string{"copy", "fill", "convert", "take", "put", "map", "where", "shared b", "a put that names elements once", "a put of rows", "a reduction", "outside skip", "outside clamp", "outside clampzero", "two indices", "an index out of range", "rank 0", "rank 8", "rank 12", "empty", "shared", "mixed types", "pack", "rounding", "over 1 MB", "contiguous",
		"odd offset below a byte", "negative dst", "size 1", "edge 33", "negative src", "broadcast"}
	for _, t := range layout.DTypes() {
		want = append(want, t.String())
	}
	for _, name := range want {
		if got[name] < 30 {
			t.Errorf("%s: %d of 20000 cases", name, got[name])
		}
	}
}
