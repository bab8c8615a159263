// SPDX-License-Identifier: MIT
#include "model/run/request.hpp"

#include "kernel/functions.hpp"
#include "kernel/memory.hpp"
#include "kernel/stop.hpp"

#include <algorithm>
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
  requests_ = groups_ = named_keys(world, "client", scenario.clients, taken);
  first_services_ = services_ = named_keys(world, "service", scenario.services, taken);
}

void Streams::branch(std::uint64_t number) {
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i] = requests_[i].branch(number);
  for (std::size_t i = 0; i < services_.size(); ++i) {
    services_[i] = first_services_[i].branch(number);
  }
}

OperationChoice::OperationChoice(const std::vector<OperationSpec>& operations) {
  double sum = 0, up_to = 0;
  const std::vector<std::size_t> order = name_order(operations);
  for (const std::size_t i : order) sum += operations[i].share;
  for (const std::size_t i : order) {
    up_to += operations[i].share;
    choices_.push_back({up_to / sum, i});
  }
}

std::size_t OperationChoice::of(const RandomKey& key, std::uint64_t entity) const {
  Draws draws(key, {entity, 0, 0, Purpose::kServiceTime});  // attempts count from 1
  const auto chosen = std::ranges::upper_bound(choices_, draws.uniform(), {}, &Choice::below);
  return (chosen == choices_.end() ? choices_.back() : *chosen).operation;
}

KeyChoice::KeyChoice(const KeySpec& spec) : spec_(spec) {
  if (spec.popularity != Popularity::kZipf || spec.count <= 1) return;
  kernel::Claim()(up_to_, spec.count);
  double sum = 0;
  StopCounter<> stop;
  for (std::uint32_t k = 0; k < spec.count; ++k) {
    stop.count();
    sum += kernel::pow(static_cast<double>(k) + 1, -spec.exponent);
    up_to_[k] = sum;
  }
  for (double& p : up_to_) p /= sum;
}

std::uint64_t KeyChoice::bytes(const KeySpec& spec) {
  return spec.popularity == Popularity::kZipf ? std::uint64_t{spec.count} * sizeof(double) : 0;
}

std::uint32_t KeyChoice::of(const RandomKey& key, std::uint64_t entity) const {
  if (spec_.count <= 1) return 0;
  Draws draws(key, {entity, 0, 0, Purpose::kKey});
  switch (spec_.popularity) {
    case Popularity::kUniform:
      break;
    case Popularity::kZipf: {
      const auto at = std::ranges::upper_bound(up_to_, draws.uniform());
      return std::min(static_cast<std::uint32_t>(at - up_to_.begin()), spec_.count - 1);
    }
    case Popularity::kHot:
      return draws.uniform() < spec_.hot_share ? 0 : 1 + draws.below(spec_.count - 1);
  }
  return draws.below(spec_.count);
}

OperationNames::OperationNames(const Scenario& scenario) {
  for (const ClientSpec& client : scenario.clients) {
    for (const OperationSpec& o : client.operations) names_.push_back(o.name);
  }
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
}

std::uint32_t OperationNames::number(std::string_view name) const {
  const auto at = std::ranges::lower_bound(names_, name);
  if (at == names_.end() || *at != name) return ~std::uint32_t{0};
  return static_cast<std::uint32_t>(at - names_.begin()) + 1;
}

Addressing::Addressing(const ClientSpec& client, const OperationNames& names)
    : services_{ServiceId(client.service)},
      calls_several_(!calls_one_service(client)),
      keys_(client.keys) {
  for (const std::size_t further : client.more_services) services_.emplace_back(further);
  if (client.operations.empty()) return;
  choice_ = OperationChoice(client.operations);
  for (const OperationSpec& o : client.operations) {
    operations_.push_back({names.number(o.name), o.work, {}});
    if (!o.service) continue;
    operations_.back().service = ServiceId(*o.service);
    has_services_of_operations_ = true;
  }
}

ServiceId Addressing::service(const RandomKey& key, std::uint64_t entity) const {
  if (has_services_of_operations_) {
    const ServiceId own = operations_[choice_.of(key, entity)].service;
    if (own.exists()) return own;
  }
  if (services_.size() == 1) return services_.front();
  Draws draws(key, {entity, 0, 0, Purpose::kTarget});
  return services_[draws.below(static_cast<std::uint32_t>(services_.size()))];
}

std::uint32_t Addressing::operation(const RandomKey& key, std::uint64_t entity) const {
  return choice_.empty() ? 0 : operations_[choice_.of(key, entity)].number;
}

double Addressing::work(const RandomKey& key, std::uint64_t entity) const {
  return choice_.empty() ? 1 : operations_[choice_.of(key, entity)].work;
}

}  // namespace retrysim::model
