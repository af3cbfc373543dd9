// Package layout computes where the elements of a tensor lie in memory. It never
// touches memory: everything here is arithmetic on a few integers, and costs
// nanoseconds.
//
// A [Layout] maps an index to a position:
//
//	position = offset + index[0]*stride[0] + ... + index[r-1]*stride[r-1]
//
// Its methods return new layouts over the same memory: [Layout.Permute],
// [Layout.Slice], [Layout.Expand], [Layout.Reshape] and so on. None moves an
// element. If elements would have to move, Reshape and Flatten return
// [ErrNeedsCopy], and the caller decides whether to pay for a copy.
//
// # Views
//
// A tensor of shape [2,3], and its transpose over the same six elements:
//
//	memory        0   1   2   3   4   5
//	            +---+---+---+---+---+---+
//	            | a | b | c | d | e | f |
//	            +---+---+---+---+---+---+
//
//	[2,3]:{3,1}+0    a b c        Permute(1, 0)    [3,2]:{1,3}+0    a d
//	                 d e f                                          b e
//	                                                                c f
//
// This is [Layout.String]'s notation: extents, strides, offset.
//
// A stride may be 0, which repeats an element:
//
//	[1,3]:{3,1}+0    a b c        Expand(2, 3)     [2,3]:{0,1}+0    a b c
//	                                                                a b c
//
// # Types below a byte
//
// Positions, strides and offsets count elements, not bytes. A [DType] of b bits
// keeps element i in byte i*b/8, from bit i*b mod 8 on: low bits first, no gaps
// between rows, and zero bits after the last element. Five 4-bit elements need
// three bytes (see [Shape.Bytes]):
//
//	byte              0             1             2
//	bit           7..4   3..0   7..4   3..0   7..4   3..0
//	            +------+------+------+------+------+------+
//	            | el 1 | el 0 | el 3 | el 2 | zero | el 4 |
//	            +------+------+------+------+------+------+
//
// So a view may start at any nibble. This one has elements 3 and 1, in that
// order:
//
//	[5]:{1}+0        Slice(0, 3, 0, -2)        [2]:{-2}+3
//
//	byte              0             1             2
//	            +------+------+------+------+------+------+
//	            | el 1 |      | el 3 |      |      |      |
//	            +------+------+------+------+------+------+
//	               [1]           [0]
//
// Index 0 is the high nibble of byte 1, and index 1 the high nibble of byte 0.
//
// # Promises
//
// Every layout that this package returns without an error keeps two: its element
// count fits an int64, and so does every position, and no position is negative.
// Nothing of this needs checking again; [Layout.Fits] reports whether the positions
// lie inside a given memory. Rank 0 is a scalar and has one element. An axis may
// have extent 0: the layout is then empty, and its strides are 0.
//
// Ranks up to 8 allocate nothing. Higher ranks work too.
//
// # Copies
//
// To move elements between two layouts of one shape, start with [Simplify] and
// [Widen], which reduce the pair to the fewest axes and the widest elements;
// [Layout.Overlaps] and [Layout.SelfOverlaps] report whether the order of the
// moves matters.
//
// # Rules that operators share
//
// [InferReshape], [FlattenShape], [Broadcast] and [Axis] implement the shape rules
// of ONNX and oneDNN. Errors are of type *[Error] and of one of two kinds,
// [ErrInvalid] and [ErrUnsupported]; they name the operation, the shapes and the
// rule.
package layout
