package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/restride/restride/cuda"
	"github.com/restride/restride/kernels"
)

var (
	usedRegisters = regexp.MustCompile(`Used (\d+) registers`)
	usedShared    = regexp.MustCompile(`(\d+) bytes smem`)
)

// resources asks the assembler.
func (m *model) resources(s kernels.Spec, arch string) (resources, error) {
	if m.assembler == "" {
		return assumed, nil
	}
	key := s.String() + " " + arch
	if r, ok := m.known[key]; ok {
		return r, nil
	}
	text, err := cuda.PTX(s)
	if err != nil {
		return resources{}, err
	}
	folder, err := os.MkdirTemp("", "model")
	if err != nil {
		return resources{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	in := filepath.Join(folder, "in.ptx")
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return resources{}, err
	}
	said, err := exec.Command(m.assembler, "-v", "-arch="+arch, in, "-o", filepath.Join(folder, "out")).CombinedOutput()
	if err != nil {
		return resources{}, fmt.Errorf("%v for %s: %w: %s", s, arch, err, said)
	}
	found := usedRegisters.FindSubmatch(said)
	if found == nil {
		return resources{}, fmt.Errorf("%v for %s: the assembler names no registers: %s", s, arch, said)
	}
	r := resources{}
	r.registers, _ = strconv.Atoi(string(found[1]))
	if found = usedShared.FindSubmatch(said); found != nil {
		r.shared, _ = strconv.Atoi(string(found[1]))
	}
	m.known[key] = r
	return r, nil
}
