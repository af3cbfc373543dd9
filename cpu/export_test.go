package cpu

import (
	"fmt"
	"testing"

	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// Force makes all copies of a test use the kernels of a level. Such tests do not
// run in parallel with others.
func Force(t testing.TB, l simd.Level) {
	old := kernels
	kernels = simd.Of(l)
	t.Cleanup(func() { kernels = old })
}

// Vectors reports whether there are any.
func Vectors() bool { return kernels.Level > simd.None }

// EachLevel runs a test at every level that this processor has.
func EachLevel(t *testing.T, test func(*testing.T)) {
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			Force(t, l)
			test(t)
		})
	}
}

// Elsewhere reports whether a test of many cases leaves one, by its number, to another
// level. The race detector, which is slow, sees no kernels but the Go around them, and
// with it each case runs at one level.
func Elsewhere(number int) bool {
	levels := simd.Levels()
	return race.Enabled && levels[number%len(levels)] != kernels.Level
}

// Otherwise has the kernels of the level be used as on processors of the other kind: see
// simd.Rows.Direct.
func Otherwise(t testing.TB) {
	old := kernels
	other := *old
	other.Direct = !old.Direct
	kernels = &other
	t.Cleanup(func() { kernels = old })
}

// StreamFrom makes copies of a test that write so many bytes do it past the caches.
func StreamFrom(t testing.TB, bytes int64) {
	old := streamBytes
	streamBytes = bytes
	t.Cleanup(func() { streamBytes = old })
}

// Loops is the kind of a copy's loops and the width of its elements, as "transpose.32".
func Loops(dst, src *layout.Layout, t layout.DType) string {
	f, j := form{op: opCopy, align: 16, dst: t, src: t}, new(job)
	if !j.prepare(&f, dst, src) {
		return ""
	}
	j.plan()
	switch {
	case j.strings:
		return j.kind.String() + ".string"
	case j.packed:
		return fmt.Sprintf("bits.%v.%d", j.kind, j.dBits)
	}
	return fmt.Sprintf("%v.%d", j.kind, j.dBits)
}
