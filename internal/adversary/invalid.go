package adversary

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/graphs"
	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func init() {
	register(Generator{
		Name:  "invalid",
		About: "models that break one rule, which must be an error before a result is read",
		Try:   tryInvalid,
	})
}

func tryInvalid(t *Trial) error {
	g, rule := graphs.Broken(t.Rand, graphs.Limits{Nodes: t.Rand.IntN(8), Ranks: t.Rand.IntN(7), Resident: t.Rand.IntN(2) == 0})
	return within(g, func() error { return refused(t, g, rule) })
}

// refused returns an error unless a model gives one, of the right kind.
func refused(t *Trial, g *graphs.Graph, rule string) error {
	err := results(t, g)
	switch {
	case err == nil:
		return fmt.Errorf("no error of %s", rule)
	case !errors.Is(err, device.ErrInvalid) && !errors.Is(err, device.ErrUnsupported):
		return fmt.Errorf("an error of %s that is neither ErrInvalid nor ErrUnsupported: %w", rule, err)
	}
	return nil
}

// results runs a model and reads its outputs.
func results(t *Trial, g *graphs.Graph) error {
	raw, err := g.Model.Marshal()
	if err != nil {
		return err
	}
	m, err := model.Parse(raw, "")
	if err != nil {
		return err
	}
	sess, err := onnx.NewSession(t.Stream, m)
	if err != nil {
		return err
	}
	defer sess.Close()
	_, _ = planOf(g, sess) // a plan may not detect the fault
	in, err := feed(t, g, t.Rand.IntN(2) == 0)
	defer in.Release()
	if err != nil {
		return err
	}
	out, err := sess.Run(context.Background(), in)
	if err != nil {
		return err
	}
	defer out.Release()
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if x, isTensor := out[name].(*tensor.Tensor); isTensor && x.Count() < 1<<16 {
			if _, err := ndarray.Download(x); err != nil {
				return err
			}
		}
	}
	return t.Stream.Wait()
}
