// SPDX-License-Identifier: MIT
#include "measure/passage_counts.hpp"

#include <utility>

namespace retrysim::stats {

void PassageCounts::add_noted() {
  add_block({noted_.data(), std::exchange(count_, 0)}, queueing_time_, nullptr);
}

}  // namespace retrysim::stats
