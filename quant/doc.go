// Package quant converts quantised weights between the formats in which engines keep them.
//
// A weight is a matrix of n rows, its outputs, by k columns, its inputs; or a batch of such
// matrices, experts e. A [Format] says in which tensors its codes, scales and zero points
// are, and where in these each bit lies, by digits of the indices, the outermost first:
//
//	k/8 n k%8            GPTQ, 4 bits: 8 rows of k in a word
//	k n/8 n%2 n/2%4      AWQ: 8 columns of n in a word, the even ones first
//	n k/32 {scale; k%16 k/16%2}    GGUF's Q4_0: blocks of 32 with a scale before
//
// A conversion is one strided copy for each pair of places that have bits in common: the
// digits of both sides, cut where either is cut, are its axes. Nothing lies in a third
// order between.
//
// [Find] opens the weights among a file's tensors, [Weight.Plan] says what a conversion
// makes and takes before anything runs, and [Plan.Run] does it on a stream; [Plan.Cut]
// divides it into pieces that less memory is enough for, and [Plan.Check] goes the way back
// and compares. What a format cannot keep is refused with the rule.
//
// Where formats count from different zeros, a copy goes by a table. The numbers that codes
// stand for, in floating point, are computed from codes, scales and zero points in one
// plain order ([tensor.Tensor.Dequantize]).
package quant
