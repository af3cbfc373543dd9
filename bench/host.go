package bench

import (
	"os"
	"strconv"
	"strings"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/bench/report"
	"github.com/restride/restride/internal/quote"
)

// core is Linux's folder of the first core.
const core = "/sys/devices/system/cpu/cpu0/"

// lastCache is the bytes of the first core's last cache; 0: unknown.
func lastCache() int64 {
	for _, level := range []string{"4", "3", "2"} { // such as "266240K"
		size, ok := strings.CutSuffix(word(core+"cache/index"+level+"/size"), "K")
		if n, err := strconv.ParseInt(size, 10, 32); ok && err == nil {
			return n << 10
		}
	}
	return 0
}

// host describes this machine.
func host() report.Host {
	h := report.Host{
		Kernel:   quote.Text(word("/proc/sys/kernel/osrelease")),
		Governor: quote.Text(word(core + "cpufreq/scaling_governor")),
	}
	if dev, err := cpu.Open(); err == nil {
		h.CPU, h.Memory = quote.Text(dev.Info().Name), dev.Info().Memory
		_ = dev.Close() // it has allocated nothing
	}
	h.Cache = lastCache()
	khz, _ := strconv.Atoi(word(core + "cpufreq/scaling_max_freq"))
	h.MHz = khz / 1000
	if all := clocks(word("/proc/cpuinfo")); h.MHz == 0 && len(all) > 0 {
		h.MHz = int(all[0])
	}
	return h
}

// word is a short file's text; "" if there is no such file.
func word(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}

// mostMHz exceeds any core's frequency.
const mostMHz = 1e5

// clocks parses the cores' frequencies, in MHz, from Linux's description.
func clocks(cpuinfo string) (all []float64) {
	for line := range strings.Lines(cpuinfo) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "cpu MHz" {
			if mhz, err := strconv.ParseFloat(strings.TrimSpace(value), 32); err == nil && mhz > 0 && mhz < mostMHz {
				all = append(all, mhz)
			}
		}
	}
	return all
}
