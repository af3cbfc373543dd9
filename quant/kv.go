package quant

import (
	"fmt"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/layout"
)

// Caches of keys and values have pages p, tokens t of a page, heads h and their dimensions
// d, and elements of any type.

// cache is a format of caches; its order may depend on the number of elements in 16 bytes.
func cache(name, about string, order func(x int64) string) *Format {
	return &Format{
		Name:       name,
		About:      about,
		anyCodes:   true,
		takesNames: true,
		codesOnly:  true,
		arrays: func(p Params) []array {
			return []array{dense(codes, "", p.Type, order(max(1, 128/max(1, p.Bits))), p.Bits)}
		},
		bits: func(t Tensor) []int64 { return []int64{16} }, // params sets the actual bits
		params: func(p Params, t Tensor, _ extents) (Params, error) {
			kind, err := checkpoint.Safetensors.Type(t.Type)
			if err != nil {
				return p, err
			}
			if p = (Params{Bits: 8 * kind.BlockBytes / kind.Block, details: details{Type: t.Type}}); kind.Block != 1 || p.Bits > 64 {
				return p, layout.Errorf(layout.ErrUnsupported, name, "elements of type %s", t.Type)
			}
			return p, nil
		},
		accept: func(f *Format, p Params, _ extents) (Params, error) { return p, nil },
	}
}

func always(order string) func(int64) string { return func(int64) string { return order } }

var (
	kvNHD   = cache("kv-nhd", "a cache of keys or values by pages, tokens, heads: FlashInfer's NHD", always("p | t | h | d"))
	kvHND   = cache("kv-hnd", "a cache of keys or values by pages, heads, tokens: FlashInfer's HND", always("p | h | t | d"))
	kvPaged = cache("kv-paged", "vLLM's paged cache of keys: 16 bytes of a head together", func(x int64) string {
		return fmt.Sprintf("p | h | d/%d | t | d%%%d", x, x)
	})
	kvPagedV = cache("kv-paged-v", "vLLM's paged cache of values: the tokens of a dimension together", always("p | h | d | t"))
)
