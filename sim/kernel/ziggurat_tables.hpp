// Constants of the ziggurats that only their slow paths need; the layers themselves are declared in
// random.hpp, where the fast paths are inlined. The values are written by
// scripts/make_ziggurat_tables.py, which also states the recurrence that they satisfy.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>

namespace retrysim::kernel {

/// The right edge of the base layer: samples beyond it come from the tail.
extern const double kExponentialEdge, kNormalEdge;

/// The lower edge of each layer i, and at the end 1, the top of the last layer.
extern const double kExponentialHeights[257], kNormalHeights[257];

}  // namespace retrysim::kernel
