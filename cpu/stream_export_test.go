package cpu

import "testing"

// StreamFrom makes copies of a test that write so many bytes do it past the caches.
func StreamFrom(t testing.TB, bytes int64) {
	old := streamBytes
	streamBytes = bytes
	t.Cleanup(func() { streamBytes = old })
}
