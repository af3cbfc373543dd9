package onnx

import (
	"strings"

	"github.com/restride/restride/onnx/model"
)

// generally says what an operator does if the extents of its input are unknown.
var generally = map[string]struct {
	outcome Outcome
	why     string
}{
	"Identity":        {IsView, "the same elements"},
	"Transpose":       {IsView, "the strides change places"},
	"Squeeze":         {IsView, "axes of one element go"},
	"Unsqueeze":       {IsView, "axes of one element come"},
	"Slice":           {IsView, "a window"},
	"DynamicSlice":    {IsView, "a window"},
	"Split":           {IsView, "windows"},
	"Expand":          {IsView, "strides of 0"},
	"BitCast":         {IsView, "the same bits"},
	"Reshape":         {ViewUnless, "a copy if it joins axes that lie apart"},
	"Flatten":         {ViewUnless, "a copy if it joins axes that lie apart"},
	"Gather":          {ViewUnless, "a copy if the indices are on the device, or go on by unequal steps"},
	"GatherElements":  {ViewUnless, "a copy if the indices are on the device, or go on by unequal steps"},
	"GatherND":        {ViewUnless, "a copy if the indices are on the device, or go on by unequal steps"},
	"Pad":             {ViewUnless, "a copy if elements are added"},
	"CenterCropPad":   {ViewUnless, "a copy if elements are added"},
	"Tile":            {ViewUnless, "a copy if something is repeated"},
	"Trilu":           {ViewUnless, "a copy if something is set to zero"},
	"Cast":            {ViewUnless, "a copy if the type changes"},
	"CastLike":        {ViewUnless, "a copy if the type changes"},
	"DepthToSpace":    {ViewUnless, "a copy if it joins axes that lie apart"},
	"SpaceToDepth":    {ViewUnless, "a copy if it joins axes that lie apart"},
	"TensorScatter":   {IsCopy, "in place if nothing else uses the cache"},
	"Scatter":         {IsCopy, "in place if nothing else uses the input"},
	"ScatterElements": {IsCopy, "in place if nothing else uses the input"},
	"ScatterND":       {IsCopy, "in place if nothing else uses the input"},
	"Compress":        {ViewUnless, "a copy if the elements are not at equal steps"},
	"ReverseSequence": {ViewUnless, "a copy if something is reversed"},
	"OneHot":          {IsCopy, "new elements"},
	"Concat":          {IsCopy, "put together"},

	"SequenceConstruct":  {IsView, "references"},
	"SequenceEmpty":      {IsView, "references"},
	"SequenceInsert":     {IsView, "references"},
	"SequenceErase":      {IsView, "references"},
	"SequenceAt":         {IsView, "the same elements"},
	"SplitToSequence":    {IsView, "windows"},
	"ConcatFromSequence": {IsCopy, "put together"},
	"Optional":           {IsView, "the same elements"},
	"OptionalGetElement": {IsView, "the same elements"},
	"ConstantOfShape":    {IsCopy, "new elements"},
	"EyeLike":            {IsCopy, "new elements"},
}

// keepsOrder are the operators whose view of contiguous elements is contiguous.
var keepsOrder = map[string]bool{"Identity": true, "Reshape": true, "Flatten": true, "Squeeze": true, "Unsqueeze": true}

// sends reports whether a node on the device has operands that the host computes, apart
// from those that it reads on the host.
func sends(st *step, ins []Value) bool {
	for i, v := range ins {
		if st.d.host>>i&1 == 0 && isOnHost(v) {
			return true
		}
	}
	return false
}

// ruleOf returns the outcome of a node some of whose inputs are unknown. dense means that
// its outputs are certainly contiguous.
func ruleOf(st *step, ins []Value) (outcome Outcome, why string, dense bool) {
	d := st.d
	if st.host {
		return IsHost, "worked out on the host", true
	}
	rule, ok := generally[d.op]
	if !ok {
		return IsCopy, "new elements", true
	}
	contiguous := len(ins) > 0 && isDense(ins[0])
	switch {
	case d.op == "Concat" && len(ins) == 1:
		return IsView, "of a single input", contiguous
	case rule.outcome == ViewUnless && contiguous && keepsOrder[d.op]:
		return IsView, "contiguous: only the extents change", true
	case rule.outcome == IsCopy:
		return rule.outcome, rule.why, true
	}
	return rule.outcome, rule.why, contiguous && keepsOrder[d.op]
}

// aliases are the operators whose output shares memory with the input in ONNX Runtime.
var aliases = map[string]bool{
	"Identity": true, "Reshape": true, "Flatten": true, "Squeeze": true, "Unsqueeze": true,
	"Shape": true, "Size": true, "Constant": true, "BitCast": true,
}

// RuntimeBytes returns the number of bytes that ONNX Runtime's kernel of the operator would
// write, for nodes not run by an engine: the counterpart of Explained.Runtime for a run.
func (n NodeReport) RuntimeBytes() int64 {
	if o := n.Outcome(); o == IsForeign || o == IsHost || o == IsConstant {
		return 0
	}
	var outs []model.Type
	for _, m := range append([]OutputInfo{n.OutputInfo}, n.More...) {
		outs = append(outs, typeOfShape(m.Type, m.Shape))
	}
	return runtimeBytes(n.Op, outs)
}

// runtimeBytes returns the number of bytes that ONNX Runtime's kernel writes. It has no
// strides, so every operator that changes the order (Transpose, Slice, Concat, Expand and
// others) copies the whole output.
func runtimeBytes(op string, outs []model.Type) int64 {
	if name, _, _ := strings.Cut(op, "-"); aliases[name] {
		return 0
	}
	total := int64(0)
	for _, t := range outs {
		b := bytesOf(t)
		if b == Unknown {
			return Unknown
		}
		total += b
	}
	return total
}

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
