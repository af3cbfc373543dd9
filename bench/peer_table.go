package bench

import (
	"fmt"
	"math"
)

// The columns of a table that have the peers' figures: one each, and how much
// faster we are than the fastest of them.

func (t *Table) peersHead() {
	for _, p := range t.Peers {
		fmt.Fprintf(t.W, "  %*s", p.column(), p.Short())
	}
	if len(t.Peers) > 0 {
		fmt.Fprintf(t.W, "  %6s", "faster")
	}
}

func (t *Table) peersLine(c *CaseResult) {
	why := ""
	for _, p := range t.Peers {
		figure := "-"
		if ns, not := p.Find(c); not == "" {
			figure = fmt.Sprintf("%.2f", float64(c.Logical)/ns)
		} else {
			why = not
		}
		fmt.Fprintf(t.W, "  %*s", p.column(), figure)
	}
	if best := Fastest(t.Peers, c); !math.IsInf(best, 1) {
		fmt.Fprintf(t.W, "  %5.2fx", best/c.Time.Median)
	} else if why != "" {
		fmt.Fprintf(t.W, "  %s", why)
	}
}

func (t *Table) peersClose() {
	for _, p := range t.Peers {
		fmt.Fprintf(t.W, "%s: %s on %s, GB/s of the same bytes\n", p.Short(), p.Name, p.Device)
	}
	if len(t.Peers) > 0 {
		fmt.Fprintln(t.W, "faster: the time of the fastest of them by ours")
	}
}

// column is how wide a peer's is.
func (p *Peer) column() int { return max(len(p.Short()), len("1234.56")) }
