package quant

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func leInts(values ...int) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// becomes converts a weight's bytes to a format.
func becomes(t *testing.T, w *Weight, data map[string][]byte, to *Format) map[string][]byte {
	p, err := w.Plan(to)
	require.NoError(t, err)
	return converted(t, tensor.Host(), p, data)
}

// TestBugOneGroupInOrder: rows of a weight with one group that are in some order come back
// to their places.
func TestBugOneGroupInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, group := range []int64{0, 32} { // one for all, or one of 32, which is the same
		p := Params{Bits: 4, Group: group, Sorted: true, Scale: "F16"}
		ext := extents{axisN: 64, axisK: 32}
		ext.group(p)
		from := only(t, marlin, p, tensors(t, marlin, p, ext))
		data := randomBytes(from, rng)
		order := rng.Perm(32)
		data["w.g_idx"], data["w.g_idx_sort_indices"] = make([]byte, 4*32), leInts(order...)
		got := becomes(t, from, data, gptq)
		require.Equal(t, make([]byte, 4*32), got["w.g_idx"])

		// The same codes without an order are the sorted rows.
		p.Sorted = false
		plain := only(t, marlin, p, tensors(t, marlin, p, ext))
		sorted := becomes(t, plain, map[string][]byte{"w.qweight": data["w.qweight"], "w.scales": data["w.scales"]}, gptq)
		nibble := func(b []byte, n, k int) byte { return b[4*(k/8*64+n)+k%8/2] >> (k % 2 * 4) & 15 }
		for i, k := range order {
			for n := range 64 {
				require.Equal(t, nibble(sorted["w.qweight"], n, i), nibble(got["w.qweight"], n, k), "row %d", k)
			}
		}
	}
}

// TestBugOneGroupOfNothing: where there is one group, rows of another are an error.
func TestBugOneGroupOfNothing(t *testing.T) {
	w, data := sample{gptq, Params{Bits: 4, Scale: "F16", Zeros: true}}.open(t, rand.New(rand.NewPCG(1, 1)))
	binary.LittleEndian.PutUint32(data["w.g_idx"][4*7:], 3)
	p, err := w.Plan(packed)
	require.NoError(t, err)
	src := upload(t, tensor.Host(), data)
	defer src.Release()
	_, err = p.Run(tensor.Host(), src)
	require.ErrorContains(t, err, "row 7 is of group 3; there are 1")
}

// TestBugOrderWithoutGroups: a weight that is said to have rows in the order of groups, and
// does not have them, is refused.
func TestBugOrderWithoutGroups(t *testing.T) {
	for _, c := range []struct {
		format *Format
		lacks  string
	}{{packed, ""}, {gptq, "w.g_idx"}, {marlin, "w.g_idx"}, {marlin, "w.g_idx_sort_indices"}} {
		p := Params{Bits: 4, Group: 32, Sorted: true, Scale: "F16"}
		ext := extents{axisN: 64, axisK: 64}
		ext.group(p)
		var some []Tensor
		for _, x := range tensors(t, c.format, p, ext) {
			if x.Name != c.lacks {
				some = append(some, x)
			}
		}
		w := only(t, c.format, p, some)
		for _, to := range []*Format{gptq, marlin, floats} {
			_, err := w.Plan(to)
			require.ErrorIs(t, err, layout.ErrInvalid, "%s without %s", c.format.Name, c.lacks)
			require.ErrorContains(t, err, "desc_act")
		}
	}
}

// TestBugCheckOfPieces: the way back of a piece gives the piece, with the groups that it has
// in the whole, and the whole's shape.
func TestBugCheckOfPieces(t *testing.T) {
	s, cuts := tensor.Host(), 0
	for _, from := range []sample{
		{gptq, Params{Bits: 4, Group: 32, Scale: "F16", Zeros: true}}, {gptqV1, Params{Bits: 8, Group: 64, Scale: "F16", Zeros: true}},
		{compressedTensors, Params{Bits: 4, Group: 32, Scale: "F16"}},
	} {
		w, data := from.open(t, rand.New(rand.NewPCG(1, 1)))
		for _, to := range []*Format{marlin, packed, matMulNBits, compressedTensors, gptq} {
			p, err := w.Plan(to)
			if err != nil {
				continue
			}
			for _, axis := range []byte{axisN, axisK} {
				unit := p.unit(axis)
				if unit == 0 || p.partMemory(axis, unit) > p.Cost().Memory { // words would be cut
					continue
				}
				cuts++
				pieces, err := p.pieces(cut{axis, w.ext[axis], unit})
				require.NoError(t, err)
				convertPieces(t, s, pieces, data, becomes(t, w, data, to), p.Cost().Memory) // which checks
			}
		}
	}
	require.Greater(t, cuts, 15)
}

// TestBugOrderOfPieces: groups that are not in order are an error where they are cut between
// pieces, too.
func TestBugOrderOfPieces(t *testing.T) {
	s := tensor.Host()
	w, data := sample{gptq, Params{Bits: 4, Group: 32, Scale: "F16", Zeros: true}}.open(t, rand.New(rand.NewPCG(1, 1)))
	first, second := data["w.g_idx"][:4*32], data["w.g_idx"][4*32:8*32]
	for i := range first {
		first[i], second[i] = second[i], first[i]
	}
	p, err := w.Plan(packed)
	require.NoError(t, err)
	pieces, err := p.pieces(cut{axisK, w.ext[axisK], 32})
	require.NoError(t, err)
	one := pieces.At(0)
	src := upload(t, s, partOf(one, data))
	defer src.Release()
	_, err = one.Run(s, src)
	require.ErrorContains(t, err, "not in order")
}

// TestBugPiecesOfTheWayBack: pieces of the way back have the names of the whole.
func TestBugPiecesOfTheWayBack(t *testing.T) {
	p := Params{Bits: 4, Group: 32, Scale: "F16", Zeros: true}
	ext := extents{axisN: 64, axisK: 64}
	ext.group(p)
	all := tensors(t, packed, p, ext)
	for i := range all {
		all[i].Name = "model.layers.0.mlp.up_proj" + all[i].Name[1:]
	}
	p.Zeros = false
	w, _, err := Find(packed, p, all[:2])
	require.NoError(t, err)
	plan, err := w[0].Plan(gguf)
	require.NoError(t, err)
	back, err := plan.Back()
	require.NoError(t, err)
	pieces, err := back.Cut(back.Least())
	require.NoError(t, err)
	require.Greater(t, pieces.Len, 1)
	require.Equal(t, back.To.Name, pieces.At(1).To.Name)
}

// TestBugWideScales: scales of 64 bits are an error or numbers, not a panic.
func TestBugWideScales(t *testing.T) {
	w, _ := sample{packed, Params{Bits: 4, Group: 32, Scale: "F64"}}.open(t, rand.New(rand.NewPCG(1, 1)))
	for _, to := range all {
		if _, err := w.Plan(to); err != nil {
			require.ErrorIs(t, err, layout.ErrUnsupported)
		}
	}
}

// TestDiffersIsInvalid: what differs on the way back is an error of a kind.
func TestDiffersIsInvalid(t *testing.T) { require.ErrorIs(t, ErrDiffers, layout.ErrInvalid) }

// TestReportsOneGroup converts files from reports: one group whose rows are in some order.
func TestReportsOneGroup(t *testing.T) {
	folder := "../../shared/reports/repack"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there are no reports:", err)
	}
	for _, name := range []string{"gptq-one-group-desc-act-to-marlin-and-back/g2m.safetensors", "marlin-one-group-sorted/m.safetensors"} {
		c, err := checkpoint.Open(filepath.Join(folder, name))
		require.NoError(t, err)
		var all []Tensor
		data := map[string][]byte{}
		for _, x := range c.Tensors {
			all = append(all, Tensor{x.Name, x.Type.Name, x.Dims, x})
			data[x.Name] = make([]byte, x.Size())
			_, err := x.ReadAt(data[x.Name], 0)
			require.NoError(t, err)
		}
		w := only(t, marlin, Params{Bits: 4, Group: -1}, all)
		becomes(t, w, data, gptq)
		becomes(t, w, data, floats)
		require.NoError(t, c.Close())
	}
}

// TestBugOrderIsRead: the tensors that say the order of rows must be there, though no byte of
// theirs moves.
func TestBugOrderIsRead(t *testing.T) {
	p := Params{Bits: 4, Sorted: true, Scale: "F16"}
	ext := extents{axisN: 64, axisK: 32}
	ext.group(p)
	w := only(t, marlin, p, tensors(t, marlin, p, ext))
	plan, err := w.Plan(marlin)
	require.NoError(t, err)
	for _, name := range []string{"w.g_idx", "w.g_idx_sort_indices"} {
		data := randomBytes(w, rand.New(rand.NewPCG(1, 1)))
		delete(data, name)
		src := upload(t, tensor.Host(), data)
		_, err := plan.Run(tensor.Host(), src)
		require.ErrorContains(t, err, name)
		require.NoError(t, src.Release())
	}
}
