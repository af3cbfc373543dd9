package page

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/bench/report"
)

// findBrowser returns the program of a browser that prints a page's document.
func findBrowser() (path string, err error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no browser, as Debian's chromium: %w", err)
}

// frame is a page in the browser, with a check of its content.
type frame struct {
	name   string
	report *report.Report
	width  int  // in pixels
	dark   bool // the reader's preference
	still  bool // scripts do not run
	script string
	check  func(t *testing.T, found func(into any)) // of the script's result
}

// harness loads the frames one after the other, each at its width, runs its script with its
// window and document, and writes all results as JSON. Scripts may use the functions above
// them.
const harness = `<!doctype html><meta charset="utf-8"><title>harness</title><body><script>
const all = (d, css) => [...d.querySelectorAll(css)];
const box = (e) => e.getBoundingClientRect();
const texts = (list) => list.map(e => e.textContent);
const shown = (d) => all(d, "#d0 .cases tbody tr").filter(r => r.offsetHeight);
const column = (d, at) => texts(shown(d).map(r => r.cells[at]));
const tooWide = (w, d) => all(d, "body *").filter(e => box(e).right > w.innerWidth + 1 && !e.closest(".scroll")).map(e => e.tagName + "." + e.className + " " + e.textContent.slice(0, 20));
const outside = (svg) => all(svg, "circle, path, text, use").filter(mark => {
	const s = box(svg), m = box(mark);
	return m.left < s.left - 1 || m.right > s.right + 1 || m.top < s.top - 1 || m.bottom > s.bottom + 1;
}).map(mark => mark.outerHTML);
// print displays the page as on paper: its rules for paper apply, and those for screens do not.
const print = (d) => {
	for (const sheet of d.styleSheets) for (const rule of sheet.cssRules) {
		const media = rule.media?.mediaText;
		if (media === "print") rule.media.mediaText = "all";
		else if (media?.startsWith("screen")) rule.media.mediaText = "not all";
	}
};
const frames = [%s];
addEventListener("load", async () => {
	const found = [];
	for (const [i, f] of frames.entries()) {
		const e = document.createElement("iframe");
		e.style = "height:844px;border:0;width:" + f.width + "px;color-scheme:" + (f.dark ? "dark" : "light");
		if (f.still) e.sandbox = "allow-same-origin";
		e.src = i + ".html";
		document.body.append(e);
		await new Promise(loaded => e.onload = loaded);
		const w = e.contentWindow, d = e.contentDocument;
		try {
			const value = await f.script(w, d, e);
			found.push({value, requests: w.performance.getEntriesByType("resource").map(r => r.name), tooWide: tooWide(w, d), width: w.innerWidth, scrollWidth: d.documentElement.scrollWidth});
		} catch (error) {
			found.push({error: String(error)});
		}
		e.remove();
	}
	const out = document.createElement("pre");
	out.textContent = JSON.stringify(found);
	document.body.append(out);
	console.log("the harness is done");
});
</script>`

// TestBrowser shows all frames in one browser: they fit its width, load nothing, and write
// nothing to its console.
func TestBrowser(t *testing.T) {
	program, err := findBrowser()
	devicetest.Require(t, "browser", err)
	frames := slices.Concat(layoutFrames(t), []frame{sorts(t), filters(t)}, mediaFrames(t), sizeFrames(t), countFrames(t), []frame{withoutScript(t), attackedFrame(t)})
	dir := t.TempDir()
	var scripts []string
	for i, f := range frames {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".html")), []byte(write(t, f.report)), 0o600))
		scripts = append(scripts, fmt.Sprintf("{width: %d, dark: %v, still: %v, script: async (w, d, frame) => {\n%s\n}}", f.width, f.dark, f.still, f.script))
	}
	file := filepath.Join(dir, "harness.html")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, harness, strings.Join(scripts, ",\n")), 0o600))

	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox" /* root has none */, "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--allow-file-access-from-files", "--virtual-time-budget=600000", "--enable-logging=stderr", "--dump-dom", "file://"+file)
	var said strings.Builder
	cmd.Stderr, cmd.WaitDelay = &said, time.Second
	dom, err := cmd.Output()
	require.NoError(t, err, said.String())
	var console []string
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, ":CONSOLE") && !strings.Contains(line, "Blocked script execution") { // of the frame without script
			console = append(console, line)
		}
	}
	if assert.Len(t, console, 1, "the browser's console") {
		assert.Contains(t, console[0], "the harness is done")
	}
	_, text, _ := strings.Cut(string(dom), "<pre>")
	text, _, ok := strings.Cut(text, "</pre>")
	require.True(t, ok, "%s\n%s", dom, said.String())
	var found []struct {
		Value              json.RawMessage
		Error              string
		Requests, TooWide  []string
		Width, ScrollWidth int
	}
	require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(text)), &found))
	require.Len(t, found, len(frames))
	for i, f := range frames {
		t.Run(f.name, func(t *testing.T) {
			require.Empty(t, found[i].Error)
			assert.Empty(t, found[i].Requests)
			assert.Equal(t, f.width, found[i].Width)
			assert.LessOrEqual(t, found[i].ScrollWidth, f.width, "%v", found[i].TooWide)
			f.check(t, func(into any) { require.NoError(t, json.Unmarshal(found[i].Value, into)) })
		})
	}
}

// The page fits its display, from a phone to a desktop; its figures are drawn, and their marks
// lie within.
func layoutFrames(t *testing.T) (all []frame) {
	classes := newView(large(t, 1, 0)).Devices[0].Classes
	for _, width := range []int{320, 360, 768, 1280, 2000} {
		all = append(all, frame{name: fmt.Sprint("layout ", width), report: large(t, 2, 4), width: width, script: `
			const boxes = all(d, ".panel svg").map(svg => ({
				name: svg.getAttribute("aria-label"), width: box(svg).width, height: box(svg).height, outside: outside(svg),
				marks: all(svg, ".dot").length, unshaped: box(svg.querySelector("use, g")).width < box(svg).width / 2,
			}));
			return {
				boxes, bars: all(d, "#d0 .bar > i.us").map(i => box(i).width),
				beyondEdge: texts(all(d, ".bar").filter(x => box(x).right > w.innerWidth + 1)),
				beyondGroup: texts(all(d, ".bar b").filter(x => box(x).right > box(x.closest(".group")).right + 1)),
				torn: texts(all(d, ".group").filter(g => g.getClientRects().length > 1)),
			};`, check: func(t *testing.T, found func(any)) {
			var x struct {
				Boxes []struct {
					Name          string
					Width, Height float64
					Outside       []string
					Marks         int
					Unshaped      bool
				}
				Bars                          []float64
				BeyondEdge, BeyondGroup, Torn []string
			}
			found(&x)
			require.Len(t, x.Boxes, 2*len(classes))
			cases := 0
			for i, box := range x.Boxes {
				k := classes[i%len(classes)]
				cases += len(k.cases)
				assert.Contains(t, box.Name, k.Name)
				assert.Equal(t, len(k.cases), box.Marks, box.Name)
				assert.True(t, box.Width > 200 && box.Height > 100, "%+v", box)
				assert.Empty(t, box.Outside, "%s: marks outside", box.Name)
				assert.False(t, box.Unshaped, "%s has no axes", box.Name)
			}
			require.Len(t, x.Bars, cases/2)
			assert.Positive(t, slices.Min(x.Bars))
			assert.Empty(t, x.BeyondEdge, "bars")
			assert.Empty(t, x.BeyondGroup, "bars' texts")
			assert.Empty(t, x.Torn, "groups")
		}})
	}
	return all
}

// A click on a head sorts, with rows without a figure last. Heads are buttons, so that keys
// click them.
func sorts(t *testing.T) frame {
	r := large(t, 2, 1)
	broken := r.Devices[0].Cases[20]
	broken.Error, broken.Time = "it is wrong", nil
	return frame{name: "sorts", report: r, width: 1280, script: `
		const sorted = (id) => all(d, id + " .cases th[aria-sort]").map(h => h.textContent + " " + h.getAttribute("aria-sort")).join();
		const steps = [];
		for (const at of [null, 4, 4, 9, 0]) { // 9 is a peer's
			let focused = true;
			if (at !== null) {
				const button = d.querySelector('#d0 .cases th[data-c="' + at + '"] button');
				button.focus();
				focused = d.activeElement === button && button.tagName === "BUTTON";
				button.click();
			}
			steps.push({sorted: sorted("#d0"), other: sorted("#d1"), focused, names: column(d, 0), keys: all(d, "#d0 .cases tbody tr").map(r => r.cells[at ?? 5].dataset.k ?? "")});
		}
		return steps;`, check: func(t *testing.T, found func(any)) {
		var steps []struct {
			Sorted, Other string
			Focused       bool
			Names, Keys   []string
		}
		found(&steps)
		require.Len(t, steps, 5)
		for i, want := range []string{"ratio ascending", "GB/s ascending", "GB/s descending", "faster ascending", "case ascending"} {
			step := steps[i]
			assert.Equal(t, want, step.Sorted)
			assert.Equal(t, "ratio ascending", step.Other, "the other table is as it was")
			assert.True(t, step.Focused)
			if i == 4 {
				assert.Equal(t, []string{"a-transpose/2", "a-transpose/4", "a-transpose/8", "a-transpose/16"}, step.Names[:4], "widths are numbers")
				continue
			}
			require.Len(t, step.Keys, len(r.Devices[0].Cases))
			end := slices.Index(step.Keys, "")
			require.Positive(t, end)
			assert.Empty(t, strings.Join(step.Keys[end:], ""), "those without a figure are last")
			assert.True(t, slices.IsSortedFunc(step.Keys[:end], func(a, b string) int {
				var x, y float64
				_, errX := fmt.Sscan(a, &x)
				_, errY := fmt.Sscan(b, &y)
				require.NoError(t, cmp.Or(errX, errY))
				if strings.HasSuffix(want, "descending") {
					x, y = y, x
				}
				return cmp.Compare(x, y)
			}), "%s: %v", want, step.Keys)
		}
		assert.Equal(t, broken.Name, steps[2].Names[len(r.Devices[0].Cases)-1])
	}}
}

// Typed words filter, all of them, and so does the class.
func filters(t *testing.T) frame {
	r := large(t, 1, 1)
	want := func(keep func(*report.CaseResult) bool) (names []string) {
		for _, c := range r.Devices[0].Cases {
			if keep(c) {
				names = append(names, c.Name)
			}
		}
		return names
	}
	return frame{name: "filters", report: r, width: 390, script: `
		const steps = [];
		const step = () => steps.push({status: d.querySelector("#d0 output").value, names: column(d, 0)});
		const [input, choice] = ["input", "select"].map(n => d.querySelector("#d0 .controls " + n));
		const type = (text) => { input.value = text; input.dispatchEvent(new w.Event("input")); step(); };
		step();
		type("HEADS 16");
		input.value = "";
		choice.value = "shuffle";
		choice.dispatchEvent(new w.Event("change"));
		step();
		type("zzz");
		return steps;`, check: func(t *testing.T, found func(any)) {
		var steps []struct {
			Status string
			Names  []string
		}
		found(&steps)
		require.Len(t, steps, 4)
		all := len(r.Devices[0].Cases)
		assert.Equal(t, fmt.Sprintf("%d cases", all), steps[0].Status)
		some := want(func(c *report.CaseResult) bool {
			text := strings.ToLower(strings.Join([]string{c.Name, c.Class, c.Kernel}, " "))
			return strings.Contains(text, "heads") && strings.Contains(text, "16")
		})
		require.Greater(t, len(some), 1)
		assert.ElementsMatch(t, some, steps[1].Names)
		assert.Equal(t, fmt.Sprintf("%d of %d cases", len(some), all), steps[1].Status)
		assert.ElementsMatch(t, want(func(c *report.CaseResult) bool { return c.Class == "shuffle" }), steps[2].Names)
		assert.Empty(t, steps[3].Names)
		assert.Equal(t, fmt.Sprintf("0 of %d cases", all), steps[3].Status)
	}}
}

// The page is dark where the reader's system is, but never on paper, which also omits the
// controls of screens.
func mediaFrames(t *testing.T) (all []frame) {
	r := large(t, 2, 2)
	inks := map[string][]string{}
	for _, c := range []struct {
		name, prepare, paper string
		dark                 bool
	}{{"light screen", "", "#fdfdfb", false}, {"dark screen", "", "#14171b", true}, {"light print", "print(d);", "#fff", false}, {"dark print", "print(d);", "#fff", true}} {
		all = append(all, frame{name: c.name, report: r, width: 1100, dark: c.dark, script: c.prepare + `
			const style = (e) => w.getComputedStyle(e), paper = style(d.documentElement).getPropertyValue("--paper");
			// luminance of a colour, and the contrast of two, as WCAG defines them.
			const rgb = (c) => c.match(/[\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
			const light = (c) => { const [r, g, b] = rgb(c); return .2126 * r + .7152 * g + .0722 * b; };
			const below = light(paper.replace("#fff", "#ffffff").replace(/^#(..)(..)(..)$/, (_, r, g, b) => [r, g, b].map(x => parseInt(x, 16)).join(" ")));
			const contrast = all(d, "p, small, td, th, figcaption, dt, dd, h1, a, .bar b").map(e => {
				const t = light(style(e).color), own = style(e).backgroundColor;
				const ground = own.startsWith("rgb(") ? light(own) : below;
				return (Math.max(t, ground) + .05) / (Math.min(t, ground) + .05);
			}).reduce((a, b) => Math.min(a, b));
			const inks = ["axis", "label", "dot", "limit"].map(name => { const s = style(d.querySelector(".panel ." + name)); return s.fill + s.stroke; });
			const hidden = all(d, ".controls, nav, .screen").filter(e => e.offsetHeight).length;
			const clipped = all(d, ".scroll").filter(e => e.scrollHeight > e.clientHeight + 1).length;
			const cut = [];
			for (const [width, portrait] of [[703, true], [1032, false]]) { // A4's, without margins, in pixels
				frame.style.width = width + "px";
				cut.push(...all(d, ".scroll").filter(e => !e.closest(".every") === portrait && e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel));
			}
			frame.style.width = "1100px";
			return {paper, contrast, inks, hidden, clipped, cut, adjust: style(d.querySelector(".bar i")).printColorAdjust};`,
			check: func(t *testing.T, found func(any)) {
				var x struct {
					Paper, Adjust   string
					Contrast        float64
					Inks, Cut       []string
					Hidden, Clipped int
				}
				found(&x)
				assert.Equal(t, c.paper, x.Paper)
				assert.GreaterOrEqual(t, x.Contrast, 4.5)
				assert.Len(t, slices.Compact(slices.Sorted(slices.Values(x.Inks))), 4, "marks differ")
				if c.prepare == "" {
					assert.Positive(t, x.Hidden)
					assert.Positive(t, x.Clipped)
				} else {
					assert.Zero(t, x.Hidden, "controls")
					assert.Zero(t, x.Clipped, "tables that go on where paper does not")
					assert.Empty(t, x.Cut, "tables that are cut")
					assert.Equal(t, "exact", x.Adjust)
				}
				inks[c.name] = x.Inks
				if c.name != "dark print" { // the last
					return
				}
				for i := range inks["light screen"] {
					assert.NotEqual(t, inks["light screen"][i], inks["dark screen"][i], "figures are dark where the page is")
					assert.Equal(t, inks["light print"][i], inks["dark print"][i], "and not on paper")
				}
			}})
	}
	return all
}

// A device at several sizes: the largest is open, a link opens another.
func sizeFrames(t *testing.T) (all []frame) {
	for _, width := range []int{360, 1280} {
		all = append(all, frame{name: fmt.Sprint("sizes ", width), report: sweep(t), width: width, script: `
			const opened = () => texts(all(d, "details[open] h2"));
			const panels = all(d, "#sizes-d0 > figure .panel svg"), before = opened();
			const wrong = panels.filter(svg => box(svg).width < 200 || outside(svg).length > 0).map(svg => svg.ariaLabel);
			d.querySelector('nav a[href="#d1"]').click();
			await new Promise(later => setTimeout(later, 100));
			return {panels: panels.length, wrong, before, after: opened(), height: d.querySelector("#d1 .cases td").offsetHeight};`,
			check: func(t *testing.T, found func(any)) {
				var x struct {
					Panels               int
					Wrong, Before, After []string
					Height               float64
				}
				found(&x)
				assert.Equal(t, []string{"gpu:0, 1 GiB"}, x.Before)
				assert.NotZero(t, x.Panels)
				assert.Empty(t, x.Wrong, "marks outside")
				assert.Equal(t, []string{"gpu:0, 256 KiB", "gpu:0, 1 GiB"}, x.After)
				assert.Positive(t, x.Height)
			}})
	}
	return all
}

// A thousand cases of long names, and one, fit.
func countFrames(t *testing.T) (all []frame) {
	for _, n := range []int{1, 1000} {
		all = append(all, frame{name: fmt.Sprint(n, " cases"), report: many(t, n), width: 360, script: `return shown(d).length;`, check: func(t *testing.T, found func(any)) {
			var rows int
			found(&rows)
			assert.Equal(t, n, rows)
		}})
	}
	return all
}

// Without script the page has everything but the controls.
func withoutScript(t *testing.T) frame {
	r := large(t, 1, 1)
	return frame{name: "without script", report: r, width: 1280, still: true, script: `
		return {rows: shown(d).length, buttons: all(d, "button").length, controls: d.querySelector(".controls").offsetHeight, sorted: d.querySelector("th[aria-sort]").textContent};`,
		check: func(t *testing.T, found func(any)) {
			var x struct {
				Rows, Buttons, Controls int
				Sorted                  string
			}
			found(&x)
			assert.Len(t, r.Devices[0].Cases, x.Rows)
			assert.Zero(t, x.Buttons)
			assert.Zero(t, x.Controls)
			assert.Equal(t, "ratio", x.Sorted)
		}}
}

// A report whose every string is an attack is shown without effect; even an unescaped string
// would have none.
func attackedFrame(t *testing.T) frame {
	r := attacked(t)
	return frame{name: "hostile", report: r, width: 390, script: `
		return {pwned: "pwned" in w, scripts: d.scripts.length, images: all(d, "img, [onerror]").length, rows: shown(d).length, title: d.title};`,
		check: func(t *testing.T, found func(any)) {
			var x struct {
				Pwned                 bool
				Scripts, Images, Rows int
				Title                 string
			}
			found(&x)
			assert.False(t, x.Pwned)
			assert.Equal(t, 1, x.Scripts)
			assert.Zero(t, x.Images)
			assert.Len(t, r.Devices[0].Cases, x.Rows)
			assert.Contains(t, x.Title, "<img src=x onerror=pwned=1>")
		}}
}
