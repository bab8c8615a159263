// SPDX-License-Identifier: MIT
#include "model/network/ejection.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace retrysim::model {

Verdict verdict_of(const Response& answer) {
  if (answer.transport != TransportError::kNone) return Verdict::kGatewayFailure;
  if (answer.status < 500) return Verdict::kGood;
  return answer.status >= 502 && answer.status <= 504 ? Verdict::kGatewayFailure
                                                      : Verdict::kFailure;
}

// --- Outlier detection

OutlierDetection::OutlierDetection(const EjectionSpec& spec, std::size_t hosts)
    : spec_(&spec), hosts_(hosts) {}

bool OutlierDetection::heard(std::size_t host, Verdict verdict, Time now) {
  Host& h = hosts_[host];
  if (verdict == Verdict::kNothing) return false;
  ++h.attempts;
  if (verdict == Verdict::kGood) {
    ++h.successes;
    h.failures = h.gateway_failures = 0;
    return false;
  }
  // A count that has reached its limit begins anew, whether or not the host could be ejected; one
  // that has grown past it, because the host was ejected all the while, ejects nobody.
  bool ejected = false;
  const auto count = [&](std::uint32_t& failures, std::uint32_t limit) {
    if (++failures != limit || h.ejected) return;
    ejected |= eject(h, now);
    failures = 0;
  };
  if (verdict == Verdict::kGatewayFailure) {
    count(h.gateway_failures, spec_->consecutive_gateway_failure);
  } else {
    h.gateway_failures = 0;
  }
  count(h.failures, spec_->consecutive_5xx);
  return ejected;
}

bool OutlierDetection::eject(Host& h, Time now) {
  if (h.ejected || out_ >= spec_->most_of(static_cast<std::uint32_t>(hosts_.size()))) return false;
  h.ejected = true;
  h.since = now;
  most_out_ = std::max(most_out_, ++out_);
  // Beyond the longest time it would only take longer to come down again.
  const auto base_ns = static_cast<double>(spec_->base_ejection_time.count());
  const auto longest_ns = static_cast<double>(spec_->max_ejection_time.count());
  if (h.multiplier * base_ns < longest_ns + base_ns) ++h.multiplier;
  return true;
}

void OutlierDetection::come_back(Host& h, Time now) {
  assert(h.ejected && out_ > 0);
  h.ejected = false;
  h.was_back = true;
  h.since = now;
  h.failures = h.gateway_failures = 0;
  --out_;
}

bool OutlierDetection::look(Time now) {
  bool changed = false;
  for (Host& h : hosts_) {
    if (!h.ejected) continue;
    const double ns = static_cast<double>(spec_->base_ejection_time.count()) * h.multiplier;
    const Duration length = std::min(Duration::from_nanoseconds(ns), spec_->max_ejection_time);
    if (now - h.since < length) continue;
    come_back(h, now);
    changed = true;
  }
  changed |= eject_by_share(now);
  for (Host& h : hosts_) {
    h.attempts = h.successes = 0;
    if (h.ejected || !h.was_back || now - h.since < spec_->interval) continue;
    if (h.multiplier > 0) --h.multiplier;
  }
  return changed;
}

bool OutlierDetection::eject_by_share(Time now) {
  const auto with_enough = [&](std::uint32_t attempts, auto&& use) {
    std::uint32_t hosts = 0;
    for (Host& h : hosts_) {
      if (h.ejected || h.attempts < attempts || h.attempts == 0) continue;
      ++hosts;
      use(h, 100.0 * h.successes / h.attempts);
    }
    return hosts;
  };
  bool changed = false;
  // Whom a rule looks at is settled before it ejects anybody.
  std::vector<Host*> outliers;
  const auto eject_all = [&] {
    for (Host* h : outliers) changed |= eject(*h, now);
  };
  double sum = 0, squares = 0;
  const std::uint32_t volume = spec_->success_rate_request_volume;
  const std::uint32_t hosts = with_enough(volume, [&](Host&, double rate) { sum += rate; });
  std::vector<Host*> failing;
  const std::uint32_t failing_hosts =
      with_enough(spec_->failure_percentage_request_volume, [&](Host& h, double rate) {
        if (100.0 - rate >= spec_->failure_percentage_threshold) failing.push_back(&h);
      });
  if (spec_->success_rate_stdev_factor > 0 && hosts > 0 &&
      hosts >= spec_->success_rate_minimum_hosts) {
    const double mean = sum / hosts;
    with_enough(volume, [&](Host&, double rate) { squares += (rate - mean) * (rate - mean); });
    const double factor = spec_->success_rate_stdev_factor / 1000;
    const double least = mean - factor * std::sqrt(squares / hosts);
    with_enough(volume, [&](Host& h, double rate) {
      if (rate < least) outliers.push_back(&h);
    });
    eject_all();
  }
  if (spec_->failure_percentage_threshold > 0 && failing_hosts > 0 &&
      failing_hosts >= spec_->failure_percentage_minimum_hosts) {
    outliers = std::move(failing);
    eject_all();
  }
  return changed;
}

bool OutlierDetection::passed_check(std::size_t host, Time now) {
  if (!hosts_[host].ejected) return false;
  come_back(hosts_[host], now);
  return true;
}

// --- Failure accrual

FailureAccrual::FailureAccrual(const AccrualSpec& spec, std::size_t hosts)
    : spec_(&spec), hosts_(hosts) {}

bool FailureAccrual::sent(std::size_t host) {
  Host& h = hosts_[host];
  if (h.state != State::kProbation) return false;
  h.state = State::kTried;
  return true;
}

bool FailureAccrual::heard(std::size_t host, Verdict verdict, bool alone) {
  Host& h = hosts_[host];
  if (h.state == State::kPenalty) return false;
  const bool on_trial = h.state != State::kIn;
  if (verdict == Verdict::kNothing) {
    // The attempt that was to decide is gone: another one may.
    if (h.state != State::kTried || !alone) return false;
    h.state = State::kProbation;
    return true;
  }
  if (verdict == Verdict::kGood) {
    h.failures = h.in_a_row = 0;
    h.state = State::kIn;
    return on_trial;
  }
  if (!on_trial && ++h.failures < spec_->max_failures) return false;
  h.failures = 0;
  h.state = State::kPenalty;
  ++h.in_a_row;
  ++h.penalties;
  return true;
}

Duration FailureAccrual::penalty(std::size_t host, double luck) const {
  const auto longest_ns = static_cast<double>(spec_->max_penalty.count());
  auto ns = static_cast<double>(spec_->min_penalty.count());
  double jitter = spec_->jitter_ratio;
  std::uint32_t doublings = hosts_[host].in_a_row - 1;
  if (spec_->penalties == Penalties::kEqualJittered) {
    jitter = doublings == 0 ? 0 : 1;
    doublings -= doublings == 0 ? 0 : 1;
  }
  for (std::uint32_t k = 0; k < doublings && ns < longest_ns; ++k) ns *= 2;
  ns = std::min(ns, longest_ns);
  return Duration::from_nanoseconds(std::min(ns * (1 + jitter * luck), longest_ns));
}

}  // namespace retrysim::model
