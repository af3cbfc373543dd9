// spread: src repeats its elements along an axis. A work-item loads an element once
// and stores it along a part of that axis: na indices in all, ta of them in a block
// (outer axis 1), da the step. It gives element.h COPIES.

#include "kernel.h"
#include "copy.h"

#define COPIES(params, block) PASTE(NAME, _copies)(params, block)

// copies is how many copies of each element a block makes.
DEVICE u32 PASTE(NAME, _copies)(CONSTANT Params *params, u32 block) {
	u32 part = quotient(block, AXES(params));
	part = digit(&part, AXES(params) + 1);
	return MIN(params->ta, params->na - part * params->ta);
}
