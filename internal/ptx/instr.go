package ptx

// lanes are the values of a register in the threads of a warp: zero-extended.
type lanes [32]uint64

// instr is an instruction with its operands resolved. Registers and constants share one
// numbering; predicates have their own.
type instr struct {
	kind kind
	not  bool  // the guard is negated
	n    uint8 // sources that are read

	guard  int32 // a predicate; -1: none
	target int32 // of a branch

	dst [4]int32 // -1: none
	src [5]int32 // below 0 while parsing: a constant

	pdst, pa, pb int32 // predicates

	do    alu
	test  test
	logic func(a, b uint32) uint32
	atom  func(old, a, b uint64) uint64
	mode  uint8 // of shuffles, votes and atomic operations

	mem access
}

// alu computes a result in all lanes.
type alu func(d, a, b, c, e *lanes)

// test compares in all lanes.
type test func(a, b *lanes) uint32

// kind is the task of the loop over instructions.
type kind uint8

const (
	kindALU    kind = iota
	kindTest        // pdst = test(src)
	kindSelect      // dst = pa ? src[0] : src[1]
	kindLogic       // pdst = logic(pa, pb)
	kindSplit       // dst... = parts of src[0]
	kindBranch
	kindExit
	kindBarrier
	kindLoad
	kindStore
	kindAtom
	kindShuffle
	kindVote
	kindWarpSync
	kindNothing
)

// access is the target of loads, stores and atomic operations: the address in the register
// src[0], plus off.
type access struct {
	space  space
	size   uint8 // bytes of an element
	count  uint8 // elements
	signed bool
	narrow [4]uint64 // masks of the destination registers
	off    int64
}

// space is a state space.
type space uint8

const (
	generic space = iota
	global
	shared
	param
)

// Generic addresses of shared memory and parameters begin here. (Global ones are
// themselves.)
const (
	sharedWindow = 1 << 32
	paramWindow  = 1 << 33
)

// specials are the registers that each thread has, in the order of their indices.
var specials = []string{
	"%tid.x", "%ctaid.x", "%ntid.x", "%nctaid.x", "%laneid", "%warpid",
	"%tid.y", "%tid.z", "%ctaid.y", "%ctaid.z", "%ntid.y", "%ntid.z", "%nctaid.y", "%nctaid.z",
}

const (
	tidX = iota
	ctaidX
	ntidX
	nctaidX
	laneID
	warpID
)
