package bench

import (
	"fmt"
	"time"
)

const (
	// look is the time for a peer's check of a case, in the first pass.
	look = time.Second
	// settle is how long nothing is done after a peer's answer: the threads of some
	// libraries wait for more work by turning around, for milliseconds.
	settle = 30 * time.Millisecond
)

// askPeers has the peers measure a case in this pass, right after us.
func (r *runner) askPeers(c Case, peers []*Peer) error {
	for i, process := range r.Peers {
		if process.Only != nil && !process.Only.MatchString(c.Name) {
			continue
		}
		theirs := peers[i].of(c.Name)
		if theirs == nil {
			theirs = &PeerCase{Name: c.Name}
			peers[i].Cases = append(peers[i].Cases, theirs)
		}
		if theirs.Error != "" {
			continue
		}
		a, err := r.askPeer(process, c, theirs, r.of(fmt.Sprintf("peer %d: %s", i, c.Name)))
		if r.meter.ctx.Err() != nil {
			if theirs.Samples == 0 {
				peers[i].Cases = peers[i].Cases[:len(peers[i].Cases)-1]
			}
			return r.meter.ctx.Err()
		}
		if err != nil {
			a = &PeerAnswer{Error: oneLine(err.Error())}
		}
		if a.Error != "" {
			*theirs = PeerCase{Name: c.Name, Error: a.Error, Unsupported: a.Unsupported}
		}
		time.Sleep(settle)
	}
	return nil
}

func (r *runner) askPeer(process *PeerProcess, c Case, theirs *PeerCase, s *series) (*PeerAnswer, error) {
	list, err := entries([]Case{c}, r.Size, r.footprint)
	if err != nil {
		return nil, err
	}
	q := PeerRequest{Case: list[0], Time: r.meter.budget.Seconds(), Batch: s.batch}
	if theirs.Verified == "" {
		q.Check = look.Seconds()
	}
	a, err := process.Ask(q)
	if err != nil || a.Error != "" {
		return a, err
	}
	if q.Check > 0 {
		theirs.Verified = a.Verified
	}
	s.batch = a.Batch
	s.add(a.Samples)
	theirs.Timing = s.timing()
	return a, nil
}
