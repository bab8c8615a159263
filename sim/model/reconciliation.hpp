// Clients that ask before they repeat (SideEffectSpec::reconciles): a retry of a request with side
// effects begins with a read at the service. If that finds the effect, the attempt has succeeded;
// otherwise the request itself follows, as the second message of the same attempt.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "model/ids.hpp"
#include "model/request.hpp"

#include <vector>

namespace retrysim::model {

class Reconciliation {
 public:
  explicit Reconciliation(const std::vector<ClientSpec>& clients) : clients_(&clients) {}

  /// Whether the message of an attempt with side effects that is now under way is such a read.
  bool is_read(const Attempt& a) const {
    return a.number > 1 && !a.is(Attempt::kSecondCall | Attempt::kRejection) &&
           (*clients_)[a.group].side_effects.reconciles;
  }
  /// What a read takes of a server of speed 1, in nanoseconds; `key` is its group's.
  double demand_ns(const Attempt& a, const RandomKey& key) const {
    Draws draws(key, {a.entity, a.number, 0, Purpose::kServiceTime});
    return static_cast<double>(
        (*clients_)[a.group].side_effects.reconcile_read.sample(draws).count());
  }

 private:
  const std::vector<ClientSpec>* clients_;
};

}  // namespace retrysim::model
