package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// isTerminal reports whether output is on a terminal, where it is seen immediately.
func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth is the number of columns of a terminal, from $COLUMNS or else from the terminal;
// 0: there is none, or its width is unknown.
func terminalWidth(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	n, _, err := term.GetSize(int(w.(interface{ Fd() uintptr }).Fd()))
	if err != nil {
		return 0
	}
	return n
}

// unicodeLocale reports whether terminals show more than ASCII, judging by the environment.
func unicodeLocale() bool {
	locale := strings.ToUpper(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
}

// progress is a line with the fraction of work done. It appears only on terminals, and is cleared
// while other output is written.
type progress struct {
	w     io.Writer // nil: not a terminal
	log   io.Writer // where report writes lines if w is nil
	what  string
	start time.Time
	last  time.Time // of report's lines
	now   func() time.Time
}

func newProgress(w io.Writer, what string) *progress {
	now := time.Now()
	p := &progress{log: w, what: what, start: now, last: now, now: time.Now}
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

// show shows the fraction done, and the estimated remaining time.
func (p *progress) show(part float64) {
	if p.w == nil || part <= 0 || part >= 1 {
		return
	}
	const width = 30
	n := int(part * width)
	fmt.Fprintf(p.w, "%s [%s%s] %3.0f%%, %v left", p.what, strings.Repeat("#", n), strings.Repeat(".", width-n), 100*part, p.left(part))
}

// left is the estimated remaining time at the present speed.
func (p *progress) left(part float64) time.Duration {
	return time.Duration(float64(p.now().Sub(p.start)) * (1 - part) / part).Round(time.Second)
}

// How often report writes, on a terminal and elsewhere.
const (
	frame    = 100 * time.Millisecond
	interval = 10 * time.Second
)

// report shows how many bytes are done, or occasionally writes that as a line of a log.
func (p *progress) report(done, all int64) {
	now, every := p.now(), interval
	if p.w != nil {
		every = frame
	}
	if now.Sub(p.last) < every || done <= 0 || done >= all {
		return
	}
	p.last = now
	part := float64(done) / float64(all)
	if p.w == nil {
		fmt.Fprintf(p.log, "%s: %.0f%%, %s of %s, %v left\n", p.what, 100*part, byteSize(done), byteSize(all), p.left(part))
		return
	}
	p.clear()
	p.show(part)
}
