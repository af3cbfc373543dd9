package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// isTerminal reports whether somebody sees what is written as it comes.
func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// unicodeLocale reports whether terminals show more than ASCII, as far as the
// environment tells.
func unicodeLocale() bool {
	locale := strings.ToUpper(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
}

// progress is a line that says how much is done. It is on terminals only, and
// cleared while something else is written.
type progress struct {
	w     io.Writer // nil: nobody looks
	what  string
	start time.Time
	now   func() time.Time
}

func newProgress(w io.Writer, what string) *progress {
	p := &progress{what: what, start: time.Now(), now: time.Now}
	if isTerminal(w) {
		p.w = w
	}
	return p
}

func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// show shows what part is done, and how long the rest takes if it goes on like that.
func (p *progress) show(part float64) {
	if p.w == nil || part <= 0 || part >= 1 {
		return
	}
	const width = 30
	n := int(part * width)
	left := time.Duration(float64(p.now().Sub(p.start)) * (1 - part) / part)
	fmt.Fprintf(p.w, "%s [%s%s] %3.0f%%, %v left", p.what, strings.Repeat("#", n), strings.Repeat(".", width-n), 100*part, left.Round(time.Second))
}
