// Command plans prints the plans of operations for a GPU, as JSON: the kernel, its parameters
// and its arguments.
//
//	go run ./kernels/plans > plans.json
//	go run ./kernels/plans --case copy/int4/64x64/dst=64,1@0/src=1,64@0 --ptx build/ptx
//
// Without --case these are the operations of restride bench. The GPU is an H100, except for
// --multiprocessors and --capability.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/cudakernels"
	"github.com/restride/restride/internal/launches"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
)

func main() {
	var p printer
	var given []string
	flag.Func("case", "an `operation`, as restride verify --case takes it; may be repeated", func(name string) error {
		given = append(given, name)
		return nil
	})
	flag.Int64Var(&p.size, "size", 256<<20, "of bench's operations: about how many `bytes` they write")
	flag.IntVar(&p.target.Multiprocessors, "multiprocessors", 132, "how `many` the GPU has: by default an H100's")
	flag.IntVar(&p.target.Capability, "capability", 90, "its compute `capability`, as 90 for 9.0")
	flag.StringVar(&p.ptx, "ptx", "", "lay the kernels' PTX into this `folder`")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := p.print(os.Stdout, given); err != nil {
		fmt.Fprintln(os.Stderr, "plans:", err)
		os.Exit(1)
	}
}

type printer struct {
	size   int64
	ptx    string
	target planner.Target
	all    []plan
}

// plan is a launch in the form for a GPU model. Bases count elements of the kernel's width;
// Read and Written are the least bytes that memory moves, Bytes the size of dst.
type plan struct {
	Name, Class, Spec    string
	Groups, Local        uint32
	Desc                 string // the parameters, in hexadecimal
	DB, SB               int64  // the bases of dst and src,
	Lo, Hi               uint64 // and the two arguments behind them
	Bytes, Read, Written int64
	Extent               int64 // of a take: its index's
}

func (p *printer) print(to io.Writer, given []string) error {
	p.all = []plan{}
	for _, name := range given {
		o, err := oracle.ParseCase(name)
		if err != nil {
			return err
		}
		if err := p.add(name, o); err != nil {
			return err
		}
	}
	if len(given) == 0 {
		for _, c := range cases.All() {
			o, err := c.At(p.size)
			if err != nil {
				return err
			}
			if err := p.add(c.Name, o); err != nil {
				return err
			}
		}
	}
	return json.NewEncoder(to).Encode(p.all)
}

func (p *printer) add(name string, o oracle.Case) error {
	l, err := launches.Of(o, p.target)
	if err != nil {
		return err
	}
	one := plan{
		Name: name, Class: l.Class, Spec: l.Spec.String(), Groups: l.Groups, Local: l.Local,
		Desc: fmt.Sprintf("%x", l.Params), Bytes: l.Bytes, Read: l.Read, Written: l.Written, Extent: l.Extent,
	}
	if l.Groups > 0 {
		const bases = 3 // arguments of every kernel
		one.DB, one.SB, one.Lo, one.Hi = int64(l.Numbers[bases]), int64(l.Numbers[bases+1]), l.Numbers[bases+2], l.Numbers[bases+3]
	}
	p.all = append(p.all, one)
	if p.ptx == "" || l.Groups == 0 {
		return nil
	}
	return writePTX(p.ptx, l.Spec)
}

func writePTX(folder string, s planner.Spec) error {
	text, err := cudakernels.PTX(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, s.String()+".ptx"), text, 0o644)
}
