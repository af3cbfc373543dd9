package cudakernels

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestArchitectureFor(t *testing.T) {
	for capability, want := range map[int]int{70: 0, 75: 0, 80: 80, 86: 80, 89: 80, 90: 90, 100: 100, 103: 100, 120: 0} {
		assert.Equal(t, want, ArchitectureFor(capability), capability)
	}
}
