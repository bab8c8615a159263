// The random numbers of one world: a stream for each client group and each service, keyed by its
// name. So a group meets the same traffic wherever its table stands in the scenario, and whichever
// other groups and services there are.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace retrysim::model {

class Streams {
 public:
  Streams(const Scenario& scenario, std::uint32_t replication);

  /// For everything that is drawn for a request of the group, at the service as well.
  const RandomKey& of_group(std::size_t group) const { return groups_[group]; }
  /// For what a service draws for itself.
  const RandomKey& of_service(std::size_t service) const { return services_[service]; }
  /// The same for one of its instances, if it has several; `number` counts them.
  RandomKey of_instance(std::size_t service, std::uint32_t number) const {
    return services_[service].named("instance", std::to_string(number));
  }

 private:
  std::vector<RandomKey> groups_, services_;
};

}  // namespace retrysim::model
