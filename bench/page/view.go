package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/restride/restride/bench"
)

// view is a report as the page shows it.
type view struct {
	Title      string
	Where      string // as "2 devices"
	Unfinished bool   // the run was interrupted
	Facts      []fact
	Devices    []*deviceView
	Compare    *comparison // nil: fewer than two devices
}

// fact is a line of what is known. Those without text are left out.
type fact struct{ Name, Text string }

func facts(all ...fact) []fact {
	return slices.DeleteFunc(all, func(f fact) bool { return f.Text == "" || f.Text == none })
}

// note is something that a reader has to know.
type note struct {
	Bad   bool
	Text  string
	Items []string
}

func newView(r *bench.Report) *view {
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
	v.Title = strings.Join(append([]string{"Restride bench"}, strings.Join(labels, ", ")), ": ")
	if len(labels) == 0 {
		v.Title = "Restride bench"
	}
	v.Where = count(len(named), "device")
	if len(v.Devices) > len(named) {
		v.Where += ", at several sizes"
	}
	if len(v.Devices) > 1 {
		v.Compare = compare(v.Devices)
	}
	return v
}

// label names the devices, by their size where one is there at several.
func label(devices []*bench.Result) []string {
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

func date(r *bench.Report) string {
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
