package dlpack

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// helper holds Python's side of the tests.
//
//go:embed testdata/helper.py
var helper string

// python is an interpreter in this process. It stays until the process ends. All code runs in
// one thread, like in programs that embed Python; deleters are called from others.
type python struct {
	ensure, release, run uintptr
	torch                bool
	mail                 *[4]int64 // Python's results
	code                 chan string
	failed               chan bool
}

// embed starts the interpreter: the library of the Python that RESTRIDE_PYTHON names, otherwise
// of python3 or /usr/bin/python3, the first with numpy.
var embed = sync.OnceValues(func() (*python, error) {
	if err := dl.Available(); err != nil {
		return nil, fmt.Errorf("%w: %v", exec.ErrNotFound, err)
	}
	var reasons []string
	for _, command := range []string{os.Getenv("RESTRIDE_PYTHON"), "python3", "/usr/bin/python3"} {
		if command == "" {
			continue
		}
		p, err := start(command)
		if err == nil {
			return p, nil
		}
		reasons = append(reasons, fmt.Sprintf("%s: %v", command, err))
	}
	return nil, fmt.Errorf("%w: no Python with numpy and a library: %s", exec.ErrNotFound, strings.Join(reasons, "; "))
})

// asked are the properties asked from a Python: its library, its home and the folders of its
// packages.
const asked = `
import numpy, os, sys, sysconfig
v = sysconfig.get_config_var
print(os.path.join(v("LIBDIR"), v("INSTSONAME")))
print(sys.base_prefix)
print(os.pathsep.join(p for p in sys.path if p))
`

func start(command string) (*python, error) {
	out, err := exec.Command(command, "-c", asked).Output()
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 3 {
		return nil, fmt.Errorf("it answers %q", out)
	}
	lib, err := dl.Open(lines[0], filepath.Base(lines[0]))
	if err != nil {
		return nil, err
	}
	p := &python{mail: new([4]int64), code: make(chan string), failed: make(chan bool)}
	var initialize, save uintptr
	for name, fn := range map[string]*uintptr{
		"PyGILState_Ensure": &p.ensure, "PyGILState_Release": &p.release, "PyRun_SimpleString": &p.run,
		"Py_InitializeEx": &initialize, "PyEval_SaveThread": &save,
	} {
		if *fn, err = lib.Lookup(name); err != nil {
			return nil, err
		}
	}
	for name, value := range map[string]string{"PYTHONHOME": lines[1], "PYTHONPATH": lines[2]} {
		if err := setenv(name, value); err != nil {
			return nil, err
		}
	}
	go func() {
		runtime.LockOSThread()
		dl.Call(initialize, 0)
		dl.Call(save) // others may have the lock
		p.serve()
	}()
	if err := p.exec(fmt.Sprintf("%s\nmail_at = %d\n", helper, uintptr(unsafe.Pointer(p.mail)))); err != nil {
		return nil, err
	}
	if err := p.exec("tell(has_torch)"); err != nil {
		return nil, err
	}
	p.torch = p.mail[0] != 0
	return p, nil
}

// setenv sets a variable of C's environment, which differs from Go's without cgo.
func setenv(name, value string) error {
	lib, err := dl.Open("libc.so.6", "/usr/lib/libSystem.B.dylib")
	if err != nil {
		return err
	}
	fn, err := lib.Lookup("setenv")
	if err != nil {
		return err
	}
	n, v := append([]byte(name), 0), append([]byte(value), 0)
	dl.Call(fn, uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&v[0])), 1)
	return nil
}

func (p *python) serve() {
	for code := range p.code {
		text := append([]byte(code), 0)
		state := dl.Call(p.ensure)
		failed := dl.Call(p.run, uintptr(unsafe.Pointer(&text[0])))
		dl.Call(p.release, state)
		p.failed <- int32(failed) != 0
	}
}

// exec runs lines of Python.
func (p *python) exec(code string) error {
	p.code <- code
	if <-p.failed {
		return fmt.Errorf("Python fails, and says why above: %s", code)
	}
	return nil
}

// py returns the interpreter, or skips the test.
func py(t *testing.T) *python {
	p, err := embed()
	devicetest.Require(t, "numpy", err)
	return p
}

func (p *python) do(t *testing.T, format string, args ...any) {
	t.Helper()
	require.NoError(t, p.exec(fmt.Sprintf(format, args...)))
}

// libraries are the other libraries.
func (p *python) libraries() []string {
	if p.torch {
		return []string{"numpy", "torch"}
	}
	return []string{"numpy"}
}

// capsules returns the kinds that a library supports.
func (p *python) capsules(t *testing.T, library string) []bool {
	p.do(t, "tell(versioned(%q))", library)
	if p.mail[0] != 0 {
		return []bool{false, true}
	}
	return []bool{true}
}

// exchanges reports whether a library exchanges arrays of a type: numpy before 1.25, no bool.
func (p *python) exchanges(t *testing.T, library, name string) bool {
	p.do(t, "tell(exchanges(%q, %q))", library, name)
	return p.mail[0] != 0
}

var pyTypes = map[layout.DType]string{
	layout.Int8: "int8", layout.Int16: "int16", layout.Int32: "int32", layout.Int64: "int64",
	layout.Uint8: "uint8", layout.Float16: "float16", layout.Float32: "float32", layout.Float64: "float64",
	layout.Complex64: "complex64", layout.Complex128: "complex128", layout.Bool: "bool",
}

// numpy and PyTorch use this package's memory as their arrays, without a copy.
func TestPythonTakesTensors(t *testing.T) {
	p := py(t)
	tensor.CheckLeaks(t, tensor.Host())
	for _, library := range p.libraries() {
		for _, unversioned := range p.capsules(t, library) {
			for of, name := range pyTypes {
				if !p.exchanges(t, library, name) {
					continue
				}
				raw := count(3 * 4 * of.Bits() / 8)
				if of == layout.Bool {
					raw = []byte{0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0}
				}
				x, err := tensor.FromBytes(tensor.Host(), of, raw, 3, 4)
				require.NoError(t, err)
				turned, err := x.Transpose()
				require.NoError(t, err)
				views := []*tensor.Tensor{x, turned}
				if library == "numpy" { // PyTorch has no negative strides
					back, err := turned.Slice(0, 3, -5, -2)
					require.NoError(t, err)
					views = append(views, back)
				}
				for _, v := range views {
					want, err := v.Bytes()
					require.NoError(t, err)
					c := exported(t, v, ExportOptions{Unversioned: unversioned})
					p.do(t, "a = take(%q, %d, %q)\ncheck(a, %q, %v, %q)", library, uintptr(c.Pointer), c.Name(), name, v.Shape(), fmt.Sprintf("%x", want))
				}
				release(t, views...)
				p.do(t, "del a")
			}
		}
	}
}

// Each side sees the other's writes; the tensor is released first. For capsules before 1.0,
// numpy makes read-only arrays.
func TestPythonShares(t *testing.T) {
	p := py(t)
	tensor.CheckLeaks(t, tensor.Host())
	for _, library := range p.libraries() {
		s, err := tensor.Open("cpu")
		require.NoError(t, err)
		x, err := tensor.New(s, layout.Int32, 2, 3)
		require.NoError(t, err)
		one, err := tensor.FromSlice(s, []int32{77}, 1, 1)
		require.NoError(t, err)
		c := exported(t, x, ExportOptions{Unversioned: p.capsules(t, library)[0]})
		p.do(t, "a = take(%q, %d, %q)", library, uintptr(c.Pointer), c.Name())
		corner, err := x.Slice(1, 2, 3, 1)
		require.NoError(t, err)
		lower, err := corner.Slice(0, 1, 2, 1)
		require.NoError(t, err)
		require.NoError(t, lower.CopyFrom(one))
		release(t, one, corner, lower)
		p.do(t, "assert a[1, 2] == 77\nif writable(a): a[0, 0] = 5\ntell(writable(a))")
		assert.Equal(t, []int32{5 * int32(p.mail[0]), 0, 0, 0, 0, 77}, values[int32](t, x))
		release(t, x)
		assert.NotZero(t, s.Device().Stats().Live)
		p.do(t, "assert a[1, 2] == 77\nb = a[1]\ndel a")
		assert.NotZero(t, s.Device().Stats().Live, "a view is left")
		p.do(t, "in_thread('del b')")
		assert.Zero(t, s.Device().Stats().Live)
		require.NoError(t, s.Close())
	}
}

// Arrays of numpy and PyTorch become tensors, without a copy, and are returned.
func TestPythonGivesArrays(t *testing.T) {
	p := py(t)
	tensor.CheckLeaks(t, tensor.Host())
	for _, library := range p.libraries() {
		for _, unversioned := range p.capsules(t, library) {
			for of, name := range pyTypes {
				if !p.exchanges(t, library, name) {
					continue
				}
				indices := []string{"", ".T", "[1:]", "[:, 2]", "[0, 0, ...]", "[2:1]"}
				if library == "numpy" {
					indices = append(indices, "[::-2, ::-1]")
				}
				for _, index := range indices {
					p.do(t, "a = make(%q, %q)%s\ngive(a, %d)", library, name, index, map[bool]int{true: 0, false: 1}[unversioned])
					c := Capsule{dl.Pointer(uintptr(p.mail[0])), unversioned}
					x, err := Import(tensor.Host(), c, ImportOptions{})
					require.NoError(t, err)
					assert.Equal(t, of, x.DType())
					got, err := x.Bytes()
					require.NoError(t, err)
					p.do(t, "check(a, %q, %v, %q)", name, x.Shape(), fmt.Sprintf("%x", got))
					p.do(t, "del a\ntell(alive())")
					alive := p.mail[0]
					release(t, x)
					p.do(t, "tell(alive())")
					if x.Count() > 0 {
						assert.NotZero(t, alive, "%s %s%s", library, name, index)
					}
					assert.Zero(t, p.mail[0], "%s %s%s", library, name, index)
				}
			}
		}
	}
}

// numpy has read-only arrays, and marks them in versioned capsules.
func TestPythonReadOnly(t *testing.T) {
	p := py(t)
	if kinds := p.capsules(t, "numpy"); len(kinds) < 2 {
		t.Skip("numpy before 2.1 has no versioned capsules")
	}
	p.do(t, "a = make('numpy', 'int16')\na.flags.writeable = False\ngive(a, True)")
	_, err := Import(tensor.Host(), Capsule{Pointer: dl.Pointer(uintptr(p.mail[0]))}, ImportOptions{})
	require.ErrorContains(t, err, "ReadOnly")
	p.do(t, "give(a, True)")
	x, err := Import(tensor.Host(), Capsule{Pointer: dl.Pointer(uintptr(p.mail[0]))}, ImportOptions{ReadOnly: true})
	require.NoError(t, err)
	release(t, x)

	x, err = tensor.New(tensor.Host(), layout.Int16, 2)
	require.NoError(t, err)
	c := exported(t, x, ExportOptions{ReadOnly: true})
	p.do(t, "a = take('numpy', %d, %q)\nassert not a.flags.writeable\ndel a", uintptr(c.Pointer), c.Name())
	release(t, x)
}

// PyTorch's bfloat16, and its 8-bit floats where its capsules have them.
func TestPythonBFloat16(t *testing.T) {
	p := py(t)
	if !p.torch {
		t.Skip("no PyTorch")
	}
	p.do(t, "a = torch.tensor([1.0, -2.0, 3.5]).bfloat16()\ngive(a, False)")
	x, err := Import(tensor.Host(), Capsule{dl.Pointer(uintptr(p.mail[0])), true}, ImportOptions{})
	require.NoError(t, err)
	assert.Equal(t, layout.BFloat16, x.DType())
	y, err := x.Cast(layout.Float32, device.Rounding{})
	require.NoError(t, err)
	assert.Equal(t, []float32{1, -2, 3.5}, values[float32](t, y))
	c := exported(t, x, ExportOptions{Unversioned: true})
	p.do(t, "b = take('torch', %d, %q)\nassert b.dtype == torch.bfloat16 and b.tolist() == [1, -2, 3.5]\ndel a, b", uintptr(c.Pointer), c.Name())
	release(t, x, y)
}
