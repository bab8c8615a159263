// SPDX-License-Identifier: MIT
#include "model/operation_mix.hpp"

namespace retrysim::model {

OperationMix::OperationMix(std::size_t service, const std::vector<ClientSpec>& clients) {
  for (std::size_t g = 0; g < clients.size(); ++g) {
    const std::vector<OperationSpec>& operations = clients[g].operations;
    if (operations.empty() || share_of_calls(clients[g], service) <= 0) continue;
    groups_.resize(clients.size());
    groups_[g].choice = OperationChoice(operations);
    for (const OperationSpec& o : operations) groups_[g].work.push_back(o.work);
  }
}

double OperationMix::work(const RandomKey& key, std::uint64_t entity, std::uint16_t group) const {
  const Group& g = groups_[group];
  return g.choice.empty() ? 1 : g.work[g.choice.of(key, entity)];
}

}  // namespace retrysim::model
