package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A PCI address in NVML's form: domain, bus, device, function.
func TestPCIAddress(t *testing.T) {
	ask := func(code int) (int, error) { return map[int]int{33: 0xa1, 34: 3, 50: 0x10002}[code], nil }
	assert.Equal(t, "00010002:a1:03.0", pciAddress(ask))
	assert.Empty(t, pciAddress(func(int) (int, error) { return 0, assert.AnError }))
}
