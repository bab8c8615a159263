// What a request is about, as far as others ask: which of its group's operations it is, which key
// it asks for, and which service it goes to. All of this follows from the request's name and is the
// same in every attempt, so nothing needs to be remembered.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/retry_state.hpp>
#include <retrysim/scenario.hpp>

#include "model/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace retrysim::model {

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
