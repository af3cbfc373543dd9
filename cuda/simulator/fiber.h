// The work-items of a block, on one thread: barriers are real.
#pragma once
#include "api.h"

namespace sim {

// runBlock runs item(argument) once for each of n work-items, with host_item.local set. Their
// order is random. Items that reach a barrier wait there for the others; if some have returned
// instead, it gives up (trap.h).
void runBlock(u32 n, void (*item)(const void *), const void *argument);

} // namespace sim
