package opencl

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu/gputest"
)

// cached opens a device whose cache is a folder of the test.
func cached(t testing.TB, folder string) *Device {
	t.Helper()
	t.Setenv("RESTRIDE_CACHE_DIR", folder)
	return openTest(t, Options{Planner: Parallel})
}

// works makes a copy by the kernel, and returns the number of compilations.
func works(t testing.TB, dev *Device) (compiled int64) {
	t.Helper()
	var n atomic.Int64
	compile := dev.driver.programs.compile
	dev.driver.programs.compile = func(source, options string) (uintptr, error) {
		n.Add(1)
		return compile(source, options)
	}
	q := gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 64)
	b := gputest.Alloc(t, dev, 64)
	data := make([]byte, 64)
	for i := range data {
		data[i] = byte(i)
	}
	require.NoError(t, q.Write(a, 0, data))
	require.NoError(t, q.Copy(gputest.Matrix(b, []int64{4, 4}, []int64{4, 1}), gputest.Matrix(a, []int64{4, 4}, []int64{1, 4})))
	got := make([]byte, 64)
	require.NoError(t, q.Read(got, b, 0))
	for i := range got {
		require.Equal(t, byte(i%16/4*16+i/16*4+i%4), got[i])
	}
	require.NoError(t, dev.Close()) // some drivers' programs are written only now
	return n.Load()
}

func files(t testing.TB, folder string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(folder, "opencl", "*"))
	require.NoError(t, err)
	return all
}

func TestDiskCache(t *testing.T) {
	folder := t.TempDir()
	require.EqualValues(t, 1, works(t, cached(t, folder)))
	all := files(t, folder)
	require.Len(t, all, 1)
	name := all[0]
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Zero(t, works(t, cached(t, folder)), "the second device compiles nothing")

	info, err := os.Stat(name)
	require.NoError(t, err)
	assert.Zero(t, info.Mode().Perm()&0o077, "others may not change what we give to a driver")

	flipped := func(at int) []byte {
		b := append([]byte(nil), whole...)
		b[at] ^= 0x10
		return b
	}
	contents := map[string][]byte{
		"empty":                {},
		"garbage":              []byte("this is no program at all"),
		"much garbage":         make([]byte, 1<<20),
		"cut by a byte":        whole[:len(whole)-1],
		"cut in half":          whole[:len(whole)/2],
		"cut in the head":      whole[:20],
		"longer by a byte":     append(append([]byte(nil), whole...), 0),
		"another magic":        flipped(3),
		"another version":      flipped(len(cacheMagic)),
		"another key":          flipped(len(cacheMagic) + 4 + 8 + 5),
		"a bit of the program": flipped(len(whole) - 200),
		"a bit of the sum":     flipped(len(whole) - 1),
	}
	if dev := cached(t, folder); !strings.HasPrefix(dev.Info().Driver, "rusticl") { // aborts the process
		contents["nonsense that is whole"] = seal([]byte("nonsense"), dev.driver.programs.key(someKernel.String(), dev.driver.programs.source(someKernel), buildOptions))
	}
	for what, content := range contents {
		require.NoError(t, os.WriteFile(name, content, 0o600))
		assert.EqualValues(t, 1, works(t, cached(t, folder)), what)
		again, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.NotEqual(t, content, again, "%s: it is replaced", what)
		assert.Zero(t, works(t, cached(t, folder)), what)
	}
	require.Len(t, files(t, folder), 1, "nothing else is left")

	// Another program's file under this name is ignored.
	other := seal([]byte("of another driver"), "another driver")
	require.NoError(t, os.WriteFile(name, other, 0o600))
	assert.EqualValues(t, 1, works(t, cached(t, folder)))

	// A folder in place of the file.
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.MkdirAll(filepath.Join(name, "in the way"), 0o700))
	assert.EqualValues(t, 1, works(t, cached(t, folder)))
	assert.Len(t, files(t, folder), 1, "no temporary file is left")
}

func TestDiskCacheThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	readOnly := filepath.Join(t.TempDir(), "read-only")
	require.NoError(t, os.Mkdir(readOnly, 0o500))
	for _, folder := range []string{file, filepath.Join(file, "below"), readOnly, "/proc/no/such", "off"} {
		assert.EqualValues(t, 1, works(t, cached(t, folder)), folder)
		if folder == readOnly && os.Getuid() == 0 {
			continue // root may write anywhere
		}
		assert.EqualValues(t, 1, works(t, cached(t, folder)), folder)
	}
	_, err := os.Stat("off")
	require.ErrorIs(t, err, os.ErrNotExist)

	t.Setenv("RESTRIDE_CACHE_DIR", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	assert.Empty(t, newDiskCache().folder)
}
