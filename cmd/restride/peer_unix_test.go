//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Once a peer that never answered was a remark in the table of a command that succeeded.
func TestBenchWithSilentPeer(t *testing.T) {
	const (
		hello = `echo '{"protocol":1,"peer":"Fake 1","device":"cpu"}'` + "\nread question\n"
		// With an answer, which it gets more time for, as it checks its result.
		once = hello + `echo '{"name":"c-heads/8","samples":[1,1,1],"batch":1,"verified":"all"}'` + "\n"
	)
	for what, c := range map[string]struct{ script, says string }{
		"no first line":   {"exec sleep 3600", "beside cpu: no answer in 1s"},
		"no answer":       {once + "exec sleep 3600", "--peer: Fake 1 beside cpu: no answer in 1s"},
		"ends":            {once + "exit 7", "--peer: Fake 1 beside cpu: it ended: exit status 7"},
		"answers wrongly": {hello + "echo nonsense; exec sleep 3600", "--peer: Fake 1 beside cpu: its answer"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program, figures := filepath.Join(dir, "peer"), filepath.Join(dir, "figures.json")
			require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700))
			start := time.Now()
			out, err := restride("bench", "--device", "cpu", "--size", "4K", "--time", "1us", "--filter", "^c-heads/8$",
				"--peer", program, "--peer-timeout", "1s", "--json", figures, "--html", filepath.Join(dir, "page.html"))
			require.ErrorContains(t, err, c.says, out)
			assert.NotErrorIs(t, err, errCounted, "it is said")
			assert.Less(t, time.Since(start), 30*time.Second)
			if what == "no first line" {
				return
			}
			assert.Contains(t, out, "1 cases measured", "ours are there")
			_, err = restride("bench", "--from", figures)
			require.NoError(t, err)
			assert.FileExists(t, filepath.Join(dir, "page.html"))
		})
	}
	_, err := restride("bench", "--peer", "numpy", "--peer-timeout", "0s")
	assert.ErrorContains(t, err, "--peer-timeout 0s: want more than 0")
}
