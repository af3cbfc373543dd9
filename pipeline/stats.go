package pipeline

import (
	"fmt"
	"time"

	"github.com/restride/restride/device"
)

// Stats are the statistics of a pipeline: of batches that reached the end of Sink.
type Stats struct {
	Batches    int64
	Uploaded   int64 // bytes of the inputs, transferred or not
	Downloaded int64 // bytes of the results, transferred or not
	Pinned     bool  // all transfers used pinned memory, or any memory of AllocHost
	Wall       time.Duration
	// Source and Sink are the durations of their calls.
	Source, Sink time.Duration
	// Timed: the device measures time (or its calls return when their work is done, like the
	// cpu device's). Upload, Work and Download are then the device's time between a stage's
	// first and last point, by its own clock: including waits for the host in between, and for
	// others that share the device.
	Timed                  bool
	Upload, Work, Download time.Duration
}

// Overlap is the sum of the stages' times as a multiple of the wall time, 0 if
// not Timed: up to 1 for one stage after the other, up to 5 if all are always at work. Stages
// that contend for a resource (a processor, memory, a bus) last longer the more they overlap:
// only Wall shows whether that pays.
func (s Stats) Overlap() float64 {
	if !s.Timed || s.Wall <= 0 {
		return 0
	}
	return (s.Source + s.Upload + s.Work + s.Download + s.Sink).Seconds() / s.Wall.Seconds()
}

func (s Stats) String() string {
	text := fmt.Sprintf("%d batches in %v: %d bytes up, %d down; source %v", s.Batches, s.Wall, s.Uploaded, s.Downloaded, s.Source)
	if s.Timed {
		text += fmt.Sprintf(", upload %v, work %v, download %v", s.Upload, s.Work, s.Download)
	}
	text += fmt.Sprintf(", sink %v", s.Sink)
	if s.Timed {
		text += fmt.Sprintf("; overlap %.2f", s.Overlap())
	}
	return text
}

// point is a point in a queue, and when it was recorded.
type point struct {
	event device.Event
	at    time.Time
}

func mark(q device.Queue) (point, error) {
	e, err := q.Record()
	return point{e, time.Now()}, err
}

// span is the part of a stage on a queue.
type span struct{ begin, end point }

// took returns the device's time, if it measures any. host: calls return when their work is
// done, so the host's clock is used.
func (s *span) took(host bool) (time.Duration, bool) {
	if host {
		return s.end.at.Sub(s.begin.at), true
	}
	e, ok := s.end.event.(device.TimedEvent)
	if !ok {
		return 0, false
	}
	d, err := e.Since(s.begin.event)
	return d, err == nil
}
