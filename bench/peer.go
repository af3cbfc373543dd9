package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// Peer is what another library did with the cases, on the same machine.
type Peer struct {
	Name   string      `json:"peer"`   // as "PyTorch 2.9.0"
	Device string      `json:"device"` // as it calls it
	For    string      `json:"for"`    // the Facts.ID that it stands beside: "cpu", "cuda:0"; empty: any
	Cases  []*PeerCase `json:"cases"`
}

// PeerCase is how fast one case is there.
type PeerCase struct {
	Name string `json:"name"`
	Case string `json:"case"` // that of the list: figures of other shapes are not compared
	Timing
	// MemcpyRatio is to a memcpy by two threads between the samples, in the peer's
	// own process: it says how fast memory was just then. Another process has another
	// memcpy, numpy's about half as fast as Go's, so only times compare. 0: there was
	// none.
	MemcpyRatio float64 `json:"memcpy_ratio,omitempty"`
	Verified    string  `json:"verified,omitempty"` // how much of the result was looked at
	Error       string  `json:"error,omitempty"`    // why there is no figure
}

// What a peer's file may hold.
const (
	mostPeerCases = 1 << 12
	mostPeerText  = 1 << 12
)

// ReadPeer reads a peer's file, which others wrote: what would mislead, or spoil a
// terminal, is an error.
func ReadPeer(data []byte) (*Peer, error) {
	p := new(Peer)
	err := json.Unmarshal(data, p)
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, fmt.Errorf("a peer's figures: %w", err)
	}
	return p, nil
}

func (p *Peer) check() error {
	if p.Name == "" || len(p.Cases) == 0 {
		return errors.New("no name, or no cases")
	}
	if len(p.Cases) > mostPeerCases {
		return fmt.Errorf("%d cases: want at most %d", len(p.Cases), mostPeerCases)
	}
	for _, text := range []string{p.Name, p.Device, p.For} {
		if err := checkText(text); err != nil {
			return err
		}
	}
	seen := make(map[string]bool, len(p.Cases))
	for i, c := range p.Cases {
		switch {
		case c == nil || c.Name == "":
			return fmt.Errorf("case %d has no name", i)
		case seen[c.Name]:
			return fmt.Errorf("%.100q is there twice", c.Name)
		}
		seen[c.Name] = true
		for _, text := range []string{c.Name, c.Case, c.Verified, c.Error} {
			if err := checkText(text); err != nil {
				return err
			}
		}
		if c.Error != "" {
			c.Timing, c.MemcpyRatio = Timing{}, 0
			continue
		}
		if err := c.Timing.check(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if bad(c.MemcpyRatio) {
			return fmt.Errorf("%s: %g of a memcpy: want at least 0", c.Name, c.MemcpyRatio)
		}
	}
	return nil
}

func checkText(text string) error {
	if len(text) > mostPeerText {
		return fmt.Errorf("a text of %d bytes: want at most %d", len(text), mostPeerText)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("%.100q cannot be printed", text)
	}
	return nil
}

// Beside returns the peers that stand beside a device.
func Beside(peers []*Peer, id string) (out []*Peer) {
	for _, p := range peers {
		if p.For == "" || p.For == id {
			out = append(out, p)
		}
	}
	return out
}

// Short is the first word of a peer's name, for the head of a column.
func (p *Peer) Short() string {
	word, _, _ := strings.Cut(strings.TrimSpace(p.Name), " ")
	return word
}

// Find returns the peer's median time of a case, or why there is none.
func (p *Peer) Find(c *CaseResult) (ns float64, why string) {
	for _, theirs := range p.Cases {
		switch {
		case theirs.Name != c.Name:
			continue
		case theirs.Case != c.Case:
			return 0, "other shape"
		case theirs.Error != "":
			return 0, theirs.Error
		}
		return theirs.Median, ""
	}
	return 0, "not measured"
}

// Fastest returns the least of the peers' median times of a case: infinity where
// none has one.
func Fastest(peers []*Peer, c *CaseResult) float64 {
	best := math.Inf(1)
	for _, p := range peers {
		if ns, why := p.Find(c); why == "" {
			best = min(best, ns)
		}
	}
	return best
}
