package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/restride/restride/internal/bench/report"
)

// peerView is a peer beside a device.
type peerView struct {
	Name, Device, Style  string
	Cases                string
	Compared             int
	Faster, Range, Ahead string
	Failed               string

	failures []string
	peer     *report.Peer
}

// figures are a peer's figures of a case.
type figures struct {
	gbps, faster float64 // faster: its time by the device's, in the same passes
	lack, why    string  // the reason for a missing figure, in a word and in full
	failed       bool
}

// Short is the peer's name without its version.
func (p *peerView) Short() string { return p.peer.Short() }

func (p *peerView) figures(c *report.CaseResult) figures {
	at := slices.IndexFunc(p.peer.Cases, func(theirs *report.PeerCase) bool { return theirs.Name == c.Name })
	switch ns, why := p.peer.Find(c); {
	case at < 0:
		return figures{lack: why}
	case why == "":
		times, _ := p.peer.Faster(c)
		return figures{gbps: over(float64(c.Logical), ns), faster: sound(times)}
	case p.peer.Cases[at].Unsupported:
		return figures{lack: "unsupported", why: why}
	default:
		return figures{lack: "failed", why: why, failed: true}
	}
}

// sane removes nulls, which a file may have.
func sane(peers []*report.Peer) []*report.Peer {
	var all []*report.Peer
	for _, p := range peers {
		if p != nil {
			c := *p
			c.Name = cmp.Or(p.Name, "a peer")
			c.Cases = slices.DeleteFunc(slices.Clone(p.Cases), func(c *report.PeerCase) bool { return c == nil })
			all = append(all, &c)
		}
	}
	return all
}

// summarize fills in the peer's summary. It is the device's i-th.
func (p *peerView) summarize(cases []*caseView, i int) {
	var faster []float64
	ahead := 0
	for _, c := range p.peer.Cases {
		if c.Error != "" && !c.Unsupported {
			p.failures = append(p.failures, c.Name+": "+c.Error)
		}
	}
	p.Failed = fmt.Sprint(len(p.failures))
	for _, c := range cases {
		if f := c.peers[i].faster; f > 0 {
			faster = append(faster, f)
			if f >= 1 {
				ahead++
			}
		}
	}
	p.Cases, p.Compared = fmt.Sprintf("%d of %d", len(faster), len(cases)), len(faster)
	if len(faster) > 0 {
		p.Faster = times(median(faster))
		p.Range = times(slices.Min(faster)) + " to " + times(slices.Max(faster))
		p.Ahead = fmt.Sprint(ahead)
	}
}
