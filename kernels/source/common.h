// What all kernels share: the descriptor of a launch, and how a flat number is
// taken apart into indices.
//
// A launch covers its elements with blocks, numbered in one dimension. A
// work-group does the blocks GROUP_ID, GROUP_ID+GROUPS, ...: any number of
// groups will do. Steps and bases count elements of the kernel's width.

// Axis is one digit of a flat number: an extent, the magic that divides by it
// (see quotient), and the step that either side makes.
typedef struct {
	u32 n, magic, shift, unused;
	i64 d, s;
} Axis;

// Desc is followed by its axes: first the outer ones, which are taken from a
// block's number, then inner, which are from an item's number within the block,
// then run, from an element's number within a run; each innermost first. Axis 0
// counts the blocks along the cut axis, so that its steps are those of cut
// indices.
typedef struct {
	u32 blocks;
	u32 outer, inner, run; // numbers of axes
	u32 cut;               // indices of the cut axis in one block
	u32 flat;              // product of the inner axes: items per cut index
	u32 words;             // words in a run; 0: the words are the cut axis
	u32 span;              // words per item
	i64 extent;            // of the cut axis
	i64 d, s;              // steps of the cut axis
	i64 length;            // elements in a run
	// Of kernels that work on tiles and blocks: see there.
	u32 na, nb, ta, tb;
	i64 da, sa, db, sb;
	i64 unused[2];
} Desc;

#define AXES(desc) ((CONSTANT Axis *)((desc) + 1))

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

// quotient is x / a->n, for x and n below 2^31.
DEVICE u32 quotient(u32 x, CONSTANT Axis *a) {
	return ((u32)(((u64)x * a->magic) >> 32) + x) >> a->shift;
}

// digit takes the lowest digit off a flat number.
DEVICE u32 digit(u32 *rest, CONSTANT Axis *a) {
	u32 x = *rest, q = quotient(x, a);
	*rest = q;
	return x - q * a->n;
}
