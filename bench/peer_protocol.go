package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// What a peer's process and this one write to each other, a line of JSON each: see
// peers/README.md.

// PeerProtocol is the version that is spoken.
const PeerProtocol = 1

// PeerHello is a process's first line.
type PeerHello struct {
	Protocol int    `json:"protocol"`
	Peer     string `json:"peer"`   // as "PyTorch 2.9.0"
	Device   string `json:"device"` // as it calls it, as "cpu, 2 threads"
}

// PeerRequest asks for a pass of a case.
type PeerRequest struct {
	Case  Entry   `json:"case"`
	Time  float64 `json:"time"`  // seconds for the samples, at least 3 (2 of slow calls)
	Batch int     `json:"batch"` // calls in a sample; 0: for the process to find
	Check float64 `json:"check"` // seconds to look at the result; 0: it was, in another pass
}

// PeerAnswer is what came out: samples, or an error.
type PeerAnswer struct {
	Name        string    `json:"name"` // of the case
	Samples     []float64 `json:"samples,omitempty"`
	Batch       int       `json:"batch,omitempty"`
	Verified    string    `json:"verified,omitempty"`
	Error       string    `json:"error,omitempty"`
	Unsupported bool      `json:"unsupported,omitempty"`
}

// What a process may write.
const (
	mostLine    = 1 << 16 // bytes
	mostName    = 100
	mostSamples = 1 << 10
)

// readHello reads the first line of a process: as of all that it writes, what would
// mislead, or spoil a terminal, is an error.
func readHello(line []byte) (*PeerHello, error) {
	h := new(PeerHello)
	if err := json.Unmarshal(line, h); err != nil {
		return nil, fmt.Errorf("its first line, %.100q: %w", line, err)
	}
	switch {
	case h.Protocol != PeerProtocol:
		return nil, fmt.Errorf("its protocol is %d; this program speaks %d", h.Protocol, PeerProtocol)
	case strings.TrimSpace(h.Peer) == "":
		return nil, errors.New("it has no name")
	case len(h.Peer) > mostName || len(h.Device) > mostName:
		return nil, fmt.Errorf("its name has %d bytes, and its device's %d: want at most %d", len(h.Peer), len(h.Device), mostName)
	}
	if err := checkTexts(h.Peer, h.Device); err != nil {
		return nil, err
	}
	return h, nil
}

// readAnswer reads the answer to a request.
func readAnswer(line []byte, q PeerRequest) (*PeerAnswer, error) {
	a := new(PeerAnswer)
	if err := json.Unmarshal(line, a); err != nil {
		return nil, fmt.Errorf("its answer, %.100q: %w", line, err)
	}
	if err := checkTexts(a.Name, a.Verified, a.Error); err != nil {
		return nil, fmt.Errorf("its answer: %w", err)
	}
	if a.Name != q.Case.Name {
		return nil, fmt.Errorf("it answers %.100q, and was asked for %s", a.Name, q.Case.Name)
	}
	if a.Error != "" {
		return &PeerAnswer{Name: a.Name, Error: a.Error, Unsupported: a.Unsupported}, nil
	}
	switch n := len(a.Samples); {
	case n < 1 || n > mostSamples:
		return nil, fmt.Errorf("it has %d samples: want 1 to %d, or an error", n, mostSamples)
	case a.Batch < 1 || q.Batch > 0 && a.Batch != q.Batch:
		return nil, fmt.Errorf("its samples are of %d calls, and it was asked for %d (0: at least 1)", a.Batch, q.Batch)
	case q.Check > 0 && a.Verified == "":
		return nil, errors.New("it does not say how much of the result it looked at")
	}
	for _, ns := range a.Samples {
		if err := checkCalls(ns, ns); err != nil {
			return nil, err
		}
	}
	return a, nil
}
