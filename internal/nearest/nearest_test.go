package nearest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTo(t *testing.T) {
	names := []string{"gptq", "gptq-v1", "marlin", "opencl", "cuda", "cpu", "output", "device"}
	for word, want := range map[string]string{
		"gptqq": "gptq", "GPTQ": "gptq", "gptq-v2": "gptq-v1", "marln": "marlin", "opnecl": "opencl", "openlc": "opencl",
		"cdua": "cuda", "out": "output", "devise": "device", "c": "", "x": "", "": "", "tensorflow": "",
		strings.Repeat("gptq", 1000): "",
	} {
		assert.Equal(t, want, To(word, names), word)
	}
	assert.Equal(t, ` (did you mean "cpu"?)`, Meant("cpi", names))
	assert.Empty(t, Meant("quux", names))
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		n    int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3},
		{"ab", "ba", 1}, {"device", "dveice", 1}, {"ca", "abc", 3},
	} {
		assert.Equal(t, c.n, distance([]rune(c.a), []rune(c.b)), "%s, %s", c.a, c.b)
	}
}
