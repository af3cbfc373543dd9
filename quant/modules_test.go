package quant

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestBugPrefixesOfModules: patterns for a module matched those whose names begin with its name.
func TestBugPrefixesOfModules(t *testing.T) {
	d := described(t, `{"quant_algo":"MIXED_PRECISION","quantized_layers":{"x.gate":{"quant_algo":"NVFP4"},"x.gate_proj":{"quant_algo":"FP8"},"x.gate.in":{"quant_algo":"FP8"},"y*_proj":{"quant_algo":"FP8"}}}`)
	for name, want := range map[string]*Format{"x.gate": nvfp4, "x.gate.out": nvfp4, "x.gate.in": fp8, "x.gate_proj": fp8, "y.a_proj": fp8, "y.a_proj2": nil} {
		f, _ := d.Of(name)
		assert.Equal(t, want, f, name)
	}
	exact := Modules{{exactly, "m.1.gate"}, {exactly, "m.2"}}
	names, quantised := []string{"m.1.gate", "m.2.up"}, []string{"m.1.gate_proj", "m.20.up"}
	for method, want := range map[string]any{
		"gptq":               map[string]any{`-:m\.1\.gate(?:\..*)?$`: map[string]any{}, `-:m\.2(?:\..*)?$`: map[string]any{}},
		"compressed-tensors": []string{"m.1.gate", "m.2", "m.2.up"}, "awq": []string{"m.1.gate", "m.2.up"},
	} {
		config := map[string]any{"quant_method": method}
		unclear := exact.Unquantised(config, names, quantised)
		key := map[string]string{"gptq": "dynamic", "compressed-tensors": "ignore", "awq": "modules_to_not_convert"}[method]
		assert.Equal(t, want, config[key])
		if method == "awq" {
			assert.Equal(t, []string{"m.1.gate"}, unclear)
		} else {
			assert.Empty(t, unclear)
		}
		for _, p := range exact {
			e := compiled(p.expression())
			for _, name := range quantised {
				assert.False(t, e.MatchString(name), "%s: %s", p.text, name)
			}
		}
	}
	config := map[string]any{"quant_method": "gptq"} // a part of names that quantised modules have, too
	Modules{{inside, "gate"}}.Unquantised(config, names, quantised)
	assert.Equal(t, map[string]any{`-:m\.1\.gate$`: map[string]any{}, `-:m\.2\.up$`: map[string]any{}}, config["dynamic"])
}
