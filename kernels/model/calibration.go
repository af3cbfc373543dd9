package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"
)

// calibration holds micro-benchmarks' measurements of a GPU; 0: not measured.
type calibration struct {
	Copy         float64 `json:"copy"`         // bytes per second, read and written
	Read         float64 `json:"read"`         // by loads alone
	Write        float64 `json:"write"`        // by stores alone
	Instructions float64 `json:"instructions"` // per cycle and multiprocessor
	Latency      float64 `json:"latency"`      // cycles to memory
	Launch       float64 `json:"launch"`       // seconds
}

// calibrate reads a file of calibrations by the GPUs' names, such as "NVIDIA H100 PCIe", if
// given, and lists its GPUs.
func calibrate(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all map[string]calibration
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	var names []string
	for i := range gpus {
		g := &gpus[i]
		var c calibration
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if named(name, g.name) {
				c, names = all[name], append(names, g.name)
				break
			}
		}
		for _, v := range []struct {
			to   *float64
			from float64
		}{{&g.memory, c.Copy}, {&g.read, c.Read}, {&g.write, c.Write}, {&g.issue, c.Instructions}, {&g.latency, c.Latency}, {&g.launch, c.Launch}} {
			if v.from > 0 {
				*v.to = v.from
			}
		}
	}
	return names, nil
}

// named says whether a GPU's name has a word: "L4" must not match an L40S.
func named(name, word string) bool {
	return slices.Contains(strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), word)
}
