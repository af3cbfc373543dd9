package tensor_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// scopeCloser is a cpu device, which looks like a GPU, whose queues close a scope in the
// middle of a call, as another goroutine might.
type scopeCloser struct {
	device.Device
	scope *tensor.Scope
	calls int // until then
}

// hostScopeCloser is one that looks like a cpu device.
type hostScopeCloser struct{ *scopeCloser }

func (d hostScopeCloser) Unwrap() device.Device { return d.Device }

type scopeClosingQueue struct {
	device.Queue
	device.StringQueue
	dev *scopeCloser
}

func (d *scopeCloser) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	if err != nil {
		return nil, err
	}
	return &scopeClosingQueue{q, q.(device.StringQueue), d}, nil
}

func (q *scopeClosingQueue) close() {
	if q.dev.calls--; q.dev.calls == 0 {
		_ = q.dev.scope.Close()
	}
}

func (q *scopeClosingQueue) Write(dst device.Buffer, off int64, src []byte) error {
	q.close()
	return q.Queue.Write(dst, off, src)
}

func (q *scopeClosingQueue) WriteStrings(dst device.Buffer, off int64, src []string) error {
	q.close()
	return q.StringQueue.WriteStrings(dst, off, src)
}

func (q *scopeClosingQueue) Copy(dst, src device.Operand) error {
	q.close()
	return q.Queue.Copy(dst, src)
}

func (q *scopeClosingQueue) Fill(dst device.Operand, pattern []byte) error {
	q.close()
	return q.Queue.Fill(dst, pattern)
}

func (q *scopeClosingQueue) Convert(dst, src device.Operand, how device.Rounding) error {
	q.close()
	return q.Queue.Convert(dst, src, how)
}

func (q *scopeClosingQueue) Take(dst, src, at device.Operand, by ...layout.Index) error {
	q.close()
	return q.Queue.Take(dst, src, at, by...)
}

func (q *scopeClosingQueue) Map(dst, src, table device.Operand) error {
	q.close()
	return q.Queue.Map(dst, src, table)
}

func (q *scopeClosingQueue) Where(dst, cond, a, b device.Operand) error {
	q.close()
	return q.Queue.Where(dst, cond, a, b)
}

func (q *scopeClosingQueue) Dequantize(dst, src device.Operand, by device.Scaling) error {
	q.close()
	return q.Queue.Dequantize(dst, src, by)
}

func (q *scopeClosingQueue) Quantize(dst, src device.Operand, by device.Quantization) error {
	q.close()
	return q.Queue.Quantize(dst, src, by)
}

// makers returns calls that make tensors, by the name of the function: at least one for each
// that the package exports.
func makers(t *testing.T, s *tensor.Stream) map[string]func() (*tensor.Tensor, error) {
	x := keep(t)(tensor.FromSlice(s, []float32{0, 1, 2, 3, 4, 5}, 2, 3))
	xt := keep(t)(x.Transpose())
	bytes := keep(t)(tensor.FromSlice(s, []int8{0, 1, 2, 1}, 4))
	nibbles := keep(t)(bytes.Pack(layout.Int4))
	table := keep(t)(tensor.FromSlice(s, make([]int32, 256), 256))
	scattered := keep(t)(table.Slice(0, -1, -257, -1))
	at := keep(t)(tensor.FromSlice(s, []int64{1, 0, 0}, 3))
	elements := keep(t)(tensor.FromSlice(s, []int64{1, 0, 0}, 1, 3))
	tuples := keep(t)(tensor.FromSlice(s, []int64{1, 0, 0, 2}, 2, 2))
	onHost := keep(t)(tensor.FromHost([]int64{1, 0, 0}))
	starts := keep(t)(tensor.FromSlice(s, []int64{1, 1}, 2))
	cond := keep(t)(tensor.FromSlice(s, []bool{true, false, true}, 3))
	scale := keep(t)(tensor.FromSlice(s, []float32{2}, 1))
	none := keep(t)(tensor.New(s, layout.Float32, 2, 0))
	type maker = func() (*tensor.Tensor, error)
	identity := func(l layout.Layout) (layout.Layout, error) { return l, nil }
	buffer := func() device.Buffer {
		b, err := s.Device().Alloc(24)
		require.NoError(t, err)
		return b
	}
	first := func(xs []*tensor.Tensor, err error) (*tensor.Tensor, error) {
		if err != nil {
			return nil, err
		}
		return xs[0], nil
	}
	return map[string]maker{
		"New":                  func() (*tensor.Tensor, error) { return tensor.New(s, layout.Int8, 3) },
		"New of strings":       func() (*tensor.Tensor, error) { return tensor.New(s, layout.String, 3) },
		"Empty":                func() (*tensor.Tensor, error) { return tensor.Empty(s, layout.Int8, 3) },
		"FromSlice":            func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []int16{1, 2}) },
		"FromSlice of strings": func() (*tensor.Tensor, error) { return tensor.FromSlice(s, []string{"a", "1"}) },
		"FromBytes":            func() (*tensor.Tensor, error) { return tensor.FromBytes(s, layout.Int8, []byte{1, 2}, 2) },
		"FromReaderAt": func() (*tensor.Tensor, error) {
			return tensor.FromReaderAt(s, layout.Int8, strings.NewReader("abc"), 0, 3)
		},
		"BorrowBuffer": func() (*tensor.Tensor, error) { return tensor.BorrowBuffer(s, x.Buffer(), x.DType(), x.Layout()) },
		"OwnBuffer":    func() (*tensor.Tensor, error) { return tensor.OwnBuffer(s, buffer(), x.DType(), x.Layout()) },
		"ShareBuffer":  func() (*tensor.Tensor, error) { return tensor.ShareBuffer(s, buffer(), x.DType(), x.Layout()) },
		"Assemble": func() (*tensor.Tensor, error) {
			return tensor.Assemble(s, "op", layout.Float32, []int64{2, 3}, tensor.Part{}, tensor.Part{Src: x})
		},
		"Overwrite":        func() (*tensor.Tensor, error) { return x.Overwrite("op", tensor.Part{Into: identity}) },
		"Bitcast":          func() (*tensor.Tensor, error) { return x.Bitcast(layout.Int32) },
		"Cast":             func() (*tensor.Tensor, error) { return x.Cast(layout.Int8, device.Rounding{}) },
		"Cast to strings":  func() (*tensor.Tensor, error) { return x.Cast(layout.String, device.Rounding{}) },
		"Gather":           func() (*tensor.Tensor, error) { return x.Gather(1, at, layout.OutOfRangeError) },
		"Gather, host":     func() (*tensor.Tensor, error) { return xt.Gather(0, onHost, layout.OutOfRangeError) },
		"Gather of none":   func() (*tensor.Tensor, error) { return none.Gather(0, at, layout.OutOfRangeError) },
		"Gather, skip":     func() (*tensor.Tensor, error) { return x.Gather(1, at, layout.OutOfRangeSkip) },
		"TakeAlong":        func() (*tensor.Tensor, error) { return x.TakeAlong(0, elements, layout.OutOfRangeError) },
		"GatherND":         func() (*tensor.Tensor, error) { return x.GatherND(0, tuples, layout.OutOfRangeError) },
		"SliceAt":          func() (*tensor.Tensor, error) { return x.SliceAt(starts, 1, 2) },
		"Iota":             func() (*tensor.Tensor, error) { return tensor.Iota(s, layout.Int32, 0, 2, 3) },
		"Iota of one axis": func() (*tensor.Tensor, error) { return tensor.Iota(s, layout.Int32, 0, 2) },
		"Concat":           func() (*tensor.Tensor, error) { return tensor.Concat(0, x, x) },
		"Concat of one":    func() (*tensor.Tensor, error) { return tensor.Concat(0, x) },
		"Concat of none":   func() (*tensor.Tensor, error) { return tensor.Concat(0, none, none) },
		"Stack":            func() (*tensor.Tensor, error) { return tensor.Stack(0, x, x) },
		"Split":            func() (*tensor.Tensor, error) { return first(x.Split(1, 3)) },
		"Lookup":           func() (*tensor.Tensor, error) { return bytes.Lookup(table) },
		"Lookup, reversed": func() (*tensor.Tensor, error) { return bytes.Lookup(scattered) },
		"PermuteInPlace":   func() (*tensor.Tensor, error) { return x.PermuteInPlace(1, 0) },
		"Pad": func() (*tensor.Tensor, error) {
			return x.Pad(tensor.PadConstant, nil, tensor.Padding{Before: 1}, tensor.Padding{})
		},
		"QuantizeBlocks": func() (*tensor.Tensor, error) {
			c, sc, err := x.QuantizeBlocks(layout.Int8, layout.Float32, 2)
			return c, joined(err, sc)
		},
		"Dequantize":        func() (*tensor.Tensor, error) { return bytes.Dequantize(layout.Float32, tensor.Scaling{Scale: scale}) },
		"Quantize":          func() (*tensor.Tensor, error) { return x.Quantize(layout.Int8, tensor.Quantization{Scale: scale}) },
		"To":                func() (*tensor.Tensor, error) { return x.To(s) },
		"To, from the host": func() (*tensor.Tensor, error) { return onHost.To(s) },
		"Flip":              func() (*tensor.Tensor, error) { return x.Flip() },
		"Tile":              func() (*tensor.Tensor, error) { return x.Tile(2, 2) },
		"Repeat":            func() (*tensor.Tensor, error) { return x.Repeat(0, 2) },
		"Rearrange":         func() (*tensor.Tensor, error) { return x.Rearrange("a b ... -> b (a ...)", nil) },
		"WithLayout":        func() (*tensor.Tensor, error) { return x.WithLayout("op", x.Layout()) },
		"Transpose":         func() (*tensor.Tensor, error) { return x.Transpose() },
		"Slice":             func() (*tensor.Tensor, error) { return x.Slice(0, 0, 1, 1) },
		"Expand":            func() (*tensor.Tensor, error) { return x.Expand(4, 2, 3) },
		"Squeeze":           func() (*tensor.Tensor, error) { return x.Squeeze() },
		"Unsqueeze":         func() (*tensor.Tensor, error) { return x.Unsqueeze(0) },
		"Alias":             func() (*tensor.Tensor, error) { return x.Alias() },
		"Reshape":           func() (*tensor.Tensor, error) { return x.Reshape(6) },
		"Reshape, a copy":   func() (*tensor.Tensor, error) { return xt.Reshape(6) },
		"Flatten":           func() (*tensor.Tensor, error) { return xt.Flatten(0) },
		"Contiguous":        func() (*tensor.Tensor, error) { return xt.Contiguous() },
		"Clone":             func() (*tensor.Tensor, error) { return x.Clone() },
		"Unpack":            func() (*tensor.Tensor, error) { return nibbles.Unpack() },
		"Pack":              func() (*tensor.Tensor, error) { return bytes.Pack(layout.Int4) },
		"Where":             func() (*tensor.Tensor, error) { return tensor.Where(cond, x, x) },
	}
}

// joined is the error of a call whose second result nobody wants.
func joined(err error, second *tensor.Tensor) error {
	if err == nil {
		err = tensor.Keep(second)
	}
	if err == nil {
		err = second.Release()
	}
	return err
}

// notOfScopes are exported functions whose results are in no scope of the stream's: those
// of tensor.Host(), and references that are asked for outside of it.
var notOfScopes = map[string]bool{"Extents": true, "FromHost": true, "FromHostBytes": true, "Retain": true}

// A tensor is in a scope when it is complete, and not before: a scope that ends in the
// middle of a call that makes one neither spoils the call nor releases the result.
func TestBugScopeEndsWithinCall(t *testing.T) {
	for _, host := range []bool{false, true} {
		inner, err := cpu.Open()
		require.NoError(t, err)
		dev := &scopeCloser{Device: inner}
		var on device.Device = dev
		if host {
			on = hostScopeCloser{dev}
		}
		s := openOn(t, on)
		for name, call := range makers(t, s) {
			for at := 1; endsScopeWithin(t, s, dev, at, name, call); at++ {
				require.Less(t, at, 100)
			}
		}
	}
}

// endsScopeWithin makes a tensor while a scope ends in the at-th call of a queue; false: there
// are fewer.
func endsScopeWithin(t *testing.T, s *tensor.Stream, dev *scopeCloser, at int, name string, call func() (*tensor.Tensor, error)) bool {
	dev.scope, dev.calls = tensor.NewScope(s), at
	y, err := call()
	within := dev.calls <= 0
	dev.calls = 0
	if !s.IsHost() && errors.Is(err, device.ErrUnsupported) { // strings
		require.NoError(t, dev.scope.Close())
		return false
	}
	if assert.NoError(t, err, "%s, call %d", name, at) && within {
		if y.DType() == layout.String {
			_, err = tensor.Values[string](y)
		} else {
			_, err = y.Bytes()
		}
		assert.NoError(t, err, "%s, call %d: the scope ended before the tensor was made", name, at)
	}
	require.NoError(t, dev.scope.Close())
	require.NoError(t, y.Release())
	return within
}

// Every function of the package that makes tensors gives them to the scope, and no other
// references are left in a call.
func TestScopeHasAll(t *testing.T) {
	s := openCPU(t)
	calls := makers(t, s)
	before := s.Device().Stats()
	for name, call := range calls {
		sc := tensor.NewScope(s)
		y, err := call()
		require.NoError(t, err, name)
		require.NoError(t, sc.Close())
		_, err = y.Alias()
		assert.ErrorIs(t, err, tensor.ErrReleased, name)
		assert.Equal(t, before.Buffers, s.Device().Stats().Buffers, name)
	}
	for _, name := range exportedMakers(t) {
		assert.True(t, calls[name] != nil || notOfScopes[name], "%s makes tensors, and makers does not call it", name)
	}
}

// exportedMakers returns the exported functions and methods that return tensors.
func exportedMakers(t *testing.T) []string {
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var names []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Name.IsExported() && f.Type.Results != nil && makesTensors(f.Type.Results.List[0].Type) {
				names = append(names, f.Name.Name)
			}
		}
	}
	require.Contains(t, names, "Transpose")
	return names
}

// makesTensors reports whether a result is *Tensor or []*Tensor.
func makesTensors(result ast.Expr) bool {
	if list, ok := result.(*ast.ArrayType); ok {
		result = list.Elt
	}
	star, ok := result.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := star.X.(*ast.Ident)
	return ok && name.Name == "Tensor"
}

// Keep and the end of a scope, in two goroutines, agree: what Keep has kept is alive, and of
// what it has not it says so.
func TestBugKeepRacesScope(t *testing.T) {
	s := openCPU(t)
	x := keep(t)(tensor.FromSlice(s, []int8{1, 2}, 2))
	for range 2000 {
		sc := tensor.NewScope(s)
		y, err := x.Clone()
		require.NoError(t, err)
		ended := make(chan error)
		go func() { ended <- sc.Close() }()
		kept := tensor.Keep(y)
		require.NoError(t, <-ended)
		_, err = y.Bytes()
		require.Equal(t, kept == nil, err == nil, "Keep says %v, a read %v", kept, err)
		require.NoError(t, y.Release())
		require.ErrorIs(t, tensor.Keep(y), tensor.ErrReleased)
	}
}

// A buffer that is lent stays the caller's, however early a scope ends. The race detector
// sees the fault in the first rounds.
func TestBugScopeFreesLentBuffer(t *testing.T) {
	s := openCPU(t)
	l, err := layout.Contiguous(4, 4)
	require.NoError(t, err)
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !stop.Load() {
			_ = tensor.NewScope(s).Close()
		}
	}()
	defer func() { stop.Store(true); <-ended }()
	for i := range 20000 {
		b, err := s.Device().Alloc(64)
		require.NoError(t, err)
		x, err := tensor.BorrowBuffer(s, b, layout.Int32, l)
		require.NoError(t, err)
		require.NoError(t, b.Free(), "round %d", i)
		require.NoError(t, x.Release())
	}
}
