// SPDX-License-Identifier: MIT
#include "prediction/client_gates.hpp"

#include <retrysim/facts.hpp>

#include <algorithm>
#include <cmath>

namespace retrysim::prediction {
namespace {

constexpr std::size_t kRepresentatives = 40;
constexpr double kBeta = 0.7;
/// The limiter measures in half seconds, the newest with a weight of 0.8.
const double kMeasuring = 0.5 / -std::log(0.2);

}  // namespace

LimiterFleet::LimiterFleet(const SendRateRules& rules, double clients, std::size_t streams)
    : rules_(rules) {
  const std::size_t count =
      std::max<std::size_t>(1, std::min(kRepresentatives, static_cast<std::size_t>(clients)));
  share_ = clients / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    Client client;
    client.waiting.resize(streams);
    client.measured = rules.initial_measured_rate;
    client.fill = rules.initial_fill_rate;
    client.enabled = rules.initial_fill_rate > 0;
    client.next = next_gap();
    fleet_.push_back(std::move(client));
  }
}

/// Exponential gaps with evenly spread quantiles, so that representatives are throttled one by one.
double LimiterFleet::next_gap() {
  golden_ += 0.6180339887498949;
  golden_ -= std::floor(golden_);
  return -std::log(std::max(golden_, 1e-6));
}

void LimiterFleet::adapt(Client& c, double step, double sent, double throttled) {
  c.measured += (sent - c.measured) * -std::expm1(-step / kMeasuring);
  c.since += step;
  c.hazard += sent * throttled * step;
  double rate;
  if (c.hazard >= c.next) {
    c.hazard = 0;
    c.next = next_gap();
    c.peak = c.enabled ? std::min(c.measured, c.fill) : c.measured;
    c.window = cubic_window(c.peak);
    c.since = 0;
    c.enabled = true;
    rate = kBeta * c.peak;
  } else if (!c.enabled) {
    return;
  } else {
    rate = 0.4 * std::pow(c.since - c.window, 3) + c.peak;
  }
  c.fill = std::max(rules_.min_rate, std::min(rate, 2 * c.measured));
}

double LimiterFleet::send(double step, double throttled, double patience,
                          std::vector<double>& rates) {
  std::vector<double> sent(rates.size());
  double refused = 0;
  const double clients = share_ * static_cast<double>(fleet_.size());
  for (Client& c : fleet_) {
    double tokens_wanted = 0, all = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      c.waiting[i] += rates[i] / clients * step;
      const bool free = i > 0 && rules_.acquire == SendTokenTiming::kFirstAttempt;
      tokens_wanted += c.waiting[i] * (i == 0 ? 1 : free ? 0 : rules_.costly_retry_cost);
      all += c.waiting[i];
    }
    double share = 1;
    if (c.enabled) {
      c.tokens = std::min(std::max(1.0, c.fill), c.tokens + c.fill * step);
      share = tokens_wanted > c.tokens ? c.tokens / tokens_wanted : 1;
      c.tokens -= tokens_wanted * share;
    }
    for (std::size_t i = 0; i < rates.size(); ++i) {
      sent[i] += c.waiting[i] * share / step * share_;
      c.waiting[i] *= 1 - share;
    }
    adapt(c, step, all * share / step, throttled);
    const double room = rules_.on_empty == OnEmpty::kFail ? 0 : c.fill * patience;
    const double left = tokens_wanted * (1 - share);
    if (left > room && c.enabled) {
      const double stays = left > 0 ? room / left : 1;
      for (double& waiting : c.waiting) {
        refused += waiting * (1 - stays) / step * share_;
        waiting *= stays;
      }
    }
  }
  rates = std::move(sent);
  return refused;
}

MeanThrottle::MeanThrottle(const ThrottleRules& rules, double clients, double step)
    : rules_(rules), clients_(clients), step_(step) {
  if (rules.window_calls == 0) {
    const auto bins = static_cast<std::size_t>(rules.window.in_seconds() / step) + 1;
    wanted_.resize(bins);
    accepted_.resize(bins);
  }
}

double MeanThrottle::refused() const {
  return std::max(0.0, (requests_ - rules_.k * accepts_) / (requests_ + 1));
}

void MeanThrottle::count(double wanted, double accepted) {
  const double calls = wanted * step_ / clients_, answers = accepted * step_ / clients_;
  if (wanted_.empty()) {
    // The last so many calls: what is added pushes the same share of the old ones out.
    const double kept = requests_ + calls > rules_.window_calls && calls > 0
                            ? std::max(0.0, (rules_.window_calls - calls) / requests_)
                            : 1;
    requests_ = requests_ * kept + calls;
    accepts_ = accepts_ * kept + answers;
    return;
  }
  requests_ += calls - wanted_[at_];
  accepts_ += answers - accepted_[at_];
  wanted_[at_] = calls;
  accepted_[at_] = answers;
  at_ = (at_ + 1) % wanted_.size();
}

}  // namespace retrysim::prediction
