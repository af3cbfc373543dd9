package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/restride/restride/internal/bench/report"
)

// view is the template's data.
type view struct {
	Title      string
	Heading    string
	Unfinished bool // the run was interrupted
	Facts      []fact
	Devices    []*deviceView // each at every size
	Groups     []*sized      // the same, by device
	Chiefs     []*deviceView // in the page's head
	Compare    *comparison   // nil: fewer than two chiefs
}

// fact is a known property. Facts without text are omitted.
type fact struct{ Name, Text string }

func facts(all ...fact) []fact {
	return slices.DeleteFunc(all, func(f fact) bool { return f.Text == "" || f.Text == none })
}

// note is a warning to readers.
type note struct {
	Bad   bool
	Text  string
	Items []string
}

func newView(r *report.Report) *view {
	v := &view{Unfinished: r.Unfinished, Facts: facts(
		fact{"measured", date(r)},
		fact{"version", r.Version},
		fact{"Go", r.Go},
		fact{"system", r.System},
		fact{"its kernel", r.Host.Kernel},
		fact{"processor", r.Host.CPU},
		fact{"cores", positive(r.CPUs)},
		fact{"its clock", megahertz(r.Host.MHz)},
		fact{"frequency governor", r.Host.Governor},
		fact{"last-level cache", binary(r.Host.Cache)},
		fact{"host memory", binary(r.Host.Memory)},
	)}
	named := map[string]bool{}
	labels := label(r.Devices)
	for i, of := range r.Devices {
		if of != nil {
			named[of.Device.ID] = true
			v.Devices = append(v.Devices, newDevice(fmt.Sprintf("d%d", i), labels[len(v.Devices)], of))
		}
	}
	v.Groups = bySize(v.Devices)
	for _, g := range v.Groups {
		if g.Sizes != nil {
			v.Chiefs = append(v.Chiefs, g.Chief())
		} else {
			v.Chiefs = append(v.Chiefs, g.Devices...)
		}
	}
	var names []string
	for _, g := range v.Groups {
		names = append(names, g.Label)
	}
	v.Title, v.Heading = "Restride bench", v.heading()
	if len(names) > 0 {
		v.Title += ": " + strings.Join(names, ", ")
	}
	if len(v.Chiefs) > 1 {
		v.Compare = compare(v.Chiefs)
	}
	return v
}

func (v *view) heading() string {
	if len(v.Groups) == 0 {
		return "A report without devices"
	}
	text := "Moving elements on " + count(len(v.Groups), "device")
	if g := v.Groups[0]; len(v.Groups) == 1 {
		text = "Moving elements on " + cmp.Or(g.Name, g.Label)
	}
	if len(v.Devices) > len(v.Groups) {
		text += ", at several sizes"
	}
	return text
}

// label names the devices, with the size where one has several.
func label(devices []*report.Result) []string {
	often, seen := map[string]int{}, map[string]int{}
	for _, d := range devices {
		if d != nil {
			often[d.Device.ID]++
		}
	}
	var labels []string
	for _, d := range devices {
		if d == nil {
			continue
		}
		text := cmp.Or(d.Device.ID, "device")
		if often[d.Device.ID] > 1 {
			text += ", " + binary(d.Size)
		}
		if seen[text]++; seen[text] > 1 {
			text = fmt.Sprintf("%s (%d)", text, seen[text])
		}
		labels = append(labels, text)
	}
	return labels
}

func date(r *report.Report) string {
	if r.Date.IsZero() {
		return ""
	}
	return r.Date.UTC().Format("2006-01-02 15:04 UTC")
}

func megahertz(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%d MHz", n)
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}
