// Laws of buckets, fleets of limiters, and the flows of one client group, bin by bin.
//
// SPDX-License-Identifier: MIT
#include "prediction/fluid/clients.hpp"

#include <retrysim/prediction.hpp>

#include "kernel/stop.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace retrysim::prediction {

// --- The law of buckets --------------------------------------------------------------------------

namespace {

/// Events per client after which the law is updated; so few that hardly any client has two of them.
constexpr double kFewEvents = 0.05;

/// Levels per token that represent the credit exactly: 10 for 0.1.
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
  // A retry needs more than `threshold` tokens, and its price; the bucket has paid for the failure
  // before.
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

// --- Limiter and throttle ------------------------------------------------------------------------

namespace {

constexpr std::size_t kRepresentatives = 40;
constexpr double kBeta = 0.7;
/// The limiter measures in half seconds, the newest with a weight of 0.8.
constexpr double kMeasuring = 0x1.3e1f9ccf97777p-2;  // 0.5 / -ln 0.2

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
    // Sliding window of `window_calls`: new calls push out the same share of the old ones.
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

// --- Requests, attempts and retries --------------------------------------------------------------

namespace {

// The weight of the present in running means.
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
  // An exponential pause begins now, with its clients in the pool; any other is over.
  if (clients_.think_is_exponential) pool_ += back * bin.step;
  // With this share the mean pause is exact, however wide the bins are.
  const double share = bin.step / (bin.step + clients_.think_mean);
  const double awake = pool_ * share;
  pool_ -= awake;
  return awake / bin.step + ready + (clients_.think_is_exponential ? 0 : back);
}

void ThinkingClients::end(std::size_t i, double rate, double age, double delay, double step) {
  const FluidClients& c = clients_;
  if (c.think_is_exponential) {
    double thinks = 1;  // share of the clients that still think
    if (c.think_from_start) thinks = still_thinks_[i] * std::exp(-delay / c.think_mean);
    thinking_.put(delay / step, rate * thinks);
    ready_.put(delay / step, rate * (1 - thinks));
    return;
  }
  const double spent = c.think_from_start ? age + delay : 0;
  for (const DelayPiece& p : c.think) {
    // Some pauses are over when the request is.
    const double over = p.high > p.low ? std::clamp((spent - p.low) / (p.high - p.low), 0.0, 1.0)
                                       : (p.low <= spent ? 1.0 : 0.0);
    if (over > 0) thinking_.put(delay / step, rate * p.probability * over);
    if (over < 1) {
      thinking_.spread((delay + std::max(0.0, p.low - spent)) / step,
                       (delay + p.high - spent) / step, rate * p.probability * (1 - over));
    }
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
      good_(bins),
      thinking_(of, bins),
      age_(of.streams),
      rates_(of.streams) {
  streams_.reserve(of.streams);
  while (streams_.size() < of.streams) {
    stop_point();
    streams_.emplace_back(bins);
  }
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
  if (bin.in_window()) books_.attempt_rate += sent_ * s.arriving * bin.step;
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
      return std::min(c.suggested_delay, c.suggestion_limit);
  }
  return 0;
}

}  // namespace retrysim::prediction
