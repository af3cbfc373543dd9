package planner

import (
	"fmt"
	"strings"

	"github.com/restride/restride/kernels"
)

// Dialect is a language that the kernels compile as: the name of its prelude.
type Dialect string

// The dialects.
const (
	OpenCL Dialect = "opencl" // OpenCL C 1.2
	CUDA   Dialect = "cuda"   // CUDA C as clang accepts it without CUDA's headers
	Host   Dialect = "host"   // C++17
)

// Source returns the program with the given kernels, each named by Spec.String; without kernels,
// the dialect's prelude.
func Source(d Dialect, specs ...Spec) string {
	p := program{dialect: d, included: map[string]bool{}}
	p.text.Grow(64 << 10)
	p.include("dialect.h", nil)
	for _, s := range specs {
		p.include("kernel.h", nil)
		p.add(s)
	}
	return p.text.String()
}

// program is a text without include lines: drivers compile a single file.
type program struct {
	dialect  Dialect
	text     strings.Builder
	included map[string]bool // headers; the value says whether #pragma once is in it
}

// add adds a kernel: its form's header between the kernel's macros.
func (p *program) add(s Spec) {
	defines := s.defines()
	macros := make(map[string]string, len(defines))
	for _, define := range defines {
		name, value, _ := strings.Cut(define, " ")
		macros[name] = value
		fmt.Fprintf(&p.text, "#define %s\n", define)
	}
	p.include(s.header(), macros)
	for _, define := range defines {
		name, _, _ := strings.Cut(define, " ")
		fmt.Fprintf(&p.text, "#undef %s\n", name)
	}
}

// include adds a header and its includes, given by name or by a macro whose value is a name.
func (p *program) include(header string, macros map[string]string) {
	if p.included[header] {
		return
	}
	name := header
	if header == "dialect.h" {
		name = string(p.dialect) + ".h"
	}
	p.included[header] = false
	for line := range strings.Lines(file(name)) {
		directive := strings.TrimRight(line, "\n")
		included, isInclude := strings.CutPrefix(directive, "#include ")
		switch {
		case directive == "#pragma once":
			p.included[header] = true
		case isInclude && !strings.HasPrefix(included, "<"):
			if value, ok := macros[included]; ok {
				included = value
			}
			p.include(strings.Trim(included, `"`), macros)
		default:
			p.text.WriteString(line)
		}
	}
}

// header is the header of a kernel, which includes everything else.
func (s Spec) header() string {
	f := s.form()
	switch {
	case s.CPUTarget && f.cpuHeader != "":
		return f.cpuHeader
	case s.Periodic && f.periodicHeader != "":
		return f.periodicHeader
	}
	return f.header
}

func file(name string) string {
	text, err := kernels.Source.ReadFile("source/" + name)
	if err != nil {
		panic(fmt.Sprintf("planner: %v", err)) // a form without a header: a test checks all forms
	}
	return string(text)
}
