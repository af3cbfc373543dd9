package adversary

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

// careless is a cpu device with a fault in its treatment of foreign memory.
type careless struct {
	device.Device
	told  int  // how often owners are told
	frees bool // a buffer is freed when there is another
	last  atomic.Pointer[device.Buffer]
}

func (d *careless) Unwrap() device.Device { return d.Device }

func (d *careless) AdoptHost(b []byte, done func()) (device.Buffer, error) {
	return d.Device.(device.HostAdopter).AdoptHost(b, func() {
		for range d.told {
			done()
		}
	})
}

func (d *careless) Alloc(bytes int64) (device.Buffer, error) {
	b, err := d.Device.Alloc(bytes)
	if last := d.last.Swap(&b); err == nil && d.frees && last != nil {
		_ = (*last).Free()
	}
	return b, err
}

// Memory that is freed too early, never, or twice is found.
func TestLendingFindsFaults(t *testing.T) {
	some, err := Named("lending")
	require.NoError(t, err)
	defer func(was time.Duration) { lateness = was }(lateness)
	lateness = 50 * time.Millisecond
	for says, d := range map[string]*careless{"told 2 times": {told: 2}, "told 0 times": {}, "freed": {told: 1, frees: true}} {
		d.Device = openCPU(t)
		require.ErrorContains(t, Once(some[0], open(t, d), t.TempDir(), 1, 0, time.Minute), says)
	}
}
