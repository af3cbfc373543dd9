package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/restride/restride/bench"
)

// peerView is a peer beside a device.
type peerView struct {
	Name, Device, Style  string
	Cases                string
	Faster, Range, Ahead string

	peer *bench.Peer
}

// figures are a peer's of a case.
type figures struct {
	gbps, faster float64 // faster: its time by ours, in the same passes
	median       float64
	why          string // there are none
}

// sane has the peers without what a file may have and a run has not: nulls.
func sane(peers []*bench.Peer) []*bench.Peer {
	var all []*bench.Peer
	for _, p := range peers {
		if p != nil {
			c := *p
			c.Name = cmp.Or(p.Name, "a peer")
			c.Cases = slices.DeleteFunc(slices.Clone(p.Cases), func(c *bench.PeerCase) bool { return c == nil })
			all = append(all, &c)
		}
	}
	return all
}

// summarize says how a peer, the i-th, did beside the device.
func (p *peerView) summarize(cases []*caseView, i int) {
	var faster []float64
	ahead := 0
	for _, c := range cases {
		if f := c.peers[i].faster; f > 0 {
			faster = append(faster, f)
			if f >= 1 {
				ahead++
			}
		}
	}
	p.Cases = fmt.Sprintf("%d of %d", len(faster), len(cases))
	if len(faster) > 0 {
		p.Faster = times(median(faster))
		p.Range = times(slices.Min(faster)) + " to " + times(slices.Max(faster))
		p.Ahead = fmt.Sprint(ahead)
	}
}
