package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/restride/restride/internal/quote"
)

// Peer is another library on a device's cases, in the passes of the same run.
type Peer struct {
	Name   string      `json:"peer"`   // such as "PyTorch 2.9.0"
	Device string      `json:"device"` // the peer's name for it
	Cases  []*PeerCase `json:"cases"`  // the cases that it was asked for
}

// PeerCase is how fast one case is there.
type PeerCase struct {
	Name string `json:"name"`
	Timing
	Verified    string `json:"verified,omitempty"` // how much of the result was
	Error       string `json:"error,omitempty"`    // why there is no figure
	Unsupported bool   `json:"unsupported,omitempty"`
}

// mostPeerText is the most bytes of a text.
const mostPeerText = 1 << 12

// Check returns the reason why a peer cannot be shown: a missing name, unprintable texts, or
// invalid figures. It removes the figures of cases that have an error.
func (p *Peer) Check() error {
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
	if text != quote.Text(text) {
		return fmt.Errorf("%.100q cannot be printed", text)
	}
	return nil
}

// Short is the first word of a peer's name, for the head of a column.
func (p *Peer) Short() string {
	word, _, _ := strings.Cut(strings.TrimSpace(p.Name), " ")
	return word
}

// Case is the peer's case of a name, or nil.
func (p *Peer) Case(name string) *PeerCase {
	for _, c := range p.Cases {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Find returns the peer's median time of a case, in nanoseconds, or why there is none.
func (p *Peer) Find(c *CaseResult) (ns float64, why string) {
	switch theirs := p.Case(c.Name); {
	case theirs == nil:
		return 0, "not measured"
	case theirs.Error != "":
		return 0, theirs.Error
	default:
		return theirs.Median, ""
	}
}

// Faster is the peer's time of a case divided by the device's, in the same pass, as the median
// of passes, with its Timing.Spread. 0: one of them has no figure.
func (p *Peer) Faster(c *CaseResult) (times, spread float64) {
	if _, why := p.Find(c); why != "" || c.Time == nil {
		return 0, 0
	}
	t := relative(&p.Case(c.Name).Timing, c.Time)
	return t.Median, t.Spread()
}

// Ratio is the peer's rate of a case to a part of the roofline, in the same pass, as the
// median of passes. 0: the peer has no figure.
func (p *Peer) Ratio(c *CaseResult, to *Rate) float64 {
	if _, why := p.Find(c); why != "" {
		return 0
	}
	t := relative(&p.Case(c.Name).Timing, &to.Timing)
	return float64(c.Logical) / float64(to.Bytes) / t.Median
}

// fastest returns the peer with the least median time of a case, or nil.
func fastest(peers []*Peer, c *CaseResult) *Peer {
	var best *Peer
	least := 0.
	for _, p := range peers {
		if ns, why := p.Find(c); why == "" && (best == nil || ns < least) {
			best, least = p, ns
		}
	}
	return best
}
