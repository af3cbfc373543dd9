package backend

import (
	"sync/atomic"

	"github.com/restride/restride/device"
)

// Counters counts device.Stats for a device. The zero Counters is ready.
type Counters struct {
	toDevice, toHost, onDevice   atomic.Int64
	fromPeers, peerCopies        atomic.Int64
	uploads, downloads, launches atomic.Int64
	waits                        atomic.Int64
	live, peak, buffers          atomic.Int64
}

// Upload counts one Write of n bytes.
func (c *Counters) Upload(n int64) { c.uploads.Add(1); c.toDevice.Add(n) }

// Download counts one Read of n bytes.
func (c *Counters) Download(n int64) { c.downloads.Add(1); c.toHost.Add(n) }

// Wait counts one wait for the device.
func (c *Counters) Wait() { c.waits.Add(1) }

// Peer counts one CopyPeer of n bytes.
func (c *Counters) Peer(n int64) { c.peerCopies.Add(1); c.fromPeers.Add(n) }

// Launch counts one Copy, Fill, Convert or Take that wrote n bytes.
func (c *Counters) Launch(n int64) { c.launches.Add(1); c.onDevice.Add(n) }

// Replay counts launches that were replayed, and wrote n bytes.
func (c *Counters) Replay(launches, n int64) { c.launches.Add(launches); c.onDevice.Add(n) }

// Allocated counts a new buffer of n bytes.
func (c *Counters) Allocated(n int64) {
	c.buffers.Add(1)
	live := c.live.Add(n)
	for peak := c.peak.Load(); live > peak && !c.peak.CompareAndSwap(peak, live); peak = c.peak.Load() {
	}
}

// Freed counts a freed buffer of n bytes.
func (c *Counters) Freed(n int64) { c.buffers.Add(-1); c.live.Add(-n) }

// Stats returns the counts, with the device's reserve.
func (c *Counters) Stats(reserved int64) device.Stats {
	return device.Stats{
		HostToDevice: c.toDevice.Load(), DeviceToHost: c.toHost.Load(), DeviceToDevice: c.onDevice.Load(),
		PeerToDevice: c.fromPeers.Load(), PeerCopies: c.peerCopies.Load(),
		Uploads: c.uploads.Load(), Downloads: c.downloads.Load(), Launches: c.launches.Load(), Waits: c.waits.Load(),
		Live: c.live.Load(), Peak: c.peak.Load(), Buffers: c.buffers.Load(), Reserved: reserved,
	}
}
