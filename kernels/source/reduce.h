// reduce: puts that reduce, by atomic operations.

#include "reductions.h"
#include "pick.h"
