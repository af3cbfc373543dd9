package graphs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
)

// unseen are versions of arithmetic that do not support integers, or bools: package onnx's own
// tests have them.
const unseen = " Abs-1 Add-1 And-1 Ceil-1 Div-1 Equal-1 Floor-1 Greater-1 Greater-7 Less-1 Less-7 Max-1 Max-6 Max-8" +
	" Min-1 Min-6 Min-8 Mul-1 Neg-1 Or-1 Sqrt-1 Sub-1 TopK-1 TopK-10 Xor-1 "

// TestRandomHasEverything: every version of every operator, every type, empty values, scalars and high ranks occur.
func TestRandomHasEverything(t *testing.T) {
	missing := map[string]bool{"empty": true, "scalar": true, "rank 8": true, "list as input": true}
	for op, versions := range onnx.Operators() {
		for _, v := range versions {
			if name := fmt.Sprint(op, "-", v); !strings.Contains(unseen, " "+name+" ") {
				missing[name] = true
			}
		}
	}
	for _, of := range layout.DTypes() {
		missing[of.String()] = true
	}
	for seed := uint64(0); len(missing) > 0; seed++ {
		require.Less(t, seed, uint64(20_000), "%v", missing)
		g := Random(rand.New(rand.NewPCG(seed, 3)), Limits{Nodes: 20, Ranks: 8})
		for _, n := range g.Model.Graph.Nodes {
			since := onnx.Opset(0)
			for _, v := range onnx.Operators()[n.OpType] {
				if v <= onnx.Opset(g.Model.Opsets[""]) {
					since = v
				}
			}
			delete(missing, fmt.Sprint(n.OpType, "-", since))
		}
		for _, v := range g.Outputs {
			delete(missing, v.Type.String())
			switch {
			case len(v.Dims) == 8:
				delete(missing, "rank 8")
			case len(v.Dims) == 0 && len(v.Elems) == 1:
				delete(missing, "scalar")
			case len(v.Elems) == 0 && len(v.Items) == 0:
				delete(missing, "empty")
			}
		}
		if len(g.Lists) > 0 {
			delete(missing, "list as input")
		}
	}
}

// TestRandomLimits: graphs keep to them.
func TestRandomLimits(t *testing.T) {
	for seed := range uint64(300) {
		g := Random(rand.New(rand.NewPCG(seed, 3)), Limits{Nodes: 8, Ranks: 3, First: 13, Last: 17, Types: []layout.DType{layout.Int64, layout.String}, Resident: true})
		require.GreaterOrEqual(t, len(g.Model.Graph.Nodes), 8)
		require.Contains(t, []int64{13, 14, 15, 16, 17}, g.Model.Opsets[""])
		require.Empty(t, g.Lists)
		for _, v := range g.Outputs {
			require.LessOrEqual(t, len(v.Dims), 3)
			require.Contains(t, []layout.DType{layout.Int64, layout.String, layout.Int32, layout.Bool, layout.Float32}, v.Type) // the last three are lists
		}
	}
}

// TestBrokenHasEveryFault: each can be planted.
func TestBrokenHasEveryFault(t *testing.T) {
	missing := map[string]bool{}
	for _, f := range faults {
		missing[f.rule] = true
	}
	for seed := uint64(0); len(missing) > 0; seed++ {
		require.Less(t, seed, uint64(10_000), "%v", missing)
		_, rule := Broken(rand.New(rand.NewPCG(seed, 4)), Limits{Nodes: 3, Ranks: 5})
		delete(missing, rule)
	}
}
