// kernel: what kernels of all forms share.

#pragma once
#include "common.h"
#include "words.h"
#include "parts.h"
#include "indices.h"
