package pipeline

import (
	"context"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Stages define a pipeline. Source, Work and Sink each get the batches in order, one call at a
// time, but the calls of one overlap those of the others. Their arguments are valid until they
// return. Their context ends when the pipeline does: a stage that waits should observe it.
type Stages struct {
	// Inputs are the arrays that Source fills.
	Inputs []Input
	// Depth is the most batches in progress: 1 finishes one batch before the next, 2 (the
	// default, 0) overlaps neighbours, 3 keeps upload, work and download busy concurrently, 5
	// Source and Sink, too. Each has its own memory.
	Depth int
	// Source fills the next batch. The arrays come with their largest extents and undefined
	// elements; Resize makes one smaller. io.EOF, unwrapped, means that there are no more
	// batches.
	Source func(ctx context.Context, in []*Array) error
	// Work queues work on the pipeline's stream, such as a session's Run, and returns the
	// results for Sink: any number of tensors, which may be views of the inputs, on any stream,
	// of any shape. The pipeline releases them, and the inputs, whose elements change when the
	// batch is finished. It runs in the goroutine that called Run.
	Work func(ctx context.Context, in []*tensor.Tensor) ([]*tensor.Tensor, error)
	// Sink gets the elements of the tensors that Work returned.
	Sink func(ctx context.Context, out []*Array) error
}

// Input is an array that Source fills.
type Input struct {
	Type layout.DType
	Dims []int64 // the largest: a batch's elements must fit in the same bytes
}

// mostBatches bounds Depth.
const mostBatches = 1024

// Run moves batches through the stages until Source has no more, and returns when everything is
// done. The first error of a stage or of the device ends it, and so does the end of ctx, with
// its cause: batches in progress then may not reach Sink. Run returns when the stages have, and
// nothing is in flight any more; all memory is released. Others may use the stream meanwhile.
func Run(ctx context.Context, s *tensor.Stream, st Stages) (stats Stats, err error) {
	if err := st.check(s); err != nil {
		return Stats{}, err
	}
	if ctx == nil {
		return Stats{}, layout.Errorf(device.ErrInvalid, "pipeline.Run", "the context is nil")
	}
	r, err := newRun(s, st)
	defer func() { // Work may panic
		stats, err = r.close(err)
	}()
	if err == nil {
		err = r.flow(ctx)
	}
	return stats, err
}

func (st *Stages) check(s *tensor.Stream) error {
	const op = "pipeline.Run"
	switch {
	case s == nil:
		return layout.Errorf(device.ErrInvalid, op, "there is no stream")
	case st.Source == nil || st.Work == nil || st.Sink == nil:
		return layout.Errorf(device.ErrInvalid, op, "Source, Work and Sink must be given")
	case st.Depth < 0 || st.Depth > mostBatches:
		return layout.Errorf(device.ErrInvalid, op, "Depth is %d; it can be 1 to %d, or 0 for 2", st.Depth, mostBatches)
	}
	for i, in := range st.Inputs {
		if in.Type == layout.String {
			return layout.Errorf(device.ErrUnsupported, op, "input %d is of type string; only elements of fixed size are transferred", i)
		}
		if !in.Type.Valid() {
			return layout.Errorf(device.ErrInvalid, op, "input %d has no element type: %v", i, in.Type)
		}
		if _, err := layout.Shape(in.Dims).Bytes(in.Type); err != nil {
			return layout.Named(op, err)
		}
	}
	return nil
}
