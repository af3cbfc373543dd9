package kernels

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed source/*.h
var sources embed.FS

// Dialect is a language that the kernels compile as: the name of its prelude.
type Dialect string

// The dialects.
const (
	OpenCL Dialect = "opencl" // OpenCL C 1.2
	CUDA   Dialect = "cuda"   // CUDA C as clang takes it without CUDA's headers
	Host   Dialect = "host"   // C++17
)

// Source returns the program that holds the given kernels, each under the name
// Spec.String; without any, the dialect's prelude.
func Source(d Dialect, specs ...Spec) string {
	var b strings.Builder
	b.WriteString(file(string(d)))
	if len(specs) == 0 {
		return b.String()
	}
	if d != CUDA {
		b.WriteString(file("plain"))
	}
	for _, name := range []string{"common", "words", "parts", "indices"} {
		b.WriteString(file(name))
	}
	if slices.ContainsFunc(specs, func(s Spec) bool { return s.Form.byValue() || s.wheres() }) {
		b.WriteString(file("pieces"))
	}
	if slices.ContainsFunc(specs, func(s Spec) bool { return s.Form.byValue() || s.reduces() }) {
		for _, name := range []string{"numbers", "floats"} {
			b.WriteString(file(name))
		}
	}
	if slices.ContainsFunc(specs, func(s Spec) bool { return s.Form == Cast && !s.Serial && max(s.DstBits, s.SrcBits) == 64 }) {
		b.WriteString(file("wide"))
	}
	folds := func(s Spec) bool { return s.Form == Fold }
	if slices.ContainsFunc(specs, Spec.Computes) {
		b.WriteString(file("arithmetic"))
	}
	if slices.ContainsFunc(specs, func(s Spec) bool { return s.Form == Codes }) {
		b.WriteString(file("divisor"))
	}
	if slices.ContainsFunc(specs, folds) {
		b.WriteString(file("doubles"))
	}
	if slices.ContainsFunc(specs, Spec.Scales) {
		b.WriteString(file("terms"))
	}
	if slices.ContainsFunc(specs, Spec.wheres) {
		b.WriteString(file("sides"))
	}
	if slices.ContainsFunc(specs, func(s Spec) bool { return s.Periods }) {
		b.WriteString(file("periods"))
	}
	for _, s := range specs {
		for _, define := range s.defines() {
			fmt.Fprintf(&b, "#define %s\n", define)
		}
		for _, form := range s.files() {
			b.WriteString(file(string(form)))
		}
		for _, define := range s.defines() {
			name, _, _ := strings.Cut(define, " ")
			fmt.Fprintf(&b, "#undef %s\n", name)
		}
	}
	return b.String()
}

// files names the source files that make up a kernel: a form's own, and what it goes
// before.
func (s Spec) files() []Form {
	values := Cast
	if s.Mapped {
		values = "map"
	}
	switch {
	case s.Batched && s.Form == Lookup:
		return []Form{Cast, Lookup, "cast_batch"}
	case s.Batched:
		return []Form{Value, "cast_batch"}
	case s.Columns && s.Form == Lookup:
		return []Form{Cast, Lookup, "columns"}
	case s.Columns:
		return []Form{Value, "columns"}
	case s.Turned && s.Form == Lookup:
		return []Form{Cast, Lookup, "turned", "exchange", "squares", "slots", "forget"}
	case s.Turned:
		return []Form{Value, "turned", "exchange", "squares", "slots", "forget"}
	case s.Form == Blocks:
		return []Form{Cast, "single", Blocks}
	case s.Form == Codes:
		return []Form{Cast, "single", Value, Codes}
	case s.Form == Dequantize && s.SrcBits < 32:
		return []Form{Cast, "single", Dequantize}
	case s.Scales():
		return []Form{Cast, "single", "scaling"}
	case s.Form == Lookup:
		return []Form{values, Lookup, "dense"}
	case s.Form == Value:
		return []Form{Value, "dense"}
	case s.Form == Cast && s.packs():
		return []Form{values, Pack}
	case s.Form == Cast:
		return []Form{values, Element}
	case s.Form == Spread:
		return []Form{Spread, Element}
	case s.Form == Transpose && s.Serial:
		return []Form{"transpose_serial"}
	case s.Form == Transpose:
		return []Form{Transpose, "exchange", "squares", "slots", "forget"}
	case s.Form == Batch:
		return []Form{"exchange", Batch, "forget"}
	case s.stamps():
		return []Form{s.Form, Store, "stamp"}
	case s.chunks():
		return []Form{s.Form, Store, Chunks}
	case s.Form == Join || s.Form == Blend:
		return []Form{Store, s.Form}
	case s.Form == Put:
		return []Form{Take}
	case s.Form == Place:
		return []Form{Pick}
	case s.Form == Reduce:
		return []Form{"reductions", Pick}
	case s.Form == Fold:
		return []Form{"reductions", Fold}
	}
	return []Form{s.Form}
}

func file(name string) string {
	text, err := sources.ReadFile("source/" + name + ".h")
	if err != nil {
		panic(fmt.Sprintf("kernels: %v", err)) // a Form without a file: a test goes through all
	}
	return string(text)
}
