//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// However a run is ended, its peers end with it, and it leaves no folder: while they
// start, and while they measure.
func TestBenchEnds(t *testing.T) {
	const hello = `echo '{"protocol":1,"peer":"fake 1","device":"cpu"}'; read line; `
	for _, ending := range endings() {
		for when, begin := range map[string]string{"starts": "", "measures": hello} {
			t.Run(fmt.Sprintf("%v while it %s", ending, when), func(t *testing.T) {
				dir, tmp := t.TempDir(), t.TempDir()
				t.Setenv("TMPDIR", tmp)
				program, pidFile := filepath.Join(dir, "peer"), filepath.Join(dir, "pid")
				text := "#!/bin/sh\n" + begin + "echo $$ >'" + pidFile + ".new'; mv '" + pidFile + ".new' '" + pidFile + "'\nexec sleep 3600\n"
				require.NoError(t, os.WriteFile(program, []byte(text), 0o700))
				go func() {
					for i := 0; i < 3000; i++ {
						if _, err := os.Stat(pidFile); err == nil {
							break
						}
						time.Sleep(10 * time.Millisecond)
					}
					_ = syscall.Kill(os.Getpid(), ending.(syscall.Signal))
				}()
				_, err := restride("bench", "--device", "cpu", "--size", "4K", "--time", "1us", "--filter", "^pack/4$", "--peer", program)
				require.Error(t, err)
				if begin != "" {
					assert.ErrorContains(t, err, "interrupted")
				}
				pid, err := os.ReadFile(pidFile)
				require.NoError(t, err)
				n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
				require.NoError(t, err)
				assert.ErrorIs(t, syscall.Kill(n, 0), syscall.ESRCH)
				left, err := os.ReadDir(tmp)
				require.NoError(t, err)
				assert.Empty(t, left)
			})
		}
	}
}
