package bench

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
)

// threadsVariable tells a process how many threads this one uses: what a container or
// an affinity leaves of the processors is not for every language to know.
const threadsVariable = "RESTRIDE_THREADS"

// PeerProcess is another library that is there for the run: a process that is asked
// for a case at a time.
type PeerProcess struct {
	PeerHello
	Only *regexp.Regexp // it is asked for cases whose name matches; nil: for all

	cmd      *exec.Cmd
	ctx      context.Context // done: it is killed, and why
	kill     context.CancelCauseFunc
	in       io.WriteCloser
	out      *bufio.Scanner
	said     tail          // on its standard error
	patience time.Duration // for what takes no time, as far as it can be known
	dead     error
}

// StartPeer starts a program, which is killed when the context is done, and reads its
// first line. An *exec.ExitError in the error has the status with which it refused.
func StartPeer(ctx context.Context, program string, args ...string) (*PeerProcess, error) {
	return startPeer(ctx, time.Minute, program, args...)
}

func startPeer(ctx context.Context, patience time.Duration, program string, args ...string) (*PeerProcess, error) {
	p := &PeerProcess{patience: patience}
	p.ctx, p.kill = context.WithCancelCause(ctx)
	p.cmd = exec.CommandContext(p.ctx, program, args...)
	p.cmd.Stderr, p.cmd.WaitDelay = &p.said, time.Second
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", threadsVariable, runtime.GOMAXPROCS(0)))
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		p.in, err = p.cmd.StdinPipe()
	}
	if err == nil {
		p.cmd.Cancel = func() error { // whoever has inherited the pipes: nobody waits for them
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
		var hello *PeerHello
		if hello, err = readHello(line); err == nil {
			p.PeerHello = *hello
			return p, nil
		}
	}
	return nil, p.end(err)
}

// Ask has the process measure a case. What it cannot say, or has wrong, is in the
// answer. An error is the end of it: it died, it hung or what it wrote is no answer.
func (p *PeerProcess) Ask(q PeerRequest) (*PeerAnswer, error) {
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
		var a *PeerAnswer
		if a, err = readAnswer(line, q); err == nil {
			return a, nil
		}
	}
	return nil, p.end(err)
}

// expect kills the process after a time.
func (p *PeerProcess) expect(limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() { p.kill(fmt.Errorf("no answer in %v", limit)) })
}

// line reads one.
func (p *PeerProcess) line(limit time.Duration) ([]byte, error) {
	defer p.expect(limit).Stop()
	if p.out.Scan() {
		return p.out.Bytes(), nil
	}
	if err := p.out.Err(); err != nil {
		return nil, fmt.Errorf("its line: %w", err)
	}
	return nil, errEnded
}

var errEnded = errors.New("it ended before it answered")

// end waits for the process, which ends or is killed, and says what it came to.
func (p *PeerProcess) end(err error) error {
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

// Close ends the process: at the end of its input it goes by itself, or is killed.
func (p *PeerProcess) Close() {
	if p.dead == nil {
		_ = p.in.Close()
		timer := p.expect(p.patience / 10)
		for p.out.Scan() { // what nobody asked for
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
	return oneLine(string(t.text))
}

// oneLine is a text without what a line cannot have.
func oneLine(text string) string {
	return strings.Join(strings.Fields(plainText(strings.ToValidUTF8(text, " "))), " ")
}
