// To which services the requests of a client group go, and by what their states may be kept apart.
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario.hpp>
#include <retrysim/stop.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace retrysim {
namespace {

/// The share of the requests without a service of their own that go to `service`.
double share_of_plain_calls(const ClientSpec& client, std::size_t service) {
  const auto further = std::ranges::count(client.more_services, service);
  const auto times = static_cast<double>(further + (client.service == service));
  return times / static_cast<double>(1 + client.more_services.size());
}

template <class Weight>
double weighed_calls(const ClientSpec& client, std::size_t service, Weight weight) {
  const double plain = share_of_plain_calls(client, service);
  double sum = 0, shares = 0;
  for (const OperationSpec& o : client.operations) {
    shares += o.share;
    sum += o.share * weight(o) * (o.service ? (*o.service == service ? 1 : 0) : plain);
  }
  return shares > 0 ? sum / shares : plain;
}

}  // namespace

std::vector<ServiceShare> service_shares(const ClientSpec& client) {
  std::vector<ServiceShare> all;
  if (client.operations.empty()) {
    std::vector<std::size_t> calls = client.more_services;
    calls.push_back(client.service);
    std::ranges::sort(calls);
    for (auto next = calls.begin(); next != calls.end();) {
      const auto end = std::upper_bound(next, calls.end(), *next);
      all.push_back({*next, static_cast<double>(end - next) / static_cast<double>(calls.size())});
      next = end;
    }
    return all;
  }
  StopCounter<64> stop;
  for (const std::size_t s : called_services(client)) {
    stop.count();
    if (const double share = share_of_calls(client, s); share > 0) all.push_back({s, share});
  }
  return all;
}

double share_of_calls(const ClientSpec& client, std::size_t service) {
  if (client.operations.empty() && client.more_services.empty()) return client.service == service;
  return weighed_calls(client, service, [](const OperationSpec&) { return 1; });
}

double mean_work(const ClientSpec& client, std::size_t service) {
  return weighed_calls(client, service, [](const OperationSpec& o) { return o.work; });
}

std::vector<std::size_t> called_services(const ClientSpec& client) {
  std::vector<std::size_t> all;
  bool plain = client.operations.empty();
  for (const OperationSpec& o : client.operations) {
    if (o.service && o.share > 0) all.push_back(*o.service);
    plain = plain || (!o.service && o.share > 0);
  }
  if (plain) {
    all.push_back(client.service);
    all.insert(all.end(), client.more_services.begin(), client.more_services.end());
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool calls_one_service(const ClientSpec& client) {
  const auto is_the_one = [&](std::size_t service) { return service == client.service; };
  return std::ranges::all_of(client.more_services, is_the_one) &&
         std::ranges::all_of(client.operations, [&](const OperationSpec& o) {
           return !o.service || is_the_one(*o.service);
         });
}

StateCounts state_counts(const Scenario& scenario) {
  std::set<std::string_view> operations;
  StateCounts counts;
  counts.services = static_cast<std::uint32_t>(scenario.services.size());
  for (const ClientSpec& client : scenario.clients) {
    for (const OperationSpec& o : client.operations) operations.insert(o.name);
    counts.keys = std::max(counts.keys, client.keys.count);
  }
  counts.operations = static_cast<std::uint32_t>(operations.size() + 1);
  return counts;
}

}  // namespace retrysim
