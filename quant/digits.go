package quant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restride/restride/internal/digits"
)

// Axes of weights. Layouts other than matrices have their own letters.
const (
	axisU = 'u' // batches of matrices
	axisE = 'e' // matrices: experts
	axisN = 'n' // outputs
	axisK = 'k' // inputs, over which a product is summed
	axisG = 'g' // groups of k with one scale each
	axisS = 's' // blocks of k whose scales share a scale
	axisB = 'b' // blocks of scales, row by row, that share a scale
	axisC = 'c' // codes of scales
	axisR = 'r' // blocks of n with one scale each
)

// superBlock is the number of k in a block whose scales share a scale, in K-quants.
const superBlock = 256

type digit = digits.Digit

// extents are the extents of axes.
type extents map[byte]int64

// String lists the extents with the letters of the axes.
func (e extents) String() string {
	var all []string
	for _, axis := range digits.Axes(e) {
		all = append(all, fmt.Sprintf("%c is %d", axis, e[axis]))
	}
	return strings.Join(all, ", ")
}

// digitsOf parses an order of digits (see digits.Parse). Orders are constants of this package:
// an invalid one panics.
func digitsOf(order string) []digit { return slices.Clone(knownDigits(order)) }

var knownDigits = newMemory(func(order string) []digit {
	ds, err := digits.Parse(order)
	if err != nil {
		panic(err)
	}
	return ds
})
