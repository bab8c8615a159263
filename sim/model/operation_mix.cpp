// SPDX-License-Identifier: MIT
#include "model/operation_mix.hpp"

#include "model/name_order.hpp"

namespace retrysim::model {

OperationMix::OperationMix(std::size_t service, const std::vector<ClientSpec>& clients) {
  for (std::size_t g = 0; g < clients.size(); ++g) {
    if (clients[g].service != service || clients[g].operations.empty()) continue;
    groups_.resize(clients.size());
    double sum = 0, up_to = 0;
    const std::vector<std::size_t> order = name_order(clients[g].operations);
    for (const std::size_t i : order) sum += clients[g].operations[i].share;
    for (const std::size_t i : order) {
      const OperationSpec& o = clients[g].operations[i];
      up_to += o.share;
      groups_[g].push_back({up_to / sum, o.work});
    }
  }
}

double OperationMix::work(const RandomKey& key, std::uint64_t entity, std::uint16_t group) const {
  const std::vector<Choice>& choices = groups_[group];
  if (choices.empty()) return 1;
  Draws draws(key, {entity, 0, 0, Purpose::kServiceTime});  // attempts count from 1
  const double u = draws.uniform();
  for (const Choice& c : choices) {
    if (u < c.below) return c.work;
  }
  return choices.back().work;
}

}  // namespace retrysim::model
