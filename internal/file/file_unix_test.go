//go:build unix

package file

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestContent(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("ten"), []byte("0123456789"), 0o600))
	require.NoError(t, os.WriteFile(at("none"), nil, 0o600))
	require.NoError(t, os.Symlink("ten", at("link")))
	for name, want := range map[string]string{"ten": "0123456789", "link": "0123456789", "none": ""} {
		b, err := Content(at(name), 10)
		require.NoError(t, err)
		assert.Equal(t, want, string(b))
		f, err := Open(at(name), 10)
		require.NoError(t, err)
		b, err = io.ReadAll(f)
		require.NoError(t, err)
		assert.Equal(t, want, string(b))
		require.NoError(t, f.Close())
	}
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	require.NoError(t, os.Symlink("pipe", at("link to a pipe")))
	sparse, err := os.Create(at("sparse"))
	require.NoError(t, err)
	require.NoError(t, sparse.Truncate(10<<30))
	require.NoError(t, sparse.Close())
	_, err = OpenFolder(at("pipe"))
	require.ErrorIs(t, err, syscall.ENOTDIR)
	_, err = OpenFolder("")
	require.ErrorIs(t, err, fs.ErrNotExist)
	root, err := OpenFolder(dir)
	require.NoError(t, err)
	defer root.Close()
	for path, want := range map[string]string{
		at("ten"):            "has 10 bytes; at most 9 are read",
		at("sparse"):         "has 10737418240 bytes; at most 9 are read",
		at("pipe"):           "is a pipe, not a regular file",
		at("link to a pipe"): "is a pipe, not a regular file",
		dir:                  "is a folder, not a regular file",
		"/dev/zero":          "is a device, not a regular file",
	} {
		_, err := Content(path, 9)
		refused := new(Error)
		require.ErrorAs(t, err, &refused)
		assert.EqualError(t, err, path+" "+want)
		if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) {
			_, err := OpenIn(root, name, 9)
			assert.EqualError(t, err, name+" "+want)
		}
	}
	_, err = Content(at("a\nb"), 9)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "\n")
	_, err = OpenIn(root, "../x", 9)
	require.Error(t, err)
}

// A pipe that replaces the file between the two checks does not block the program.
func TestPipeInTheFilesPlace(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	regular, err := os.Stat("file.go")
	require.NoError(t, err)
	_, err = open(pipe, 1<<20, func(string) (fs.FileInfo, error) { return regular, nil }, os.OpenFile)
	require.EqualError(t, err, pipe+" is a pipe, not a regular file")
}

// A file that another process is writing is not considered complete, nor read without end.
func TestFileThatChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for to, want := range map[int64]string{
		10 << 30: "had 10 bytes when it was opened, and has more",
		11:       "had 10 bytes when it was opened, and has more",
		4:        "had 10 bytes when it was opened, and ends after 4",
	} {
		for what, read := range map[string]func(f *File) ([]byte, error){
			"whole": (*File).Content, "as a reader": func(f *File) ([]byte, error) { return io.ReadAll(f) },
		} {
			require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o600))
			f, err := Open(path, 100)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, to))
			_, err = read(f)
			require.EqualError(t, err, path+" "+want, what)
			require.NoError(t, f.Close())
		}
	}
}

// A pipe as the output file of a picture or a page must not block the program.
func TestWriteToPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	require.ErrorIs(t, Write(path, []byte("x")), syscall.ENXIO)
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()
	require.NoError(t, Write(path, []byte("x")))
	b, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Equal(t, "x", string(b))
	path = filepath.Join(filepath.Dir(path), "file")
	for _, content := range []string{"long", "x"} {
		require.NoError(t, Write(path, []byte(content)))
		b, err := Content(path, 4)
		require.NoError(t, err)
		assert.Equal(t, content, string(b))
	}
}

func TestOwned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	for mode, want := range map[fs.FileMode]string{
		0o600: "", 0o755: "",
		0o620: "its mode, -rw--w----, lets others write",
		0o602: "its mode, -rw-----w-, lets others write",
	} {
		require.NoError(t, os.Chmod(path, mode))
		info, err := os.Stat(path)
		require.NoError(t, err)
		if err := Owned(info); want == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, want)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Chown(path, 12345, -1))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.EqualError(t, Owned(info), "its owner is user 12345, and this process is of user 0")
}

// TestBugUpdateFollowedLinks: a partial file that is a link must not be followed, or its target
// would be overwritten or created.
func TestBugUpdateFollowedLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("precious"), []byte("precious"), 0o600))
	require.NoError(t, os.Symlink("precious", at("link")))
	require.NoError(t, os.Symlink("nothing", at("dangling")))
	for _, name := range []string{"link", "dangling"} {
		_, err := Update(at(name))
		require.EqualError(t, err, at(name)+" is a link, not a regular file")
	}
	assert.NoFileExists(t, at("nothing"))
	b, err := os.ReadFile(at("precious"))
	require.NoError(t, err)
	assert.Equal(t, "precious", string(b))

	// A link that replaces the file after the check.
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(at("link"), at("partial"))
			_ = os.Symlink("precious", at("link"))
			_ = os.WriteFile(at("new"), nil, 0o600)
			_ = os.Rename(at("new"), at("partial"))
		}
	}()
	info, err := os.Stat(at("precious"))
	require.NoError(t, err)
	opened := 0
	for range 2000 {
		f, err := Update(at("partial"))
		if err != nil {
			continue
		}
		opened++
		have, err := f.Stat()
		require.NoError(t, err)
		require.False(t, os.SameFile(info, have), "the link was followed")
		require.NoError(t, f.Close())
	}
	close(stop)
	<-done
	assert.Positive(t, opened)
}

// TestBugLeftovers: files that killed processes left under unique names must not stay forever.
func TestBugLeftovers(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	open, err := Beside(at("config.json")) // another process's
	require.NoError(t, err)
	defer open.Close()
	keep := []string{"config.json", ".ABC-config.json", "ABCDEFGHIJKLMNOPQRSTUVWXYZ-config.json", ".ABCDEFGHIJKLMNOPQRSTUVWXYZ-other.json", ".abcdefghijklmnopqrstuvwxyz-config.json"}
	for _, name := range append(keep, ".ABCDEFGHIJKLMNOPQRSTUVWXYZ-config.json") {
		require.NoError(t, os.WriteFile(at(name), nil, 0o600))
	}
	require.NoError(t, os.Symlink("config.json", at(".BCDEFGHIJKLMNOPQRSTUVWXYZA-config.json")))
	f, err := Beside(at("config.json"))
	require.NoError(t, err)
	defer f.Close()
	assert.NoFileExists(t, at(".ABCDEFGHIJKLMNOPQRSTUVWXYZ-config.json"))
	for _, path := range append(keep, ".BCDEFGHIJKLMNOPQRSTUVWXYZA-config.json", filepath.Base(open.Name()), filepath.Base(f.Name())) {
		_, err := os.Lstat(at(path))
		assert.NoError(t, err, path)
	}
	require.NoError(t, Rename(f, at("config.json")))
}

// childPath makes a run of TestLeftoverOfKilled write to a unique file until it is killed.
const childPath = "RESTRIDE_TEST_BESIDE"

// TestLeftoverOfKilled: the file of a process stays as long as the process runs, and is removed
// once it was killed.
func TestLeftoverOfKilled(t *testing.T) {
	if path := os.Getenv(childPath); path != "" {
		f, err := Beside(path)
		require.NoError(t, err)
		fmt.Println(f.Name())
		select {}
	}
	path := filepath.Join(t.TempDir(), "config.json")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestLeftoverOfKilled$")
	child.Env = append(os.Environ(), childPath+"="+path)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	name, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	name = strings.TrimSpace(name)
	for _, alive := range []bool{true, false} {
		if !alive {
			require.NoError(t, child.Process.Kill())
			require.Error(t, child.Wait())
			require.FileExists(t, name)
		}
		f, err := Beside(path)
		require.NoError(t, err)
		require.NoError(t, Rename(f, path))
		_, err = os.Stat(name)
		assert.Equal(t, alive, err == nil, err)
	}
}

// A written report must respect the umask.
func TestBugNewFilesFollowTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	path := filepath.Join(t.TempDir(), "x")
	f, err := Beside(path)
	require.NoError(t, err)
	defer f.Close()
	other, err := Beside(path)
	require.NoError(t, err)
	defer other.Close()
	assert.NotEqual(t, f.Name(), other.Name())
	assert.Equal(t, filepath.Dir(path), filepath.Dir(f.Name()))
	info, err := f.Stat()
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o640), info.Mode())
}

// A file stays whole until Commit; a link and a pipe stay what they are.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, link, pipe := filepath.Join(dir, "x"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	require.NoError(t, os.Symlink("x", link))
	for i, name := range []string{path, path, link} {
		f, err := Replace(name)
		require.NoError(t, err)
		before, _ := os.ReadFile(path)
		_, err = fmt.Fprint(f, "content ", i)
		require.NoError(t, err)
		if name == path {
			now, _ := os.ReadFile(path)
			require.Equal(t, before, now)
		}
		require.NoError(t, f.Commit())
		f.Discard()
		now, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("content ", i), string(now))
	}
	f, err := Replace(path)
	require.NoError(t, err)
	f.Discard()
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = Replace(pipe)
	require.ErrorIs(t, err, syscall.ENXIO, "nobody reads it")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 3)
	for i, mode := range []fs.FileMode{fs.ModeSymlink, fs.ModeNamedPipe, 0} {
		require.Equal(t, mode, left[i].Type(), left[i].Name())
	}
}
