package cpu

import (
	"os"
	"strconv"
	"unsafe"

	"github.com/restride/restride/internal/simd"
)

func knob(name string, v int64) int64 {
	if s := os.Getenv(name); s != "" {
		n, _ := strconv.Atoi(s)
		return int64(n)
	}
	return v
}

var (
	knobDirect = knob("T_DIRECT", 0)
	knobPlace  = knob("T_PLACE", 1)
	knobI      = knob("T_I", 0)
	knobJ      = knob("T_J", 0)
)

// turnVector is turn by vectors.
func turnVector(t *simd.Turns, size int64, buf unsafe.Pointer, stride int64, src unsafe.Pointer, s int64, rows []int64, n int64) {
	from := (*byte)(unsafe.Add(src, s))
	run := func(turn simd.Turn, k, m int64) {
		turn((*byte)(unsafe.Add(buf, k*size)), stride, from, &rows[k], m, n)
	}
	nj := int64(len(rows))
	if wide := t.Width / size; nj >= wide {
		m := nj / wide * wide
		run(t.Wide, 0, m)
		if m < nj {
			run(t.Wide, nj-wide, wide)
		}
		return
	}
	if narrow := 16 / size; nj >= narrow {
		m := nj / narrow * narrow
		run(t.Narrow, 0, m)
		if m < nj {
			run(t.Narrow, nj-narrow, narrow)
		}
		return
	}
	panic("few")
}
