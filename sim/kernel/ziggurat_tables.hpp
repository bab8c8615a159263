// Constants of the exponential ziggurat that only its slow path needs; the layers themselves are
// declared in distribution.hpp, where the fast path is inlined. The values are written by
// scripts/make_ziggurat_tables.py, which also states the recurrence they satisfy.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/distribution.hpp>

namespace retrysim::kernel {

/// Right edge of the base layer: samples beyond it come from the tail.
extern const double kExponentialEdge;

/// Lower edge of layer i, with exp(0) = 1, the top of the last layer, at the end.
extern const double kExponentialHeights[257];

}  // namespace retrysim::kernel
