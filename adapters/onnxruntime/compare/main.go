//go:build unix

// Compare measures models in sessions with ONNX Runtime, next to ONNX Runtime alone, and prints a
// page of bench/results. models.txt lists the models, below a folder that models.sh fills:
//
//	sh setup.sh && sh compare/models.sh && go run ./compare >../../bench/results/onnxruntime.md
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/restride/restride/adapters/onnxruntime"
	"github.com/restride/restride/adapters/onnxruntime/internal/models"
)

func main() {
	folder := flag.String("models", "../../build/onnx-models", "where models.sh has put models")
	list := flag.String("list", "compare/models.txt", "the models, with inputs")
	library := flag.String("library", "", "ONNX Runtime's library; none: where setup.sh installs it")
	rounds := flag.Int("rounds", 40, "how often runs are measured, in turn, twice each")
	processes := flag.Int("processes", 5, "how many processes measure a load")
	only := flag.String("only", "", "models whose names contain this")
	note := flag.String("note", "", "what else is to be known of the machine")
	part := flag.String("part", "", "measure one model and print figures: run, beside or alone")
	flag.Parse()
	found, err := models.Library(*library)
	if err != nil {
		log.Fatal(err)
	}
	engine, err := onnxruntime.New(onnxruntime.Options{Library: found})
	if err != nil {
		log.Fatal(err)
	}
	lines, err := os.ReadFile(*list)
	if err != nil {
		log.Fatal(err)
	}
	if *part == "" {
		fmt.Printf(heading, engine.Version(), machine(), runtime.NumCPU(), time.Now().Format(time.DateOnly), *note, *rounds)
	}
	for line := range strings.Lines(string(lines)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.Contains(fields[0], *only) {
			continue
		}
		m := &measured{name: fields[0], path: filepath.Join(*folder, fields[1]), given: fields[2:], engine: engine, rounds: *rounds, processes: *processes}
		if *part != "" {
			f, err := m.part(*part)
			if err != nil {
				log.Fatalf("%s: %v", m.name, err)
			}
			if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
				log.Fatal(err)
			}
			return
		}
		row, err := m.row([]string{"-models", *folder, "-list", *list, "-library", found, "-rounds", fmt.Sprint(*rounds)})
		if err != nil {
			row = fmt.Sprintf("| %s | %v |", m.name, err)
		}
		fmt.Println(row)
	}
	fmt.Print(ending)
}

const heading = `# Models with ONNX Runtime

Sessions on the cpu device with [adapters/onnxruntime](../../adapters/onnxruntime/README.md), beside ONNX Runtime %s alone, through the same calls and with threads that do not spin in both; %s, %d cores, %s%s.

| column | |
|---|---|
| groups, of nodes | the groups that ONNX Runtime runs, and their nodes; those that the session left to it are counted as kept |
| views, copies | what the session does with the other nodes; nodes of constants are not counted |
| difference | the largest of any output, to ONNX Runtime alone |
| run | the best of twice %d runs, in which both are measured in turn |
| load | processor time for model and session, with the file in the page cache: the least of some processes each, in turn |
| memory | resident after a run, and after the garbage is collected: the least of the same processes. In parentheses the peak |
| unknown | nodes of unknown bytes in ` + "`restride explain`" + ` |

| model | groups, of nodes | kept | views | copies | difference | run ms | alone | ratio | load ms | alone | ratio | memory MB | alone | ratio | unknown |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

const ending = `
The quantised models are made here by onnxruntime.quantization: QDQ, per channel (pc), QOperator and dynamic.
`

// machine names the processor.
func machine() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOOS + "/" + runtime.GOARCH
}

// row measures a model, in processes of their own, and returns its line in the table.
func (m *measured) row(flags []string) (string, error) {
	part := func(name string) (figures, error) {
		var f figures
		c := exec.Command(os.Args[0], append(flags, "-only", m.name, "-part", name)...)
		out, err := c.CombinedOutput()
		if err == nil {
			err = json.Unmarshal(out, &f)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", name, err, out)
		}
		return f, err
	}
	run, err := part("run")
	if err != nil {
		return "", err
	}
	var best [2]figures
	for range m.processes {
		for i, name := range []string{"beside", "alone"} {
			f, err := part(name)
			if err != nil {
				return "", err
			}
			best[i] = best[i].least(f)
		}
	}
	here, there := best[0], best[1]
	return fmt.Sprintf("| %s | %d, %d | %d | %d | %d | %.3g | %.3f | %.3f | %.2f | %.0f | %.0f | %.2f | %.0f (%.0f) | %.0f (%.0f) | %.2f (%.2f) | %d of %d |",
		m.name, run.Groups, run.Grouped, run.Kept, run.Views, run.Copies, run.Difference, run.Here, run.There, run.Here/run.There,
		here.Load, there.Load, here.Load/there.Load, here.Resident, here.Peak, there.Resident, there.Peak, here.Resident/there.Resident, here.Peak/there.Peak,
		run.Unknown, run.Nodes), nil
}
