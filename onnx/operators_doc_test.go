package onnx_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
)

var update = flag.Bool("update", false, "write the tables of docs/operators.md")

// TestOperatorsDocument holds the tables of docs/operators.md against
// operatorTests and the types that are allowed; go test ./onnx -run OperatorsDocument -update writes them.
func TestOperatorsDocument(t *testing.T) {
	const path = "../docs/operators.md"
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	want := string(raw)
	for name, table := range map[string]string{"operators": operatorsTable(), "types": typesTable()} {
		begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n"
		head, rest, ok := strings.Cut(want, begin)
		require.True(t, ok, "%s has no line %q", path, begin)
		_, tail, ok := strings.Cut(rest, end)
		require.True(t, ok, "%s has no line %q", path, end)
		want = head + begin + "\n" + table + "\n" + end + tail
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(raw), "go test ./onnx -run OperatorsDocument -update writes the tables")
}

// operatorsTable lists the operators with their versions.
func operatorsTable() string {
	var b strings.Builder
	b.WriteString("| operator | versions | |\n|---|---|---|\n")
	byName := func(a, b operatorTest) int { return strings.Compare(a.op, b.op) }
	for _, o := range slices.SortedFunc(slices.Values(operatorTests), byName) {
		versions := strings.Trim(strings.ReplaceAll(fmt.Sprint(o.versions), " ", ", "), "[]")
		row := fmt.Sprintf("| %s | %s | %s |\n", o.op, versions, o.note)
		b.WriteString(strings.ReplaceAll(row, "  ", " "))
	}
	return b.String()
}

// typesTable lists the element types with the first versions of some operators
// that take them.
func typesTable() string {
	columns := []string{"Reshape", "Flatten", "Shape"}
	var rows []string
	types := map[string][]string{} // of each row
	for _, t := range layout.DTypes() {
		row := ""
		for _, op := range columns {
			versions := onnx.Operators()[op]
			i := slices.IndexFunc(versions, func(v onnx.Opset) bool { return onnx.Allows(op, v, t) })
			row += fmt.Sprintf(" %d |", versions[i])
		}
		switch {
		case t == layout.String:
			row += " cpu |"
		case t.Bits() < 8:
			row += " all; packed |"
		default:
			row += " all |"
		}
		if types[row] == nil {
			rows = append(rows, row)
		}
		types[row] = append(types[row], t.String())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| element types | first allowed by %s | devices |\n|---|%s---|\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |%s\n", strings.Join(types[row], ", "), row)
	}
	return b.String()
}
