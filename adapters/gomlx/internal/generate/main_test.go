package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGenerated(t *testing.T) {
	for _, f := range faces {
		want, err := f.generate("../..")
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("../..", f.dir, file))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "go run ./internal/generate writes %s/%s", f.dir, file)
	}
	for _, name := range mirrored {
		want, err := mirror("../..", name)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("../../backends", name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "go run ./internal/generate writes backends/%s", name)
	}
}
