package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/peers"
	"github.com/restride/restride/internal/bench/report"
)

const (
	// look is the time for a peer to verify a case, in the first pass: on the processor, and
	// glance on a GPU, whose time may be needed elsewhere.
	look, glance = time.Second, 300 * time.Millisecond
	// settle is a pause after a peer's answer on a processor: threads of some libraries keep
	// spinning for milliseconds.
	settle = 30 * time.Millisecond
)

// askPeers makes the peers measure a case in this pass, on as many operands as rotated here.
func (r *runner) askPeers(c cases.Case, rotation int, all []*report.Peer) error {
	for i, process := range r.Peers {
		if process.Only != nil && !process.Only.MatchString(c.Name) {
			continue
		}
		peer := all[i]
		theirs := peer.Case(c.Name)
		if theirs == nil {
			theirs = &report.PeerCase{Name: c.Name}
			peer.Cases = append(peer.Cases, theirs)
		}
		if theirs.Error != "" {
			continue
		}
		a, err := r.askPeer(process, c, rotation, theirs, r.of(fmt.Sprintf("peer %d: %s", i, c.Name)))
		if r.meter.ctx.Err() != nil {
			if theirs.Samples == 0 {
				peer.Cases = peer.Cases[:len(peer.Cases)-1]
			}
			return r.meter.ctx.Err()
		}
		if err != nil {
			a = &peers.Answer{Error: peers.OneLine(err.Error()), Unsupported: errors.Is(err, device.ErrUnsupported)}
		}
		if a.Error != "" {
			*theirs = report.PeerCase{Name: c.Name, Error: a.Error, Unsupported: a.Unsupported}
		}
		if !r.onGPU() {
			time.Sleep(settle)
		}
	}
	return nil
}

func (r *runner) askPeer(process *peers.Process, c cases.Case, rotation int, theirs *report.PeerCase, s *series) (*peers.Answer, error) {
	entry, err := peers.NewEntry(c, r.Size, rotation)
	if err != nil {
		return nil, err
	}
	q := peers.Request{Case: entry, Time: r.meter.budget.Seconds(), Batch: s.batch}
	if theirs.Verified == "" {
		q.Check = look.Seconds()
		if r.onGPU() {
			q.Check = glance.Seconds()
		}
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
