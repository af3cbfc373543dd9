package ort

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/restride/restride/layout"
)

// Options are options of a session.
type Options struct {
	Threads   int // for one node; 0: as many as there are cores
	Config    map[string]string
	Providers []Provider
	Libraries []string // of custom operators
	// Plain switches the optimization of the graph off.
	Plain bool
	// Initializers are those that the model has in external files. ONNX Runtime copies them.
	Initializers []Initializer
}

// Provider is an execution provider, with its options.
type Provider struct {
	Name    string
	Options map[string]string
}

// Initializer is a constant in memory.
type Initializer struct {
	Name   string
	Type   layout.DType
	Dims   []int64
	Memory []byte
}

// Session is one of ONNX Runtime's sessions.
type Session struct {
	handle          uintptr
	inputs, outputs []*byte
}

// New returns a session of a model in memory, which is not used afterwards, with the names of
// the inputs and outputs of runs.
func New(model []byte, inputs, outputs []string, o *Options) (*Session, error) {
	return open(o, inputs, outputs, func(options uintptr, handle *uintptr) error {
		return status(createSessionFromArray, api.environment, uintptr(unsafe.Pointer(unsafe.SliceData(model))), uintptr(len(model)),
			options, uintptr(unsafe.Pointer(handle)))
	})
}

// Open returns a session of a model in a file.
func Open(path string, inputs, outputs []string, o *Options) (*Session, error) {
	return open(o, inputs, outputs, func(options uintptr, handle *uintptr) error {
		return status(createSession, api.environment, uintptr(unsafe.Pointer(cPath(path))), options, uintptr(unsafe.Pointer(handle)))
	})
}

func open(o *Options, inputs, outputs []string, create func(options uintptr, handle *uintptr) error) (*Session, error) {
	var options uintptr
	if err := status(createSessionOptions, uintptr(unsafe.Pointer(&options))); err != nil {
		return nil, err
	}
	defer call(releaseSessionOptions, options)
	if err := o.set(options); err != nil {
		return nil, err
	}
	lent, err := o.initializers(options)
	defer func() {
		for _, v := range lent {
			v.Release()
		}
	}()
	if err == nil {
		s := &Session{inputs: cStrings(inputs), outputs: cStrings(outputs)}
		if err = create(options, &s.handle); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// set sets the options.
func (o *Options) set(options uintptr) error {
	if err := status(setLogSeverity, options, fatal); err != nil {
		return err
	}
	if o.Plain {
		if err := status(setOptimization, options, 0); err != nil {
			return err
		}
	}
	if o.Threads > 0 {
		if err := status(setThreads, options, uintptr(o.Threads)); err != nil {
			return err
		}
	}
	for key, value := range o.Config {
		if err := status(addConfigEntry, options, uintptr(unsafe.Pointer(cString(key))), uintptr(unsafe.Pointer(cString(value)))); err != nil {
			return err
		}
	}
	for _, path := range o.Libraries {
		if err := status(registerCustomOps, options, uintptr(unsafe.Pointer(cPath(path)))); err != nil {
			return err
		}
	}
	for _, p := range o.Providers {
		var keys, values []string
		for key, value := range p.Options {
			keys, values = append(keys, key), append(values, value)
		}
		k, v := cStrings(keys), cStrings(values)
		err := status(appendProvider, options, uintptr(unsafe.Pointer(cString(p.Name))),
			uintptr(unsafe.Pointer(unsafe.SliceData(k))), uintptr(unsafe.Pointer(unsafe.SliceData(v))), uintptr(len(k)))
		runtime.KeepAlive(k)
		runtime.KeepAlive(v)
		if err != nil {
			return err
		}
	}
	return nil
}

// initializers adds the initializers to the options of a session. The values must live until
// the session exists.
func (o *Options) initializers(options uintptr) ([]*Value, error) {
	if len(o.Initializers) == 0 {
		return nil, nil
	}
	var values []*Value
	var names []string
	var handles []uintptr
	for _, i := range o.Initializers {
		v, err := NewTensor(i.Memory, i.Type, i.Dims)
		if err != nil {
			return values, err
		}
		values, names, handles = append(values, v), append(names, i.Name), append(handles, v.handle)
	}
	list := cStrings(names)
	err := status(addExternalInitializers, options, uintptr(unsafe.Pointer(unsafe.SliceData(list))),
		uintptr(unsafe.Pointer(unsafe.SliceData(handles))), uintptr(len(list)))
	runtime.KeepAlive(list)
	return values, err
}

// Run runs the session. Outputs that are nil are made by ONNX Runtime; into others it writes.
// When ctx is done, it stops.
func (s *Session) Run(ctx context.Context, in, out []*Value) (err error) {
	var options uintptr
	if ctx.Done() != nil {
		if err := status(createRunOptions, uintptr(unsafe.Pointer(&options))); err != nil {
			return err
		}
		ended := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(ended)
			_ = status(setTerminate, options) // the run then goes on to its end
		})
		defer func() {
			if !stop() {
				<-ended
				if err != nil {
					err = context.Cause(ctx)
				}
			}
			call(releaseRunOptions, options)
		}()
	}
	given, made := make([]uintptr, len(in), len(in)+1), make([]uintptr, len(out))
	for i, v := range in {
		given[i] = v.handle
	}
	for i, v := range out {
		if v != nil {
			made[i] = v.handle
		}
	}
	err = status(runSession, s.handle, options,
		uintptr(unsafe.Pointer(unsafe.SliceData(s.inputs))), uintptr(unsafe.Pointer(unsafe.SliceData(given))), uintptr(len(given)),
		uintptr(unsafe.Pointer(unsafe.SliceData(s.outputs))), uintptr(len(made)), uintptr(unsafe.Pointer(unsafe.SliceData(made))))
	runtime.KeepAlive(in)
	runtime.KeepAlive(out)
	if err != nil {
		return err
	}
	for i := range out {
		if out[i] == nil {
			out[i] = &Value{handle: made[i]}
		}
	}
	return nil
}

// Info is the type of an output. Unknown extents are -1.
type Info struct {
	Type   layout.DType // Invalid: the output is not a tensor
	Ranked bool         // the number of axes is known
	Dims   []int64
}

// Outputs returns the types of the model's outputs.
func (s *Session) Outputs() ([]Info, error) {
	var n uintptr
	if err := status(outputCount, s.handle, uintptr(unsafe.Pointer(&n))); err != nil {
		return nil, err
	}
	list := make([]Info, n)
	for i := range list {
		var info, shaped uintptr
		if err := status(outputTypeInfo, s.handle, uintptr(i), uintptr(unsafe.Pointer(&info))); err != nil {
			return nil, err
		}
		err := status(castToTensorInfo, info, uintptr(unsafe.Pointer(&shaped)))
		if err == nil && shaped != 0 {
			list[i].Ranked = call(hasShape, shaped)&1 == 1 // a C bool: one byte
			list[i].Type, list[i].Dims, err = describe(shaped)
		}
		call(releaseTypeInfo, info)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Close frees the session.
func (s *Session) Close() { call(releaseSession, s.handle) }
