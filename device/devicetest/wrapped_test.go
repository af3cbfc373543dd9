package devicetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/cuda"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/cudasim"
	"github.com/restride/restride/opencl"
)

// wrapped is a device that adds nothing to another.
type wrapped struct{ device.Device }

type wrappedQueue struct{ device.Queue }

func (d wrapped) Unwrap() device.Device { return d.Device }

func (d wrapped) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	if err != nil {
		return nil, err
	}
	return wrappedQueue{q}, nil
}

func (q wrappedQueue) Unwrap() device.Queue { return q.Queue }

// openBackend opens the first device of a backend; without NVIDIA's driver, CUDA's is the
// simulator's.
func openBackend(t *testing.T, backend string) device.Device {
	if backend == "cuda" {
		Require(t, backend, cudasim.Default())
	}
	dev, err := device.Open(backend)
	Require(t, backend, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

func has[T any](x any) bool { _, ok := x.(T); return ok }

func finds[T any](x any) bool { _, ok := device.As[T](x); return ok }

// abilities are the optional interfaces of devices and queues: whether a value itself has
// one, and whether As finds it.
var abilities = map[string][2]func(any) bool{
	"Allocator":       {has[device.Allocator], finds[device.Allocator]},
	"Attributor":      {has[device.Attributor], finds[device.Attributor]},
	"AsyncQueue":      {has[device.AsyncQueue], finds[device.AsyncQueue]},
	"Checker":         {has[device.Checker], finds[device.Checker]},
	"DriverCopier":    {has[device.DriverCopier], finds[device.DriverCopier]},
	"GLSharer":        {has[device.GLSharer], finds[device.GLSharer]},
	"HandleMemory":    {has[device.HandleMemory], finds[device.HandleMemory]},
	"HostAdopter":     {has[device.HostAdopter], finds[device.HostAdopter]},
	"HostAllocator":   {has[device.HostAllocator], finds[device.HostAllocator]},
	"HostMemory":      {has[device.HostMemory], finds[device.HostMemory]},
	"KernelNamer":     {has[device.KernelNamer], finds[device.KernelNamer]},
	"Launcher":        {has[device.Launcher], finds[device.Launcher]},
	"Diagnostics":     {has[device.Diagnostics], finds[device.Diagnostics]},
	"PeerQueue":       {has[device.PeerQueue], finds[device.PeerQueue]},
	"Preloader":       {has[device.Preloader], finds[device.Preloader]},
	"Recorder":        {has[device.Recorder], finds[device.Recorder]},
	"Sensors":         {has[device.Sensors], finds[device.Sensors]},
	"Sharer":          {has[device.Sharer], finds[device.Sharer]},
	"StringAllocator": {has[device.StringAllocator], finds[device.StringAllocator]},
	"StringQueue":     {has[device.StringQueue], finds[device.StringQueue]},
	"Trimmer":         {has[device.Trimmer], finds[device.Trimmer]},
}

// The table has all interfaces whose description says that devices or queues implement them.
func TestAbilitiesAreAll(t *testing.T) {
	files, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	optional := regexp.MustCompile(`^\w+ is implemented by (devices|(the )?queues)\b`)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if types, ok := d.(*ast.GenDecl); ok && optional.MatchString(types.Doc.Text()) {
				assert.Contains(t, abilities, types.Specs[0].(*ast.TypeSpec).Name.Name)
			}
		}
	}
}

// A wrapper loses none of the abilities of a device and its queues.
func TestWrappersKeepAbilities(t *testing.T) {
	for backend, least := range map[string]int{"cpu": 6, "opencl": 11, "cuda": 13} {
		t.Run(backend, func(t *testing.T) {
			dev := openBackend(t, backend)
			around := wrapped{dev}
			q, err := around.NewQueue()
			require.NoError(t, err)
			var kept []string
			for name, ability := range abilities {
				of, found := ability[0], ability[1]
				assert.False(t, of(q), name)
				assert.Equal(t, of(dev), found(around), name)
				assert.Equal(t, of(q.(wrappedQueue).Queue), found(q), name)
				if found(around) || found(q) {
					kept = append(kept, name)
				}
			}
			slices.Sort(kept)
			assert.GreaterOrEqual(t, len(kept), least, "%q", kept)
			t.Logf("%q", kept)
		})
	}
}

// The whole suite, its uses of abilities included, runs on a wrapped device.
func TestWrapped(t *testing.T) {
	Suite{Small: true}.Run(t, func(t *testing.T) device.Device {
		dev, err := cpu.Open()
		require.NoError(t, err)
		return wrapped{dev}
	})
}

// A backend's own type, and what takes a queue, are found through wrappers, too.
func TestWrappersOfDrivers(t *testing.T) {
	dev := openBackend(t, "cuda")
	around := wrapped{dev}
	own, ok := device.As[*cuda.Device](around)
	require.True(t, ok)
	require.Same(t, dev, own)
	_, ok = device.As[*opencl.Device](around)
	require.False(t, ok)

	q, err := around.NewQueue()
	require.NoError(t, err)
	require.NotZero(t, cuda.StreamOf(q))
	src, err := around.Alloc(64)
	require.NoError(t, err)
	dst, err := around.Alloc(64)
	require.NoError(t, err)
	require.NoError(t, own.CopyByDriver(q, dst, src, 64))
	require.NoError(t, q.Wait())
}
