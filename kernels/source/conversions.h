// conversions: shared by kernels that convert elements by value.

#pragma once
#include "pieces.h"
#include "numbers.h"
#include "floats.h"
