package page

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench/report"
	"github.com/restride/restride/device/devicetest"
)

// findBrowser returns the program of a browser that can be driven.
func findBrowser() (path string, err error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no browser, as Debian's chromium: %w", err)
}

// tab is a page in a browser, and what went wrong there.
type tab struct {
	*testing.T
	ctx context.Context

	lock     sync.Mutex
	messages []string // of the console, and errors
	requests []string
}

// open starts a browser, and opens a report's page, so many pixels wide, after
// what prepare does.
func open(t *testing.T, r *report.Report, width int64, prepare ...func(*tab)) *tab {
	t.Helper()
	program, err := findBrowser()
	devicetest.Require(t, "browser", err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox) // root has none
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)

	b := &tab{T: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	b.do(chromedp.EmulateViewport(width, 844))
	for _, f := range prepare {
		f(b)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte(write(t, r)), 0o600))
	b.do(chromedp.Navigate("file://" + file))
	t.Cleanup(func() {
		b.lock.Lock()
		defer b.lock.Unlock()
		assert.Empty(t, b.messages, "the browser's console")
		for _, url := range b.requests {
			assert.True(t, url == "file://"+file || url == "data:,", "the page asked for %s", url)
		}
		assert.NotEmpty(t, b.requests, "requests are seen")
	})
	return b
}

func (b *tab) hear(event any) {
	b.lock.Lock()
	defer b.lock.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.messages = append(b.messages, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		b.messages = append(b.messages, fmt.Sprintf("%+v", e))
	case *log.EventEntryAdded:
		b.messages = append(b.messages, e.Entry.Text)
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	require.NoError(b, chromedp.Do(b.ctx, actions...))
}

// eval has the value of an expression.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b, err, expression)
	return v
}

// media is what the page is shown on: "screen" or "print", "light" or "dark".
func media(on, scheme string) func(*tab) {
	return func(b *tab) {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: on, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		require.NoError(b, err)
	}
}

// column has the texts of a column of the first device's table, of rows that show.
func (b *tab) column(at int) []string {
	return eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("#d0 .cases tbody tr")].filter(r => r.offsetHeight).map(r => r.cells[%d].textContent)`, at))
}

// keys has the same of the keys, "" where there is none.
func (b *tab) keys(at int) []string {
	return eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("#d0 .cases tbody tr")].map(r => r.cells[%d].dataset.k ?? "")`, at))
}

// tooWide names what goes beyond the edge, and lies in no box that scrolls.
const tooWide = `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll")).map(e => e.tagName + "." + e.className + " " + e.textContent.slice(0, 20))`

// The page fits what it is shown on, from a phone to a desk; its figures are drawn,
// and their marks lie within.
func TestBrowserLayout(t *testing.T) {
	for _, width := range []int64{320, 360, 768, 1280, 2000} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			b := open(t, large(t, 2, 4), width)
			assert.EqualValues(t, width, eval[int](b, `innerWidth`))
			assert.LessOrEqual(t, eval[int64](b, `document.documentElement.scrollWidth`), width, "%v", eval[[]string](b, tooWide))
			type box struct {
				Name            string
				Width, Height   float64
				Outside         []string
				Marks, Unshaped int
			}
			boxes := eval[[]box](b, `[...document.querySelectorAll(".panel svg")].map(svg => {
				const s = svg.getBoundingClientRect();
				const marks = [...svg.querySelectorAll("circle, path, text, use")];
				const out = marks.filter(mark => {
					const m = mark.getBoundingClientRect();
					return m.left < s.left - 1 || m.right > s.right + 1 || m.top < s.top - 1 || m.bottom > s.bottom + 1;
				});
				return {name: svg.getAttribute("aria-label"), width: s.width, height: s.height, outside: out.map(m => m.outerHTML),
					marks: svg.querySelectorAll(".dot").length,
					unshaped: svg.querySelector("use, g").getBoundingClientRect().width < s.width / 2 ? 1 : 0};
			})`)
			d := newView(large(t, 1, 0)).Devices[0]
			require.Len(t, boxes, 2*len(d.Classes))
			for i, box := range boxes {
				k := d.Classes[i%len(d.Classes)]
				assert.Contains(t, box.Name, k.Name)
				assert.Equal(t, len(k.cases), box.Marks, box.Name)
				assert.True(t, box.Width > 200 && box.Height > 100, "%+v", box)
				assert.Empty(t, box.Outside, "%s: marks outside", box.Name)
				assert.Zero(t, box.Unshaped, "%s has no axes", box.Name)
			}
			bars := eval[[]float64](b, `[...document.querySelectorAll("#d0 .bar > i.us")].map(i => i.getBoundingClientRect().width)`)
			require.Len(t, bars, len(d.cases))
			assert.Positive(t, slices.Min(bars))
			assert.Zero(t, eval[int](b, `[...document.querySelectorAll(".bar")].filter(x => x.getBoundingClientRect().right > innerWidth + 1).length`), "bars' texts beyond the edge")
			assert.Empty(t, eval[[]string](b, `[...document.querySelectorAll(".bar b")].filter(x => x.getBoundingClientRect().right > x.closest(".group").getBoundingClientRect().right + 1).map(x => x.textContent)`), "bars' texts beyond their group")
			assert.Empty(t, eval[[]string](b, `[...document.querySelectorAll(".group")].filter(g => g.getClientRects().length > 1).map(g => g.textContent)`), "groups that are torn")
		})
	}
}

// A click on a head sorts, so does a key, and what has no figure is last.
func TestBrowserSorts(t *testing.T) {
	r := large(t, 2, 1)
	broken := r.Devices[0].Cases[20]
	broken.Error, broken.Time = "it is wrong", nil
	b := open(t, r, 1280)
	ordered := func(at int, down bool) {
		t.Helper()
		keys := b.keys(at)
		require.Len(t, keys, len(r.Devices[0].Cases))
		end := slices.Index(keys, "")
		require.Positive(t, end)
		assert.Empty(t, strings.Join(keys[end:], ""), "those without a figure are last")
		assert.True(t, slices.IsSortedFunc(keys[:end], func(a, b string) int {
			var x, y float64
			_, errX := fmt.Sscan(a, &x)
			_, errY := fmt.Sscan(b, &y)
			require.NoError(t, cmp.Or(errX, errY))
			if down {
				x, y = y, x
			}
			return cmp.Compare(x, y)
		}), "column %d, down: %v: %v", at, down, keys)
	}
	sorted := func() string {
		return eval[string](b, `[...document.querySelectorAll("#d0 .cases th[aria-sort]")].map(h => h.textContent + " " + h.getAttribute("aria-sort")).join()`)
	}
	head := func(at int) chromedp.CSS {
		return chromedp.CSS(fmt.Sprintf(`#d0 .cases th[data-c="%d"] button`, at))
	}
	assert.Equal(t, "ratio ascending", sorted())
	ordered(5, false)

	b.do(chromedp.Click(head(4)))
	assert.Equal(t, "GB/s ascending", sorted())
	ordered(4, false)
	b.do(chromedp.KeyEvent("\r")) // the head has the focus
	assert.Equal(t, "GB/s descending", sorted())
	ordered(4, true)
	assert.Equal(t, broken.Name, b.column(0)[len(r.Devices[0].Cases)-1])

	b.do(chromedp.Click(head(9))) // a peer's
	assert.Equal(t, "faster ascending", sorted())
	ordered(9, false)

	b.do(chromedp.Click(head(0)))
	assert.Equal(t, "case ascending", sorted())
	assert.Equal(t, []string{"a-transpose/2", "a-transpose/4", "a-transpose/8", "a-transpose/16"}, b.column(0)[:4], "widths are numbers")
	assert.Equal(t, "ratio ascending", eval[string](b, `[...document.querySelectorAll("#d1 .cases th[aria-sort]")].map(h => h.textContent + " " + h.getAttribute("aria-sort")).join()`), "the other table is as it was")
}

// What is typed filters, by every word, and so does the class.
func TestBrowserFilters(t *testing.T) {
	r := large(t, 1, 1)
	b := open(t, r, 390)
	want := func(keep func(*report.CaseResult) bool) (names []string) {
		for _, c := range r.Devices[0].Cases {
			if keep(c) {
				names = append(names, c.Name)
			}
		}
		return names
	}
	status := func() string { return eval[string](b, `document.querySelector("#d0 output").value`) }
	all := len(r.Devices[0].Cases)
	assert.Equal(t, fmt.Sprintf("%d cases", all), status())

	const input, choice chromedp.CSS = "#d0 .controls input", "#d0 .controls select"
	b.do(chromedp.SendKeys(input, "HEADS 16"))
	some := want(func(c *report.CaseResult) bool {
		text := strings.ToLower(strings.Join([]string{c.Name, c.Class, c.Kernel}, " "))
		return strings.Contains(text, "heads") && strings.Contains(text, "16")
	})
	require.Greater(t, len(some), 1)
	assert.ElementsMatch(t, some, b.column(0))
	assert.Equal(t, fmt.Sprintf("%d of %d cases", len(some), all), status())

	eval[any](b, fmt.Sprintf(`document.querySelector("%s").value = ""`, input))
	b.do(chromedp.SendKeys(choice, "shuffle"))
	some = want(func(c *report.CaseResult) bool { return c.Class == "shuffle" })
	assert.ElementsMatch(t, some, b.column(0))

	b.do(chromedp.SendKeys(input, "zzz"))
	assert.Empty(t, b.column(0))
	assert.Equal(t, fmt.Sprintf("0 of %d cases", all), status())
}

// Dark where the reader's system is, and never on paper, where what only a screen
// can do is left out.
func TestBrowserMedia(t *testing.T) {
	r := large(t, 2, 2)
	// luminance of a colour, and the contrast of two, as WCAG has them.
	const contrast = `(() => {
		const rgb = (c) => c.match(/[\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
		const light = (c) => { const [r, g, b] = rgb(c); return .2126 * r + .7152 * g + .0722 * b; };
		const paper = light(getComputedStyle(document.documentElement).getPropertyValue("--paper").replace("#fff", "#ffffff").replace(/^#(..)(..)(..)$/, (_, r, g, b) => [r, g, b].map(x => parseInt(x, 16)).join(" ")));
		return [...document.querySelectorAll("p, small, td, th, figcaption, dt, dd, h1, a, .bar b")].map(e => {
			const t = light(getComputedStyle(e).color), own = getComputedStyle(e).backgroundColor;
			const ground = own.startsWith("rgb(") ? light(own) : paper;
			return (Math.max(t, ground) + .05) / (Math.min(t, ground) + .05);
		}).reduce((a, b) => Math.min(a, b));
	})()`
	const paper = `getComputedStyle(document.documentElement).getPropertyValue("--paper")`
	inks := map[string][]string{}
	for _, c := range []struct{ on, scheme, paper string }{
		{"screen", "light", "#fdfdfb"}, {"screen", "dark", "#14171b"}, {"print", "light", "#fff"}, {"print", "dark", "#fff"},
	} {
		t.Run(c.on+" "+c.scheme, func(t *testing.T) {
			b := open(t, r, 1100, media(c.on, c.scheme))
			assert.Equal(t, c.paper, eval[string](b, paper))
			assert.GreaterOrEqual(t, eval[float64](b, contrast), 4.5)
			inks[c.on+c.scheme] = eval[[]string](b, `["axis", "label", "dot", "limit"].map(name => { const s = getComputedStyle(document.querySelector(".panel ." + name)); return s.fill + s.stroke; })`)
			assert.Len(t, slices.Compact(slices.Sorted(slices.Values(inks[c.on+c.scheme]))), 4, "marks differ")
			hidden := eval[int](b, `[...document.querySelectorAll(".controls, nav, .screen")].filter(e => e.offsetHeight).length`)
			clipped := eval[int](b, `[...document.querySelectorAll(".scroll")].filter(e => e.scrollHeight > e.clientHeight + 1).length`)
			if c.on == "print" {
				assert.Zero(t, hidden, "controls")
				assert.Zero(t, clipped, "tables that go on where paper does not")
				for _, paper := range []struct {
					width    int64 // A4's, without margins, in pixels
					portrait bool
				}{{703, true}, {1032, false}} {
					b.do(chromedp.EmulateViewport(paper.width, 844))
					assert.Empty(t, eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll(".scroll")].filter(e => !e.closest(".every") === %v && e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel)`, paper.portrait)), "tables that are cut")
				}
				assert.Equal(t, "exact", eval[string](b, `getComputedStyle(document.querySelector(".bar i")).printColorAdjust`))
			} else {
				assert.Positive(t, hidden)
				assert.Positive(t, clipped)
			}
		})
	}
	for i := range inks["screenlight"] {
		assert.NotEqual(t, inks["screenlight"][i], inks["screendark"][i], "figures are dark where the page is")
		assert.Equal(t, inks["printlight"][i], inks["printdark"][i], "and not on paper")
	}
}

// A device at several sizes: the largest is open, a link opens another.
func TestBrowserSizes(t *testing.T) {
	for _, width := range []int64{360, 1280} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			b := open(t, sweep(t), width)
			assert.LessOrEqual(t, eval[int64](b, `document.documentElement.scrollWidth`), width, "%v", eval[[]string](b, tooWide))
			opened := func() []string {
				return eval[[]string](b, `[...document.querySelectorAll("details[open] h2")].map(h => h.textContent)`)
			}
			assert.Equal(t, []string{"gpu:0, 1 GiB"}, opened())
			panels := `[...document.querySelectorAll("#sizes-d0 > figure .panel svg")]`
			assert.NotZero(t, eval[int](b, panels+`.length`))
			assert.Empty(t, eval[[]string](b, panels+`.filter(svg => {
				const s = svg.getBoundingClientRect();
				return s.width < 200 || [...svg.querySelectorAll("circle, path, text, use")].some(mark => {
					const m = mark.getBoundingClientRect();
					return m.left < s.left - 1 || m.right > s.right + 1 || m.top < s.top - 1 || m.bottom > s.bottom + 1;
				});
			}).map(svg => svg.ariaLabel)`), "marks outside")
			b.do(chromedp.Click(chromedp.CSS(`nav a[href="#d1"]`)))
			assert.Equal(t, []string{"gpu:0, 256 KiB", "gpu:0, 1 GiB"}, opened())
			assert.Positive(t, eval[int](b, `document.querySelector("#d1 .cases td").offsetHeight`))
		})
	}
}

// A thousand cases of long names, and one, fit.
func TestBrowserCounts(t *testing.T) {
	for _, n := range []int{1, 1000} {
		b := open(t, many(t, n), 360)
		assert.LessOrEqual(t, eval[int64](b, `document.documentElement.scrollWidth`), int64(360), "%v", eval[[]string](b, tooWide))
		assert.Len(t, b.column(0), n)
	}
}

// Without script there is all but the controls.
func TestBrowserWithoutScript(t *testing.T) {
	r := large(t, 1, 1)
	b := open(t, r, 1280, func(b *tab) {
		_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		require.NoError(b, err)
	})
	assert.Len(t, b.column(0), len(r.Devices[0].Cases))
	assert.Zero(t, eval[int](b, `document.querySelectorAll("button").length`))
	assert.Zero(t, eval[int](b, `document.querySelector(".controls").offsetHeight`))
	assert.Equal(t, "ratio", eval[string](b, `document.querySelector("th[aria-sort]").textContent`))
}

// A report whose every string is an attack is shown, and does nothing; nor could it,
// if one were not escaped.
func TestBrowserHostile(t *testing.T) {
	r := attacked(t)
	b := open(t, r, 390)
	assert.False(t, eval[bool](b, `"pwned" in window`))
	assert.Equal(t, 1, eval[int](b, `document.scripts.length`))
	assert.Zero(t, eval[int](b, `document.querySelectorAll("img, [onerror]").length`))
	assert.Len(t, b.column(0), len(r.Devices[0].Cases))
	assert.Contains(t, eval[string](b, `document.title`), "<img src=x onerror=pwned=1>")
	assert.LessOrEqual(t, eval[int64](b, `document.documentElement.scrollWidth`), int64(390), "%v", eval[[]string](b, tooWide))
}
