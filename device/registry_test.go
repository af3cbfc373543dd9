package device

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// family is a backend with n devices, or with an error.
type family struct {
	name  string
	n     int
	err   error
	kinds []Kind // of the devices; missing ones are GPU

	broken error // of kernels
	closed *bool // a device was closed
}

func (f family) info(index int) Info {
	info := Info{Backend: f.name, Index: index, Kind: GPU}
	if index < len(f.kinds) {
		info.Kind = f.kinds[index]
	}
	return info
}

func (f family) Name() string { return f.name }

func (f family) List() ([]Info, error) {
	var infos []Info
	for i := range f.n {
		infos = append(infos, f.info(i))
	}
	return infos, f.err
}

func (f family) Open(index int) (Device, error) {
	if f.err != nil {
		return nil, f.err
	}
	if index >= f.n {
		return nil, ErrNoDevice
	}
	if f.closed == nil {
		f.closed = new(bool)
	}
	return opened{info: f.info(index), broken: f.broken, closed: f.closed}, nil
}

type opened struct {
	Device
	info   Info
	closed *bool
	broken error // of kernels
}

func (o opened) Info() Info                  { return o.info }
func (o opened) NewQueue() (Queue, error)    { return queue{broken: o.broken}, nil }
func (o opened) Alloc(int64) (Buffer, error) { return buffer{}, nil }
func (o opened) Close() error {
	*o.closed = true
	return nil
}

type queue struct {
	Queue
	broken error
}

func (q queue) Fill(Operand, []byte) error { return q.broken }
func (q queue) Wait() error                { return nil }
func (q queue) Close() error               { return nil }

type buffer struct{ Buffer }

func (buffer) Free() error { return nil }

// with replaces the registered backends for one test.
func with(t *testing.T, families ...Backend) {
	saved := registry.backends
	t.Cleanup(func() { registry.backends = saved })
	registry.backends = nil
	for _, f := range families {
		Register(f)
	}
}

func TestOpen(t *testing.T) {
	with(t, family{name: "cpu", n: 1}, family{name: "other", n: 1}, family{name: "opencl", n: 2}, family{name: "cuda", err: ErrNoDevice})
	for name, want := range map[string]string{
		"":         "opencl:0",
		"auto":     "opencl:0",
		"cpu":      "cpu",
		"cpu:0":    "cpu",
		"opencl":   "opencl:0",
		"opencl:1": "opencl:1",
		"other":    "other:0",
	} {
		dev, err := Open(name)
		if assert.NoError(t, err, name) {
			assert.Equal(t, want, dev.Info().ID(), name)
		}
	}
	for name, kind := range map[string]error{
		"cuda":                           ErrNoDevice,
		"opencl:2":                       ErrNoDevice,
		"vulkan":                         ErrNoDevice,
		"auto:0":                         ErrNoDevice,
		"CPU":                            ErrNoDevice,
		":0":                             ErrNoDevice,
		"opencl:":                        ErrInvalid,
		"opencl:-1":                      ErrInvalid,
		"opencl:+1":                      ErrInvalid,
		"opencl:x":                       ErrInvalid,
		"opencl:0:1":                     ErrInvalid,
		"opencl: 1":                      ErrInvalid,
		"opencl:1.0":                     ErrInvalid,
		"opencl:99999999999999999999999": ErrInvalid,
	} {
		dev, err := Open(name)
		assert.Nil(t, dev, name)
		if assert.ErrorIs(t, err, kind, name) && name != "auto:0" {
			assert.ErrorContains(t, err, name)
		}
	}
	_, err := Open("vulkan")
	assert.ErrorContains(t, err, "cuda, opencl, other, cpu")
	assert.NotContains(t, err.Error(), "did you mean")
	for name, want := range map[string]string{
		"gpu": "auto", "GPU:0": "auto", "CPU": "cpu", "OpenCL:1": "opencl:1", "opencl1": "opencl:1", "opencl-1": "opencl:1", "cuda0": "cuda:0",
		"openlc:1": "opencl:1", "cdua": "cuda", "atuo": "auto",
	} {
		_, err := Open(name)
		assert.ErrorContains(t, err, fmt.Sprintf("did you mean %q?", want), name)
	}
}

func TestOpenAuto(t *testing.T) {
	broken := &DriverError{Call: "init", Code: 1, Name: "BROKEN"}
	all := []Backend{family{name: "cpu", n: 1}, family{name: "zeta", n: 1}, family{name: "opencl", n: 1}, family{name: "cuda", n: 1}, family{name: "alpha", n: 1}}
	for i, want := range []string{"cuda:0", "opencl:0", "zeta:0", "alpha:0", "cpu"} {
		with(t, all...)
		dev, err := Open("auto")
		require.NoError(t, err)
		require.Equal(t, want, dev.Info().ID(), "with %d backends gone", i)
		for k, b := range all {
			if b.Name() == dev.Info().Backend {
				all[k] = family{name: b.Name(), err: broken} // next time it is not there
			}
		}
	}
	with(t, all...)
	_, err := Open("auto")
	require.ErrorIs(t, err, ErrDriver)
	for _, b := range all {
		assert.ErrorContains(t, err, b.Name()+": init: BROKEN (1)", "the reasons of all backends are given")
	}

	with(t)
	for _, name := range []string{"auto", "cpu"} {
		_, err = Open(name)
		require.ErrorIs(t, err, ErrNoDevice)
		assert.ErrorContains(t, err, "no backend is imported")
	}
}

// A driver that runs kernels on the processor is no match for the cpu device.
func TestOpenAutoPrefersGPUs(t *testing.T) {
	cpu := family{name: "cpu", n: 1, kinds: []Kind{CPU}}
	for _, c := range []struct {
		want string
		all  []Backend
	}{
		{"cpu", []Backend{family{name: "opencl", n: 1, kinds: []Kind{CPU}}, cpu}},
		{"opencl:1", []Backend{family{name: "opencl", n: 2, kinds: []Kind{CPU, GPU}}, cpu}},
		{"opencl:1", []Backend{family{name: "opencl", n: 2, kinds: []Kind{CPU, Accelerator}}, cpu}},
		{"cuda:0", []Backend{family{name: "opencl", n: 1}, family{name: "cuda", n: 1}, cpu}},
		{"opencl:0", []Backend{family{name: "opencl", n: 1, kinds: []Kind{CPU}}, family{name: "cuda", err: ErrNoDevice}}},
	} {
		with(t, c.all...)
		dev, err := Open("auto")
		if assert.NoError(t, err) {
			assert.Equal(t, c.want, dev.Info().ID())
		}
	}
}

func TestList(t *testing.T) {
	broken := errors.New("the reason")
	with(t, family{name: "cpu", n: 1}, family{name: "opencl", n: 2, err: broken}, family{name: "cuda", err: ErrNoDevice})
	infos, err := List()
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, ErrNoDevice)
	assert.ErrorContains(t, err, "opencl: the reason")
	var ids []string
	for _, i := range infos {
		ids = append(ids, i.ID())
	}
	assert.Equal(t, []string{"opencl:0", "opencl:1", "cpu"}, ids)

	with(t, family{name: "cpu", n: 1})
	_, err = List()
	require.NoError(t, err)
}

func TestRegisterTakesThePlace(t *testing.T) {
	with(t, family{name: "cuda", n: 1}, family{name: "cpu", n: 1}, family{name: "cuda", n: 3})
	infos, err := List()
	require.NoError(t, err)
	assert.Len(t, infos, 4)
}

func TestRegisterConcurrently(t *testing.T) {
	with(t, family{name: "cpu", n: 1})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				Register(family{name: "opencl", n: 1})
				_, err := Open("cpu")
				assert.NoError(t, err)
				_, err = List()
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
	assert.Len(t, backends(), 2)
}
