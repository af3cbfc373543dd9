package budget

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTake(t *testing.T) {
	b := New(100, "a test")
	require.NoError(t, b.Take("first", 60))
	require.NoError(t, b.Take("second", 40))
	assert.EqualValues(t, 100, b.InUse())

	err := b.Take("the third", 1)
	require.ErrorIs(t, err, ErrOutOfMemory)
	assert.EqualError(t, err, "the third: 1 bytes are asked for, 100 are in use, and the limit is 100 (a test)")
	assert.EqualValues(t, 100, b.InUse(), "nothing was taken")

	b.Give(100)
	require.ErrorIs(t, b.Take("all there is", math.MaxInt64), ErrOutOfMemory)
	assert.Zero(t, b.InUse())
	assert.Equal(t, "0 of 100 bytes in use (a test)", b.String())

	b.SetLimit(0, "none")
	require.NoError(t, b.Take("nothing", 0))
	require.ErrorIs(t, b.Take("a byte", 1), ErrOutOfMemory)
}

// A part's allocation counts in the whole, or in neither.
func TestTree(t *testing.T) {
	whole := New(100, "the whole")
	part := &Budget{above: whole}
	part.SetLimit(80, "the part")
	require.NoError(t, whole.Take("beside", 50))
	require.ErrorContains(t, part.Take("x", 81), "the limit is 80 (the part)")
	require.ErrorContains(t, part.Take("x", 60), "60 bytes are asked for, 50 are in use, and the limit is 100 (the whole)")
	assert.Zero(t, part.InUse())
	require.NoError(t, part.Take("x", 50))
	assert.EqualValues(t, 100, whole.InUse())
	part.Give(50)
	assert.EqualValues(t, 50, whole.InUse())
	assert.Zero(t, part.InUse())
}

func TestForDevice(t *testing.T) {
	own := ForDevice("cuda:7", false, 1000)
	require.ErrorContains(t, own.Take("Alloc", 1001), "the limit is 1000 (the memory of cuda:7)")
	before := Process().InUse()
	require.NoError(t, own.Take("Alloc", 1000))
	assert.Equal(t, before, Process().InUse(), "beside the host's")
	own.Give(1000)

	shared := ForDevice("cpu", true, 0)
	require.NoError(t, shared.Take("Alloc", 1000))
	assert.Equal(t, before+1000, Process().InUse())

	bytes, source := Process().Limit()
	restore := SetLimit(all.InUse()+10, "a test")
	for _, b := range []*Budget{own, shared, Process()} {
		require.ErrorContains(t, b.Take("Alloc", 11), "(a test)")
	}
	require.NoError(t, own.Take("Alloc", 10))
	own.Give(10)
	restore()
	now, from := Process().Limit()
	assert.Equal(t, bytes, now)
	assert.Equal(t, source, from)
	require.NoError(t, own.Take("Alloc", 11))
	own.Give(11)
	shared.Give(1000)
}

// The process is limited to the system's memory.
func TestProcessIsLimited(t *testing.T) {
	bytes, source := Process().Limit()
	assert.Less(t, bytes, int64(1<<50))
	assert.NotEmpty(t, source)
	require.ErrorIs(t, Process().Take("everything", math.MaxInt64), ErrOutOfMemory)
}

// Idle memory is freed before anything is refused.
func TestOnShortage(t *testing.T) {
	b := New(100, "a test")
	require.NoError(t, b.Take("kept idle", 80))
	idle := int64(80)
	stop := OnShortage(func() {
		b.Give(idle)
		idle = 0
	})
	require.NoError(t, b.Take("Alloc", 20))
	assert.EqualValues(t, 80, idle, "there was enough")
	require.NoError(t, b.Take("Alloc", 20))
	assert.Zero(t, idle)
	idle = 30
	stop()
	require.Error(t, b.Take("Alloc", 100))
	assert.EqualValues(t, 30, idle)
}

// A Take waits for memory that the garbage collector will return.
func TestTakeFor(t *testing.T) {
	b := New(100, "a test")
	kept := new([64]byte)
	require.NoError(t, TakeFor(b, kept, "kept", 50))
	for range 20 {
		require.NoError(t, TakeFor(b, new([64]byte), "dropped", 50))
	}
	require.Error(t, b.Take("too much", 51))
	runtime.KeepAlive(kept)
	require.NoError(t, b.Take("all", 100))
}

func TestSteps(t *testing.T) {
	b := New(3*step, "a test")
	calls := 0
	take := Steps(func(bytes int64) error {
		calls++
		return b.Take("parts", bytes)
	})
	for range 2 * step {
		require.NoError(t, take(1))
	}
	assert.Equal(t, 2, calls)
	require.Error(t, take(step+1))
	assert.EqualValues(t, 2*step, b.InUse())
	require.NoError(t, take(10))
	assert.EqualValues(t, 3*step, b.InUse(), "what was refused is not counted")
}

func TestMake(t *testing.T) {
	b := New(1<<20, "a test")
	s, err := Make[int64](b, "some numbers", 100)
	require.NoError(t, err)
	assert.Len(t, s, 100)
	assert.Zero(t, b.InUse(), "too small to count")
	for range 20 {
		s, err = Make[int64](b, "many numbers", 1<<16)
		require.NoError(t, err, "garbage is waited for")
		assert.Len(t, s, 1<<16)
	}
	_, err = Make[int64](b, "too many numbers", 1<<17+1)
	require.EqualError(t, err, fmt.Sprintf("too many numbers: 1048584 bytes are asked for, %d are in use, and the limit is 1048576 (a test)", b.InUse()))
	_, err = Make[int64](b, "absurdly many", math.MaxInt64)
	require.ErrorIs(t, err, ErrOutOfMemory)
	none, err := Make[struct{}](b, "nothing", 1<<40)
	require.NoError(t, err)
	assert.Len(t, none, 1<<40)
}

func TestConcurrentTakes(t *testing.T) {
	whole := New(1000, "a test")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			part := &Budget{above: whole}
			for range 2000 {
				n := rng.Int64N(400)
				if part.Take("some", n) == nil {
					assert.LessOrEqual(t, whole.InUse(), int64(1000))
					part.Give(n)
				}
			}
			assert.Zero(t, part.InUse())
		})
	}
	all.Wait()
	assert.Zero(t, whole.InUse())
}
