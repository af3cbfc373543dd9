package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/bench/report"
)

// quick is a report of the cpu device at some cases, small.
func quick(t *testing.T, filter string) *report.Report {
	all := NewReport()
	r, err := Run(context.Background(), onCPU(t), Options{Cases: some(t, filter), Size: 4 << 10, Time: time.Nanosecond})
	require.NoError(t, err)
	all.Devices = append(all.Devices, r)
	return all
}

// A run's report conforms to the schema, and can be read from its file.
func TestReport(t *testing.T) {
	all := quick(t, "^(odd-nibble|c-heads|fill-columns|pack|take-rows|put-rows|map-nibbles|where-mask|dequantize-rows|quantize-rows)/")
	fail(all.Devices[0].Cases[0], assert.AnError)
	text, err := json.Marshal(all)
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile("report.schema.json")
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, s.Validate(value))
	back, err := report.Read(text)
	require.NoError(t, err)
	assert.Equal(t, all, back)
}
