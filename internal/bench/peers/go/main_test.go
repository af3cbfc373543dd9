package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/peers"
)

func requests(t *testing.T, size int64) io.Reader {
	var text bytes.Buffer
	for _, c := range cases.All() {
		if !strings.HasPrefix(c.Name, "c-heads/") {
			continue
		}
		e, err := peers.NewEntry(c, size, 2)
		require.NoError(t, err)
		require.NoError(t, json.NewEncoder(&text).Encode(peers.Request{Case: e, Time: 1e-6, Check: 10}))
	}
	return &text
}

// faulty is gorgonia with a wrong bit in the last byte of each result.
type faulty struct{ gorgonia }

type faultyOperation struct{ operation }

func (f faulty) prepare(e *peers.Entry, b buffers) (operation, error) {
	op, err := f.gorgonia.prepare(e, b)
	return faultyOperation{op}, err
}

func (o faultyOperation) result() ([]byte, error) {
	out, err := o.operation.result()
	out[len(out)-1] ^= 1
	return out, err
}

// A single wrong bit is found, and there is no figure.
func TestWrongResults(t *testing.T) {
	libraries["faulty"] = func() (library, error) { return faulty{}, nil }
	defer delete(libraries, "faulty")
	for name, wrong := range map[string]bool{"gorgonia": false, "faulty": true} {
		var out bytes.Buffer
		require.NoError(t, peer([]string{"--library", name}, requests(t, 2<<20), &out, io.Discard))
		dec := json.NewDecoder(&out)
		var hello peers.Hello
		require.NoError(t, dec.Decode(&hello))
		assert.Equal(t, peers.Protocol, hello.Protocol)
		answers := 0
		for ; ; answers++ {
			var a peers.Answer
			err := dec.Decode(&a)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(a.Name, "c-heads/"))
			if a.Unsupported {
				assert.Equal(t, "no int4", a.Error)
				continue
			}
			assert.Equal(t, wrong, strings.HasPrefix(a.Error, "wrong result in rows "), a.Error)
			assert.Equal(t, wrong, len(a.Samples) == 0)
		}
		assert.Equal(t, 6, answers)
	}
}

func TestRefuses(t *testing.T) {
	for _, threads := range []string{"x", "0", "-1"} {
		t.Setenv("RESTRIDE_THREADS", threads)
		require.ErrorContains(t, peer(nil, strings.NewReader(""), io.Discard, io.Discard), "RESTRIDE_THREADS is")
	}
	t.Setenv("RESTRIDE_THREADS", "")
	for _, args := range [][]string{{"--library", "none"}, {"file"}, {"--device", "cuda:0"}, {"--time", "1s"}} {
		var out bytes.Buffer
		require.Error(t, peer(args, strings.NewReader(""), &out, io.Discard), args)
		assert.Empty(t, out.String())
	}
	require.ErrorIs(t, peer([]string{"--device", "opencl:0"}, strings.NewReader(""), io.Discard, io.Discard), errNotHere)
	require.ErrorContains(t, peer(nil, strings.NewReader("{"), io.Discard, io.Discard), "a request: ")
}
