package cuda

import (
	"testing"

	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

func TestQueues(t *testing.T) {
	gputest.Queues(t, func(tb testing.TB) *gpu.Device { return openTest(tb).Device })
}
