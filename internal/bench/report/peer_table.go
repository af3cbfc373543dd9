package report

import "fmt"

// A table has a column for each peer, and one for the device's lead over the fastest of them.

func (t *Table) peersHead(peers []*Peer) {
	for _, p := range peers {
		fmt.Fprintf(t.W, "  %*s", p.column(), p.Short())
	}
	if len(peers) > 0 {
		fmt.Fprintf(t.W, "  %6s  %4s", "faster", "±")
	}
}

func (t *Table) peersLine(peers []*Peer, c *CaseResult) {
	why := ""
	for _, p := range peers {
		figure := "-"
		if ns, not := p.Find(c); not == "" {
			figure = fmt.Sprintf("%.2f", float64(c.Logical)/ns)
		} else {
			why = not
		}
		fmt.Fprintf(t.W, "  %*s", p.column(), figure)
	}
	if best := fastest(peers, c); best != nil {
		times, spread := best.Faster(c)
		fmt.Fprintf(t.W, "  %5.2fx  %4s", times, percent(spread))
	} else if why != "" {
		fmt.Fprintf(t.W, "  %s", why)
	}
}

func (t *Table) peersClose(peers []*Peer) {
	for _, p := range peers {
		fmt.Fprintf(t.W, "%s: %s on %s, GB/s of the same bytes\n", p.Short(), p.Name, p.Device)
		failed, first := 0, ""
		for _, c := range p.Cases {
			if c.Error != "" && !c.Unsupported {
				if failed++; failed == 1 {
					first = c.Name + ": " + c.Error
				}
			}
		}
		if failed > 0 {
			fmt.Fprintf(t.W, "%s: %d cases failed there, the first %s\n", p.Short(), failed, first)
		}
	}
	if len(peers) > 0 {
		fmt.Fprintln(t.W, "faster: the time of the fastest of them by ours in the same pass, the median, and how far from it single passes are")
	}
}

// column is the width of a peer's column.
func (p *Peer) column() int { return max(len(p.Short()), len("1234.56")) }
