package model

import (
	"math"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
)

const (
	// maxFile is protobuf's limit: its lengths are signed 32-bit.
	maxFile = math.MaxInt32
	// maxNesting is the maximum nesting depth of graphs in attributes of graphs, types in
	// types and values in values. Real files need 3 or 4; ONNX's own readers stop at 100
	// nested protobuf messages, which is about 32 graphs.
	maxNesting = 32
	// maxMessages is the maximum nesting depth of messages. It allows maxNesting graphs
	// (three messages each) with as many types in the innermost (two each), so that the
	// clearer error of maxNesting comes first, but no input can make the decoder recurse
	// without limit.
	maxMessages = 6 * maxNesting
)

// rest is the encoded form of a message's fields that the API does not model; nil if there
// are none. It consists of bytes, not a message, so that structs that hold it can be
// compared and copied.
type rest []byte

// restOf returns the fields that remain in a message after the caller has cleared those
// that the API models.
func restOf(p proto.Message) (rest, error) {
	if proto.Size(p) == 0 {
		return nil, nil
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return nil, invalidf("protobuf: %s", plain(err))
	}
	return b, nil
}

// into puts the fields back into a message.
func (r rest) into(p proto.Message) error {
	if r == nil {
		return nil
	}
	return decode(r, p, "message")
}

// decode decodes a message that has been checked.
func decode(b []byte, p proto.Message, what string) error {
	if err := (proto.UnmarshalOptions{RecursionLimit: maxMessages}).Unmarshal(b, p); err != nil {
		return invalidf("this is no ONNX %s: %s", what, plain(err))
	}
	return nil
}

func marshal(p proto.Message) ([]byte, error) {
	n := proto.Size(p)
	if n > maxFile {
		return nil, invalidf("%d bytes are more than protobuf allows in a file (%d); move initializers to external data", n, maxFile)
	}
	b, err := budget.Make[byte](budget.Process(), "Marshal", int64(n))
	if err != nil {
		return nil, err
	}
	b, err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(b[:0], p)
	if err != nil {
		return nil, invalidf("protobuf: %s", plain(err))
	}
	return b, nil
}

// plain is a protobuf error's text with ordinary spaces: protobuf-go randomly uses one or
// another kind.
func plain(err error) string { return strings.ReplaceAll(err.Error(), "\u00a0", " ") }

// load reads a regular file of at most maxFile bytes and parses it into a T, which does not
// keep the bytes. Paths of external data are relative to the file's folder.
func load[T any](path string, parse func(b []byte, dir string) (*T, error)) (*T, error) {
	f, err := file.Open(path, maxFile)
	if err != nil {
		return nil, refused(err)
	}
	defer f.Close()
	memory := budget.Process()
	if err := memory.Take("the file "+quote.Path(path), f.Size); err != nil {
		return nil, err
	}
	defer memory.Give(f.Size)
	b, err := f.Content()
	if err != nil {
		return nil, refused(err)
	}
	out, err := parse(b, filepath.Dir(path))
	return out, within(err, "%s", quote.Path(path))
}

func deeper(depth int, what string) error {
	if depth > maxNesting {
		return invalidf("%ss are nested more than %d deep", what, maxNesting)
	}
	return nil
}
