package onnx

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// A Profile records what the nodes of a run did, and when. All times are relative to the
// start of the run.
type Profile struct {
	Begin time.Time
	Host  time.Duration // duration of the call, without waiting for the device
	// Nodes are in execution order. Nodes computed when the session was made have no times.
	Nodes []NodeReport
	// HostOnly says why Wait found no device times; it is empty if it found them.
	HostOnly string

	queue  device.Queue
	points []around
	note   func(NodeReport) // adds a report to Nodes
}

// A Span is an interval of a run.
type Span struct{ Begin, End time.Duration }

// around is the work of one node in the queue.
type around struct {
	node     int // index into Nodes
	from, to device.Event
}

// Profile is Run with measurements of each node. After an error, the profile has the nodes
// that ran. It records two events on the stream's queue for each node with work for the
// device, so runs are slower. Work that others queue on the stream meanwhile counts in the
// times. On the cpu device and tensor.Host, where the calls do the work, there are only
// host times.
func (s *Session) Profile(ctx context.Context, inputs Values, options ...RunOption) (Values, *Profile, error) {
	const op = "Session.Profile"
	if err := s.check(op, ctx); err != nil {
		return nil, nil, err
	}
	p := &Profile{queue: s.stream.Queue()}
	if s.stream.IsHost() {
		p.HostOnly = "the device works within the host's calls"
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p.note = reporter(op, p, &p.Nodes, stop)
	p.Begin = time.Now()
	outputs, err := s.start(ctx, inputs, options, false, p)
	p.Host = time.Since(p.Begin)
	return outputs, p, err
}

// Wait waits for the run's work and adds the device's times to Nodes. The stream must be
// open. The error is the device's; errors of a node's work are reported by the outputs.
func (p *Profile) Wait() error {
	if p.HostOnly != "" || len(p.points) == 0 {
		return nil
	}
	if err := p.points[len(p.points)-1].to.Wait(); err != nil {
		return err
	}
	before := time.Since(p.Begin)
	now, err := p.queue.Record() // to relate the two clocks
	if err == nil {
		err = now.Wait()
	}
	if err != nil {
		return err
	}
	at := (before + time.Since(p.Begin)) / 2
	timed, ok := now.(device.TimedEvent)
	if !ok {
		p.HostOnly = "the device's events keep no time"
		return nil
	}
	for _, a := range p.points {
		since, err := timed.Since(a.from)
		if err == nil {
			p.Nodes[a.node].DeviceTime = &Span{Begin: at - since}
			since, err = timed.Since(a.to)
		}
		if e := (*layout.Error)(nil); errors.As(err, &e) && e.Kind == device.ErrUnsupported {
			p.Nodes[a.node].DeviceTime, p.HostOnly = nil, e.Msg
			return nil
		}
		if err != nil {
			return err
		}
		p.Nodes[a.node].DeviceTime.End = at - since
	}
	p.points = nil
	return nil
}

// hook returns a run's hook, which keeps the nodes' reports and then calls the session's
// hook.
func (p *Profile) hook(told *func(NodeReport)) *func(NodeReport) {
	if p == nil {
		return told
	}
	add := func(n NodeReport) {
		p.note(n)
		if told != nil {
			(*told)(n)
		}
	}
	return &add
}

// mark is the start of a node.
type mark struct {
	event device.Event
	at    time.Duration
}

// begin is called before a node; without a profile it does nothing.
func (p *Profile) begin() mark {
	if p == nil {
		return mark{}
	}
	return p.mark()
}

func (p *Profile) mark() mark {
	e := p.record()
	return mark{e, time.Since(p.Begin)}
}

// end is called after a node, before the hook gets the node's report.
func (p *Profile) end(from mark, n *NodeReport) {
	if p == nil {
		return
	}
	n.HostTime = &Span{from.at, time.Since(p.Begin)}
	if from.event == nil || !n.queues() {
		return
	}
	if e := p.record(); e != nil {
		p.points = append(p.points, around{len(p.Nodes), from.event, e})
	}
}

// queues reports whether a node may have queued work for the device.
func (n *NodeReport) queues() bool {
	return n.Foreign || n.around || n.Bytes > 0 && !n.Host || n.Read > 0 || n.Sent > 0
}

// record returns an event, or nil if the device's time is not measured.
func (p *Profile) record() device.Event {
	if p.HostOnly != "" {
		return nil
	}
	e, err := p.queue.Record()
	if err != nil {
		p.HostOnly = fmt.Sprintf("the queue records no event: %v", err)
		return nil
	}
	return e
}
