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
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/report"
)

// large returns a report of all cases on some devices, with peers for each: names
// and sizes are real, figures are not.
func large(t *testing.T, devices, peers int) *report.Report {
	timing := func(ns float64) report.Timing {
		return report.Timing{Samples: 9, Batch: 1, Median: ns, Min: ns * .9, Q1: ns * .95, Q3: ns * 1.05, Max: ns * 1.2}
	}
	rate := func(gbps float64) *report.Rate {
		return &report.Rate{Timing: timing(32 << 20 / gbps), Bytes: 32 << 20, GBps: gbps}
	}
	call := timing(480)
	r := bench.NewReport()
	for i := range devices {
		d := &report.Result{
			Device: report.Facts{ID: fmt.Sprintf("gpu:%d", i), Name: "A Device", Driver: "its driver 1.2", Kind: "gpu", Memory: 80 << 30},
			Size:   16 << 20, Clock: "device", Sector: 32, Seconds: 60,
			Roofline: &report.Roofline{
				Copy: rate(100), Kernel: "contiguous.128", CopyAfter: rate(99), Driver: rate(110), Memcpy: rate(90), Fill: rate(70),
				Upload: rate(12), Download: rate(11), Enqueue: &call, Launch: &call, RoundTrip: &call,
			},
		}
		for n, e := range cases.All() {
			at, err := e.At(16 << 20)
			require.NoError(t, err)
			logical, err := cases.LogicalBytes(at)
			require.NoError(t, err)
			gbps := 4 + float64((n*37+i*11)%113)
			c := &report.CaseResult{
				Name: e.Name, Class: e.Class, Op: string(at.Op), Case: at.String(), Kernel: "transpose.32", Logical: logical, Touched: logical * 5 / 4,
				Verified: "every bit of " + at.String() + "; 32768 elements at full size",
			}
			t := timing(float64(logical) / gbps)
			c.Time, c.GBps, c.Ratio, c.MemcpyRatio, c.TouchedRatio = &t, gbps, gbps/110, gbps/90, gbps/110*5/4
			d.Cases = append(d.Cases, c)
		}
		r.Devices = append(r.Devices, d)
		for n := range peers {
			p := &report.Peer{Name: fmt.Sprintf("Library %d.0", n+1), Device: "the same device"}
			for k, c := range d.Cases {
				theirs := &report.PeerCase{Name: c.Name, Timing: timing(c.Time.Median * (.5 + float64((k*7+n)%40)/10))}
				if k%9 == n {
					theirs = &report.PeerCase{Name: c.Name, Error: "no such type", Unsupported: true}
				}
				p.Cases = append(p.Cases, theirs)
			}
			d.Peers = append(d.Peers, p)
		}
	}
	return r
}

func write(t *testing.T, r *report.Report) string {
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

// A page of all cases on two devices next to four peers is small, and has all of them.
func TestSize(t *testing.T) {
	r := large(t, 2, 4)
	text := write(t, r)
	assert.Less(t, len(text), 500_000)
	t.Logf("%d bytes", len(text))
	for _, d := range r.Devices {
		for _, c := range d.Cases {
			assert.Contains(t, text, ">"+c.Name+"<")
			assert.Contains(t, text, ">"+c.Case+"<")
		}
	}
	assert.Equal(t, 2*len(r.Devices[0].Cases), strings.Count(text, `<circle class="at" cx`), "one to point at for each case")
	assert.Equal(t, 2*len(r.Devices[0].Cases), strings.Count(text, `class="dot"`)-2, "one to see, and one in each legend")
}

// A real run, kept as JSON and read again.
func TestRun(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	some := slices.DeleteFunc(cases.All(), func(c cases.Case) bool { return !strings.HasSuffix(c.Name, "/4") })
	result, err := bench.Run(context.Background(), dev, bench.Options{Cases: some, Size: 32 << 10, Time: time.Nanosecond})
	require.NoError(t, err)
	all := bench.NewReport()
	all.Devices = append(all.Devices, result)
	kept, err := json.Marshal(all)
	require.NoError(t, err)
	read := new(report.Report)
	require.NoError(t, json.Unmarshal(kept, read))

	text := write(t, read)
	assert.Equal(t, text, write(t, all), "what is kept is all that the page needs")
	for _, c := range result.Cases {
		assert.Contains(t, text, fmt.Sprintf(`<th scope="row">%s</th><td>%s</td>`, c.Name, c.Class))
		assert.Contains(t, text, ">"+number(c.Ratio, 2)+"</td>")
	}
	assert.Contains(t, text, result.Device.Name)
	assert.Contains(t, text, "memcpy by two goroutines")
	assert.NotContains(t, text, "by the driver</th>", "there is none")
}

// The machine, the method, and missing parts.
func TestWhatIsKnown(t *testing.T) {
	r := large(t, 1, 0)
	d := r.Devices[0]
	plain := write(t, r)
	for _, word := range []string{"was interrupted", "not measured", "highest clock", "<dt>passes", "<dt>buffers", "reshaping"} {
		assert.NotContains(t, plain, word, "it is not known")
	}
	r.Unfinished = true
	r.Host = report.Host{CPU: "A Processor", Memory: 24 << 30, Kernel: "6.1", Cache: 32 << 20, MHz: 2300, Governor: "schedutil"}
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
	assert.Contains(t, text, `reshaping a layout: no copy</th><td class="n">26.0 ns</td>`)
	assert.Contains(t, text, `reshaping a tensor: no copy</th><td class="n">0.48 µs</td>`)
	d.Cached = true
	assert.Contains(t, write(t, r), "<dt>buffers</dt><dd>the same each time: caches hold them</dd>")
}

// The part of the roof that each layout reaches, and its colour.
func TestLayouts(t *testing.T) {
	r := large(t, 1, 0)
	cases := r.Devices[0].Cases
	for i, ratio := range []float64{.9, .8, .74, .246, .0045, 20} {
		cases[i].Ratio = ratio
	}
	cases[7].Error, cases[7].Time = "it is wrong", nil
	cases[8].Error, cases[8].Unsupported, cases[8].Time = "not here", true, nil
	cases[9].Time = nil
	l := newView(r).Devices[0].Layouts
	assert.Equal(t, []string{"2", "4", "8", "16", "32", "64", "128"}, l.Widths)
	require.Equal(t, "transpose", l.Classes[0].Name)
	row := l.Classes[0].Rows[0]
	assert.Equal(t, "a-transpose", row.Name)
	var steps, texts []string
	for _, c := range row.Cells {
		steps, texts = append(steps, c.Step), append(texts, c.Text)
	}
	assert.Equal(t, []string{"q5", "q4", "q3", "q2", "q1", "q5"}, steps[:6])
	assert.Equal(t, []string{"0.90", "0.80", "0.74", "0.25", "<.01", "20.0"}, texts[:6])
	assert.Contains(t, row.Cells[4].Title, ", 0.0045 of the roof")
	row = l.Classes[0].Rows[1]
	assert.Equal(t, "b-nchw-nhwc", row.Name)
	assert.Equal(t, []heat{
		{}, {}, {"fails", "b-nchw-nhwc/8: it is wrong", "bad"}, {"no", "b-nchw-nhwc/16: not here", "none"}, {none, "b-nchw-nhwc/32: no figure", "none"},
	}, row.Cells[:5])
	shown := 0
	for _, k := range l.Classes {
		for _, row := range k.Rows {
			for _, c := range row.Cells {
				if c.Text != "" {
					shown++
				}
			}
		}
	}
	assert.Equal(t, len(cases), shown)
}

// many is a report of the given number of cases, with odd names, in a few classes.
func many(t *testing.T, n int) *report.Report {
	r := large(t, 1, 0)
	d := r.Devices[0]
	all := d.Cases
	d.Cases = nil
	for i := range n {
		c := *all[i%len(all)]
		c.Name = fmt.Sprintf("layout-%d-of-a-long-name<b>&amp;/%d", i/40, i%40)
		c.Class = fmt.Sprintf("class <%d>", i%12)
		d.Cases = append(d.Cases, &c)
	}
	return r
}

// Reports with none, one and a thousand cases are pages.
func TestCounts(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		v := newView(many(t, n))
		text := write(t, many(t, n))
		assert.Equal(t, n, strings.Count(text, `<circle class="at"`))
		assert.NotContains(t, text, "<b>&amp;/")
		d := v.Devices[0]
		if n == 0 {
			assert.Nil(t, d.Figure)
			assert.Nil(t, d.Layouts)
			continue
		}
		assert.Len(t, d.Table.Rows, n)
		for _, p := range d.Figure.Panels {
			for _, dot := range p.Dots {
				x, y := coordinate(t, dot.X), coordinate(t, dot.Y)
				assert.True(t, x > 0 && x < panelWidth && y > 0 && y < panelHeight, "%s at %v, %v", dot.Title, x, y)
			}
		}
	}
}

// hostile breaks out of an attribute, an element and a script, in every way that a page allows.
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
func attacked(t *testing.T) *report.Report {
	r := large(t, 2, 2)
	for _, d := range r.Devices {
		d.Cases = d.Cases[:3]
		d.Cases[1].Error, d.Cases[2].Error, d.Cases[2].Unsupported = "x", "x", true
	}
	poison(reflect.ValueOf(r))
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

// Missing parts of a report are not shown, and break nothing else.
func TestMissing(t *testing.T) {
	assert.Error(t, Write(new(bytes.Buffer), nil))
	for name, edit := range map[string]func(*report.Report){
		"nothing":             func(r *report.Report) { *r = report.Report{} },
		"no devices":          func(r *report.Report) { r.Devices = nil },
		"nulls":               func(r *report.Report) { r.Devices[0], r.Devices[1].Peers[0] = nil, nil },
		"no roofline":         func(r *report.Report) { r.Devices[0].Roofline = nil },
		"an empty roofline":   func(r *report.Report) { r.Devices[0].Roofline = new(report.Roofline) },
		"no cases":            func(r *report.Report) { r.Devices[0].Cases, r.Devices[1].Cases = nil, nil },
		"a null case":         func(r *report.Report) { r.Devices[0].Cases[0] = nil },
		"an empty case":       func(r *report.Report) { r.Devices[0].Cases[0] = new(report.CaseResult) },
		"an empty device":     func(r *report.Report) { r.Devices[0] = new(report.Result) },
		"a time of nothing":   func(r *report.Report) { r.Devices[0].Cases[0].Time = new(report.Timing) },
		"a peer's null":       func(r *report.Report) { r.Devices[0].Peers[0].Cases[0] = nil },
		"a peer of nothing":   func(r *report.Report) { r.Devices[0].Peers[0] = new(report.Peer) },
		"no peers":            func(r *report.Report) { r.Devices[0].Peers = nil },
		"names without width": func(r *report.Report) { r.Devices[0].Cases[0].Name, r.Devices[0].Cases[1].Name = "x", "x/" },
		"only failures": func(r *report.Report) {
			for _, c := range r.Devices[0].Cases {
				*c = report.CaseResult{Name: c.Name, Class: c.Class, Error: "wrong"}
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
					if seen++; seen%3 != 0 { // some keep their values
						x.SetFloat(v)
					}
				}
			}
			r := large(t, 5, 2)
			for i, d := range r.Devices {
				d.Cases = d.Cases[:7]
				if i > 1 {
					d.Device.ID, d.Size = "gpu:1", 1<<(20+i)
				}
			}
			for i := range r.Devices {
				set(reflect.ValueOf(r.Devices[i]))
			}
			text := write(t, r)
			for _, at := range regexp.MustCompile(`c[xy]="([^"]*)"`).FindAllStringSubmatch(text, -1) {
				n, err := strconv.ParseFloat(at[1], 64)
				require.NoError(t, err)
				assert.True(t, n >= 0 && n <= panelWidth, "a dot at %v", n)
			}
			for _, at := range regexp.MustCompile(`width:([^%"]*)%`).FindAllStringSubmatch(text, -1) {
				n, err := strconv.ParseFloat(at[1], 64)
				if err == nil { // otherwise it belongs to the style
					assert.True(t, n >= 0 && n <= 100, "a bar of %v", n)
				}
			}
		})
	}
}

// Rows have a cell for each column, and keys that match their texts; the lowest ratio is first,
// and missing ones are last.
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

// The names of devices, the classes, and the leader.
func TestCompare(t *testing.T) {
	r := large(t, 2, 1)
	r.Devices[0].Cases[0].GBps, r.Devices[1].Cases[0].GBps = 50, 60
	r.Devices[1].Cases = slices.Delete(r.Devices[1].Cases, 1, 2)
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

	p := v.Devices[0].Peers[0]
	all := len(r.Devices[0].Cases) // the peer lacks each ninth
	assert.Equal(t, fmt.Sprintf("%d of %d", all-(all+8)/9, all), p.Cases)
	ahead := 0
	for _, c := range v.Devices[0].cases {
		if c.peers[0].faster >= 1 {
			ahead++
		}
	}
	assert.Equal(t, fmt.Sprint(ahead), p.Ahead)
}

// The machine's readings are facts of the device, and a note where they matter.
func TestReadings(t *testing.T) {
	r := large(t, 1, 0)
	steal, calm := .12, .01
	r.Devices[0].Readings = []report.Reading{
		{MHz: 1980, HeldBack: []string{}, Steal: &calm, Others: &calm},
		{MHz: 1755, HeldBack: []string{"<power> cap"}, Steal: &steal, Others: &calm},
	}
	d := newView(r).Devices[0]
	assert.Subset(t, d.Facts, []fact{
		{"clock", "1755 to 1980 MHz"}, {"taken by other guests", "1 to 12 % of the processors' time"},
		{"taken by other processes", "1 % of the processors' time"}, {"held back", "in 1 of 2 passes (<power> cap)"},
	})
	require.Len(t, d.Notes, 2)
	var out bytes.Buffer
	require.NoError(t, Write(&out, r))
	for _, text := range []string{"<dd>1755 to 1980 MHz</dd>", "held back in 1 of 2 passes (&lt;power&gt; cap): it may be faster", "Other guests of the machine took 1 to 12 %"} {
		assert.Contains(t, out.String(), text)
	}

	r.Devices[0].Readings = []report.Reading{{MHz: 1980, HeldBack: []string{}, Steal: &calm}}
	d = newView(r).Devices[0]
	assert.Contains(t, d.Facts, fact{"held back", "never"})
	assert.Empty(t, d.Notes)
}
