// SPDX-License-Identifier: MIT
#include "prediction/fluid_clients.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace retrysim::prediction {
namespace {

// Of the present in running means.
constexpr double kWeight = 0.02;

/// Probability that an exponential pause outlasts a delay.
double lasting(const DelayLaw& law, const FluidClients& c) {
  double sum = 0;
  for (const DelayPiece& p : law) {
    const double low = p.low / c.think_mean, width = (p.high - p.low) / c.think_mean;
    sum += p.probability * std::exp(-low) * (width > 1e-9 ? -std::expm1(-width) / width : 1);
  }
  return sum;
}

}  // namespace

ThinkingClients::ThinkingClients(const FluidClients& of, std::size_t bins)
    : clients_(of), thinking_(bins), ready_(bins), pool_(of.slots), still_thinks_(of.streams, 1) {}

double ThinkingClients::wake(const FluidBin& bin) {
  const double back = thinking_.take(), ready = ready_.take();
  if (bin.is_over) return 0;
  if (!clients_.think_is_exponential && all_have_begun()) return back + ready;
  pool_ += back * bin.step;
  // With this share the mean pause is exact, however wide the bins are.
  const double share = bin.step / (bin.step + clients_.think_mean);
  const double awake = pool_ * share;
  pool_ -= awake;
  return awake / bin.step + ready;
}

void ThinkingClients::end(std::size_t i, double rate, double age, double delay, double step) {
  const FluidClients& c = clients_;
  if (c.think_is_exponential) {
    double thinks = 1;  // of those who thought meanwhile, some still do
    if (c.think_from_start) thinks = still_thinks_[i] * std::exp(-delay / c.think_mean);
    thinking_.put(delay / step, rate * thinks);
    ready_.put(delay / step, rate * (1 - thinks));
    return;
  }
  const double spent = c.think_from_start ? age + delay : 0;
  for (const DelayPiece& p : c.think) {
    thinking_.spread((delay + std::max(0.0, p.low - spent)) / step,
                     (delay + std::max(0.0, p.high - spent)) / step, rate * p.probability);
  }
}

void ThinkingClients::retry(std::size_t i, std::size_t next, double delay,
                            const DelayLaw& backoff) {
  const FluidClients& c = clients_;
  if (!c.think_from_start || c.think_mean <= 0) return;
  const double left = still_thinks_[i] * std::exp(-delay / c.think_mean) * lasting(backoff, c);
  double& thinks = still_thinks_[next];
  thinks = thinks == 1 ? left : thinks + kWeight * (left - thinks);
}

GroupFlows::GroupFlows(const FluidClients& of, const ClientSpec& spec, std::vector<double> arrivals,
                       std::size_t bins, double step)
    : clients_(of),
      arrivals_(std::move(arrivals)),
      streams_(of.streams, Flow(bins)),
      good_(bins),
      thinking_(of, bins),
      age_(of.streams),
      rates_(of.streams) {
  const RetryRules& retry = spec.retry;
  if (retry.quota.enabled) bucket_.emplace(retry.quota, of.clients);
  if (retry.rate_limit.enabled) limiter_.emplace(retry.rate_limit, of.clients, of.streams);
  if (retry.throttle.enabled) throttle_.emplace(retry.throttle, of.clients, step);
  conditional_ = retry.quota.threshold > 0 || retry.quota.failure_cost > 0;
  pays_for_last_ = retry.quota.order == QuotaOrder::kBeforeAttempts ||
                   retry.quota.order == QuotaOrder::kBeforeClassification;
  books_.client = of.client;
}

void GroupFlows::send(const FluidBin& bin, double throttled, FluidSample& sample) {
  double fresh = arrivals_[bin.number];
  if (clients_.closed) fresh += thinking_.wake(bin);
  double wanted = 0;
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    const double back = streams_[i].take();
    if (i > 0) retrying_ = std::max(0.0, retrying_ - back * bin.step);
    rates_[i] = back + (i == 0 ? fresh : 0);
    wanted += rates_[i];
  }
  if (bucket_) bucket_->begin(fresh * bin.step);
  if (throttle_) {
    const double refused = throttle_->refused();
    for (double& rate : rates_) rate *= 1 - refused;
    end(bin, 0, wanted * refused, 0);
    if (bin.has_begun) books_.refused += wanted * refused * bin.step;
    throttle_->count(wanted, accepted_);
  }
  if (limiter_) {
    const double refused = limiter_->send(bin.step, throttled, clients_.deadline, rates_);
    end(bin, 0, refused, 0);
    if (bin.has_begun) books_.refused += refused * bin.step;
  }
  sent_ = 0;
  for (const double rate : rates_) sent_ += rate;
  if (bin.has_begun) books_.attempts += sent_ * bin.step;
  if (bin.in_window()) {
    books_.requests += fresh * bin.step;
    books_.offered += fresh * bin.step;
    books_.attempt_rate += sent_ * bin.step;
  }
  sample.offered += fresh;
  sample.attempts += sent_;
}

void GroupFlows::end(const FluidBin& bin, std::size_t i, double rate, double delay) {
  if (clients_.closed && rate > 0) thinking_.end(i, rate, age_[i], delay, bin.step);
}

void GroupFlows::settle(const FluidBin& bin, const Shares& s, FluidSample& sample) {
  book(bin, s);
  double accepted = 0;
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    const double rate = rates_[i];
    if (rate <= 0) continue;
    const double wins = rate * s.success;
    if (wins > 0) {
      good_.put(std::min(s.answered, clients_.timeout) / bin.step, wins);
      end(bin, i, wins, s.answered);
      accepted += wins;
      if (bucket_ && i == 0) bucket_->succeed_first(wins * bin.step);
      if (bucket_ && i > 0) bucket_->succeed_later(price_, wins * bin.step);
    }
    for (std::size_t f = 0; f < kFates; ++f) {
      if (s.fate[f] > 0) fail(bin, s, i, static_cast<Fate>(f), rate * s.fate[f]);
    }
  }
  accepted_ = accepted;
  const double good = good_.take();
  sample.goodput += good;
  if (bin.has_begun) books_.successes += good * bin.step;
  if (bin.in_window()) books_.goodput += good * bin.step;
  if (bucket_) bucket_->advance(bin.step);
}

void GroupFlows::book(const FluidBin& bin, const Shares& s) {
  if (!bin.has_begun) return;
  const auto booked = [&](Fate fate) {
    return sent_ * s.fate[static_cast<std::size_t>(fate)] * bin.step;
  };
  books_.timeouts += booked(Fate::kLate);
  books_.rejected += booked(Fate::kTurnedAway);
  books_.throttled += booked(Fate::kThrottled) + booked(Fate::kThrottlingError);
  books_.errors += booked(Fate::kError) + booked(Fate::kUnreachable);
}

void GroupFlows::fail(const FluidBin& bin, const Shares& s, std::size_t i, Fate fate, double rate) {
  const double known = s.known[static_cast<std::size_t>(fate)];
  if (known == kForever) return;  // no timeout: the request never ends
  const FluidClients& c = clients_;
  const FateRules& rules = c.fates[static_cast<std::size_t>(fate)];
  double retryable = rules.retryable * c.retry_probability;
  if (fate == Fate::kError) retryable *= s.error_retryable;
  if (bucket_ && rules.retryable > 0) bucket_->fail(rate * rules.retryable * bin.step);
  const DelayLaw& law = c.backoff[rules.throttling][std::min(i, c.streams - 1)];
  const double pause = suggested(fate);
  const double age = age_[i] + known + pause;
  const bool in_time = age + (c.deadline == kForever ? 0 : mean_of(law)) <= c.deadline;
  const double again = retries(bin, i, rules, rate * retryable, in_time);
  if (again > 0) send_again(bin, i, {again, age, known + pause, law});
  end(bin, i, rate - again, known);
}

double GroupFlows::retries(const FluidBin& bin, std::size_t i, const FateRules& rules, double rate,
                           bool in_time) {
  const bool last = static_cast<double>(i + 1) >= clients_.attempts;
  double again = last || !in_time ? 0 : rate;
  if (bucket_ && again > 0 && (rules.cost > 0 || conditional_)) {
    const double granted = bucket_->granted(rules.cost);
    bucket_->ask(rules.cost, again * bin.step);
    if (bin.has_begun) books_.quota_denied += again * (1 - granted) * bin.step;
    again *= granted;
    price_ = rules.cost;
  } else if (bucket_ && last && pays_for_last_) {
    bucket_->ask(rules.cost, rate * bin.step);
  }
  return again;
}

void GroupFlows::send_again(const FluidBin& bin, std::size_t i, const Retries& r) {
  const FluidClients& c = clients_;
  const std::size_t next = std::min(i + 1, c.streams - 1);
  retrying_ += r.rate * bin.step;
  for (const DelayPiece& p : r.backoff) {
    if (p.low == p.high) {
      streams_[next].put((r.delay + p.low) / bin.step, r.rate * p.probability);
    } else {
      streams_[next].spread((r.delay + p.low) / bin.step, (r.delay + p.high) / bin.step,
                            r.rate * p.probability);
    }
  }
  if (next == i) return;
  double& mean = age_[next];
  const double age = r.age + (c.closed || c.deadline != kForever ? mean_of(r.backoff) : 0);
  mean = mean == 0 ? age : mean + kWeight * (age - mean);
  if (c.closed) thinking_.retry(i, next, r.delay, r.backoff);
}

double GroupFlows::suggested(Fate fate) const {
  const FluidClients& c = clients_;
  if (fate != Fate::kThrottled || c.suggested_delay <= 0) return 0;
  switch (c.retry_after) {
    case RetryAfter::kAdd:
    case RetryAfter::kAddWhenThrottled:
      return c.suggested_delay;
    case RetryAfter::kIgnore:
      return 0;
    case RetryAfter::kMinimum:
    case RetryAfter::kReplace:
    case RetryAfter::kMinimumCapped:
    case RetryAfter::kClamp:
      return std::min(c.suggested_delay, c.backoff_cap);
  }
  return 0;
}

}  // namespace retrysim::prediction
