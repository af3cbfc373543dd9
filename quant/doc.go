// Package quant converts quantised weights between the formats that engines use.
//
// A weight is a matrix of n rows, its outputs, by k columns, its inputs; or a batch of such
// matrices, experts e. A [Format] says which tensors hold its codes, scales and zero
// points, and the position of each bit in them, by digits of the indices, outermost first:
//
//	k/8 n k%8            GPTQ, 4 bits: 8 rows of k in a word
//	k n/8 n%2 n/2%4      AWQ: 8 columns of n in a word, the even ones first
//	n k/32 {scale; k%16 k/16%2}    GGUF's Q4_0: blocks of 32 with a scale before
//
// A conversion is one strided copy for each pair of places that share bits: its axes are
// the digits of both sides, split where either side splits them. There is no intermediate
// order.
//
// [Find] opens the weights among a file's tensors. [Weight.Plan] gives the result and the
// cost of a conversion before anything runs, and [Plan.Run] runs it on a stream. [Plan.Cut]
// divides it into pieces that need less memory, and [Plan.Check] converts back and
// compares. If a format cannot represent a weight, the error names the rule.
//
// Between formats with different zeros, a copy uses a table. The floating-point numbers
// that codes stand for are computed from codes, scales and zero points in one plain order
// ([tensor.Tensor.Dequantize]).
package quant
