package devicetest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/race"
)

func open(*testing.T) device.Device { return &reference{fault: os.Getenv(faultVariable)} }

// faultVariable names the fault of the reference device, in a test that must fail.
const faultVariable = "RESTRIDE_TEST_FAULT"

func TestReference(t *testing.T) {
	if race.Enabled {
		t.Skip("TestSmall has all that goroutines do")
	}
	Run(t, open)
}

func TestSmall(t *testing.T) { Suite{Small: true}.Run(t, open) }

// faults are the ways in which the reference device can break the contract, with the subtest
// that must notice.
var faults = map[string]string{
	"tail nibble":            "Runs",
	"no sign":                "Convert",
	"one rounding":           "Convert",
	"no add":                 "Scaling",
	"no precision":           "Scaling",
	"overlap":                "Rules",
	"long patterns":          "Rules",
	"foreign buffers":        "Rules",
	"writes beyond":          "Rules",
	"double free":            "Free",
	"use after free":         "Free",
	"closed queues work":     "CloseQueue",
	"Close does not wait":    "CloseQueue",
	"uncounted reads":        "Stats",
	"empty launches":         "Empty",
	"write keeps the slice":  "Order/OneQueue",
	"WaitFor does nothing":   "Order/PingPong",
	"events do not wait":     "Order/Events",
	"events are always done": "Order/Events",
	"silent indices":         "Take",
	"half an extent":         "TakeOrder",
	"errors stay":            "Take",
	"errors go astray":       "Late",
	"errors are told once":   "Late",
	"errors stop at copies":  "Late",
	"indices as bytes":       "TakeRules",
	"tables begin at 0":      "Map",
	"one bit of a condition": "Where",
	"bytes as conditions":    "WhereRules",
	"puts meet":              "PutRules",
	"first put wins":         "Put",
}

// A device that breaks one rule fails the suite.
func TestSuiteFails(t *testing.T) {
	if os.Getenv(faultVariable) != "" {
		t.Skip("inside")
	}
	if race.Enabled {
		t.Skip("it runs TestReference")
	}
	for fault, where := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestReference$/^"+strings.ReplaceAll(where, "/", "$/^")+"$", "-test.short", "-test.timeout=10m")
			cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GORACE=") }),
				faultVariable+"="+fault, "GORACE=exitcode=0")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestReference/"+where) {
				t.Errorf("a device whose fault is %q passes %s:\n%s", fault, where, out)
			}
		})
	}
}
