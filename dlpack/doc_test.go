package dlpack

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/readme"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// snippets returns the Python of docs/dlpack.md, for capsules of the version.
func snippets(t *testing.T, unversioned bool) []string {
	var all []string
	for _, s := range readme.Snippets(t, "..") {
		if s.Page != "docs/dlpack.md" || s.Language != "python" {
			continue
		}
		code := s.Text
		if unversioned { // as the document shows
			code = strings.NewReplacer("max_version=(1, 1)", "", "dltensor_versioned", "dltensor").Replace(code)
		}
		all = append(all, code)
	}
	return all
}

// The document's Python runs as written: a tensor becomes a numpy array, and that a tensor
// again, all in one memory.
func TestBugDocumentedPython(t *testing.T) {
	p := py(t)
	tensor.CheckLeaks(t, tensor.Host())
	for _, unversioned := range p.capsules(t, "numpy") {
		x, err := tensor.FromSlice(tensor.Host(), []int32{1, 2, 3, 4, 5, 6}, 2, 3)
		require.NoError(t, err)
		code := snippets(t, unversioned)
		require.Len(t, code, 2)
		p.do(t, "pointer = %d", uintptr(exported(t, x, ExportOptions{Unversioned: unversioned}).Pointer))
		p.do(t, "%s", code[0])
		p.do(t, "assert a.tolist() == [[1, 2, 3], [4, 5, 6]]\na = a.copy()\na[0, 0] = 7")
		p.do(t, "%s", code[1])
		p.do(t, "tell(pointer)")
		c := Capsule{Pointer: dl.Pointer(uintptr(p.mail[0])), Unversioned: unversioned}
		y, err := Import(tensor.Host(), c, ImportOptions{As: layout.Int32})
		require.NoError(t, err)
		p.do(t, "a[1, 2] = 9\ndel a, capsule")
		assert.Equal(t, []int32{7, 2, 3, 4, 5, 9}, values[int32](t, y))
		release(t, x, y)
	}
}
