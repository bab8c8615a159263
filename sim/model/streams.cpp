// SPDX-License-Identifier: MIT
#include "model/streams.hpp"

#include "model/name_order.hpp"

#include <set>
#include <string_view>

namespace retrysim::model {
namespace {

// Names that are given twice (only C++ can do that) are told apart by their order, and so would be
// two names that a hash of 64 bits does not tell apart: no two keys are ever equal.
template <class Spec>
std::vector<RandomKey> named_keys(const RandomKey& world, std::string_view kind,
                                  const std::vector<Spec>& all, std::set<std::uint64_t>& taken) {
  std::vector<RandomKey> keys(all.size(), world);
  for (const std::size_t i : name_order(all)) {
    do {
      keys[i] = keys[i].named(kind, all[i].name);
    } while (!taken.insert(keys[i].philox_key()[0]).second);
  }
  return keys;
}

}  // namespace

Streams::Streams(const Scenario& scenario, std::uint32_t replication) {
  const RandomKey world(scenario.seed, replication);
  std::set<std::uint64_t> taken;
  groups_ = named_keys(world, "client", scenario.clients, taken);
  services_ = named_keys(world, "service", scenario.services, taken);
}

}  // namespace retrysim::model
