package bench

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Peer is what another library did with a device's cases, in the passes of the same
// run.
type Peer struct {
	Name   string      `json:"peer"`   // as "PyTorch 2.9.0"
	Device string      `json:"device"` // as it calls it
	Cases  []*PeerCase `json:"cases"`  // those that it was asked for
}

// PeerCase is how fast one case is there.
type PeerCase struct {
	Name string `json:"name"`
	Timing
	Verified    string `json:"verified,omitempty"` // how much of the result was looked at
	Error       string `json:"error,omitempty"`    // why there is no figure
	Unsupported bool   `json:"unsupported,omitempty"`
}

// mostPeerText is how many bytes a text has at most.
const mostPeerText = 1 << 12

func (p *Peer) check() error {
	if strings.TrimSpace(p.Name) == "" {
		return errors.New("no name")
	}
	if err := checkTexts(p.Name, p.Device); err != nil {
		return err
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
		if err := checkTexts(c.Name, c.Verified, c.Error); err != nil {
			return err
		}
		if c.Error != "" {
			c.Timing = Timing{}
		} else if err := c.Timing.check(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
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

// Short is the first word of a peer's name, for the head of a column.
func (p *Peer) Short() string {
	word, _, _ := strings.Cut(strings.TrimSpace(p.Name), " ")
	return word
}

// of is what a peer has of a case, or nil.
func (p *Peer) of(name string) *PeerCase {
	for _, c := range p.Cases {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Find returns the peer's median time of a case, or why there is none.
func (p *Peer) Find(c *CaseResult) (ns float64, why string) {
	switch theirs := p.of(c.Name); {
	case theirs == nil:
		return 0, "not measured"
	case theirs.Error != "":
		return 0, theirs.Error
	default:
		return theirs.Median, ""
	}
}

// Faster is how much faster a case is here than there: the peer's time by ours, both
// of the same pass, as the passes' median. The spread is how far from it single
// passes are, at most, as a part of it. 0: one of them has no figure.
func (p *Peer) Faster(c *CaseResult) (times, spread float64) {
	if _, why := p.Find(c); why != "" || c.Time == nil {
		return 0, 0
	}
	t := relative(&p.of(c.Name).Timing, c.Time)
	return t.Median, t.Spread()
}

// Ratio is the peer's rate of a case by that of a part of the roofline, both of the same
// pass, as the passes' median. 0: it has no figure.
func (p *Peer) Ratio(c *CaseResult, to *Rate) float64 {
	if _, why := p.Find(c); why != "" {
		return 0
	}
	t := relative(&p.of(c.Name).Timing, &to.Timing)
	return float64(c.Logical) / float64(to.Bytes) / t.Median
}

// Fastest returns the peer with the least median time of a case: nil where none has
// one.
func Fastest(peers []*Peer, c *CaseResult) *Peer {
	var best *Peer
	least := 0.
	for _, p := range peers {
		if ns, why := p.Find(c); why == "" && (best == nil || ns < least) {
			best, least = p, ns
		}
	}
	return best
}
