package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/restride/restride/internal/bench/report"
)

// A peer's process and this one write lines of JSON to each other: see README.md.

// Protocol is the version.
const Protocol = 1

// Hello is a process's first line.
type Hello struct {
	Protocol int    `json:"protocol"`
	Peer     string `json:"peer"`   // such as "PyTorch 2.9.0"
	Device   string `json:"device"` // the peer's name for it, such as "cpu, 2 threads"
}

// Request asks for a pass of a case.
type Request struct {
	Case  Entry   `json:"case"`
	Time  float64 `json:"time"`  // seconds for the samples, at least 3 (2 of slow calls)
	Batch int     `json:"batch"` // calls in a sample; 0: for the process to find
	Check float64 `json:"check"` // seconds to verify the result; 0: an earlier pass did
}

// Answer is samples, or an error.
type Answer struct {
	Name        string    `json:"name"`              // of the case
	Samples     []float64 `json:"samples,omitempty"` // nanoseconds a call
	Batch       int       `json:"batch,omitempty"`
	Verified    string    `json:"verified,omitempty"`
	Error       string    `json:"error,omitempty"`
	Unsupported bool      `json:"unsupported,omitempty"`
}

// Limits of a process's output.
const (
	mostLine    = 1 << 16 // bytes
	mostName    = 100
	mostSamples = 1 << 10
)

// readHello reads the first line of a process. In all of its output, text that would mislead or
// garble a terminal is an error.
func readHello(line []byte) (*Hello, error) {
	h := new(Hello)
	if err := json.Unmarshal(line, h); err != nil {
		return nil, fmt.Errorf("its first line, %.100q: %w", line, err)
	}
	switch {
	case h.Protocol != Protocol:
		return nil, fmt.Errorf("its protocol is %d; this program speaks %d", h.Protocol, Protocol)
	case len(h.Peer) > mostName || len(h.Device) > mostName:
		return nil, fmt.Errorf("its name has %d bytes, and its device's %d: want at most %d", len(h.Peer), len(h.Device), mostName)
	}
	if err := (&report.Peer{Name: h.Peer, Device: h.Device}).Check(); err != nil {
		return nil, fmt.Errorf("its first line: %w", err)
	}
	return h, nil
}

// readAnswer reads the answer to a request.
func readAnswer(line []byte, q Request) (*Answer, error) {
	a := new(Answer)
	if err := json.Unmarshal(line, a); err != nil {
		return nil, fmt.Errorf("its answer, %.100q: %w", line, err)
	}
	if a.Name != q.Case.Name {
		return nil, fmt.Errorf("it answers %.100q, and was asked for %s", a.Name, q.Case.Name)
	}
	c := &report.PeerCase{Name: a.Name, Verified: a.Verified, Error: a.Error}
	if a.Error == "" {
		switch n := len(a.Samples); {
		case n < 1 || n > mostSamples:
			return nil, fmt.Errorf("it has %d samples: want 1 to %d, or an error", n, mostSamples)
		case a.Batch < 1 || q.Batch > 0 && a.Batch != q.Batch:
			return nil, fmt.Errorf("its samples are of %d calls, and it was asked for %d (0: at least 1)", a.Batch, q.Batch)
		case q.Check > 0 && a.Verified == "":
			return nil, errors.New("it does not say how much of the result it looked at")
		}
		c.Timing = report.NewTiming(slices.Clone(a.Samples), a.Batch)
	}
	if err := (&report.Peer{Name: "it", Cases: []*report.PeerCase{c}}).Check(); err != nil {
		return nil, fmt.Errorf("its answer: %w", err)
	}
	if a.Error != "" {
		return &Answer{Name: a.Name, Error: a.Error, Unsupported: a.Unsupported}, nil
	}
	return a, nil
}
