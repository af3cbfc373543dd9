package adversary

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/bench/peers"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// Work that exceeds its bounds is found.
func TestBounds(t *testing.T) {
	if resident(true) == 0 {
		t.Skip("the system does not tell how much memory the process has")
	}
	dir := t.TempDir()
	var open []*os.File
	for name, c := range map[string]struct {
		work func(context.Context) error
		says string
	}{
		"nothing": {func(context.Context) error { return nil }, ""},
		"refused": {func(context.Context) error { return fmt.Errorf("x: %w", device.ErrInvalid) }, ""},
		"kind":    {func(context.Context) error { return errors.New("x") }, "of no known kind: x"},
		"escape":  {func(context.Context) error { return fmt.Errorf("\x1b: %w", device.ErrInvalid) }, "text with '\\x1b'"},
		"bytes":   {func(context.Context) error { return fmt.Errorf("\xff: %w", device.ErrInvalid) }, "no UTF-8"},
		"length": {func(context.Context) error {
			return fmt.Errorf("%s: %w", strings.Repeat("x", 1<<15), device.ErrInvalid)
		}, "a message of 32"},
		"memory": {func(context.Context) error {
			for b, i := make([]byte, 200<<20), 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			return nil
		}, "the process grew by"},
		"budget": {func(context.Context) error { return budget.Process().Take("much", 1<<40) }, ""},
		"time":   {func(context.Context) error { time.Sleep(30 * time.Millisecond); return nil }, "with a deadline of 10ms"},
		"file": {func(context.Context) error {
			f, err := os.Create(filepath.Join(dir, "left"))
			open = append(open, f)
			return err
		}, "files are left open: ["},
	} {
		t.Run(name, func(t *testing.T) {
			b := bounds{memory: 1 << 20, time: time.Minute}
			if name == "time" {
				b.time = 10 * time.Millisecond
			}
			refused, err := b.hold(dir, c.work)
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
			for ; len(open) > 0; open = open[1:] {
				require.NoError(t, open[0].Close())
			}
			if name == "budget" {
				require.ErrorIs(t, refused, device.ErrOutOfMemory)
			}
		})
	}
	require.NoError(t, budget.Process().Take("after it", 2<<20), "the limit is gone")
	budget.Process().Give(2 << 20)
}

// Fields of messages are split and joined without loss, and a change of one keeps the lengths
// around it right.
func TestChangedFields(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	whole, inside := 0, 0
	for range 2000 {
		file, err := everything(rng).Marshal()
		require.NoError(t, err)
		require.Equal(t, file, join(fieldsOf(file)))
		changed := changeField(rng, file, file, 0)
		if fields := fieldsOf(changed); fields != nil {
			whole++
			if m, err := model.Parse(changed, ""); err == nil && len(m.Graph.Nodes) > 0 {
				inside++
			} else if err != nil {
				require.True(t, errors.Is(err, layout.ErrInvalid) || errors.Is(err, layout.ErrUnsupported), err)
			}
		}
	}
	require.Greater(t, whole, 1500)
	require.Greater(t, inside, 400, "most changes must get past the parser")
	t.Log(whole, "are messages,", inside, "are models")
}

// A reader that panics, keeps a file open or exhausts memory is found by mutated files: here
// one that trusts a file's length field.
func TestCredulousReaderIsFound(t *testing.T) {
	was := fileKinds
	defer func() { fileKinds = was }()
	for i := range fileKinds {
		if fileKinds[i].name == "an array" {
			fileKinds = fileKinds[i : i+1 : i+1]
			break
		}
	}
	planted := fileKinds[0]
	planted.read = func(_ context.Context, _ *Trial, path string) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		header := b[10:][:int(b[8])|int(b[9])<<8]
		_ = header
		return nil
	}
	fileKinds = append(fileKinds[:0:0], planted)
	s := open(t, openCPU(t))
	some, err := Named("files")
	require.NoError(t, err)
	found := 0
	for i := range uint64(few) {
		if err := Once(some[0], s, t.TempDir(), 1, i, time.Minute); err != nil {
			require.ErrorContains(t, err, "out of range")
			found++
		}
	}
	require.NotZero(t, found)
}

// A write that other views do not see, and a copy instead of a required view, are found.
func TestFaultsOfSequencesAreFound(t *testing.T) {
	s := &sequence{rng: rand.New(rand.NewPCG(1, 1))}
	stream := open(t, openCPU(t))
	h, err := s.random(stream, layout.Int4, []int64{3, 5})
	require.NoError(t, err)
	h.mem.elems[7] = string([]byte{h.mem.elems[7][0] ^ 1})
	require.ErrorContains(t, h.compare(), "element 7")
	h.mem.elems[7] = string([]byte{h.mem.elems[7][0] ^ 1})
	require.NoError(t, h.compare())
	h.where = h.where.Reshape(5, 3)
	require.ErrorContains(t, h.checkLayout(), "it must be int4[5 3]")
	h.where = h.where.Reshape(3, 5).Transpose(1, 0).Reshape(3, 5)
	require.ErrorContains(t, h.checkLayout(), "it must be at")
	require.False(t, affine(h.where))
	require.True(t, affine(run([]int64{3, 5}).Take(1, []int64{4, 2, 0}).Expand(2, 3, 3)))
	require.NoError(t, h.x.Release())

	x, err := s.random(stream, layout.Float32, []int64{4})
	require.NoError(t, err)
	view, err := x.x.Alias()
	require.NoError(t, err)
	_, err = s.fresh(view, layout.Float32, x.array())
	require.ErrorContains(t, err, "the result is a view")
	copied, err := x.x.Clone()
	require.NoError(t, err)
	require.ErrorContains(t, refuse(copied, nil, device.ErrInvalid), "an invalid call made a")
	require.ErrorContains(t, expect(nil, device.ErrInvalid), "it must be invalid")
	require.NoError(t, x.x.Release())
}

// Some bombs are refused for their size, by the budget, and some are not.
func TestBombsAreNearTheLimit(t *testing.T) {
	was := bombBounds
	defer func() { bombBounds = was }()
	bombBounds.memory = 16 << 20
	s := open(t, openCPU(t))
	large, fine := 0, 0
	for i := range uint64(4 * few) {
		refused, err := explode(&Trial{Stream: s, Rand: rand.New(rand.NewPCG(1, i)), Dir: t.TempDir()})
		require.NoError(t, err)
		if errors.Is(refused, device.ErrOutOfMemory) {
			large++
		} else if refused == nil {
			fine++
		}
	}
	require.Greater(t, large, few/2)
	require.Greater(t, fine, few/4)
	t.Log(large, "are too large,", fine, "are not")
}

// A reader that accepts text which garbles a terminal or a page is found.
func TestSpoiledReportsAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	base := sampleReport(rng)
	require.NoError(t, show(base, sampleReport(rng)))
	for _, text := range []string{"\x1b[2J", "\u202e", "\xff"} {
		r := sampleReport(rng)
		r.Devices[0].Device.Name = text
		require.ErrorContains(t, show(base, r), "text ", text)
	}
	r := sampleReport(rng)
	r.Devices[0].Device.Name = "NaN"
	require.ErrorContains(t, show(base, r), `the page has "NaN"`)
}

// An honest peer is accepted, by the same code; one that hangs is found when it needs too long.
func TestHonestPeer(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	was, all := peerBounds, behaviours
	defer func() { peerBounds, behaviours = was, all }()
	entry, err := peers.NewEntry(cases.All()[0], 1<<12, 1)
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "peer")
	answer := fmt.Sprintf(`{"name":%q,"samples":[1500],"batch":3,"verified":"every bit"}`, entry.Name)
	script := "#!/bin/sh\necho '{\"protocol\":1,\"peer\":\"Fake 1\",\"device\":\"cpu\"}'\nwhile read -r q; do echo '" + answer + "'; done\n"
	require.NoError(t, os.WriteFile(program, []byte(script), 0o700))
	require.NoError(t, askPeer(t.Context(), program, entry))

	peerBounds.grace, behaviours = -peerBounds.time, []string{"cat hello; sleep 600"}
	require.ErrorContains(t, tryPeer(&Trial{Rand: rand.New(rand.NewPCG(1, 0)), Dir: t.TempDir()}), "with a deadline of")
}
