package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/restride/restride/internal/cudakernels"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptx"
)

// resources are a kernel's resources from the assembler.
type resources struct {
	registers, shared int
	spilled           int             // bytes of registers that are spilled to memory
	local             map[int]spilled // by the lines of PTX that cause them
}

// note describes spilled registers, if any.
func (r *resources) note() string {
	if r.spilled == 0 {
		return ""
	}
	return fmt.Sprintf(", %d spilled", r.spilled)
}

// assumed are a kernel's resources without an assembler.
var assumed = resources{registers: 40}

var (
	usedRegisters = regexp.MustCompile(`Used (\d+) registers`)
	usedShared    = regexp.MustCompile(`(\d+) bytes smem`)
	spillStores   = regexp.MustCompile(`(\d+) bytes spill stores`)
)

// resources runs the assembler.
func (m *model) resources(s planner.Spec, arch string) (resources, error) {
	if m.assembler == "" {
		return assumed, nil
	}
	key := s.String() + " " + arch
	if r, ok := m.known[key]; ok {
		return r, nil
	}
	text, err := cudakernels.PTX(s)
	if err != nil {
		return resources{}, err
	}
	r, err := assemble(m.assembler, arch, text)
	if err != nil {
		return resources{}, fmt.Errorf("%v for %s: %w", s, arch, err)
	}
	m.known[key] = r
	return r, nil
}

func assemble(assembler, arch string, text []byte) (r resources, err error) {
	p, err := ptx.Parse(text)
	if err != nil {
		return r, err
	}
	folder, err := os.MkdirTemp("", "model")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	in, out := filepath.Join(folder, "in.ptx"), filepath.Join(folder, "out")
	if err := os.WriteFile(in, located(text, p.Lines()), 0o600); err != nil {
		return r, err
	}
	said, err := exec.Command(assembler, "-v", "-lineinfo", "-arch="+arch, in, "-o", out).CombinedOutput()
	if err != nil {
		return r, fmt.Errorf("%w: %s", err, said)
	}
	number := func(of *regexp.Regexp) int {
		n := 0
		if found := of.FindSubmatch(said); found != nil {
			n, _ = strconv.Atoi(string(found[1]))
		}
		return n
	}
	r = resources{registers: number(usedRegisters), shared: number(usedShared), spilled: number(spillStores)}
	if r.registers == 0 {
		return r, fmt.Errorf("the assembler names no registers: %s", said)
	}
	if r.spilled == 0 {
		return r, nil
	}
	cubin, err := os.ReadFile(out)
	if err != nil {
		return r, err
	}
	r.local, err = spills(cubin)
	return r, err
}

// located puts the number of its line before each instruction, for the assembler to map machine
// instructions to lines.
func located(text []byte, lines []int) []byte {
	instruction := map[int]bool{}
	for _, l := range lines[:len(lines)-1] { // without the end
		instruction[l] = true
	}
	var out bytes.Buffer
	for i, l := range bytes.SplitAfter(text, []byte("\n")) {
		if instruction[i+1] {
			fmt.Fprintf(&out, ".loc 1 %d 0\n", i+1)
		}
		out.Write(l)
	}
	out.WriteString("\n.file 1 \"kernel.ptx\"\n")
	return out.Bytes()
}
