// The bytes of a replication over time. Most sums are zeros or small whole numbers: two bits say
// how each one is written.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "measure/run_series.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace retrysim::execution {

void put_series(std::string& bytes, const stats::RunSeries& series);

/// Takes a series from the front of `bytes`; nothing if they are not what `put_series` wrote.
std::optional<stats::RunSeries> take_series(std::string_view& bytes);

}  // namespace retrysim::execution
