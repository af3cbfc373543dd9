package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/bench/cases"
)

// The lines have benchstat's form: a name that begins with Benchmark, a count, and pairs of a
// number and a unit; one for each pass.
func TestWriteBenchmarks(t *testing.T) {
	report := example(t)
	var out bytes.Buffer
	require.NoError(t, report.WriteBenchmarks(&out))
	passes := map[string][]float64{}
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		if !strings.HasPrefix(line, "Benchmark") {
			assert.Regexp(t, `^([a-z]+: .+|Unit GB/s better=higher)\n$`, line)
			continue
		}
		require.Contains(t, []int{4, 6}, len(fields), line)
		n, err := strconv.Atoi(fields[1])
		require.NoError(t, err)
		assert.Positive(t, n)
		ns, err := strconv.ParseFloat(fields[2], 64)
		require.NoError(t, err)
		assert.Equal(t, "ns/op", fields[3])
		passes[fields[0]] = append(passes[fields[0]], ns)
		if len(fields) == 6 {
			rate, err := strconv.ParseFloat(fields[4], 64)
			require.NoError(t, err)
			assert.Positive(t, rate)
			assert.Equal(t, "GB/s", fields[5])
		}
	}
	d := report.Devices[0]
	end := fmt.Sprintf("/device=cpu/size=4KiB-%d", report.CPUs)
	assert.Equal(t, d.Cases[0].Time.Passes, passes["BenchmarkCases/case=odd-nibble/width=4"+end])
	assert.Equal(t, d.Cases[1].Time.Passes, passes["BenchmarkCases/case=pack/width=4"+end])
	assert.Equal(t, d.Roofline.Memcpy.Passes, passes["BenchmarkRoofline/part=memcpy"+end])
	assert.Equal(t, d.Roofline.ReshapeTensor.Passes, passes["BenchmarkRoofline/part=reshaping-a-tensor"+end])
	assert.Len(t, passes, 12)

	// A report of one pass has one line for each figure.
	d.Cases[0].Time.Passes = nil
	d.Roofline = &Roofline{}
	d.Cases = d.Cases[:1]
	out.Reset()
	require.NoError(t, report.WriteBenchmarks(&out))
	assert.Equal(t, 1, strings.Count(out.String(), "Benchmark"))
	assert.Contains(t, out.String(), fmt.Sprint("\t", d.Cases[0].Time.Median, " ns/op"))
}

func TestBenchmarkName(t *testing.T) {
	assert.Equal(t, "case=b-nchw-nhwc/width=16", BenchmarkName("b-nchw-nhwc/16"))
	assert.Equal(t, "case=mine", BenchmarkName("mine"))
	assert.Equal(t, "case=copy:int4:3:dst=1@0:src=1@0", BenchmarkName("copy/int4/3/dst=1@0/src=1@0"))
	for _, c := range cases.All() {
		assert.Regexp(t, `^case=[a-z0-9-]+/width=[0-9]+$`, BenchmarkName(c.Name))
	}
}
