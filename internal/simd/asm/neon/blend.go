package main

import (
	"fmt"

	. "github.com/restride/restride/internal/simd/asm/arm64"
)

// blend writes one of Blends.Blend, for elements of size bytes: a mask for each byte of
// cond, spread by doubling to the size of elements.
func blend(size int) {
	f := New(fmt.Sprint("blend", 8*size), "one of Blends.Blend.", "dst *byte, a *byte, b *byte, cond *byte, lines int64, past bool")
	args := f.Args("dst", "a", "b", "cond", "lines")
	dst, a, b, cond, left := args[0], args[1], args[2], args[3], args[4]
	f.Do("CBZ", left, "done")

	f.Label("loop")
	masks := conditions(f, cond, line/size)
	for _, v := range masks {
		f.Do("VCMTST", v, v, v)
	}
	for wide := 1; wide < size; wide *= 2 {
		var out []V
		for _, v := range masks {
			out = append(out, zip(f, wide, v, v)...)
		}
		used := max(1, line/size*2*wide/16) // the rest belong to no element
		f.Free(out[used:]...)
		masks = out[:used]
	}
	yes, no := read(f, a, line), read(f, b, line)
	for i, v := range masks {
		f.Do("VBIT", v, yes[i], no[i])
	}
	for i := 0; i < 4; i += 2 {
		f.Do("FSTPQ.P", pair(no[i], no[i+1]), After(dst, 32))
	}
	f.Do("SUBS", Imm(1), left)
	f.Do("BNE", "loop")

	f.Label("done")
}

// conditions is read for 4 and 8 bytes, too.
func conditions(f *Func, cond R, bytes int) []V {
	if bytes >= 16 {
		return read(f, cond, bytes)
	}
	v := f.V()
	f.Do(map[int]string{4: "FMOVS.P", 8: "FMOVD.P"}[bytes], After(cond, bytes), v.Q())
	return []V{v}
}
