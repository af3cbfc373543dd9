package adversary

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/tensor"
)

// A Plan describes a run of [Plan.Run].
type Plan struct {
	Devices    []string // in the form of device.Open
	Generators []Generator
	Seed       uint64
	First      uint64        // the index of the first try
	Tries      uint64        // of each generator on each device; 0: until Time has passed
	Time       time.Duration // 0: until all Tries are made
	Deadline   time.Duration // of a try
	Failures   int           // ends the run
	Out        io.Writer
}

// A course is a generator on a device.
type course struct {
	device string
	Generator
	stream        *tensor.Stream
	tried, failed uint64
	took          time.Duration
}

// Run makes the tries, giving each course about the same time, and returns an error if one
// failed, or if the process's budget is not released in the end.
func (p Plan) Run() error {
	before := counted()
	err := p.run()
	if errors.Is(err, ErrStuck) {
		return err
	}
	return errors.Join(err, countedBackTo(before))
}

// counted is the budget in use by the process, without the idle memory of tensor.Host, which is
// never closed.
func counted() int64 {
	host := tensor.Host().Device().Stats()
	return budget.Process().InUse() - host.Reserved
}

// countedBackTo waits a moment for the garbage collector, which releases memory tied to Go
// values.
func countedBackTo(before int64) error {
	for range 100 {
		runtime.GC()
		if counted() <= before {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the process's budget had %d bytes in use, and has %d", before, counted())
}

func (p Plan) run() (err error) {
	dir, err := os.MkdirTemp("", "restride-soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	last, err := os.Create(filepath.Join(dir, "last"))
	if err != nil {
		return err
	}
	defer last.Close()
	scratch := filepath.Join(dir, "scratch")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return err
	}
	var courses []*course
	for i, name := range p.Devices {
		dev, err := device.Open(name)
		if err != nil {
			return err
		}
		defer dev.Close()
		s, err := tensor.NewStream(dev)
		if err != nil {
			return err
		}
		defer s.Close()
		for _, g := range p.Generators {
			if (i == 0 || !g.Host) && (!g.Simulated || simulated(dev)) {
				courses = append(courses, &course{device: name, Generator: g, stream: s})
			}
		}
	}
	fmt.Fprintf(p.Out, "seed %d; if the process dies, its last try is in %s\n", p.Seed, last.Name())
	began, said, failed := time.Now(), time.Now(), 0
	var stuck error
	for failed < p.Failures {
		c := p.next(courses)
		if c == nil || p.Time > 0 && time.Since(began) >= p.Time {
			break
		}
		index := p.First + c.tried
		command := p.command(c, index)
		if err := overwrite(last, command+"\n"); err != nil {
			return err
		}
		start := time.Now()
		err := Once(c.Generator, c.stream, scratch, p.Seed, index, p.Deadline)
		c.took += time.Since(start)
		c.tried++
		if err != nil {
			c.failed++
			failed++
			fmt.Fprintf(p.Out, "FAIL %s on %s: %v\n  again: %s\n", c.Name, c.device, err, command)
		}
		if errors.Is(err, ErrStuck) {
			stuck = ErrStuck
			break
		}
		if time.Since(said) >= time.Minute {
			said = said.Add(time.Minute)
			fmt.Fprintf(p.Out, "%v: %s\n", time.Since(began).Round(time.Second), process())
		}
	}
	fmt.Fprintf(p.Out, "%v: %s\n", time.Since(began).Round(time.Second), process())
	p.table(courses)
	if failed > 0 {
		return errors.Join(fmt.Errorf("%d tries failed", failed), stuck)
	}
	return nil
}

// command returns the command line that repeats a try.
func (p Plan) command(c *course, index uint64) string {
	var b strings.Builder
	for _, name := range []string{"RESTRIDE_LIBCUDA", "RUSTICL_ENABLE"} { // variables that find devices
		if v := os.Getenv(name); v != "" {
			fmt.Fprintf(&b, "%s=%s ", name, v)
		}
	}
	fmt.Fprintf(&b, "go run ./cmd/soak --device %s --only %s --seed %d --first %d --tries 1", c.device, c.Name, p.Seed, index)
	return b.String()
}

// next returns the course with the least time so far that has tries left.
func (p Plan) next(courses []*course) *course {
	var least *course
	for _, c := range courses {
		if (p.Tries == 0 || c.tried < p.Tries) && (least == nil || c.took < least.took) {
			least = c
		}
	}
	return least
}

// overwrite makes text the content of a file.
func overwrite(f *os.File, text string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// table lists the numbers of tries.
func (p Plan) table(courses []*course) {
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "generator\tdevice\ttries\tfailures\ttime")
	for _, c := range courses {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%v\n", c.Name, c.device, c.tried, c.failed, c.took.Round(time.Millisecond))
	}
	w.Flush()
}

// process describes the resources of the process, as far as the system reports them: "RSS 81
// MiB, 62 MiB after a collection; budget 3 MiB; 9 goroutines, 12 files". The second figure is
// constant without leaks, and the budget's if everything counted is released.
func process() string {
	before := processBytes("VmRSS:")
	debug.FreeOSMemory()
	said := fmt.Sprintf("RSS %d MiB, %d MiB after a collection; budget %d MiB; %d goroutines", before>>20, processBytes("VmRSS:")>>20, budget.Process().InUse()>>20, runtime.NumGoroutine())
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		said += fmt.Sprintf(", %d files", len(files))
	}
	return said
}

// processBytes reads a line such as "VmRSS: 83024 kB" of the process's status. 0: the system
// does not report it.
func processBytes(name string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), name)
	var kB int64
	fmt.Sscan(rest, &kB)
	return kB << 10
}
