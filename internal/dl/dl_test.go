package dl

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// libc opens a library that every machine has.
func libc(tb testing.TB) *Library {
	tb.Helper()
	lib, err := Open("no-such-library.so.9", "libc.so.6", "/usr/lib/libSystem.B.dylib", "msvcrt.dll")
	if err != nil {
		tb.Skip(err)
	}
	return lib
}

func TestOpen(t *testing.T) {
	_, err := Open("libnosuch-1.so", "libnosuch-2.so")
	require.Error(t, err)
	assert.ErrorContains(t, err, "libnosuch-1.so")
	assert.ErrorContains(t, err, "libnosuch-2.so")
	assert.NotContains(t, err.Error(), "\n")
	_, err = Open()
	require.Error(t, err)
	_, err = Open(t.TempDir())
	require.Error(t, err)
}

func TestCall(t *testing.T) {
	lib := libc(t)
	_, err := lib.Lookup("no_such_function")
	require.ErrorContains(t, err, "no_such_function")
	strlen, err := lib.Lookup("strlen")
	require.NoError(t, err)
	word := []byte("seven..\x00")
	assert.EqualValues(t, 7, Call(strlen, uintptr(unsafe.Pointer(&word[0]))))

	memchr, err := lib.Lookup("memchr")
	require.NoError(t, err)
	at := Call(memchr, uintptr(unsafe.Pointer(&word[0])), '.', 8)
	assert.Equal(t, uintptr(unsafe.Pointer(&word[5])), at)
	assert.Equal(t, byte('.'), *(*byte)(Pointer(at)))
	runtime.KeepAlive(word)
}

// frame is a reusable argument list, for frequent callers.
type frame struct {
	word [8]byte
	args [1]uintptr
}

func newFrame() *frame {
	f := &frame{word: [8]byte{'a', 'b'}}
	f.args[0] = uintptr(unsafe.Pointer(&f.word))
	return f
}

func TestCallDoesNotAllocate(t *testing.T) {
	lib := libc(t)
	strlen, err := lib.Lookup("strlen")
	require.NoError(t, err)
	f := newFrame()
	assert.Zero(t, testing.AllocsPerRun(100, func() { Call(strlen, f.args[:]...) }))
	runtime.KeepAlive(f)
}

func BenchmarkCall(b *testing.B) {
	lib := libc(b)
	strlen, err := lib.Lookup("strlen")
	require.NoError(b, err)
	b.Run("Literal", func(b *testing.B) {
		b.ReportAllocs()
		word := []byte("ab\x00")
		for b.Loop() {
			Call(strlen, uintptr(unsafe.Pointer(&word[0])))
		}
	})
	b.Run("Frame", func(b *testing.B) {
		b.ReportAllocs()
		f := newFrame()
		for b.Loop() {
			Call(strlen, f.args[:]...)
		}
		runtime.KeepAlive(f)
	})
}
