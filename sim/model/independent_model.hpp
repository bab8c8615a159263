// The model "independent": no queue and no limits. Every attempt is worked on at once and then
// fails or not, each with the same probability, whatever happens to the others.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "model/reply.hpp"
#include "model/request.hpp"

namespace retrysim::model {

class IndependentModel {
 public:
  Reply reply(const Attempt& a, const ReplyContext& context) const {
    if (context.errors.empty()) return {};
    Draws draws(context.key, {a.entity, a.number, 0, Purpose::kServiceError});
    if (a.is(Attempt::kSecondCall)) draws.next();  // decided what the read before came to
    const double u = draws.uniform();
    for (const auto& [cumulative, answer] : context.errors) {
      if (u < cumulative) return {answer};
    }
    return {};
  }
};

}  // namespace retrysim::model
