// The model "occ": one row under optimistic concurrency control, as in the study "Exponential
// backoff and jitter" (Brooker, AWS Architecture Blog, 2015). An attempt is two calls: it reads the
// row with its version, and writes it back on condition that the version is still the same. Of all
// that have read the same version the first write wins; the others conflict, and their clients
// begin again with a read.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "model/reply.hpp"
#include "model/request.hpp"

#include <cstdint>

namespace retrysim::model {

class OccModel {
 public:
  explicit OccModel(std::uint16_t conflict) : conflict_(conflict) {}

  Reply reply(Attempt& attempt, const ReplyContext&) {
    if (!attempt.is(Attempt::kSecondCall)) {
      attempt.version = version_;
      return {0, true};
    }
    if (attempt.version != version_) return {conflict_};
    ++version_;  // what matters is equality among the attempts under way: it may wrap around
    return {};
  }

 private:
  std::uint16_t conflict_;
  std::uint32_t version_ = 0;
};

}  // namespace retrysim::model
