// cast_wide: cast.h on a GPU, where a type has 64 bits.

#include "conversions.h"
#include "wide.h"
#include "cast.h"
