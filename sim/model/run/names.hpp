// What follows from names, and so from nothing else in a scenario: the order in which a world goes
// through groups and services, their random numbers, and what a request is about.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_state.hpp>
#include <retrysim/scenario.hpp>

#include "model/run/request.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::model {

/// Indices of `all` by `name`; those of equal names keep their order. What a world does with all
/// groups, services or faults in turn, it does in this order, so that the order of a scenario's
/// tables does not matter.
template <class Spec>
std::vector<std::size_t> name_order(const std::vector<Spec>& all) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](std::size_t i) -> const auto& { return all[i].name; });
  return order;
}

/// The random numbers of one world: a stream for each client group and each service, keyed by its
/// name. So a group meets the same traffic wherever its table stands in the scenario, and whichever
/// other groups and services there are.
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

/// Chooses one of a group's operations by their shares.
class OperationChoice {
 public:
  OperationChoice() = default;
  explicit OperationChoice(const std::vector<OperationSpec>& operations);

  bool empty() const { return choices_.empty(); }
  /// Index of the operation that the request `entity` of the group with this key is.
  std::size_t of(const RandomKey& key, std::uint64_t entity) const;

 private:
  struct Choice {
    double below;  // chosen by a uniform variate below this
    std::size_t operation;
  };
  std::vector<Choice> choices_;
};

/// Chooses a key by its popularity.
class KeyChoice {
 public:
  KeyChoice() = default;
  explicit KeyChoice(const KeySpec& spec);
  /// The memory that it takes.
  static std::uint64_t bytes(const KeySpec& spec);

  std::uint32_t of(const RandomKey& key, std::uint64_t entity) const;

 private:
  KeySpec spec_;
  std::vector<double> up_to_;  // zipf: probability of this key or one before it
};

/// Operations by name, of all groups of a scenario; number 0 stands for requests without one.
class OperationNames {
 public:
  explicit OperationNames(const Scenario& scenario);
  std::uint32_t number(std::string_view name) const;

 private:
  std::vector<std::string_view> names_;
};

/// What a request is about, as far as others ask: which of its group's operations it is, which key
/// it asks for, and which service it goes to. All of this follows from the request's name and is
/// the same in every attempt, so nothing needs to be remembered.
class Addressing {
 public:
  Addressing() = default;
  Addressing(const ClientSpec& client, const OperationNames& names);

  /// Whether requests of the group go to different services.
  bool calls_several() const { return calls_several_; }

  ServiceId service(const RandomKey& key, std::uint64_t entity) const;
  /// By its number among those of all groups.
  std::uint32_t operation(const RandomKey& key, std::uint64_t entity) const;
  std::uint32_t key(const RandomKey& key, std::uint64_t entity) const {
    return keys_.of(key, entity);
  }
  /// Which of a client's states the request uses, where they are kept apart.
  StatePlace place(const RandomKey& random, std::uint64_t entity) const {
    return {service(random, entity), operation(random, entity), key(random, entity)};
  }

 private:
  struct Operation {
    std::uint32_t number = 0;
    ServiceId service;  // does not exist: as all requests
  };
  std::vector<ServiceId> services_;
  OperationChoice choice_;
  std::vector<Operation> operations_;
  bool has_services_of_operations_ = false, calls_several_ = false;
  KeyChoice keys_;
};

}  // namespace retrysim::model
