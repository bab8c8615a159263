// SPDX-License-Identifier: MIT
#include "flow/load.hpp"

#include "flow/demand.hpp"
#include "flow/rates.hpp"

namespace retrysim::flow {

double LoadOverTime::at(Time t) {
  std::vector<double> factors;
  for (const ClientSpec& client : scenario_.clients) {
    factors.push_back(rate_factor(client.arrivals, t));
  }
  return with(factors);
}

double LoadOverTime::highest() {
  std::vector<double> factors;
  for (const ClientSpec& client : scenario_.clients) {
    factors.push_back(most_rate_factor(client.arrivals));
  }
  return with(factors);
}

double LoadOverTime::with(const std::vector<double>& factors) {
  const auto [known, is_new] = known_.try_emplace(factors);
  if (!is_new) return known->second;
  Scenario moment = scenario_;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    ArrivalSpec& a = moment.clients[i].arrivals;
    if (a.process == ArrivalProcess::kTrace && a.profile) {
      a.process = ArrivalProcess::kPoisson;
      a.rate = 1.0 / moment.clients[i].count;
    }
    a.rate *= factors[i];
    a.profile.reset();
    a.surges.clear();
  }
  return known->second = demand_of(moment, Attempts::kFirst).services[service_].load();
}

}  // namespace retrysim::flow
