// GL buffers as device memory: see graphics.cpp.
#pragma once
#include "context.h"

namespace sim::graphics {

// dropOf drops the resources of a context.
void dropOf(const Context *);

} // namespace sim::graphics
