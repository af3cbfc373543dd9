// dialect: the prelude of a dialect. Source replaces it by the prelude that is asked for; a
// header read or compiled by itself is C++.

#pragma once
#include "host.h"
