package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
	"github.com/restride/restride/cpu"
)

// large returns a report of all cases on some devices, with peers for each: names
// and sizes are real, figures are not.
func large(t *testing.T, devices, peers int) *bench.Report {
	entries, err := bench.List(bench.Cases(), 16<<20)
	require.NoError(t, err)
	timing := func(ns float64) bench.Timing {
		return bench.Timing{Samples: 9, Batch: 1, Median: ns, Min: ns * .9, Q1: ns * .95, Q3: ns * 1.05, Max: ns * 1.2}
	}
	rate := func(gbps float64) *bench.Rate {
		return &bench.Rate{Timing: timing(32 << 20 / gbps), Bytes: 32 << 20, GBps: gbps}
	}
	call := timing(480)
	r := bench.NewReport()
	for i := range devices {
		d := &bench.Result{
			Device: bench.Facts{ID: fmt.Sprintf("gpu:%d", i), Name: "A Device", Driver: "its driver 1.2", Kind: "gpu", Memory: 80 << 30},
			Size:   16 << 20, Clock: "device", Sector: 32, Seconds: 60,
			Roofline: &bench.Roofline{
				Copy: rate(100), Kernel: "contiguous.128", CopyAfter: rate(99), Driver: rate(110), Memcpy: rate(90), Fill: rate(70),
				Upload: rate(12), Download: rate(11), Enqueue: &call, Launch: &call, RoundTrip: &call,
			},
		}
		for n, e := range entries {
			gbps := 4 + float64((n*37+i*11)%113)
			c := &bench.CaseResult{
				Name: e.Name, Class: e.Class, Case: e.Case, Kernel: "transpose.32", Logical: e.Logical, Touched: e.Logical * 5 / 4,
				Verified: "every bit of " + e.Case + "; 32768 elements at full size",
			}
			t := timing(float64(e.Logical) / gbps)
			c.Time, c.GBps, c.Ratio, c.MemcpyRatio, c.TouchedRatio = &t, gbps, gbps/110, gbps/90, gbps/110*5/4
			d.Cases = append(d.Cases, c)
		}
		r.Devices = append(r.Devices, d)
		for n := range peers {
			p := &bench.Peer{Name: fmt.Sprintf("Library %d.0", n+1), Device: "the same device", For: d.Device.ID}
			for k, c := range d.Cases {
				theirs := &bench.PeerCase{Name: c.Name, Case: c.Case, Timing: timing(c.Time.Median * (.5 + float64((k*7+n)%40)/10))}
				if k%9 == n {
					theirs = &bench.PeerCase{Name: c.Name, Case: c.Case, Error: "no such type"}
				}
				p.Cases = append(p.Cases, theirs)
			}
			r.Peers = append(r.Peers, p)
		}
	}
	return r
}

func write(t *testing.T, r *bench.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, r))
	text := b.String()
	for _, broken := range []string{"NaN", "Inf", "%!", "<nil>", "ZgotmplZ", "<no value>"} {
		if at := strings.Index(text, broken); at >= 0 {
			t.Errorf("%s: ...%s...", broken, text[max(at-80, 0):min(at+80, len(text))])
		}
	}
	return text
}

// A page of all cases on two devices beside four peers is small, and has all of them.
func TestSize(t *testing.T) {
	r := large(t, 2, 4)
	text := write(t, r)
	assert.Less(t, len(text), 400_000)
	t.Logf("%d bytes", len(text))
	for _, d := range r.Devices {
		for _, c := range d.Cases {
			assert.Contains(t, text, ">"+c.Name+"<")
			assert.Contains(t, text, ">"+c.Case+"<")
		}
	}
	assert.Equal(t, 2*len(r.Devices[0].Cases), strings.Count(text, `<circle class="dot" cx`)-2, "and one in each legend")
}

// A real run, kept as JSON and read again.
func TestRun(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	cases := slices.DeleteFunc(bench.Cases(), func(c bench.Case) bool { return !strings.HasSuffix(c.Name, "/4") })
	result, err := bench.Run(context.Background(), dev, bench.Options{Cases: cases, Size: 32 << 10, Time: time.Nanosecond})
	require.NoError(t, err)
	report := bench.NewReport()
	report.Devices = append(report.Devices, result)
	kept, err := json.Marshal(report)
	require.NoError(t, err)
	read := new(bench.Report)
	require.NoError(t, json.Unmarshal(kept, read))

	text := write(t, read)
	assert.Equal(t, text, write(t, report), "what is kept is all that the page needs")
	for _, c := range result.Cases {
		assert.Contains(t, text, fmt.Sprintf(`<th scope="row">%s</th><td>%s</td>`, c.Name, c.Class))
		assert.Contains(t, text, ">"+number(c.Ratio, 2)+"</td>")
	}
	assert.Contains(t, text, result.Device.Name)
	assert.Contains(t, text, "memcpy by two goroutines")
	assert.NotContains(t, text, "by the driver</th>", "there is none")
}

// The machine, how it was measured, and what is not there yet.
func TestWhatIsKnown(t *testing.T) {
	r := large(t, 1, 0)
	d := r.Devices[0]
	plain := write(t, r)
	for _, word := range []string{"was interrupted", "not measured", "highest clock", "<dt>passes", "<dt>buffers", "reshaping"} {
		assert.NotContains(t, plain, word, "it is not known")
	}
	r.Unfinished = true
	r.Host = bench.Host{CPU: "A Processor", Memory: 24 << 30, Kernel: "6.1", Cache: 32 << 20, MHz: 2300, Governor: "schedutil"}
	d.Device.MHz, d.Passes, d.Cases[3].Rotated = 1980, 6, 512<<20
	d.Cases[2].Time, d.Cases[4].Time.Passes = nil, []float64{d.Cases[4].Time.Median, 1.3 * d.Cases[4].Time.Median}
	call := *d.Roofline.Launch
	call.Median = 26
	d.Roofline.ReshapeLayout, d.Roofline.ReshapeTensor = &call, d.Roofline.Launch
	text := write(t, r)
	for name, want := range map[string]string{
		"processor": "A Processor", "host memory": "24 GiB", "its kernel": "6.1", "last-level cache": "32 MiB", "its clock": "2300 MHz",
		"frequency governor": "schedutil", "highest clock": "1980 MHz", "passes": "6", "buffers": "take turns, of 512 MiB or less in all",
	} {
		assert.Contains(t, text, "<dt>"+name+"</dt><dd>"+want+"</dd>")
	}
	assert.Contains(t, text, "The run was interrupted")
	assert.Contains(t, text, "<p>1 case not measured")
	assert.Contains(t, text, "In 1 case some pass is more than 20 % from the median")
	assert.Contains(t, text, `reshaping a layout: no copy</th><td class="n">0.026</td>`)
	assert.Contains(t, text, `reshaping a tensor: no copy</th><td class="n">0.480</td>`)
	d.Cached = true
	assert.Contains(t, write(t, r), "<dt>buffers</dt><dd>the same each time: caches hold them</dd>")
}

// A device at several sizes is one device.
func TestSeveralSizes(t *testing.T) {
	r := large(t, 3, 0)
	assert.Contains(t, write(t, r), "<h1>Moving elements on 3 devices</h1>")
	r.Devices[1].Device.ID, r.Devices[1].Size = r.Devices[0].Device.ID, 1<<20
	assert.Contains(t, write(t, r), "<h1>Moving elements on 2 devices, at several sizes</h1>")
}

// hostile leaves an attribute, an element and a script, in every way that a page has.
const hostile = `'"--></style></title></textarea></svg></script><script>pwned=1</script><img src=x onerror=pwned=1>{{.}}` + "\x00\u2028"

// poison writes it into every string.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString(hostile)
	}
}

// attacked is a report whose every string is hostile.
func attacked(t *testing.T) *bench.Report {
	r := large(t, 2, 2)
	for _, d := range r.Devices {
		d.Cases = d.Cases[:3]
		d.Cases[1].Error, d.Cases[2].Error, d.Cases[2].Unsupported = "x", "x", true
	}
	poison(reflect.ValueOf(r))
	r.Peers[1].For = "nowhere"
	r.Devices[0].Cases[1].Error = hostile
	r.Devices[0].Cases[0].Error, r.Devices[1].Cases[0].Error = "", ""
	return r
}

func TestEscapes(t *testing.T) {
	text := write(t, attacked(t))
	assert.Equal(t, 1, strings.Count(text, "<script"), "ours")
	assert.Equal(t, 1, strings.Count(text, "</script"))
	assert.Equal(t, 1, strings.Count(text, "</style"))
	assert.NotContains(t, text, "<img")
	assert.NotContains(t, text, `'"--`)
	assert.Greater(t, strings.Count(text, "&lt;script&gt;pwned=1&lt;/script&gt;"), 20, "it is shown")
}

// What a report lacks is not there, and nothing else breaks.
func TestMissing(t *testing.T) {
	assert.Error(t, Write(new(bytes.Buffer), nil))
	for name, edit := range map[string]func(*bench.Report){
		"nothing":             func(r *bench.Report) { *r = bench.Report{} },
		"no devices":          func(r *bench.Report) { r.Devices = nil },
		"nulls":               func(r *bench.Report) { r.Devices[0], r.Peers[0] = nil, nil },
		"no roofline":         func(r *bench.Report) { r.Devices[0].Roofline = nil },
		"an empty roofline":   func(r *bench.Report) { r.Devices[0].Roofline = new(bench.Roofline) },
		"no cases":            func(r *bench.Report) { r.Devices[0].Cases, r.Devices[1].Cases = nil, nil },
		"a null case":         func(r *bench.Report) { r.Devices[0].Cases[0] = nil },
		"an empty case":       func(r *bench.Report) { r.Devices[0].Cases[0] = new(bench.CaseResult) },
		"an empty device":     func(r *bench.Report) { r.Devices[0] = new(bench.Result) },
		"a time of nothing":   func(r *bench.Report) { r.Devices[0].Cases[0].Time = new(bench.Timing) },
		"a peer's null":       func(r *bench.Report) { r.Peers[0].Cases[0] = nil },
		"a peer of nothing":   func(r *bench.Report) { r.Peers[0] = new(bench.Peer) },
		"no peers":            func(r *bench.Report) { r.Peers = nil },
		"names without width": func(r *bench.Report) { r.Devices[0].Cases[0].Name, r.Devices[0].Cases[1].Name = "x", "x/" },
		"only failures": func(r *bench.Report) {
			for _, c := range r.Devices[0].Cases {
				*c = bench.CaseResult{Name: c.Name, Class: c.Class, Error: "wrong"}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := large(t, 2, 2)
			edit(r)
			write(t, r)
			if len(r.Devices) > 1 {
				r.Devices = r.Devices[:1]
				write(t, r)
			}
		})
	}
}

// No number breaks a page.
func TestFigures(t *testing.T) {
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-300, 1e9} {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			var set func(reflect.Value)
			seen := 0
			set = func(x reflect.Value) {
				switch x.Kind() {
				case reflect.Pointer:
					set(x.Elem())
				case reflect.Slice:
					for i := range x.Len() {
						set(x.Index(i))
					}
				case reflect.Struct:
					for i := range x.NumField() {
						if x.Field(i).CanSet() {
							set(x.Field(i))
						}
					}
				case reflect.Float64:
					if seen++; seen%3 != 0 { // some are as they were
						x.SetFloat(v)
					}
				}
			}
			r := large(t, 2, 2)
			for _, d := range r.Devices {
				d.Cases = d.Cases[:7]
			}
			for i := range r.Devices {
				set(reflect.ValueOf(r.Devices[i]))
			}
			for i := range r.Peers {
				set(reflect.ValueOf(r.Peers[i]))
			}
			text := write(t, r)
			for _, at := range regexp.MustCompile(`c[xy]="([^"]*)"`).FindAllStringSubmatch(text, -1) {
				n, err := strconv.ParseFloat(at[1], 64)
				require.NoError(t, err)
				assert.True(t, n >= 0 && n <= panelWidth, "a dot at %v", n)
			}
			for _, at := range regexp.MustCompile(`width:([^%"]*)%`).FindAllStringSubmatch(text, -1) {
				n, err := strconv.ParseFloat(at[1], 64)
				if err == nil { // else it is the style's
					assert.True(t, n >= 0 && n <= 100, "a bar of %v", n)
				}
			}
		})
	}
}

// Rows have a cell for each column, and keys that say what their texts do; the
// lowest ratio is first, and what has none is last.
func TestTable(t *testing.T) {
	r := large(t, 1, 2)
	cases := r.Devices[0].Cases
	cases[3].Error, cases[3].Time = "it is wrong", nil
	cases[4].Error, cases[4].Unsupported, cases[4].Time = "not here", true, nil
	cases[5].Time.Q1, cases[5].Time.Q3 = cases[5].Time.Median, cases[5].Time.Median // a spread of 0 is a figure
	d := newView(r).Devices[0]
	table := d.Table
	require.Len(t, table.Rows, len(cases))

	heads := map[int]head{}
	for _, g := range table.Groups {
		if g.Head != nil {
			heads[g.Head.At] = *g.Head
		}
	}
	for _, h := range table.Heads {
		heads[h.At] = h
	}
	sorted, last := "", 0.
	for i, row := range table.Rows {
		require.Len(t, row.Cells, len(heads))
		for at, c := range row.Cells {
			h := heads[at]
			if c.Key == "" {
				continue
			}
			require.True(t, h.Number, "column %q has keys", h.Text)
			key, err := strconv.ParseFloat(c.Key, 64)
			require.NoError(t, err)
			shown, err := strconv.ParseFloat(strings.Trim(c.Text, " %×<"), 64)
			require.NoError(t, err)
			_, decimals, _ := strings.Cut(strings.Trim(c.Text, " %×<"), ".")
			half := math.Pow10(-len(decimals)) / 2
			assert.InDelta(t, key, shown, half*1.001, "%s of %s", h.Text, row.Cells[0].Text)
			if h.Sorted != "" {
				assert.Equal(t, "ratio", h.Text)
				assert.Equal(t, "ascending", h.Sorted)
				assert.GreaterOrEqual(t, key, last, "row %d", i)
				sorted, last = h.Sorted, key
			}
		}
	}
	assert.NotEmpty(t, sorted)
	end := table.Rows[len(table.Rows)-2:]
	assert.Equal(t, []string{cases[3].Name, cases[4].Name}, []string{end[0].Cells[0].Text, end[1].Cells[0].Text})
	assert.True(t, end[0].Bad)
	assert.False(t, end[1].Bad)
	require.Len(t, d.Notes, 2)
	assert.Equal(t, note{true, "1 case failed.", []string{cases[3].Name + ": it is wrong"}}, d.Notes[0])
	text := write(t, r)
	assert.Contains(t, text, "it is wrong</td>")
	assert.Contains(t, text, `data-k="0">0 %</td>`)
}

// Where marks are on the panels says what the figures are.
func TestFigure(t *testing.T) {
	r := large(t, 1, 0)
	r.Devices[0].Cases[0].Touched = r.Devices[0].Cases[0].Logical
	d := newView(r).Devices[0]
	f := d.Figure
	require.Len(t, f.Panels, len(d.Classes))
	var widths []string
	for _, x := range f.X {
		widths = append(widths, x.Text)
	}
	assert.Equal(t, []string{"2", "4", "8", "16", "32", "64", "128"}, widths)
	at := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		return v
	}
	roof := at(f.Lines[slices.IndexFunc(d.Limits, func(l limit) bool { return l.GBps == d.roof })].At)
	assert.Equal(t, px(roof), f.Parts[slices.IndexFunc(f.Parts, func(p tick) bool { return p.Text == "1" })].At)
	for i, p := range f.Panels {
		k := d.Classes[i]
		require.Len(t, p.Dots, len(k.cases))
		for n, dot := range p.Dots {
			c := k.cases[n]
			assert.Equal(t, c.gbps < d.roof, at(dot.Y) > roof, "%s lies below the roof if it is", c.Name)
			assert.Equal(t, c.Touched != c.Logical, dot.Touched != "", c.Name)
			assert.Contains(t, dot.Title, c.Name+": "+short(c.gbps)+" GB/s, "+number(c.ratio, 2)+" of the roof")
			if n > 0 && c.gbps > k.cases[n-1].gbps {
				assert.LessOrEqual(t, at(dot.Y), at(p.Dots[n-1].Y))
			}
			column := slices.Index(widths, c.width)
			slot := float64(panelWidth-left-right) / float64(len(widths))
			assert.InDelta(t, left+slot*(float64(column)+.5), at(dot.X), slot/2, c.Name)
		}
	}
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []float64
	}{
		{1.05, 21, []float64{2, 5, 10, 20}},
		{.3, 4, []float64{.5, 1, 2}},
		{90, 110, []float64{100}},
		{23, 29, nil},
		{1e-3, 1e4, []float64{1e-3, 1e-1, 1e1, 1e3}},
	} {
		assert.Equal(t, c.want, steps(c.low, c.high), "%+v", c)
	}
	assert.Less(t, len(steps(1e-99, 1e99)), 10)
}

func TestFormat(t *testing.T) {
	for v, want := range map[float64]string{0: none, -1: none, .001: "0.001", .004: "0.004", .25: "0.25", 9.876: "9.88", 12.34: "12.3", 99.96: "100", 9.996: "10.0", 2816.4: "2816", 3e9: "3e+09"} {
		assert.Equal(t, want, short(v), v)
	}
	for v, want := range map[float64]string{0: "0 %", .004: "<1 %", .126: "13 %", 1.5: "150 %", -1: none} {
		assert.Equal(t, want, spread(v), v)
	}
	for v, want := range map[int64]string{0: none, 512: "512 B", 16 << 20: "16 MiB", 80 << 30: "80 GiB", 25276514304: "23.5 GiB", math.MaxInt64: "8192 PiB"} {
		assert.Equal(t, want, binary(v), v)
	}
	assert.Equal(t, 2., median([]float64{3, 0, 1, math.NaN()}))
	assert.Zero(t, median(nil))
}

// The same device at two sizes: each part says which, and has the figures of the
// peers that are of it.
func TestSizes(t *testing.T) {
	r := large(t, 2, 1)
	r.Devices[1].Device.ID, r.Devices[1].Size = r.Devices[0].Device.ID, 64<<20
	r.Peers[1].For = r.Devices[0].Device.ID
	for i, c := range r.Devices[1].Cases {
		c.Case += "larger"
		r.Peers[1].Cases[i].Case = c.Case
	}
	r.Peers[0].Name, r.Peers[1].Name = "small", "large"
	r.Peers[0].For = "" // any
	v := newView(r)
	assert.Equal(t, "gpu:0, 16 MiB", v.Devices[0].Label)
	assert.Equal(t, "gpu:0, 64 MiB", v.Devices[1].Label)
	for i, want := range []string{"small", "large"} {
		require.Len(t, v.Devices[i].Peers, 1)
		assert.Equal(t, want, v.Devices[i].Peers[0].Name)
		assert.Contains(t, v.Devices[i].Notes[0].Text, r.Peers[1-i].Name)
	}
	assert.True(t, v.Compare.Sizes)
	write(t, r)
}

// What a device is called, which classes there are, and who is ahead.
func TestCompare(t *testing.T) {
	r := large(t, 2, 1)
	r.Devices[0].Cases[0].GBps, r.Devices[1].Cases[0].GBps = 50, 60
	r.Devices[1].Cases = slices.Delete(r.Devices[1].Cases, 1, 2)
	r.Peers[1].For = "elsewhere"
	v := newView(r)
	c := v.Compare
	require.Len(t, c.Table.Rows, len(r.Devices[0].Cases))
	assert.Equal(t, []string{"a-transpose/2", "a-transpose/4", "a-transpose/8", "a-transpose/16"}, []string{
		c.Table.Rows[0].Cells[0].Text, c.Table.Rows[1].Cells[0].Text, c.Table.Rows[2].Cells[0].Text, c.Table.Rows[3].Cells[0].Text,
	}, "widths in their order")
	first := c.Table.Rows[0].Cells
	assert.Equal(t, []string{"50.0", "", "60.0", "best"}, []string{first[2].Text, first[2].Style, first[4].Text, first[4].Style})
	assert.Equal(t, none, c.Table.Rows[1].Cells[4].Text, "not there")
	assert.Len(t, c.Classes, len(v.Devices[0].Classes))
	require.Len(t, v.Strays, 1)
	assert.Contains(t, v.Strays[0], `"elsewhere"`)

	p := v.Devices[0].Peers[0]
	all := len(r.Devices[0].Cases) // of which the peer lacks each ninth
	assert.Equal(t, fmt.Sprintf("%d of %d", all-(all+8)/9, all), p.Cases)
	ahead := 0
	for _, c := range v.Devices[0].cases {
		if c.peers[0].faster >= 1 {
			ahead++
		}
	}
	assert.Equal(t, fmt.Sprint(ahead), p.Ahead)
}
