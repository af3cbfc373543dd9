package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/bench/report"
)

// This program is also a peer, of several kinds: with the arguments "a peer" and one
// of these.
var fakes = map[string]func(q *Request, nth int) string{
	"good": func(q *Request, nth int) string {
		switch {
		case q.Case.Rotation != 1: // as here, at a size that caches hold
			return fmt.Sprintf(`"error":"%d sets of buffers"`, q.Case.Rotation)
		case q.Case.Name == "c-heads/32":
			return `"error":"no float","unsupported":true`
		case q.Case.Name == "c-heads/64":
			return `"error":"wrong result"`
		case (nth == 0) != (q.Check > 0) || (nth == 0) != (q.Batch == 0) || nth > 0 && q.Batch != 4:
			return fmt.Sprintf(`"error":"request %d has check %g, batch %d"`, nth, q.Check, q.Batch)
		}
		return fmt.Sprintf(`"samples":[%d,3e9,%d],"batch":4,"verified":"every bit"`, nth+1, nth+1)
	},
	"dies": func(q *Request, nth int) string {
		if nth == 3 {
			fmt.Fprint(os.Stderr, "first\nthe\x1b[2J\nlast words\n")
			os.Exit(7)
		}
		return `"samples":[5],"batch":1,"verified":"all"`
	},
	"hangs": func(*Request, int) string {
		time.Sleep(time.Hour)
		return ""
	},
	"has a child": func(*Request, int) string {
		cmd := exec.Command("sleep", "3600")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		fmt.Fprintf(os.Stderr, "%v", cmd.Start())
		fmt.Fprintf(os.Stderr, " pid=%d.", cmd.Process.Pid)
		time.Sleep(time.Hour)
		return ""
	},
	"floods": func(*Request, int) string {
		for {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
	},
	"babbles": func(*Request, int) string {
		for {
			fmt.Println(`{"name":"c-heads/8","samples":[1],"batch":1,"verified":"x"}`)
		}
	},
	"counts threads":  func(*Request, int) string { return fmt.Sprintf(`"error":"%s"`, os.Getenv("RESTRIDE_THREADS")) },
	"prints":          func(*Request, int) string { return "\nLoading...\n" },
	"answers another": func(*Request, int) string { return `"name":"other","error":"x"` },
	"says nothing":    func(*Request, int) string { return "" },
}

func init() {
	if len(os.Args) != 3 || os.Args[1] != "a peer" {
		return
	}
	answer, ok := fakes[os.Args[2]]
	switch {
	case os.Args[2] == "refuses":
		fmt.Fprintln(os.Stderr, "not today")
		os.Exit(3)
	case os.Args[2] == "is mute":
		time.Sleep(time.Hour)
	case !ok:
		fmt.Println(os.Args[2])
	default:
		fmt.Printf("{\"protocol\":1,\"peer\":\"Fake 1\",\"device\":\"%d\"}\n", os.Getpid())
	}
	seen := map[string]int{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		q := new(Request)
		if err := json.Unmarshal(in.Bytes(), q); err != nil {
			panic(err)
		}
		fmt.Printf("{\"name\":%q,%s}\n", q.Case.Name, answer(q, seen[q.Case.Name]))
		seen[q.Case.Name]++
	}
	if os.Args[2] == "dies" {
		time.Sleep(time.Hour) // ignores the end of its input
	}
	os.Exit(0)
}

func fake(t *testing.T, ctx context.Context, kind string, patience time.Duration) (*Process, error) {
	exe, err := os.Executable()
	require.NoError(t, err)
	p, err := startProcess(ctx, patience, exe, "a peer", kind)
	if err == nil {
		t.Cleanup(func() {
			p.Close()
			assert.NotNil(t, p.cmd.ProcessState, "it was waited for")
		})
	}
	return p, err
}

func good(t *testing.T, kind string) *Process {
	p, err := fake(t, context.Background(), kind, time.Minute)
	require.NoError(t, err)
	return p
}

// An error of a process ends it, soon, and is reported, again for each request.
func TestPeerFails(t *testing.T) {
	for kind, want := range map[string]string{
		"hangs":           "no answer in 2s",
		"has a child":     "no answer in 2s; it said: <nil> pid=",
		"floods":          "its line: bufio.Scanner: token too long",
		"babbles":         "it answers \"c-heads/8\", and was asked for x",
		"prints":          "its answer, \"{\\\"name\\\":\\\"x\\\",\": unexpected end of JSON input",
		"answers another": "it answers \"other\", and was asked for x",
		"says nothing":    "invalid character '}'",
	} {
		t.Run(kind, func(t *testing.T) {
			p, err := fake(t, context.Background(), kind, 2*time.Second)
			require.NoError(t, err)
			start := time.Now()
			_, err = p.Ask(Request{Case: Entry{Name: "x"}})
			require.ErrorContains(t, err, want)
			assert.NotContains(t, err.Error(), "\n")
			_, again := p.Ask(Request{Case: Entry{Name: "x"}})
			assert.Equal(t, err, again)
			assert.Less(t, time.Since(start), 30*time.Second)
			assert.NotNil(t, p.cmd.ProcessState, "it was waited for")
		})
	}
	p, err := fake(t, context.Background(), "babbles", 2*time.Second)
	require.NoError(t, err)
	_, err = p.Ask(Request{Case: Entry{Name: "c-heads/8"}})
	require.NoError(t, err)
	p.Close() // although it continues
	require.ErrorContains(t, p.dead, "no answer in 200ms")
}

// Peers have as many threads as this process.
func TestPeerThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	t.Setenv("RESTRIDE_THREADS", "7")
	a, err := good(t, "counts threads").Ask(Request{Case: Entry{Name: "x"}})
	require.NoError(t, err)
	assert.Equal(t, "3", a.Error)
}

// A process that does not begin like a peer is refused.
func TestStartRefuses(t *testing.T) {
	for kind, want := range map[string]string{
		"refuses":                     "it ended: exit status 3; it said: not today",
		"is mute":                     "no answer in 2s",
		"hello":                       "its first line, \"hello\": invalid character",
		`{"peer":"x"}`:                "its protocol is 0; this program speaks 1",
		`{"protocol":2,"peer":"x"}`:   "its protocol is 2",
		`{"protocol":1}`:              "its first line: no name",
		`{"protocol":1,"peer":" "}`:   "its first line: no name",
		`{"protocol":1,"peer":"x\t"}`: "cannot be printed",
		strings.Repeat("x", mostLine): "token too long",
	} {
		p, err := fake(t, context.Background(), kind, 2*time.Second)
		assert.Nil(t, p)
		assert.ErrorContains(t, err, want)
		if exit := new(exec.ExitError); kind == "refuses" && assert.ErrorAs(t, err, &exit) {
			assert.Equal(t, 3, exit.ExitCode())
		}
	}
	_, err := startProcess(context.Background(), time.Second, "/no/such/program")
	require.ErrorIs(t, err, os.ErrNotExist)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = fake(t, ctx, "good", time.Minute)
	require.ErrorIs(t, err, context.Canceled)
}

var badAnswers = map[string]string{
	"":                       "unexpected end",
	"[]":                     "cannot unmarshal array",
	"null":                   "it answers \"\"",
	`{"name":"a"}`:           "it has 0 samples",
	`{"name":"a","error":7}`: "cannot unmarshal number",
	`{"name":"a","samples":["1"],"batch":1,"verified":"x"}`:                                        "cannot unmarshal string",
	`{"name":"a","samples":[NaN],"batch":1,"verified":"x"}`:                                        "invalid character",
	`{"name":"a","samples":[1e999],"batch":1,"verified":"x"}`:                                      "cannot unmarshal number 1e999",
	`{"name":"a","samples":[0],"batch":1,"verified":"x"}`:                                          "a call took 0 to 0 ns",
	`{"name":"a","samples":[-5],"batch":1,"verified":"x"}`:                                         "a call took -5 to -5 ns",
	`{"name":"a","samples":[1,1e-320],"batch":1,"verified":"x"}`:                                   "want at least 0.001, and",
	`{"name":"a","samples":[1e15],"batch":1,"verified":"x"}`:                                       "less than a day",
	`{"name":"a","samples":[1],"verified":"x"}`:                                                    "of 0 calls, and it was asked for 0",
	`{"name":"a","samples":[1],"batch":-1,"verified":"x"}`:                                         "of -1 calls",
	`{"name":"a","samples":[1],"batch":1}`:                                                         "how much of the result",
	`{"name":"a","error":"two\nlines"}`:                                                            "cannot be printed",
	`{"name":"a","samples":[1],"batch":1,"verified":"\u001b"}`:                                     "cannot be printed",
	`{"name":"a","error":"` + strings.Repeat("e", 5000) + `"}`:                                     "5000 bytes",
	`{"name":"a","batch":1,"verified":"x","samples":[` + strings.Repeat("1,", mostSamples) + `1]}`: "1025 samples",
	`{"name":"a","error":"e"} 7`:                                                                   "after top-level value",
}

func asked(batch int) Request { return Request{Case: Entry{Name: "a"}, Check: 1, Batch: batch} }

func TestReadAnswer(t *testing.T) {
	for text, want := range badAnswers {
		_, err := readAnswer([]byte(text), asked(0))
		assert.ErrorContains(t, err, want, text)
	}
	_, err := readAnswer([]byte(`{"name":"a","samples":[1],"batch":2,"verified":"x"}`), asked(3))
	require.ErrorContains(t, err, "of 2 calls, and it was asked for 3")
	a, err := readAnswer([]byte(`{"name":"a","error":"e","samples":[-1],"batch":-7}`), asked(0))
	require.NoError(t, err)
	assert.Equal(t, &Answer{Name: "a", Error: "e"}, a, "what stands beside an error is no figure")
}

// Any output of a process: the parsed part can be shown, written and read again.
func FuzzPeer(f *testing.F) {
	hello := []byte(`{"protocol":1,"peer":"x 1","device":"cpu"}`)
	f.Add(hello, []byte(`{"name":"a","samples":[1,2.5],"batch":1,"verified":"x"}`))
	f.Add([]byte(`{"protocol":1,"peer":"\u001b"}`), []byte(`{"name":"a","error":"no int4","unsupported":true}`))
	for text := range badAnswers {
		f.Add(hello, []byte(text))
	}
	base, err := os.ReadFile("../report/testdata/report.json")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, first, line []byte) {
		h, err := readHello(first)
		if err != nil {
			require.Nil(t, h)
			return
		}
		peer := &report.Peer{Name: h.Peer, Device: h.Device, Cases: []*report.PeerCase{}}
		if a, err := readAnswer(line, asked(0)); err == nil {
			c := &report.PeerCase{Name: a.Name, Error: a.Error, Unsupported: a.Unsupported, Verified: a.Verified}
			if a.Error == "" {
				c.Timing = report.Summary([]report.Timing{report.NewTiming(a.Samples, a.Batch)})
			}
			peer.Cases = append(peer.Cases, c)
		} else {
			require.Nil(t, a)
		}
		r, err := report.Read(base)
		require.NoError(t, err)
		r.Devices[0].Peers = []*report.Peer{peer}
		text, err := json.Marshal(r)
		require.NoError(t, err)
		back, err := report.Read(text)
		require.NoError(t, err)
		require.Equal(t, r.Devices[0].Peers, back.Devices[0].Peers)
	})
}
