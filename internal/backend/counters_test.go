package backend

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/restride/restride/device"
)

func TestCounters(t *testing.T) {
	var c Counters
	c.Allocated(100)
	c.Allocated(50)
	c.Freed(100)
	c.Allocated(20)
	c.Upload(7)
	c.Upload(0)
	c.Download(3)
	c.Launch(11)
	c.Peer(5)
	c.Wait()
	assert.Equal(t, device.Stats{
		HostToDevice: 7, DeviceToHost: 3, DeviceToDevice: 11, PeerToDevice: 5, Uploads: 2, Downloads: 1, Launches: 1, PeerCopies: 1, Waits: 1,
		Live: 70, Peak: 150, Buffers: 2, Reserved: 99,
	}, c.Stats(99))
}

func TestCountersConcurrently(t *testing.T) {
	var c Counters
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 1000 {
				c.Allocated(3)
				c.Upload(1)
				c.Download(2)
				c.Launch(4)
				c.Freed(3)
				c.Stats(0)
			}
		})
	}
	group.Wait()
	got := c.Stats(0)
	assert.True(t, got.Peak >= 3 && got.Peak <= 24, "peak %d", got.Peak)
	got.Peak = 0
	assert.Equal(t, device.Stats{HostToDevice: 8000, DeviceToHost: 16000, DeviceToDevice: 32000, Uploads: 8000, Downloads: 8000, Launches: 8000}, got)
}
