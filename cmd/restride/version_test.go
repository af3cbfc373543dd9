package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	flag, err := restride("--version")
	require.NoError(t, err)
	out, err := restride("version")
	require.NoError(t, err)
	assert.Equal(t, flag, out)
	assert.Regexp(t, `(?m)^restride \S+$`, out)
	assert.Contains(t, out, runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH)
	assert.Regexp(t, `(?m)^vectors   \w+ \(this processor has go`, out)
	out, err = restride("version", "--json")
	require.NoError(t, err)
	var b build
	require.NoError(t, json.Unmarshal([]byte(out), &b))
	assert.Equal(t, thisBuild(), b)
}

func TestBuildOf(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-27T19:09:00Z"}, {Key: "vcs.modified", Value: "true"},
		{Key: "-tags", Value: "cubins,gorgonia"}, {Key: "CGO_ENABLED", Value: "1"},
	}}
	b := buildOf(info)
	assert.Equal(t, []string{"cubins", "gorgonia"}, b.Tags)
	assert.Contains(t, b.String(), "restride (devel)\nrevision  abc of 2026-11-27T19:09:00Z, modified\n")
	assert.Contains(t, b.String(), ", with cgo\ntags      cubins, gorgonia\n")

	// Installed by go install MODULE@VERSION: the version says it.
	b = buildOf(&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}})
	assert.Contains(t, b.String(), "restride v1.2.3\ngo        ")
	b = buildOf(nil)
	assert.Contains(t, b.String(), "restride (unknown)\nrevision  unknown")
}
