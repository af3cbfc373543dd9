// Package hugemem maps memory on huge pages, where strided copies do not wait
// for the TLB.
package hugemem

// Page is the size of a huge page: smaller memory has nothing to gain.
const Page = 2 << 20

// Block is a mapping. Its bytes begin on a huge page, are zero, and are none of
// Go's heap.
type Block struct {
	Bytes   []byte
	mapping []byte // that the bytes lie in
}

// Free gives the memory back. The empty Block is fine, too.
func (b Block) Free() error {
	if b.mapping == nil {
		return nil
	}
	return unmap(b.mapping)
}
