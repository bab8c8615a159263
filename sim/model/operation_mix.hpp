// Requests of different cost: which operation of its client group a request is, and by how much its
// work differs. A request is the same operation in every attempt, so this is a function of its
// name and nothing needs to be remembered.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "model/addressing.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

class OperationMix {
 public:
  /// Every request is like the others.
  OperationMix() = default;
  /// Of the client groups that call service `service`.
  OperationMix(std::size_t service, const std::vector<ClientSpec>& clients);

  /// Whether all requests are alike.
  bool empty() const { return groups_.empty(); }
  /// Factor on the service time of a request of client group `group`, whose key is `key`.
  double work(const RandomKey& key, std::uint64_t entity, std::uint16_t group) const;

 private:
  struct Group {
    OperationChoice choice;
    std::vector<double> work;  // by operation
  };
  std::vector<Group> groups_;
};

}  // namespace retrysim::model
