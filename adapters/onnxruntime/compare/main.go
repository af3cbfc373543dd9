// Compare measures real models in sessions with ONNX Runtime, next to ONNX Runtime alone, and
// prints a page of bench/results:
//
//	sh setup.sh && go run ./compare >../../bench/results/onnxruntime.md
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/restride/restride/adapters/onnxruntime"
	"github.com/restride/restride/adapters/onnxruntime/internal/models"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
	ort "github.com/yalue/onnxruntime_go"
)

func main() {
	folder := flag.String("packages", "../../build/onnxruntime", "where setup.sh has installed packages")
	rounds := flag.Int("rounds", 40, "how often both are measured, in turn")
	note := flag.String("note", "", "what else is to be known of the machine")
	flag.Parse()
	found, err := filepath.Glob(filepath.Join(*folder, "onnxruntime/capi/libonnxruntime.so.*"))
	if err != nil || len(found) == 0 {
		log.Fatalf("no library in %s: setup.sh installs it", *folder)
	}
	engine, err := onnxruntime.New(onnxruntime.Options{Library: found[0]})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf(heading, ort.GetVersion(), machine(), runtime.NumCPU(), time.Now().Format(time.DateOnly), *note, *rounds)
	for _, r := range models.All {
		line, err := compare(engine, &r, filepath.Join(*folder, r.Path), *rounds)
		if err != nil {
			log.Fatalf("%s: %v", r.Name, err)
		}
		fmt.Println(line)
	}
	fmt.Print(ending)
}

const heading = `# Models with ONNX Runtime

Sessions on the cpu device with [adapters/onnxruntime](../../adapters/onnxruntime/README.md), beside ONNX Runtime %s alone (through the same Go binding, with threads that do not spin, as the adapter's); %s, %d cores, %s%s. Times of a run are medians of %d rounds in which both are measured in turn, with the best in parentheses. Bytes are what layout nodes write: here copies, and what is made contiguous for groups; in ONNX Runtime the outputs of all kernels that it has no alias for. Nodes are without what is constant, and without those in graphs of others.

| model | nodes | groups | with nodes | views | copies | bytes here | there | ms here | ms alone | alone/here |
|---|---|---|---|---|---|---|---|---|---|---|
`

const ending = `
A call of a group takes some 10 µs beside its nodes, and a step of the session 1 to 2 µs: that is what weighs in models whose run takes a tenth of a millisecond.
`

// machine names the processor.
func machine() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for _, line := range strings.Split(string(info), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOOS + "/" + runtime.GOARCH
}

// compare returns the line of a model.
func compare(engine *onnxruntime.Engine, r *models.Model, path string, rounds int) (string, error) {
	m, err := model.Load(path)
	if err != nil {
		return "", err
	}
	in := r.Inputs(1)
	options, err := ort.NewSessionOptions()
	if err != nil {
		return "", err
	}
	defer options.Destroy()
	// Like the engine's, so that only Restride differs.
	if err := options.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"); err != nil {
		return "", err
	}
	alone, err := r.NewAlone(path, m, in, options)
	if err != nil {
		return "", err
	}
	defer alone.Close()
	s, err := tensor.Open("cpu")
	if err != nil {
		return "", err
	}
	defer s.Close()
	sess, err := onnx.NewSession(s, m, onnx.WithOperators(engine))
	if err != nil {
		return "", err
	}
	defer sess.Close()
	values, err := upload(s, r, in)
	if err != nil {
		return "", err
	}
	defer values.Release()
	here := func() error {
		out, err := sess.Run(context.Background(), values)
		if err != nil {
			return err
		}
		return out.Release()
	}
	there := func() error { _, err := alone.Run(); return err }
	if err := here(); err != nil { // which loads outputs without declared types
		return "", err
	}
	var work work
	sess.OnNode(work.add)
	if err := here(); err != nil {
		return "", err
	}
	sess.OnNode(nil)
	var a, b []float64
	for range rounds {
		for list, run := range map[*[]float64]func() error{&a: here, &b: there} {
			ms, err := measure(run)
			if err != nil {
				return "", err
			}
			*list = append(*list, ms)
		}
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %s | %s | %.2f |", r.Name,
		work.nodes, work.groups, work.grouped, work.views, work.copies, work.bytes, work.runtime, times(a), times(b), median(b)/median(a)), nil
}

func upload(s *tensor.Stream, r *models.Model, in map[string]any) (onnx.Values, error) {
	values := onnx.Values{}
	for name, list := range in {
		var x *tensor.Tensor
		var err error
		switch list := list.(type) {
		case []float32:
			x, err = tensor.FromSlice(s, list, r.Shapes[name]...)
		case []int64:
			x, err = tensor.FromSlice(s, list, r.Shapes[name]...)
		}
		if err != nil {
			return nil, err
		}
		values[name] = x
	}
	return values, nil
}

// measure returns the milliseconds of a run, averaged over some time.
func measure(run func() error) (float64, error) {
	const long = 20 * time.Millisecond
	start, n := time.Now(), 0
	for n == 0 || time.Since(start) < long {
		if err := run(); err != nil {
			return 0, err
		}
		n++
	}
	return time.Since(start).Seconds() * 1e3 / float64(n), nil
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func times(list []float64) string { return fmt.Sprintf("%.3f (%.3f)", median(list), slices.Min(list)) }

// work adds up the nodes of a run.
type work struct {
	nodes, groups, grouped, views, copies int
	bytes, runtime                        int64
}

func (w *work) add(n onnx.NodeReport) {
	if n.Outcome() == onnx.IsConstant {
		return
	}
	w.bytes += n.Bytes
	w.runtime += max(n.RuntimeBytes(), 0)
	if n.Foreign && n.Group != nil {
		w.groups++
		w.grouped += len(n.Group)
		w.nodes += len(n.Group)
		return
	}
	w.nodes++
	switch n.Outcome() {
	case onnx.IsView, onnx.IsElided:
		w.views++
	case onnx.IsCopy:
		w.copies++
	}
}
