// SPDX-License-Identifier: MIT
#include "measure/flow_difference.hpp"

#include <concepts>

namespace retrysim::stats {
namespace {

/// Beyond 2^53 ns in all, the difference of two sums is a few ns off.
double growth(double before, double after) {
  const double d = after - before;
  return d > after * 1e-14 ? d : 0;
}

/// Field by field: counts, and integrals of levels if `integrals` are asked for.
template <class Flow>
Flow between(const Flow& before, const Flow& after, bool integrals) {
  const auto grown = [&](auto& d, const auto& from, const auto& to) {
    if constexpr (std::integral<decltype(to - from)>) {
      d = to - from;
    } else if (integrals) {
      d = growth(from, to);
    }
  };
  Flow difference;
  const auto into = [&](auto&... d) {
    const auto between_them = [&](const auto&... from) {
      fields([&](const auto&... to) { (grown(d, from, to), ...); }, after);
    };
    fields(between_them, before);
  };
  fields(into, difference);
  return difference;
}

}  // namespace

ClientFlow counts_between(const ClientFlow& before, const ClientFlow& after) {
  return between(before, after, false);
}

ServiceFlow flow_between(const ServiceFlow& before, const ServiceFlow& after) {
  ServiceFlow d = between(before, after, true);
  d.queue_max = 0;
  return d;
}

}  // namespace retrysim::stats
