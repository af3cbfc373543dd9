package opencl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu/gputest"
)

func TestCopyByDriver(t *testing.T) {
	dev := openTest(t, Options{})
	other, err := OpenWith(dev.Info().Index, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	gputest.CopyByDriver(t, dev, other)
}
