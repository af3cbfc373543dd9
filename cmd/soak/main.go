// Command soak tries the generators of internal/adversary on devices, for hours if
// need be:
//
//	go run ./cmd/soak --device cpu,opencl:0,cuda:0 --time 1h
//
// It prints the seed, a line each minute (what memory the process has), how many tries
// were made and failed, and for each failure the command that repeats that try.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	_ "github.com/restride/restride" // all devices
	"github.com/restride/restride/internal/adversary"
)

func main() {
	p := adversary.Plan{Out: os.Stdout}
	devices := flag.String("device", "cpu", `devices: "cpu,opencl:0,cuda:0"`)
	only := flag.String("only", "", `generators: "graphs,casts"; none is all`)
	flag.Uint64Var(&p.Seed, "seed", rand.Uint64()>>32, "seed of all tries; random if not given")
	flag.Uint64Var(&p.First, "first", 0, "index of the first try")
	flag.Uint64Var(&p.Tries, "tries", 0, "tries of each generator on each device; 0 is until --time has passed")
	flag.DurationVar(&p.Time, "time", 0, "how long; 0 is a minute, or until all --tries are made")
	flag.DurationVar(&p.Deadline, "deadline", time.Minute, "the longest that a try may take")
	flag.IntVar(&p.Failures, "failures", 10, "failures that end the run")
	flag.Usage = usage
	flag.Parse()
	if flag.NArg() > 0 {
		usage()
		os.Exit(2)
	}
	if p.Time == 0 && p.Tries == 0 {
		p.Time = time.Minute
	}
	p.Devices = strings.Split(*devices, ",")
	var err error
	if p.Generators, err = adversary.Named(*only); err == nil {
		err = p.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(flag.CommandLine.Output(), "usage: soak [flags]")
	flag.PrintDefaults()
	fmt.Fprintln(flag.CommandLine.Output(), "generators:")
	for _, g := range adversary.Generators() {
		fmt.Fprintf(flag.CommandLine.Output(), "  %-10s %s\n", g.Name, g.About)
	}
}
