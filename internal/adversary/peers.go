package adversary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/peers"
)

func init() {
	if _, err := exec.LookPath("sh"); err == nil { // the peers are scripts
		register(Generator{
			Name: "peers", About: "programs that answer a benchmark's requests with anything or nothing: an answer that can be shown, or an error, in time",
			Host: true, Try: tryPeer,
		})
	}
}

// peerBounds: the time is the limit of the context that kills a peer.
var peerBounds = bounds{memory: 64 << 20, time: 400 * time.Millisecond, grace: 5 * time.Second, anyKind: true}

// patience is the limit for a peer's answer. The context ends soon after that.
const patience = 300 * time.Millisecond

// behaviours are scripts of peers. $1 is a folder with their output.
var behaviours = []string{
	"cat hello\nwhile read -r q; do cat answer; done",
	"cat hello\nwhile read -r q; do cat answer; done",
	"cat hello\nwhile read -r q; do cat answer answer answer; done",
	"cat hello\nread -r q; cat answer; cat hello",
	"cat hello\nread -r q; cat answer >&2; exit 7",
	"cat hello answer",
	"cat hello\nexec 1>&-; read -r q; read -r q",
	"cat hello\nread -r q; while :; do cat answer; done",
	"cat hello\nread -r q; while :; do cat answer answer answer answer >&2; done",
	"cat hello\nread -r q; cat /dev/zero",
	"cat /dev/zero",
	"cat hello\nread -r q; kill -9 $$",
	"exit 3",
	"cat answer >&2; exit 1",
	"cat hello\nsleep 600",
	"sleep 600 & cat hello; read -r q; sleep 600",
}

// tryPeer starts a program that is not an honest peer, and asks it for passes of a case.
func tryPeer(t *Trial) error {
	all := cases.All()
	entry, err := peers.NewEntry(all[t.Rand.IntN(len(all))], 1<<12, 1)
	if err != nil {
		return err
	}
	quoted, err := json.Marshal(entry.Name)
	if err != nil {
		return err
	}
	hello := []byte(`{"protocol":1,"peer":"Fake 1","device":"cpu, 2 threads"}`)
	answer := fmt.Appendf(nil, `{"name":%s,"samples":[1500,1600.5,1400],"batch":3,"verified":"every bit"}`, quoted)
	if t.Rand.IntN(4) == 0 {
		answer = fmt.Appendf(nil, `{"name":%s,"error":"no such type","unsupported":true}`, quoted)
	}
	if t.Rand.IntN(4) == 0 {
		hello = changedJSON(t.Rand, hello)
	}
	if t.Rand.IntN(4) > 0 {
		answer = changedJSON(t.Rand, answer)
	}
	behaviour := behaviours[t.Rand.IntN(len(behaviours))]
	program := filepath.Join(t.Dir, "peer")
	script := fmt.Sprintf("#!/bin/sh\ncd '%s'\n%s\n", t.Dir, behaviour)
	for path, text := range map[string]string{"peer": script, "hello": string(hello) + "\n", "answer": string(answer) + "\n"} {
		if err := os.WriteFile(filepath.Join(t.Dir, path), []byte(text), 0o700); err != nil {
			return err
		}
	}
	refused, err := peerBounds.hold(t.Dir, func(ctx context.Context) error { return askPeer(ctx, program, entry) })
	if wrong := (wrongAnswer{}); err == nil && errors.As(refused, &wrong) {
		err = wrong
	}
	if err != nil {
		return fmt.Errorf("%q, hello %q, answer %q: %w", behaviour, hello, answer, err)
	}
	return nil
}

// wrongAnswer is an answer that should have been refused.
type wrongAnswer struct{ why string }

func (e wrongAnswer) Error() string { return e.why }

func askPeer(ctx context.Context, program string, entry peers.Entry) error {
	running, err := peers.Start(ctx, []peers.Choice{{Name: program}}, []string{"cpu"}, patience, func(string) {})
	if err != nil {
		return err
	}
	defer running.Close()
	p := running["cpu"][0]
	if err := checkText(p.Peer + p.Device); err != nil {
		return wrongAnswer{err.Error()}
	}
	for pass := range 3 {
		q := peers.Request{Case: entry, Time: 1e-3}
		if pass == 0 {
			q.Check = 1e-3
		}
		a, err := p.Ask(q)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				return wrongAnswer{fmt.Sprintf("an error of several lines: %q", err)}
			}
			return err
		}
		if err := checkText(a.Name + a.Verified + a.Error); err != nil {
			return wrongAnswer{err.Error()}
		}
		for _, ns := range a.Samples {
			if !(ns > 0 && ns < math.MaxFloat64) || a.Error != "" {
				return wrongAnswer{fmt.Sprintf("a sample of %v ns, beside the error %q", ns, a.Error)}
			}
		}
	}
	return nil
}
