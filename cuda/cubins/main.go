// Command cubins compiles the kernels for the GPUs that cubins are made for, and puts
// them into an archive (see scripts/cubins.sh).
//
//	go run ./cuda/cubins build/nvcc/ptxas internal/cudakernels/cubins.zip
package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"github.com/restride/restride/internal/cudakernels"
	"github.com/restride/restride/internal/planner"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: cubins PTXAS ARCHIVE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "cubins:", err)
		os.Exit(1)
	}
}

// job is a kernel for an architecture.
type job struct {
	architecture int
	spec         planner.Spec
	name         string
	image        []byte
	err          error
}

func write(ptxas, archive string) error {
	in, err := os.MkdirTemp("", "cubins")
	if err != nil {
		return err
	}
	defer os.RemoveAll(in)
	var all []*job
	for _, a := range cudakernels.Architectures() {
		for _, s := range (planner.Target{}).Kernels() {
			all = append(all, &job{architecture: a, spec: s})
		}
	}
	left := make(chan *job)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for j := range left {
				j.compile(ptxas, in)
			}
		})
	}
	for _, j := range all {
		left <- j
	}
	close(left)
	workers.Wait()
	return pack(all, archive)
}

func (j *job) compile(ptxas, in string) {
	text, err := cudakernels.PTX(j.spec)
	if err != nil {
		j.err = err
		return
	}
	j.name = cudakernels.CubinName(j.architecture, j.spec, text)
	source := filepath.Join(in, fmt.Sprintf("%v.%d", j.spec, j.architecture))
	if j.err = os.WriteFile(source, text, 0o600); j.err != nil {
		return
	}
	log, err := exec.Command(ptxas, "-O3", "-arch=sm_"+strconv.Itoa(j.architecture), "-o", source+".cubin", source).CombinedOutput()
	if err != nil {
		j.err = fmt.Errorf("%v: %w\n%s", j.spec, err, log)
		return
	}
	j.image, j.err = os.ReadFile(source + ".cubin")
}

func pack(all []*job, archive string) error {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	var errs []error
	for _, j := range all {
		if j.err != nil {
			errs = append(errs, j.err)
			continue
		}
		f, err := w.Create(j.name)
		if err == nil {
			_, err = f.Write(j.image)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(append(errs, w.Close())...); err != nil {
		return err
	}
	fmt.Printf("%s: %d kernels, %d bytes\n", archive, len(all), b.Len())
	return os.WriteFile(archive, b.Bytes(), 0o644)
}
