// Package hugemem maps memory on huge pages, which save strided copies most TLB misses.
package hugemem

// Page is the size of a huge page, in bytes: smaller mappings gain nothing.
const Page = 2 << 20

// Block is a mapping outside of Go's heap. Its bytes begin on a huge page and are zero.
type Block struct {
	Bytes   []byte
	mapping []byte // around Bytes
}

// Free unmaps the memory. Freeing the zero Block does nothing.
func (b Block) Free() error {
	if b.mapping == nil {
		return nil
	}
	return unmap(b.mapping)
}
