package cpu_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
)

// mapping returns what the system says of the mapping that an address lies in.
func mapping(t *testing.T, address uintptr) (hugeKiB int64, flags string) {
	t.Helper()
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()
	inside := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x", &lo, &hi); n == 2 {
			inside = lo <= address && address < hi
		}
		if !inside {
			continue
		}
		if value, ok := strings.CutPrefix(line, "AnonHugePages:"); ok {
			_, err := fmt.Sscanf(value, "%d kB", &hugeKiB)
			require.NoError(t, err)
		}
		if value, ok := strings.CutPrefix(line, "VmFlags:"); ok {
			flags = value
		}
	}
	return hugeKiB, flags
}

func addressOf(t *testing.T, b device.Buffer) (uintptr, []byte) {
	t.Helper()
	m, ok := cpu.Bytes(b)
	require.True(t, ok)
	return uintptr(unsafe.Pointer(&m[0])), m
}

// showsAdvice tells whether the system says for what memory huge pages were asked. An
// emulated one does not.
func showsAdvice(t *testing.T) bool {
	m, err := syscall.Mmap(-1, 0, 4<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(m)) }()
	require.NoError(t, syscall.Madvise(m, syscall.MADV_HUGEPAGE))
	_, flags := mapping(t, uintptr(unsafe.Pointer(&m[0])))
	return slices.Contains(strings.Fields(flags), "hg")
}

// Large buffers lie on huge pages, and a freed one's pages are the next one's.
func TestHugePages(t *testing.T) {
	const size = 32 << 20
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(enabled), "[never]") {
		t.Skipf("the system gives no huge pages: %s %v", enabled, err)
	}
	if !showsAdvice(t) {
		t.Skip("the system does not say for what memory huge pages were asked")
	}
	dev := open(t)
	defer dev.Close()
	b, err := dev.Alloc(size)
	require.NoError(t, err)
	first, m := addressOf(t, b)
	for i := range m {
		m[i] = byte(i >> 12)
	}
	huge, flags := mapping(t, first)
	require.Contains(t, strings.Fields(flags), "hg", "the system is asked for huge pages")
	t.Logf("%d of %d KiB are on huge pages", huge, size>>10)
	require.NoError(t, b.Free())

	b, err = dev.Alloc(size)
	require.NoError(t, err)
	again, m := addressOf(t, b)
	require.Equal(t, first, again, "the pool gives the block again")
	for i := range m {
		if m[i] != byte(i>>12) {
			t.Fatalf("byte %d: the page is a fresh one", i)
		}
	}
	require.NoError(t, b.Free())
	if huge == 0 {
		t.Skip("the system had no huge page to give")
	}
}
