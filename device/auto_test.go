package device

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noted returns what a device has to say.
func noted(dev Device) string {
	var said bytes.Buffer
	if d, ok := As[Diagnostics](dev); ok {
		d.LogTo(slog.New(slog.NewTextHandler(&said, nil)))
		d.LogTo(nil)
	}
	return said.String()
}

// A device that is opened in place of one whose driver refuses tells of it, once, and has all
// abilities; without a driver, or without a device, there is nothing to tell.
func TestOpenAutoTells(t *testing.T) {
	refusal := &DriverError{Call: "cuInit", Code: 999, Name: "CUDA_ERROR_UNKNOWN"}
	for _, c := range []struct {
		cuda family
		says string
	}{
		{family{name: "cuda", err: ErrNoDevice}, ""},
		{family{name: "cuda", n: 1}, ""},
		{family{name: "cuda", err: fmt.Errorf("%w: it does not start: %w", ErrNoDevice, refusal)}, "cuda: no device: it does not start: cuInit: CUDA_ERROR_UNKNOWN (999)"},
		{family{name: "cuda", err: fmt.Errorf("%w: %w: it is too old", ErrNoDevice, ErrUnsupported)}, "it is too old"},
		{family{name: "cuda", err: ErrOutOfMemory}, "out of memory"},
		{family{name: "cuda", n: 1, broken: refusal, closed: new(bool)}, "cuInit: CUDA_ERROR_UNKNOWN (999)"},
	} {
		with(t, family{name: "cpu", n: 1}, c.cuda)
		dev, err := Open("auto")
		require.NoError(t, err)
		said := noted(dev)
		if c.says == "" {
			assert.Empty(t, said)
			continue
		}
		assert.Equal(t, "cpu", dev.Info().ID())
		assert.Contains(t, said, c.says)
		assert.Contains(t, said, "cpu is used, as another device refuses")
		assert.Equal(t, 1, strings.Count(said, "WARN"))
		_, whole := As[opened](dev)
		assert.True(t, whole, "the device's own type is found")
		if c.cuda.closed != nil {
			assert.True(t, *c.cuda.closed, "a device without kernels is closed")
		}
		dev, err = Open("cpu")
		require.NoError(t, err)
		assert.Empty(t, noted(dev), "by name, nothing is in another's place")
	}
}
