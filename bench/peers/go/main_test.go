package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench"
)

func entries(t *testing.T, size int64) string {
	list, err := bench.List(bench.Cases(), size)
	require.NoError(t, err)
	list = slices.DeleteFunc(list, func(e bench.Entry) bool { return !strings.HasPrefix(e.Name, "c-heads/") })
	text, err := json.Marshal(list)
	require.NoError(t, err)
	return string(text)
}

// faulty is gorgonia with a wrong bit in the last byte of each result.
type faulty struct{ gorgonia }

type faultyOperation struct{ operation }

func (f faulty) prepare(e *bench.Entry, dst, src []byte) (operation, error) {
	op, err := f.gorgonia.prepare(e, dst, src)
	return faultyOperation{op}, err
}

func (o faultyOperation) result() ([]byte, error) {
	out, err := o.operation.result()
	out[len(out)-1] ^= 1
	return out, err
}

// A single wrong bit is found, and no figure is given.
func TestWrongResults(t *testing.T) {
	libraries["faulty"] = func() (library, error) { return faulty{}, nil }
	defer delete(libraries, "faulty")
	for name, wrong := range map[string]bool{"gorgonia": false, "faulty": true} {
		var out bytes.Buffer
		err := peer([]string{"--library", name, "--time", "1us", "-"}, strings.NewReader(entries(t, 2<<20)), &out, io.Discard)
		assert.Equal(t, wrong, err != nil, "%v", err)
		p, err := bench.ReadPeer(out.Bytes())
		require.NoError(t, err)
		require.Len(t, p.Cases, 6)
		for _, c := range p.Cases {
			assert.Equal(t, wrong, strings.HasPrefix(c.Error, "wrong result in rows "), c.Error)
			assert.Equal(t, wrong, c.Samples == 0)
			assert.Equal(t, wrong, c.MemcpyRatio == 0)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{{}, {"--library", "none", "-"}, {"none.json"}, {"-"}, {"--time", "x", "-"}} {
		var out bytes.Buffer
		require.Error(t, peer(args, strings.NewReader("{"), &out, io.Discard), args)
		assert.Empty(t, out.String())
	}
}
