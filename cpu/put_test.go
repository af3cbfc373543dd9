package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/oracle"
)

// Puts of rows and elements of every width, of which several go to one place: the last one
// counts, or all do, in order.
func TestPuts(t *testing.T) { cpu.EachLevel(t, testPuts) }

func testPuts(t *testing.T) {
	severalWorkers(t, 5)
	dev := open(t)
	defer dev.Close()
	require.True(t, dev.Info().PutsInOrder)
	for i, name := range []string{
		"put/float16/3000x512/dst=0,1@0/src=512,1@0/at=1,0@0/int64/by=0:999:512/wrong=0/set",
		"put/float/20000x25/dst=0,1@1/src=25,1@1/at=1,0@5/int32/by=0:999:25/wrong=2/set",
		"put/double/6x20001/dst=0,1@1/src=20001,1@1/at=1,0@0/int64/by=0:4:20001/wrong=0/set",
		"put/int4/20000x34/dst=0,1@0/src=34,1@0/at=1,0@0/int64/by=0:999:34/wrong=1/set",
		"put/uint8/300000/dst=0@1/src=1@1/at=1@0/int32/by=0:9999:1:clamp/wrong=3/set",
		"put/float/500x301/dst=0,999@0/src=301,1@0/at=1,0@0/int32/by=0:999:1/wrong=0/set",
		"put/complex128/40000/dst=0@999/src=-1@39999/at=1@0/int64/by=0:999:-1,40000:3:999/wrong=0/set",
		"put/string/40000/dst=0@1/src=1@1/at=1@0/int64/by=0:999:1:skip/wrong=5/set",
		"put/int4/300001/dst=0@1/src=1@1/at=1@0/int64/by=0:9999:1/wrong=0/set",
		"put/float/3000x130/dst=0,1@1/src=130,1@0/at=1,0@0/int64/by=0:99:130/wrong=0/add",
		"put/int16/5x900x300/dst=27000,0,1@1/src=270000,300,1@0/at=900,1,0@0/int64/by=0:90:300:skip/wrong=2/max",
		"put/double/2000x70/dst=0,1@1/src=0,1@0/at=1,0@0/int32/by=0:99:69/wrong=1/mul",
		"put/float/300x200/dst=0,0@3/src=200,1@0/at=1,0@0/int32/by=0:9:1/wrong=0/set",
		"put/float/300x900/dst=900,0@0/src=900,1@0/at=900,1@0/int64/by=0:900:1/wrong=0/set",
		"put/uint16/3x100x900/dst=90000,-900,0@89100/src=90000,900,1@0/at=90000,900,1@0/int32/by=0:900:1:clamp/wrong=4/set",
		"put/float/300x900/dst=899,0@0/src=900,1@0/at=900,1@0/int64/by=0:900:1/wrong=0/set",
		"put/string/300x90/dst=90,0@0/src=90,1@0/at=90,1@0/int64/by=0:90:1/wrong=0/set",
		"put/float/500x300/dst=1000,1@0/src=300,1@0/at=0,0@0/int64/by=0:500:1000,1:700:1:clampzero/wrong=0/set",
		"put/float/9000x16/dst=0,1@0/src=16,1@0/at=1,0@0/int64/by=0:99:16:skip/wrong=7/add",
		"put/float/9000x16/dst=0,1@0/src=16,1@0/at=1,0@0/int64/by=0:9000:16/wrong=0/set",
		"put/float/9000x16/dst=0,1@0/src=16,1@0/at=1,0@0/int64/by=0:9000:15/wrong=0/set",
		"put/bfloat16/100000/dst=0@0/src=1@0/at=1@0/int64/by=0:99:1/wrong=0/add",
		"put/double/200x300/dst=300,0@0/src=1,200@0/at=1,200@0/int32/by=0:300:1/wrong=0/mul",
		"put/float/3x3000x16/dst=200000,0,1@0/src=48000,16,1@0/at=3000,1,0@0/int64/by=0:9000:15/wrong=0/set",
		"put/string/3x9000/dst=9000,0@0/src=9000,1@0/at=9000,1@0/int64/by=0:9000:1/wrong=0/set",
		"put/int4/3000x4099/dst=0,1@1/src=4100,1@3/at=1,0@0/int64/by=0:99:4101/wrong=0/set",
		"put/uint2/2000x900/dst=0,2@1/src=900,1@0/at=1,0@0/int32/by=0:99:1801:skip/wrong=3/set",
		"put/int4/9000x40/dst=0,1@0/src=40,1@0/at=1,0@0/int64/by=0:99:39/wrong=2/add",
		"put/int8/70x5000/dst=0,0@0/src=5000,1@0/at=0,1@0/int32/by=0:3000:1/wrong=0/min",
	} {
		if cpu.Elsewhere(i) {
			continue
		}
		c, err := oracle.ParseCase(name)
		require.NoError(t, err, name)
		require.NoError(t, oracle.Check(dev, c, uint64(i)), name)
	}
}
