// dialect: the prelude of a dialect. Source has the one that is asked for here; for whoever reads
// or compiles a header by itself, kernels are C++.

#pragma once
#include "host.h"
