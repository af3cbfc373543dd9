// kernel: shared by kernels of all forms.

#pragma once
#include "common.h"
#include "words.h"
#include "parts.h"
#include "indices.h"
