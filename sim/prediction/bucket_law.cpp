// SPDX-License-Identifier: MIT
#include "prediction/bucket_law.hpp"

#include <algorithm>
#include <cmath>

namespace retrysim::prediction {
namespace {

/// Events per client after which the law is brought up to date. Small against one, so that no
/// client has two of them.
constexpr double kFewEvents = 0.05;

/// Fractions of a token that a credit needs: 10 for 0.1.
double levels_per_token(const QuotaRules& rules) {
  constexpr double kMost = 100;
  for (double scale = 1; scale <= kMost; ++scale) {
    const double levels = rules.credit * scale;
    if (std::abs(levels - std::round(levels)) < 1e-9) return scale;
  }
  return kMost;
}

}  // namespace

BucketLaw::BucketLaw(const QuotaRules& rules, double clients)
    : rules_(rules), clients_(clients), shared_(rules.scope == RetryScope::kGroup) {
  if (shared_) {
    shared_level_ = rules.initial;
    return;
  }
  scale_ = levels_per_token(rules);
  law_.resize(level(rules.capacity) + 1);
  law_[level(rules.initial)] = 1;
  next_ = law_;
}

std::size_t BucketLaw::level(double tokens) const {
  return static_cast<std::size_t>(std::llround(std::max(0.0, tokens) * scale_));
}

double BucketLaw::granted(double cost) {
  // More than `threshold` tokens, and the price; the bucket has paid for the failure by then.
  const double least =
      std::max(cost, rules_.threshold + 1 / scale_) + static_cast<double>(rules_.failure_cost);
  if (shared_) return shared_level_ >= (rules_.partial ? 1 : least) ? 1 : 0;
  for (const auto& [of, share] : granted_) {
    if (of == cost) return share;
  }
  double share = 0;
  const std::size_t first = rules_.partial ? 1 : level(least);
  for (std::size_t i = first; i < law_.size(); ++i) share += law_[i];
  granted_.emplace_back(cost, std::min(1.0, share));
  return granted_.back().second;
}

void BucketLaw::add(double tokens, double events) {
  if (events <= 0 || tokens == 0) return;
  if (shared_) {
    shared_level_ =
        std::clamp(shared_level_ + tokens * events, 0.0, static_cast<double>(rules_.capacity));
    return;
  }
  jumps_[std::lround(tokens * scale_)] += events / clients_;
  pending_ += events / clients_;
}

void BucketLaw::ask(double cost, double events) {
  if (events <= 0 || cost <= 0) return;
  if (shared_) return add(-cost, events * granted(cost));
  asks_[level(cost)] += events / clients_;
  pending_ += events / clients_;
}

void BucketLaw::fail(double events) { add(-static_cast<double>(rules_.failure_cost), events); }

void BucketLaw::begin(double events) {
  if (rules_.credit_on == CreditOn::kStart) add(rules_.credit, events);
}

void BucketLaw::succeed_first(double events) {
  if (rules_.credit_on == CreditOn::kSuccess) add(rules_.credit, events);
}

void BucketLaw::succeed_later(double cost, double events) {
  switch (rules_.refund) {
    case Refund::kLast:
    case Refund::kSharedLast:
      return add(cost, events);
    case Refund::kCost:
      return add(rules_.cost, events);
    case Refund::kCredit:
      return add(rules_.credit, events);
    case Refund::kLastAndCredit:
      return add(cost + rules_.credit, events);
    case Refund::kLastOrCredit:
      return add(std::max(cost, rules_.credit), events);
    case Refund::kNone:
      return;
  }
}

void BucketLaw::flush() {
  const std::size_t top = law_.size() - 1;
  const bool only_credits = asks_.empty() && (jumps_.empty() || jumps_.begin()->first > 0);
  if (only_credits && law_[top] > 1 - 1e-12) {
    jumps_.clear();
    pending_ = 0;
    return;
  }
  const std::size_t least =
      level(rules_.threshold + 1 / scale_) + level(static_cast<double>(rules_.failure_cost));
  next_ = law_;
  for (const auto& [levels, events] : jumps_) {
    const auto size = static_cast<std::size_t>(std::abs(levels));
    for (std::size_t i = 0; i <= top; ++i) {
      const double moved = events * law_[i];
      next_[i] -= moved;
      next_[levels > 0 ? std::min(top, i + size) : i - std::min(i, size)] += moved;
    }
  }
  for (const auto& [levels, events] : asks_) {
    const std::size_t first =
        rules_.partial ? 1
                       : std::max(levels + level(static_cast<double>(rules_.failure_cost)), least);
    for (std::size_t i = first; i <= top; ++i) {
      const double moved = events * law_[i];
      next_[i] -= moved;
      next_[i - std::min(i, levels)] += moved;
    }
  }
  law_.swap(next_);
  granted_.clear();
  jumps_.clear();
  asks_.clear();
  pending_ = 0;
}

void BucketLaw::advance(double seconds) {
  if (rules_.refill_rate > 0) add(1, rules_.refill_rate * seconds * (shared_ ? 1 : clients_));
  if (pending_ >= kFewEvents) flush();
}

}  // namespace retrysim::prediction
