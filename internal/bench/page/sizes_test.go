package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/bench/report"
)

// A device at several sizes is one device.
func TestSeveralSizes(t *testing.T) {
	r := large(t, 3, 0)
	assert.Contains(t, write(t, r), "<h1>Moving elements on 3 devices</h1>")
	r.Devices[1].Device.ID, r.Devices[1].Size = r.Devices[0].Device.ID, 1<<20
	text := write(t, r)
	assert.Contains(t, text, "<h1>Moving elements on 2 devices, at several sizes</h1>")
	assert.NotContains(t, text, "<details", "two sizes are no line")
}

// sweep is a device at some sizes, in no order, whose speed is proportional to size, next to
// another at one size.
func sweep(t *testing.T) *report.Report {
	r := large(t, 6, 0)
	for i, size := range []int64{16 << 20, 256 << 10, 1 << 30, 1 << 20, 64 << 20} {
		d := r.Devices[i]
		d.Device.ID, d.Size = "gpu:0", size
		c := d.Roofline.Copy
		c.GBps = float64(size >> 15)
		c.Median = float64(c.Bytes) / c.GBps
		for _, c := range d.Cases {
			c.GBps = float64(size >> 16)
		}
	}
	return r
}

// From three sizes on there is a figure of them, and one of them is open.
func TestBySize(t *testing.T) {
	r := sweep(t)
	r.Devices[1].Roofline.Memcpy = nil
	v := newView(r)
	require.Len(t, v.Groups, 2)
	assert.Equal(t, "Moving elements on 2 devices, at several sizes", v.Heading)
	assert.Nil(t, v.Groups[1].Sizes)
	s := v.Groups[0].Sizes
	assert.Equal(t, []string{"256 KiB", "1 MiB", "16 MiB", "64 MiB", "1 GiB"}, s.Heads)
	rows := map[string][]string{}
	for _, row := range s.Rows {
		rows[row.Name] = row.Cells
	}
	assert.Equal(t, []string{"8.00", "32.0", "512", "2048", "32768"}, rows["dense copy by our kernel"])
	assert.Equal(t, []string{none, "90.0", "90.0", "90.0", "90.0"}, rows["memcpy by two goroutines"])
	assert.Equal(t, []string{"4.00", "16.0", "256", "1024", "16384"}, rows["transpose, median"])
	require.Len(t, s.Figure.Panels, len(v.Devices[0].Classes))
	lines := map[string]int{}
	for _, mark := range shapes(t, s.Figure.Axes) {
		lines[mark.class]++
	}
	assert.Equal(t, len(s.Figure.Panels), lines["others"])
	assert.Equal(t, 1, lines["limit l0"])
	for _, p := range s.Figure.Panels {
		assert.Equal(t, "4.00 GB/s at 256 KiB, 16384 GB/s at 1 GiB", p.About)
		require.Len(t, p.Dots, 5)
		for i, dot := range p.Dots[1:] { // ever larger, and as fast: from left to right, upwards
			assert.Greater(t, coordinate(t, dot.X), coordinate(t, p.Dots[i].X))
			assert.Less(t, coordinate(t, dot.Y), coordinate(t, p.Dots[i].Y))
		}
		assert.Equal(t, p.Name+" at 1 MiB: 16.0 GB/s", p.Dots[1].Title)
	}
	var open []string
	for _, c := range v.Chiefs {
		open = append(open, c.Label)
	}
	assert.Equal(t, []string{"gpu:0, 1 GiB", "gpu:5"}, open)
	text := write(t, r)
	assert.Equal(t, 5, strings.Count(text, "<details"))
	assert.Equal(t, 1, strings.Count(text, "<details open"))

	for name, edit := range map[string]func(*report.Result){
		"no cases":    func(d *report.Result) { d.Cases = nil },
		"no roofline": func(d *report.Result) { d.Roofline = nil },
		"nothing":     func(d *report.Result) { d.Cases, d.Roofline = nil, nil },
		"no size":     func(d *report.Result) { d.Size = -1 },
		"one size":    func(d *report.Result) { d.Size = 4096 },
	} {
		t.Run(name, func(t *testing.T) {
			r := sweep(t)
			for i := range 5 {
				edit(r.Devices[i])
				write(t, r)
			}
		})
	}
}

// Where buffers begin to rotate, lines break, and the page says why.
func TestBreak(t *testing.T) {
	r := sweep(t)
	lines := func() (limits, others int, curves []int) {
		f := newView(r).Groups[0].Sizes.Figure
		for _, mark := range shapes(t, f.Axes) {
			switch mark.class {
			case "limit l0":
				limits++
			case "others":
				others++
			}
		}
		for _, p := range f.Panels {
			n := 0
			for _, mark := range shapes(t, p.Marks) {
				if mark.class == "curve" {
					n++
				}
			}
			curves = append(curves, n)
			assert.Len(t, p.Dots, 5)
		}
		return limits, others, curves
	}
	limits, others, curves := lines()
	assert.Equal(t, 1, limits)
	for _, n := range curves {
		assert.Equal(t, 1, n)
	}
	text := write(t, r)
	assert.Contains(t, text, "From 256 KiB on so many buffers take turns")
	assert.NotContains(t, text, "Lines break")

	r.Devices[1].Cached = true // the smallest
	limits, twice, curves := lines()
	assert.Equal(t, 2, limits)
	assert.Equal(t, 2*others, twice)
	for _, n := range curves {
		assert.Equal(t, 2, n)
	}
	text = write(t, r)
	assert.Contains(t, text, "Up to 256 KiB all calls use the same pair of buffers")
	assert.Contains(t, text, "From 1 MiB on so many buffers take turns")
	assert.Contains(t, text, "Lines break in between")
}

// The same device at two sizes: each part names its size, and has the peers' figures for it.
func TestSizes(t *testing.T) {
	r := large(t, 2, 1)
	r.Devices[1].Device.ID, r.Devices[1].Size = r.Devices[0].Device.ID, 64<<20
	for _, c := range r.Devices[1].Cases {
		c.Case += "larger"
	}
	r.Devices[0].Peers[0].Name, r.Devices[1].Peers[0].Name = "small", "large"
	v := newView(r)
	assert.Equal(t, "gpu:0, 16 MiB", v.Devices[0].Label)
	assert.Equal(t, "gpu:0, 64 MiB", v.Devices[1].Label)
	for i, want := range []string{"small", "large"} {
		require.Len(t, v.Devices[i].Peers, 1)
		assert.Equal(t, want, v.Devices[i].Peers[0].Name)
	}
	assert.True(t, v.Compare.Sizes)
	write(t, r)
}
