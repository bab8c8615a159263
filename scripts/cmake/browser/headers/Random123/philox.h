// Random123 knows no WebAssembly and stops there; its portable C is meant.
//
// SPDX-License-Identifier: MIT
#pragma once
#define __riscv 1
#define R123_USE_GNU_UINT128 0
#define R123_USE_MULHILO64_C99 1
#include_next <Random123/philox.h>
#undef __riscv
