package devicetest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
)

// ending records how a test ends.
type ending struct {
	testing.TB
	how string
}

func (e *ending) Helper()               {}
func (e *ending) Skip(...any)           { e.how = "skipped" }
func (e *ending) Fatal(...any)          { e.how = "failed" }
func (e *ending) Fatalf(string, ...any) { e.how = "failed" }

func TestRequire(t *testing.T) {
	none := fmt.Errorf("%w: here", device.ErrNoDevice)
	for _, c := range []struct {
		required string
		err      error
		want     string
	}{
		{"", nil, ""},
		{"opencl", nil, ""},
		{"", none, "skipped"},
		{"cuda", none, "skipped"},
		{"opencl", none, "failed"},
		{"cuda,opencl", none, "failed"},
		{"", errors.New("broken"), "failed"},
	} {
		t.Setenv("RESTRIDE_REQUIRE", c.required)
		var e ending
		devicetest.Require(&e, "opencl", c.err)
		assert.Equal(t, c.want, e.how, "%+v", c)
	}
}
