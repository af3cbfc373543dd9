package opencl

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// diskCache keeps compiled programs in files, one each. A file's name is a hash of its
// key: all that the program depends on, as text. A file is
//
//	"restride opencl\n" | version | length of key | key | length of program | program | SHA-256 of all before
//
// with a version of 32 bits and lengths of 64, little-endian. A file that is not so, or
// has another key, counts as missing. What goes wrong with files is no error: programs
// are then compiled again.
type diskCache struct {
	folder string // "": there is no cache
}

const (
	cacheMagic   = "restride opencl\n"
	cacheVersion = 1
	mostCached   = 64 << 20 // bytes of a file: a larger one is not ours
)

// newDiskCache returns the cache that the environment names.
func newDiskCache() diskCache {
	switch dir := os.Getenv("RESTRIDE_CACHE_DIR"); dir {
	case "off":
		return diskCache{}
	case "":
		dir, err := os.UserCacheDir()
		if err != nil {
			return diskCache{}
		}
		return diskCache{filepath.Join(dir, "restride", "opencl")}
	default:
		return diskCache{filepath.Join(dir, "opencl")}
	}
}

func (c diskCache) path(key string) string {
	hash := sha256.Sum256([]byte(key))
	return filepath.Join(c.folder, hex.EncodeToString(hash[:])+".bin")
}

// load returns the program with a key; nil: there is none.
func (c diskCache) load(key string) []byte {
	if c.folder == "" {
		return nil
	}
	file, err := os.Open(c.path(key))
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, mostCached))
	if err != nil {
		return nil
	}
	return unseal(content, key)
}

// store writes a program. Other processes see the whole file or none.
func (c diskCache) store(key string, program []byte) {
	if c.folder == "" || len(program) == 0 || os.MkdirAll(c.folder, 0o700) != nil {
		return
	}
	file, err := os.CreateTemp(c.folder, "new-*.tmp")
	if err != nil {
		return
	}
	_, err = file.Write(seal(program, key))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), c.path(key))
	}
	if err != nil {
		_ = os.Remove(file.Name())
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
