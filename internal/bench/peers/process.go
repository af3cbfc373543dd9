package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/restride/restride/internal/quote"
)

// threadsVariable tells a process the number of threads of this one: not every language
// respects the limits of a container or an affinity.
const threadsVariable = "RESTRIDE_THREADS"

// Process is another library in a process of its own, which measures a case at a time.
type Process struct {
	Hello
	Only *regexp.Regexp // the names of cases that it measures; nil: all

	cmd      *exec.Cmd
	ctx      context.Context // its end kills the process; its cause is the reason
	kill     context.CancelCauseFunc
	in       io.WriteCloser
	out      *bufio.Scanner
	said     tail          // of its standard error
	patience time.Duration // for an answer, in addition to the time for samples
	dead     error
}

// startProcess starts a program, which is killed when the context is done, and reads its first
// line. If it refused, the error has its status in an *exec.ExitError.
func startProcess(ctx context.Context, patience time.Duration, program string, args ...string) (*Process, error) {
	p := &Process{patience: patience}
	p.ctx, p.kill = context.WithCancelCause(ctx)
	p.cmd = exec.CommandContext(p.ctx, program, args...)
	p.cmd.Stderr, p.cmd.WaitDelay = &p.said, time.Second
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", threadsVariable, runtime.GOMAXPROCS(0)))
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		p.in, err = p.cmd.StdinPipe()
	}
	if err == nil {
		p.cmd.Cancel = func() error { // processes that inherited the pipes are not waited for
			_, _ = p.in.Close(), out.Close()
			return killGroup(p.cmd)
		}
		ownGroup(p.cmd)
		err = p.cmd.Start()
	}
	if err != nil {
		p.kill(nil)
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, mostLine)
	line, err := p.line(patience)
	if err == nil {
		var hello *Hello
		if hello, err = readHello(line); err == nil {
			p.Hello = *hello
			return p, nil
		}
	}
	return nil, p.end(err)
}

// Ask makes the process measure a case. An error of the library is in the answer. Any other
// error ends the process: it died, it hung or its output is not an answer.
func (p *Process) Ask(q Request) (*Answer, error) {
	if p.dead != nil {
		return nil, p.dead
	}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	limit := p.patience + time.Duration(20*(q.Time+q.Check)*float64(time.Second))
	timer := p.expect(limit) // it may not even read
	_, writeErr := p.in.Write(append(text, '\n'))
	timer.Stop()
	line, err := p.line(limit)
	if err == nil {
		err = writeErr
	}
	if err == nil {
		var a *Answer
		if a, err = readAnswer(line, q); err == nil {
			return a, nil
		}
	}
	return nil, p.end(err)
}

// expect kills the process after a time.
func (p *Process) expect(limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() { p.kill(fmt.Errorf("%w in %v", errSilent, limit.Round(time.Millisecond))) })
}

// line reads one.
func (p *Process) line(limit time.Duration) ([]byte, error) {
	defer p.expect(limit).Stop()
	if p.out.Scan() {
		return p.out.Bytes(), nil
	}
	if err := p.out.Err(); err != nil {
		return nil, fmt.Errorf("its line: %w", err)
	}
	return nil, errEnded
}

var errSilent = errors.New("no answer")

var errEnded = errors.New("it ended before it answered")

// end waits for the process, which ends or is killed, and returns the reason.
func (p *Process) end(err error) error {
	defer p.kill(nil)
	if !errors.Is(err, errEnded) {
		p.kill(err)
	}
	if cause := context.Cause(p.ctx); cause != nil {
		err = cause
	}
	defer p.expect(p.patience / 10).Stop()
	_ = p.in.Close()
	if status := p.cmd.Wait(); status != nil && p.ctx.Err() == nil {
		err = fmt.Errorf("it ended: %w", status)
	}
	if said := p.said.String(); said != "" {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	p.dead = err
	return err
}

// Close ends the process: by the end of its input, or killed.
func (p *Process) Close() {
	if p.dead == nil {
		_ = p.in.Close()
		timer := p.expect(p.patience / 10)
		for p.out.Scan() { // unrequested lines
		}
		timer.Stop()
		_ = p.end(errEnded)
	}
}

// tail is the end of a text, in a line.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const longestTail = 300

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(len(p)-longestTail, 0):]...)
	t.text = t.text[max(len(t.text)-longestTail, 0):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return OneLine(string(t.text))
}

// OneLine is a text in a line.
func OneLine(text string) string {
	return quote.Text(strings.Join(strings.Fields(text), " "))
}
