// What clients do in a bin: requests that begin, and retries of what failed.
//
// SPDX-License-Identifier: MIT
#include "prediction/fluid_runner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace retrysim::prediction {

void Runner::send(GroupState& g, std::size_t k, FluidSample& sample) {
  double fresh = g.arrivals[k];
  if (g.clients.closed) fresh += wake(g);
  double wanted = 0;
  for (std::size_t i = 0; i < g.rates.size(); ++i) {
    const double back = g.streams[i].take();
    if (i > 0) g.retrying = std::max(0.0, g.retrying - back * step_);
    g.rates[i] = back + (i == 0 ? fresh : 0);
    wanted += g.rates[i];
  }
  if (g.bucket) g.bucket->begin(fresh * step_);
  if (g.throttle) {
    const double refused = g.throttle->refused();
    for (double& rate : g.rates) rate *= 1 - refused;
    end(g, 0, wanted * refused, 0);
    if (counts()) g.books.refused += wanted * refused * step_;
    g.throttle->count(wanted, g.accepted);
  }
  if (g.limiter) {
    const double refused = g.limiter->send(step_, g.throttled, g.clients.deadline, g.rates);
    end(g, 0, refused, 0);
    if (counts()) g.books.refused += refused * step_;
  }
  g.sent = 0;
  for (const double rate : g.rates) g.sent += rate;
  if (inside()) g.books.requests += fresh * step_;
  if (counts()) g.books.attempts += g.sent * step_;
  if (inside()) {
    g.books.offered += fresh * step_;
    g.books.attempt_rate += g.sent * step_;
  }
  sample.offered += fresh;
  sample.attempts += g.sent;
}

double Runner::wake(GroupState& g) {
  const FluidClients& c = g.clients;
  const double back = g.thinking.take(), ready = g.ready.take();
  if (now_ >= system_.duration) return 0;
  if (!c.think_is_exponential && have_begun(g)) return back + ready;
  g.pool += back * step_;
  // With this share the mean pause is exact, however wide the bins are.
  const double share = step_ / (step_ + c.think_mean);
  const double awake = g.pool * share;
  g.pool -= awake;
  return awake / step_ + ready;
}

void Runner::end(GroupState& g, std::size_t i, double rate, double delay) {
  const FluidClients& c = g.clients;
  if (!c.closed || rate <= 0) return;
  if (c.think_is_exponential) {
    double thinks = 1;  // of those who thought meanwhile, some still do
    if (c.think_from_start) thinks = g.still_thinks[i] * std::exp(-delay / c.think_mean);
    g.thinking.put(delay / step_, rate * thinks);
    g.ready.put(delay / step_, rate * (1 - thinks));
    return;
  }
  const double spent = c.think_from_start ? g.age[i] + delay : 0;
  for (const DelayPiece& p : c.think) {
    g.thinking.spread((delay + std::max(0.0, p.low - spent)) / step_,
                      (delay + std::max(0.0, p.high - spent)) / step_, rate * p.probability);
  }
}

void Runner::settle(GroupState& g, const Shares& s, FluidSample& sample) {
  const FluidClients& c = g.clients;
  books(g, s);
  double accepted = 0;
  for (std::size_t i = 0; i < g.rates.size(); ++i) {
    const double rate = g.rates[i];
    if (rate <= 0) continue;
    const double wins = rate * s.success;
    if (wins > 0) {
      g.good.put(std::min(s.answered, c.timeout) / step_, wins);
      end(g, i, wins, s.answered);
      accepted += wins;
      if (g.bucket && i == 0) g.bucket->succeed_first(wins * step_);
      if (g.bucket && i > 0) g.bucket->succeed_later(g.price, wins * step_);
    }
    for (std::size_t f = 0; f < kFates; ++f) {
      if (s.fate[f] > 0) fail(g, s, i, static_cast<Fate>(f), rate * s.fate[f]);
    }
  }
  g.accepted = accepted;
  const double good = g.good.take();
  sample.goodput += good;
  if (counts()) g.books.successes += good * step_;
  if (inside()) g.books.goodput += good * step_;
  if (g.bucket) g.bucket->advance(step_);
}

void Runner::books(GroupState& g, const Shares& s) const {
  if (!counts()) return;
  const auto booked = [&](Fate fate) {
    return g.sent * s.fate[static_cast<std::size_t>(fate)] * step_;
  };
  g.books.timeouts += booked(Fate::kLate);
  g.books.rejected += booked(Fate::kTurnedAway);
  g.books.throttled += booked(Fate::kThrottled) + booked(Fate::kThrottlingError);
  g.books.errors += booked(Fate::kError) + booked(Fate::kUnreachable);
}

void Runner::fail(GroupState& g, const Shares& s, std::size_t i, Fate fate, double rate) {
  const double known = s.known[static_cast<std::size_t>(fate)];
  if (known == kForever) return;  // no timeout: the request never ends
  const FluidClients& c = g.clients;
  const FateRules& rules = c.fates[static_cast<std::size_t>(fate)];
  double retryable = rules.retryable * c.retry_probability;
  if (fate == Fate::kError) retryable *= s.error_retryable;
  if (g.bucket && rules.retryable > 0) g.bucket->fail(rate * rules.retryable * step_);
  const bool last = static_cast<double>(i + 1) >= c.attempts;
  const std::size_t next = std::min(i + 1, c.streams - 1);
  const DelayLaw& law = c.backoff[rules.throttling][std::min(i, c.streams - 1)];
  const double pause = suggested(c, fate);
  const double age = g.age[i] + known + pause;
  const bool in_time = age + (c.deadline == kForever ? 0 : mean_of(law)) <= c.deadline;
  double again = last || !in_time ? 0 : rate * retryable;
  if (g.bucket && again > 0 && (rules.cost > 0 || g.conditional)) {
    const double granted = g.bucket->granted(rules.cost);
    g.bucket->ask(rules.cost, again * step_);
    if (counts()) g.books.quota_denied += again * (1 - granted) * step_;
    again *= granted;
    g.price = rules.cost;
  } else if (g.bucket && last && g.pays_for_last) {
    g.bucket->ask(rules.cost, rate * retryable * step_);
  }
  if (again > 0) {
    g.retrying += again * step_;
    for (const DelayPiece& p : law) {
      const double shift = known + pause;
      if (p.low == p.high) {
        g.streams[next].put((shift + p.low) / step_, again * p.probability);
      } else {
        g.streams[next].spread((shift + p.low) / step_, (shift + p.high) / step_,
                               again * p.probability);
      }
    }
    if (next > i) {
      constexpr double kWeight = 0.02;
      double& mean = g.age[next];
      const double fresh = age + (c.closed || c.deadline != kForever ? mean_of(law) : 0);
      mean = mean == 0 ? fresh : mean + kWeight * (fresh - mean);
      if (c.closed && c.think_from_start && c.think_mean > 0) {
        const double left =
            g.still_thinks[i] * std::exp(-(known + pause) / c.think_mean) * lasting(law, c);
        double& thinks = g.still_thinks[next];
        thinks = thinks == 1 ? left : thinks + kWeight * (left - thinks);
      }
    }
  }
  end(g, i, rate - again, known);
}

double Runner::lasting(const DelayLaw& law, const FluidClients& c) {
  double sum = 0;
  for (const DelayPiece& p : law) {
    const double low = p.low / c.think_mean, width = (p.high - p.low) / c.think_mean;
    sum += p.probability * std::exp(-low) * (width > 1e-9 ? -std::expm1(-width) / width : 1);
  }
  return sum;
}

double Runner::suggested(const FluidClients& c, Fate fate) const {
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
