package file

import (
	"os"

	"github.com/restride/restride/internal/quote"
)

// Pending is an open file that Commit moves to its path: until then, what is there stays whole.
type Pending struct {
	*os.File
	path string // "": the file has its name
}

// NewPending creates a file by Beside.
func NewPending(path string) (*Pending, error) {
	f, err := Beside(path)
	if err != nil {
		return nil, err
	}
	return &Pending{f, path}, nil
}

// Replace is NewPending that leaves what is not a regular file in its place, such as a link or
// the pipe /dev/stdout: that is written directly.
func Replace(path string) (*Pending, error) {
	if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
		return NewPending(path)
	}
	f, err := Create(path, os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	return &Pending{f, ""}, nil
}

// Commit closes the file and gives it its name.
func (p *Pending) Commit() error {
	if p.path == "" {
		return quote.Error(p.Close())
	}
	return Rename(p.File, p.path)
}

// Discard closes and removes the file, unless it was committed.
func (p *Pending) Discard() {
	_ = p.Close()
	if p.path != "" {
		_ = os.Remove(p.Name()) // after Commit, no file has this name
	}
}
