package adversary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/restride/restride/internal/graphs"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// runModel processes a model like programs do: a session, a plan, a run on zeros with a report
// of each node, the outputs as text and as files in dir.
func runModel(ctx context.Context, s *tensor.Stream, m *model.Model, dir string) (err error) {
	sess, err := onnx.NewSession(s, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sess.Close()) }()
	in := onnx.Values{}
	defer func() { err = errors.Join(err, in.Release()) }()
	for _, info := range sess.Inputs() {
		v, err := graphs.Zeros(s, info.Type, math.MaxInt64)
		if err != nil {
			return err
		}
		in[info.Name] = v
	}
	_, _ = sess.Plan(nil, in) // a run may need more than a plan knows
	sess.OnNode(func(n onnx.NodeReport) { _ = n.TypeString() })
	out, err := sess.Run(ctx, in)
	if err != nil {
		return errors.Join(err, s.Wait())
	}
	defer func() { err = errors.Join(err, out.Release()) }()
	if err := s.Wait(); err != nil { // an index out of range may be found late
		return err
	}
	for name, v := range out {
		if err := readOutput(ctx, name, v, dir); err != nil {
			return err
		}
	}
	return nil
}

// mostWritten is the number of bytes of an output that are written: the rest is similar.
const mostWritten = 16 << 20

// readOutput shows a value, and writes it if it is not too long: a short one like commands do,
// to a file.
func readOutput(ctx context.Context, name string, v onnx.Value, dir string) error {
	if err := checkText(fmt.Sprint(v)); err != nil {
		return err
	}
	x, ok := v.(*tensor.Tensor)
	switch {
	case !ok || x.Count() < mostWritten/64:
		err := onnx.SaveValue(filepath.Join(dir, "output.pb"), name, v)
		if errors.Is(err, model.ErrText) { // strings made of bytes
			return nil
		}
		return err
	case x.DType() == layout.String:
		read := 0
		for text, err := range x.Strings() {
			if err != nil {
				return err
			}
			if read += len(text) + 1; read > mostWritten {
				break
			}
		}
		return nil
	}
	room := &limitedWriter{ctx: ctx, left: mostWritten}
	if _, err := x.WriteTo(room); err != nil && !errors.Is(err, io.ErrShortWrite) {
		return err
	}
	return nil
}

// limitedWriter accepts a number of bytes; beyond that its error is io.ErrShortWrite.
type limitedWriter struct {
	ctx  context.Context
	left int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), w.ctx.Err()
}
