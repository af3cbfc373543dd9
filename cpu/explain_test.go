package cpu

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// TestKernelName: the name is of what ran: of a plan that is kept, of a short run, of a long copy, and
// of the parts of one below a byte.
func TestKernelName(t *testing.T) {
	Force(t, simd.None)
	dev, err := Open()
	require.NoError(t, err)
	defer dev.Close()
	opened, err := dev.NewQueue()
	require.NoError(t, err)
	q := opened.(*queue)
	for _, c := range []struct {
		name, class, kernel string
		plans, ran          bool // kept
	}{
		{"copy/float/100/dst=1@1/src=1@2", "dense", "run.32", false, false},
		{"copy/float/0/dst=1@0/src=1@0", "dense", "nothing", false, false},
		{"copy/float/50x30/dst=30,1@0/src=1,50@0", "transpose", "tiles-of-few-rows-in-loops.32", true, false},
		{"copy/uint8/50x30/dst=30,1@0/src=-1,50@49", "transpose", "tiles-in-loops.8", true, false},
		{"copy/float/300x500/dst=500,1@0/src=1,300@0", "transpose", "tiles-in-loops.32", false, true},
		{"copy/float/600000/dst=1@0/src=-1@599999", "reversed", "elements.32", false, true},
		{"copy/int4/1001x2001/dst=2001,1@1/src=1,1001@1", "transpose", "bit-tiles-in-loops.4", false, true},
		{"copy/string/100x3/dst=3,1@0/src=4,1@0", "rows", "rows-of-strings.string", true, false},
	} {
		o, err := oracle.ParseCase(c.name)
		require.NoError(t, err)
		operand := func(l layout.Layout) device.Operand {
			_, hi, _ := l.Extent()
			var b device.Buffer
			if o.DstType == layout.String {
				b, err = dev.(device.StringAllocator).AllocStrings(hi + 1)
			} else {
				b, err = dev.Alloc((hi+1)*int64(o.DstType.Bits())/8 + 1)
			}
			require.NoError(t, err)
			return device.Operand{Buffer: b, Layout: l, Type: o.DstType}
		}
		q.plans, q.ran = plans{}, [mostRan]ran{}
		dst, src := operand(o.Dst), operand(o.Src)
		require.NoError(t, q.Copy(dst, src), c.name)
		was := q.plans
		class, kernel := q.KernelName(dst, src)
		require.Equal(t, c.class, class, c.name)
		require.Equal(t, c.kernel, kernel, c.name)
		require.Equal(t, c.plans, q.plans.latest != nil, c.name)
		require.Equal(t, was.latest, q.plans.latest, "%s: nothing is planned for a name", c.name)
		require.Equal(t, c.ran, slices.ContainsFunc(q.ran[:], func(r ran) bool { return r.kernel.mover != "" }), c.name)
	}
	class, kernel := q.KernelName(device.Operand{}, device.Operand{})
	require.Empty(t, class+kernel)
}

// TestExplainQueue: an explanation has the answers of all planners.
func TestExplainQueue(t *testing.T) {
	Force(t, simd.None)
	q := &queue{}
	explain := func(name string) []string {
		o, err := oracle.ParseCase(name)
		require.NoError(t, err)
		if o.Op == oracle.OpFill {
			o.Src, o.SrcType = o.Dst, o.DstType
		}
		e, err := q.Explain(string(o.Op), device.Operand{Layout: o.Dst, Type: o.DstType}, device.Operand{Layout: o.Src, Type: o.SrcType}, o.How)
		require.NoError(t, err)
		chosen := []string{e.Class, e.Kernel}
		for _, c := range e.Candidates {
			require.NotEqual(t, c.Chosen, c.Why != "", "%s: %v", name, c)
			if c.Chosen {
				require.Equal(t, e.Kernel, c.Kernel)
				chosen = append(chosen, c.Planner)
			}
		}
		return chosen
	}
	require.Equal(t, []string{"transpose", "tiles-in-loops.32", "tiles"}, explain("copy/float/300x500/dst=500,1@0/src=1,300@0"))
	require.Equal(t, []string{"convert", "casts.32", "conversion"}, explain("convert/float16-float/1000/dst=1@0/src=1@0"))
	require.Equal(t, []string{"fill", "elements.64", "elements"}, explain("fill/double/1000/dst=2@0"))
	require.Equal(t, []string{"dense", "nothing"}, explain("copy/float/0/dst=1@0/src=1@0"))
	_, err := q.Explain("Take", device.Operand{}, device.Operand{}, device.Rounding{})
	require.ErrorIs(t, err, device.ErrUnsupported)
}
