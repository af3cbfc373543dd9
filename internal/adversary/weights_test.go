package adversary

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/tensor"
)

// TestWeightsFound: commands that break a promise, or leave files behind, are found.
func TestWeightsFound(t *testing.T) {
	const says = `{"Format":"packed","Weights":[{"Name":"w","Becomes":{"gptq":{},"marlin":{"Refused":"no"}}}]}`
	output := func(args []string) string { return args[slices.Index(args, "--output")+1] }
	for fault, c := range map[string]func(args []string) error{
		"inspect promises gptq":      func([]string) error { return errors.New("no") },
		"does not promise":           func([]string) error { return nil },
		`"] is there after an error`: func(args []string) error { return errors.Join(os.Mkdir(output(args), 0o700), errors.New("no")) },
		"text with":                  func([]string) error { return errors.New("\x1b") },
		`.partial"] is there`: func(args []string) error {
			return errors.Join(os.WriteFile(output(args)+".partial", nil, 0o600), errors.New("no"))
		},
		"the output of gptq is of format": func(args []string) error {
			if slices.Contains(args, "gptq") {
				return nil
			}
			return errors.New("no")
		},
	} {
		run := func(args ...string) (string, error) {
			if args[0] == "inspect" {
				return says, nil
			}
			return "", c(args)
		}
		found := false
		for i := uint64(0); i < 50 && !found; i++ {
			err := Once(Weights(run), tensor.Host(), t.TempDir(), 1, i, time.Minute)
			require.Error(t, err)
			found = strings.Contains(err.Error(), fault)
		}
		require.True(t, found, fault)
	}
}
