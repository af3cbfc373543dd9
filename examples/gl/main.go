//go:build gogl

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/restride/restride"
	"github.com/restride/restride/device"
	"github.com/restride/restride/gl"
	"github.com/restride/restride/gl/headless"
	"github.com/restride/restride/opencl"
	"github.com/restride/restride/tensor"
)

type options struct {
	device, out           string
	width, height, frames int
}

func main() {
	var o options
	flag.StringVar(&o.device, "device", "auto", "the device, as restride devices lists them")
	flag.StringVar(&o.out, "out", "build/gl", "the folder for the pictures")
	flag.IntVar(&o.width, "width", 1920, "the width of a frame")
	flag.IntVar(&o.height, "height", 1080, "the height of a frame")
	flag.IntVar(&o.frames, "frames", 3, "how many frames there are")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	if o.width < 1 || o.height < 1 || o.frames < 1 {
		return errors.New("width, height and the number of frames are at least 1")
	}
	context, err := headless.New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, context.Close()) }()
	dev, err := openDevice(o.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	s, err := tensor.NewStream(dev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	in, err := gl.New(s, gl.Options{ProcAddress: context.ProcAddress})
	if err != nil {
		return err
	}
	frame, err := newCanvas(o.width, o.height)
	if err != nil {
		return err
	}
	result, err := newCanvas(o.width, o.height)
	if err != nil {
		return err
	}
	p, err := newPipeline(s, in, o.width, o.height)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for i := range o.frames {
		before, began := s.Device().Stats(), time.Now()
		frame.draw(i)
		if err := p.step(frame, result); err != nil {
			return err
		}
		took, after := time.Since(began), s.Device().Stats()
		fmt.Printf("%s, %v: frame %d of %dx%d in %v, %d launches, %d bytes to the device and %d from it\n", s.Device().Info().ID(), in.Way(), i, o.width, o.height,
			took.Round(100*time.Microsecond), after.Launches-before.Launches, after.HostToDevice-before.HostToDevice, after.DeviceToHost-before.DeviceToHost)
	}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return err
	}
	return errors.Join(
		frame.save(filepath.Join(o.out, "frame.png")),
		savePlanes(filepath.Join(o.out, "planes.png"), p.planes),
		result.save(filepath.Join(o.out, "result.png")))
}

// openDevice opens a device. An OpenCL device shares with GL if its context is made for that,
// and its driver can.
func openDevice(name string) (device.Device, error) {
	index, isOpenCL := strings.CutPrefix(name, "opencl:")
	n, err := strconv.Atoi(index)
	if !isOpenCL || err != nil {
		return device.Open(name)
	}
	current, err := opencl.CurrentGL()
	if err != nil {
		return nil, err
	}
	dev, err := opencl.OpenWith(n, opencl.Options{GL: current})
	if errors.Is(err, device.ErrUnsupported) {
		return device.Open(name)
	}
	if err != nil {
		return nil, err
	}
	return dev, nil
}
