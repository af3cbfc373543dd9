// Command generate writes a checkpoint of random quantised weights, to measure and to test
// with: the same bytes for the same flags. Its weights are those of layers of a Llama.
//
//	go run ./quant/generate --format gptq --size 4G --output build/gptq
//	go run ./quant/generate --format gguf --blocks Q4_0 --size 4G --output build/q4_0
package main

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/quant"
)

func main() {
	format := flag.String("format", "gptq", "format of the weights")
	blocks := flag.String("blocks", "Q4_0", "type of GGUF's blocks")
	group := flag.Int64("group", 128, "k that share a scale")
	size := flag.String("size", "1G", "bytes of the tensors, about, as 512M")
	output := flag.String("output", "", "folder to write")
	flag.Parse()
	if err := run(*format, *blocks, *group, *size, *output); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// shapes are those of a layer, n by k.
var shapes = []struct {
	name string
	n, k int64
}{
	{"self_attn.q_proj", 4096, 4096}, {"self_attn.k_proj", 1024, 4096}, {"self_attn.v_proj", 1024, 4096}, {"self_attn.o_proj", 4096, 4096},
	{"mlp.gate_proj", 12288, 4096}, {"mlp.up_proj", 12288, 4096}, {"mlp.down_proj", 4096, 12288},
}

// ggufNames are theirs in llama.cpp.
var ggufNames = strings.NewReplacer("model.layers.", "blk.", "self_attn.q_proj", "attn_q", "self_attn.k_proj", "attn_k", "self_attn.v_proj", "attn_v",
	"self_attn.o_proj", "attn_output", "mlp.gate_proj", "ffn_gate", "mlp.up_proj", "ffn_up", "mlp.down_proj", "ffn_down")

func run(format, blocks string, group int64, size, output string) error {
	f, err := quant.Lookup(format)
	if err != nil {
		return err
	}
	most, err := parse(size)
	if err != nil {
		return err
	}
	p := quant.Params{Bits: 4, Group: group, ZeroLess: format == "gptq"}
	h, name := checkpoint.Header{Format: checkpoint.Safetensors}, "model.safetensors"
	if format == "gguf" {
		h, name = checkpoint.Header{Format: checkpoint.GGUF}, "model.gguf"
		p = quant.Params{Bits: 4, Group: 32}
		p.Blocks = blocks
		h.Metadata = []checkpoint.Entry{{Key: "general.architecture", Value: checkpoint.ValueOf("llama")}}
	}
	var config map[string]any
	for layer, bytes := 0, int64(0); bytes < most; layer++ {
		for _, s := range shapes {
			full := fmt.Sprintf("model.layers.%d.%s", layer, s.name)
			if format == "gguf" {
				full = ggufNames.Replace(full)
			}
			w, err := quant.New(f, p, full, 0, s.n, s.k)
			if err != nil {
				return err
			}
			config = w.Config()
			for _, t := range w.Tensors {
				kind, err := h.Format.Type(t.Type)
				if err != nil {
					return err
				}
				n, err := h.Format.Size(kind, t.Dims)
				if err != nil {
					return err
				}
				bytes += n
				h.Tensors = append(h.Tensors, &checkpoint.Tensor{Name: t.Name, Type: kind, Dims: t.Dims})
			}
		}
	}
	if err := os.MkdirAll(output, 0o777); err != nil {
		return err
	}
	if format == "gptq" {
		config["checkpoint_format"] = "gptq"
	}
	if err := write(filepath.Join(output, name), h, group); err != nil || format == "gguf" {
		return err
	}
	text, err := json.Marshal(map[string]any{"quantization_config": config})
	if err != nil {
		return err
	}
	return file.Write(filepath.Join(output, "config.json"), text)
}

func parse(size string) (int64, error) {
	digits := strings.TrimRight(size, "KMG")
	unit, ok := map[string]int64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[size[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || !ok || n < 1 {
		return 0, fmt.Errorf("--size %q: want a number of bytes, as 512M", size)
	}
	return n * unit, nil
}

// write fills a file.
func write(path string, h checkpoint.Header, group int64) error {
	w, err := checkpoint.Create(path, h, "generate")
	if err != nil {
		return err
	}
	defer w.Close()
	b := make([]byte, 0, 64<<20)
	for i, t := range w.Tensors {
		if w.Done(i) {
			continue
		}
		b = append(b[:0], make([]byte, t.Size())...)
		fill(b, t, rand.NewPCG(uint64(i), 18), group)
		if err := w.WriteAt(i, b, 0); err != nil {
			return err
		}
		if err := w.Finish(i); err != nil {
			return err
		}
	}
	return w.Commit()
}

// fill makes the bytes of a tensor: random codes, scales that are normal numbers, zero
// points in the middle of the range, groups in order, shapes.
func fill(b []byte, t *checkpoint.Tensor, random *rand.PCG, group int64) {
	for at := 0; at+8 <= len(b); at += 8 {
		binary.LittleEndian.PutUint64(b[at:], random.Uint64())
	}
	scale := func(at int) { b[at+1] = b[at+1]&3 | 0x20 }
	switch {
	case strings.HasSuffix(t.Name, ".qzeros"):
		for i := range b {
			b[i] = 0x77 // 8, less 1
		}
	case strings.HasSuffix(t.Name, ".g_idx"):
		for k := range len(b) / 4 {
			binary.LittleEndian.PutUint32(b[4*k:], uint32(int64(k)/group))
		}
	case strings.HasSuffix(t.Name, ".weight_shape"):
		for _, s := range shapes {
			if strings.HasSuffix(t.Name, "."+s.name+".weight_shape") {
				binary.LittleEndian.PutUint64(b, uint64(s.n))
				binary.LittleEndian.PutUint64(b[8:], uint64(s.k))
			}
		}
	case t.Type.Name == "F16":
		for at := 0; at < len(b); at += 2 {
			scale(at)
		}
	case t.Type.Block > 1:
		for at := 0; at < len(b); at += int(t.Type.BlockBytes) {
			scale(at)
		}
	}
}
