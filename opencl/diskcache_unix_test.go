//go:build unix

package opencl

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logged collects the messages of a logger.
type logged struct{ bytes.Buffer }

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// aCache returns a cache with one program, and the program's path.
func aCache(t *testing.T) (*diskCache, string) {
	t.Helper()
	t.Setenv("RESTRIDE_CACHE_DIR", t.TempDir())
	c := newDiskCache()
	c.store("key", []byte("program"))
	require.Equal(t, []byte("program"), c.load("key"))
	require.False(t, c.disabled())
	return c, filepath.Join(c.folder, nameOf("key"))
}

// A pipe in place of a program must not block the process, and a large file must be rejected
// before it is read.
func TestDiskCacheOfOtherFiles(t *testing.T) {
	put := map[string]func(t *testing.T, path string){
		"pipe":   func(t *testing.T, path string) { require.NoError(t, syscall.Mkfifo(path, 0o600)) },
		"folder": func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) },
		"link to a pipe": func(t *testing.T, path string) {
			require.NoError(t, syscall.Mkfifo(filepath.Join(filepath.Dir(path), "pipe"), 0o600))
			require.NoError(t, os.Symlink("pipe", path))
		},
		"link to a device": func(t *testing.T, path string) { require.NoError(t, os.Symlink("/dev/zero", path)) },
		"large": func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			require.NoError(t, os.Truncate(path, 10<<30))
		},
	}
	for what, put := range put {
		t.Run(what, func(t *testing.T) {
			c, path := aCache(t)
			require.NoError(t, os.Remove(path))
			put(t, path)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			assert.Nil(t, c.load("key"))
			runtime.ReadMemStats(&after)
			assert.Less(t, time.Since(start), 10*time.Second)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
			assert.False(t, c.disabled(), "it is missing, and no more")
			if c.store("key", []byte("again")); what != "folder" {
				assert.Equal(t, []byte("again"), c.load("key"), "it is replaced")
			}
		})
	}
	pipe := filepath.Join(t.TempDir(), "opencl")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	c := &diskCache{folder: pipe}
	c.store("key", []byte("program"))
	assert.Nil(t, c.load("key"))
}

// Programs that others could have written must not reach the driver.
func TestDiskCacheThatOthersCanWrite(t *testing.T) {
	mode := func(m os.FileMode) func(string) error { return func(path string) error { return os.Chmod(path, m) } }
	spoil := map[string]struct {
		do       func(path string) error
		ofFolder bool
		says     string
	}{
		"group writes folder":   {mode(0o770), true, "its mode, -rwxrwx---, lets others write"},
		"all write folder":      {mode(0o777), true, "its mode, -rwxrwxrwx, lets others write"},
		"group writes a file":   {mode(0o660), false, "its mode, -rw-rw----, lets others write"},
		"all write a file":      {mode(0o602), false, "its mode, -rw-----w-, lets others write"},
		"another's folder":      {func(path string) error { return os.Chown(path, 12345, -1) }, true, "its owner is user 12345, and this process is of user 0"},
		"another's file":        {func(path string) error { return os.Chown(path, 12345, -1) }, false, "its owner is user 12345, and this process is of user 0"},
		"folder only for users": {mode(0o755), true, ""},
	}
	for what, spoiled := range spoil {
		t.Run(what, func(t *testing.T) {
			c, path := aCache(t)
			if spoiled.ofFolder {
				path = c.folder
			}
			if err := spoiled.do(path); os.Geteuid() != 0 && err != nil {
				t.Skip("only root can give files away")
			}
			if spoiled.says == "" {
				assert.Equal(t, []byte("program"), c.load("key"))
				assert.False(t, c.disabled())
				return
			}
			want := "level=WARN msg=" + strconv.Quote("compiled OpenCL kernels are neither read nor kept: "+path+": "+spoiled.says) + "\n"
			var early, late logged
			c.logTo(early.logger())
			for range 2 {
				assert.Nil(t, c.load("key"))
				assert.Equal(t, want, early.String(), "once")
			}
			c.logTo(late.logger())
			assert.Equal(t, want, late.String(), "what was noticed before")
			c.store("other", []byte("program"))
			entries, err := os.ReadDir(c.folder)
			require.NoError(t, err)
			assert.Len(t, entries, 1, "nothing is kept")
		})
	}
}

// A device reports it, and works.
func TestNotesOfADevice(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "opencl"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(folder, "opencl"), 0o777))
	for range 2 {
		dev := cached(t, folder)
		var notes logged
		dev.LogTo(notes.logger())
		assert.Empty(t, notes.String())
		assert.EqualValues(t, 1, works(t, dev))
		assert.Equal(t, 1, strings.Count(notes.String(), "\n"))
		assert.Contains(t, notes.String(), "lets others write")
		assert.Contains(t, notes.String(), " device="+dev.Info().ID()+"\n")
		dev.LogTo(nil)
	}
	assert.Empty(t, files(t, folder))
}
