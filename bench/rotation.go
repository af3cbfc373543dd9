package bench

import "github.com/restride/restride/device"

// Buffers of runs beyond caches rotate: each call uses other ones, so that caches hold little
// of them when they return. A run within caches always uses the same ones.

// resident is the most bytes of two buffers that are assumed to fit in the second-level cache
// of any core.
const resident = 1 << 20

// cached reports whether a run at a size measures caches by default.
func cached(size int64) bool { return 2*size <= resident }

// cachedSize is the size for runs that measure a device's caches: both sides fit in the
// second-level cache of a core or a GPU (40 MiB and more since NVIDIA's A100).
func cachedSize(i device.Info) int64 {
	if i.Kind == device.CPU {
		return resident / 2
	}
	return 16 << 20
}

// footprint is about the number of bytes that rotate: on a processor twice its last cache, if
// known, within bounds; elsewhere four times the largest caches of GPUs.
func footprint(kind device.Kind) int64 {
	if kind != device.CPU {
		return 512 << 20
	}
	return min(max(2*lastCache(), 256<<20), 1<<30)
}

// rotation is the number of operands, of the given size, that rotate in a run beyond caches.
func rotation(bytes, footprint int64) int {
	return int(min(max(footprint/max(bytes, 1), 2), 256))
}
