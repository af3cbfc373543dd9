package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/onnx"
)

// profile is the file of --profile: the phases of a command and the nodes of its run as trace
// events in JSON, the format that Perfetto and Chrome open. A nil profile has no file.
type profile struct {
	file   *file.Pending
	path   string
	begin  time.Time
	phases []phase
	run    *onnx.Profile
	device device.Info
}

type phase struct {
	name string
	onnx.Span
}

// newProfile creates the file, if there is a path.
func newProfile(path string) (*profile, error) {
	if path == "" {
		return nil, nil
	}
	f, err := file.Replace(path)
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	return &profile{file: f, path: path, begin: time.Now()}, nil
}

// discard removes the file unless it was written.
func (p *profile) discard() {
	if p != nil {
		p.file.Discard()
	}
}

// phase ends the current phase, and begins another.
func (p *profile) phase(name string) {
	if p != nil {
		p.end()
		p.phases = append(p.phases, phase{name: name, Span: onnx.Span{Begin: time.Since(p.begin)}})
	}
}

// end ends the last phase.
func (p *profile) end() {
	if n := len(p.phases); n > 0 {
		p.phases[n-1].End = time.Since(p.begin)
	}
}

// write writes the file, and reports that.
func (p *profile) write(out io.Writer) error {
	p.end()
	w := &trace{w: bufio.NewWriter(p.file)}
	w.profile(p)
	err := quote.Error(w.err)
	if err == nil {
		err = p.file.Commit()
	}
	if err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	without := ""
	if p.run.HostOnly != "" {
		without = " without device times: " + quote.Text(p.run.HostOnly)
	}
	fmt.Fprintf(out, "profile written to %s%s\n", quote.Path(p.path), without)
	return nil
}

// trace writes trace events.
type trace struct {
	w     *bufio.Writer
	began bool
	err   error // the first error
}

// traceEvent is an event of the format.
type traceEvent struct {
	Name     string   `json:"name"`
	Category string   `json:"cat,omitempty"`
	Type     string   `json:"ph"`          // X: a span, i: a point in time, M: a name
	Scope    string   `json:"s,omitempty"` // of a point: t, its row
	Begin    float64  `json:"ts"`          // in microseconds
	Duration *float64 `json:"dur,omitempty"`
	Process  int      `json:"pid"`
	Row      int      `json:"tid"`
	Args     any      `json:"args,omitempty"`
}

// The rows of a trace.
const (
	hostRow = iota + 1
	deviceRow
)

// nodeArgs are the details of a node.
type nodeArgs struct {
	Node    int      `json:"node"` // index in the file's list of nodes
	Name    string   `json:"name,omitempty"`
	Graph   string   `json:"graph,omitempty"`
	Group   []int    `json:"group,omitempty"`
	Outputs []string `json:"outputs"` // with types
	Verdict string   `json:"verdict"`
	Bytes   int64    `json:"bytes"`
	Class   string   `json:"class,omitempty"`
	Kernel  string   `json:"kernel,omitempty"`
	Read    int64    `json:"read,omitempty"`
	Sent    int64    `json:"sent,omitempty"`
	Why     string   `json:"why"`
}

// profile writes a complete profile.
func (t *trace) profile(p *profile) {
	t.name("process_name", 0, "restride")
	t.name("thread_name", hostRow, "host")
	if p.run.HostOnly == "" {
		t.name("thread_name", deviceRow, p.device.ID()+" "+p.device.Name)
	}
	for _, phase := range p.phases {
		t.span(hostRow, phase.name, "phase", phase.Span, nil)
	}
	since := p.run.Begin.Sub(p.begin)
	var args any
	if p.run.HostOnly != "" {
		args = map[string]string{"no device times": p.run.HostOnly}
	}
	t.span(hostRow, "Session.Run", "run", onnx.Span{Begin: since, End: since + p.run.Host}, args)
	for _, n := range p.run.Nodes {
		t.node(n, since)
	}
	t.text("\n]}\n")
	if t.err == nil {
		t.err = t.w.Flush()
	}
}

// node writes a node's spans or, if it has none, a point at the beginning of the run.
func (t *trace) node(n onnx.NodeReport, since time.Duration) {
	args := nodeArgs{
		Node: n.Index, Name: n.Name, Graph: n.Graph, Group: n.Group, Verdict: string(n.Outcome()), Bytes: n.Bytes,
		Class: n.Class, Kernel: n.Kernel, Read: n.Read, Sent: n.Sent, Why: n.Why,
	}
	for _, m := range append([]onnx.OutputInfo{n.OutputInfo}, n.More...) {
		args.Outputs = append(args.Outputs, m.Output+" "+m.TypeString())
	}
	if n.HostTime == nil {
		t.event(traceEvent{Name: n.Op, Category: args.Verdict, Type: "i", Scope: "t", Begin: micros(since), Row: hostRow, Args: args})
		return
	}
	for i, times := range []*onnx.Span{n.HostTime, n.DeviceTime} {
		if times != nil {
			t.span(hostRow+i, n.Op, args.Verdict, onnx.Span{Begin: since + times.Begin, End: since + times.End}, args)
		}
	}
}

func (t *trace) span(row int, name, category string, s onnx.Span, args any) {
	length := micros(s.End - s.Begin)
	t.event(traceEvent{Name: name, Category: category, Type: "X", Begin: micros(s.Begin), Duration: &length, Row: row, Args: args})
}

// name names the process or a row.
func (t *trace) name(of string, row int, name string) {
	t.event(traceEvent{Name: of, Type: "M", Row: row, Args: map[string]string{"name": name}})
}

func (t *trace) event(e traceEvent) {
	e.Process = 1
	b, err := json.Marshal(e)
	if err != nil && t.err == nil {
		t.err = err
	}
	before := ",\n"
	if !t.began {
		before, t.began = "{\"traceEvents\":[\n", true
	}
	t.text(before + string(b))
}

func (t *trace) text(s string) {
	if t.err == nil {
		_, t.err = t.w.WriteString(s)
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
