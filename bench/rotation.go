package bench

import "github.com/restride/restride/device"

// Buffers of runs beyond caches rotate: each call uses other ones, so that caches hold
// little of them when they come again. A run within caches uses the same ones always.

// resident is the most bytes of two buffers that the second-level cache of any core is
// taken to hold.
const resident = 1 << 20

// cached reports whether a run at a size is about caches, even if nobody asks for that.
func cached(size int64) bool { return 2*size <= resident }

// cachedSize is the size for runs that are about a device's caches: both sides are in
// the second-level cache, of a core or of a GPU (40 MiB and more since NVIDIA's A100).
func cachedSize(i device.Info) int64 {
	if i.Kind == device.CPU {
		return resident / 2
	}
	return 16 << 20
}

// footprint is about how many bytes rotate: on a processor twice its last cache, as far as
// the system tells, within bounds; elsewhere four times the largest caches of GPUs.
func footprint(kind device.Kind) int64 {
	if kind != device.CPU {
		return 512 << 20
	}
	return min(max(2*lastCache(), 256<<20), 1<<30)
}

// rotation is how many operands, of so many bytes each, rotate in a run beyond caches.
func rotation(bytes, footprint int64) int {
	return int(min(max(footprint/max(bytes, 1), 2), 256))
}
