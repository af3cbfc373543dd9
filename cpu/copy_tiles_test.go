package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/oracle"
)

// Tiles have as many columns as an index of their outermost axis at least, which may be more
// than wanted: of 65 to 127 columns the table of their places was too short.
func TestBugPlacesOfWideColumns(t *testing.T) {
	cpu.EachLevel(t, func(t *testing.T) {
		dev := open(t)
		defer dev.Close()
		for _, name := range []string{
			"copy/float16/5x7x10x3x10x100/dst=210000,30000,3000,1000,100,1@0/src=100,500,10,3500,1,10500@0",
			"copy/float16/5x3x10x3x10x200/dst=180000,60000,6000,2000,200,1@0/src=100,500,10,1500,1,4500@0",
			"copy/float16/5x3x100x200/dst=60000,20000,200,1@0/src=100,500,1,1500@0",
			"copy/uint8/6x127x3x300/dst=114300,900,300,1@0/src=381,1,127,2286@0",
			"copy/float/5x2x63x300/dst=37800,18900,300,1@0/src=63,315,1,630@0",
		} {
			c, err := oracle.ParseCase(name)
			require.NoError(t, err)
			require.NoError(t, oracle.Check(dev, c, 1))
		}
	})
}
