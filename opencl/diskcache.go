package opencl

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
)

// diskCache keeps compiled programs in files, one each; also, instead of a program, the verdict
// of the trial of arithmetic, a byte. A file's name is a hash of its key: everything that the
// program depends on, as text. A file is
//
//	"restride opencl\n" | version | length of key | key | length of program | program | SHA-256 of the rest
//
// with a version of 32 bits and lengths of 64, little-endian. A file in another form, or with
// another key, counts as missing. Failures of files are not errors: programs are then compiled
// again.
//
// A driver executes a file's content. So the folder and its files must belong to the user or to
// root, and not be writable by others; otherwise the cache is disabled, and has a note of the
// reason. Folders above may belong to others, who still cannot put a program into this folder:
// at most they can replace it by another folder of the user's.
type diskCache struct {
	folder string // "": there is no cache

	mu   sync.Mutex
	note string // why it is disabled; "": it is not
	log  *slog.Logger
}

const (
	cacheMagic   = "restride opencl\n"
	cacheVersion = 1
	mostCached   = 64 << 20 // bytes of a file: larger ones are not from this cache
)

// newDiskCache returns the cache that the environment names.
func newDiskCache() *diskCache {
	switch dir := os.Getenv("RESTRIDE_CACHE_DIR"); dir {
	case "off":
		return &diskCache{}
	case "":
		dir, err := os.UserCacheDir()
		if err != nil {
			return &diskCache{}
		}
		return &diskCache{folder: filepath.Join(dir, "restride", "opencl")}
	default:
		return &diskCache{folder: filepath.Join(dir, "opencl")}
	}
}

// nameOf returns the name of a key's file.
func nameOf(key string) string {
	hash := sha256.Sum256([]byte(key))
	return hex.EncodeToString(hash[:]) + ".bin"
}

// logTo logs why the cache is disabled, now or once it is.
func (c *diskCache) logTo(l *slog.Logger) {
	c.mu.Lock()
	c.log = l
	note := c.note
	c.mu.Unlock()
	if l != nil && note != "" {
		l.Warn(note)
	}
}

// disable disables the cache.
func (c *diskCache) disable(note string) {
	c.mu.Lock()
	first, log := c.note == "", c.log
	if first {
		c.note = note
	}
	c.mu.Unlock()
	if first && log != nil {
		log.Warn(note)
	}
}

// disabled reports whether the cache is disabled.
func (c *diskCache) disabled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.note != ""
}

// owned reports whether only the user can change a file of the cache, or its folder. If not,
// the cache is disabled from then on.
func (c *diskCache) owned(path string, info os.FileInfo) bool {
	err := file.Owned(info)
	if err != nil {
		c.disable(fmt.Sprintf("compiled OpenCL kernels are neither read nor kept: %s: %v", quote.Path(path), err))
	}
	return err == nil
}

// open opens the folder; nil: unusable.
func (c *diskCache) open() *os.Root {
	if c.folder == "" || c.disabled() {
		return nil
	}
	root, err := file.OpenFolder(c.folder)
	if err != nil {
		return nil
	}
	if info, err := root.Stat("."); err == nil && c.owned(c.folder, info) {
		return root
	}
	_ = root.Close()
	return nil
}

// load returns the program with a key; nil: there is none.
func (c *diskCache) load(key string) []byte {
	root := c.open()
	if root == nil {
		return nil
	}
	defer root.Close()
	name := nameOf(key)
	entry, err := file.OpenIn(root, name, mostCached)
	if err != nil {
		return nil
	}
	defer entry.Close()
	info, err := entry.Stat()
	if err != nil || !c.owned(filepath.Join(c.folder, name), info) {
		return nil
	}
	content, err := entry.Content()
	if err != nil {
		return nil
	}
	return unseal(content, key)
}

// store writes a program. Other processes see the whole file or none.
func (c *diskCache) store(key string, program []byte) {
	if c.folder == "" || len(program) == 0 || os.MkdirAll(c.folder, 0o700) != nil {
		return
	}
	root := c.open()
	if root == nil {
		return
	}
	defer root.Close()
	name := "new-" + rand.Text() + ".tmp"
	entry, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	_, err = entry.Write(seal(program, key))
	if err = errors.Join(err, entry.Close()); err == nil {
		err = root.Rename(name, nameOf(key))
	}
	if err != nil {
		_ = root.Remove(name)
	}
}

// seal returns the content of a file.
func seal(program []byte, key string) []byte {
	b := []byte(cacheMagic)
	b = binary.LittleEndian.AppendUint32(b, cacheVersion)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(key)))
	b = append(b, key...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(program)))
	b = append(b, program...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// unseal returns the program of a file; nil: the file is damaged, or has another key.
func unseal(file []byte, key string) []byte {
	head := seal(nil, key)
	head = head[:len(head)-sha256.Size-8] // up to the program's length
	body := len(file) - sha256.Size
	if body < len(head)+8 || !bytes.HasPrefix(file, head) {
		return nil
	}
	if sum := sha256.Sum256(file[:body]); !bytes.Equal(sum[:], file[body:]) {
		return nil
	}
	program := file[len(head)+8 : body]
	if binary.LittleEndian.Uint64(file[len(head):]) != uint64(len(program)) || len(program) == 0 {
		return nil
	}
	return program
}
