// SPDX-License-Identifier: MIT
#include "model/bursts.hpp"

#include <retrysim/distribution.hpp>

#include "kernel/memory.hpp"

#include <algorithm>
#include <cassert>
namespace retrysim::model {

using kernel::EventKey;

namespace {

// Tells the draws for the lengths of bursts and pauses from those for the gaps between requests.
constexpr std::uint32_t kPeriodDraws = 1;

}  // namespace

Bursts::Bursts(const ClientSpec& spec, const RandomKey& key, Time end, std::uint64_t* sequence,
               std::uint64_t most_steps)
    : spec_(&spec.arrivals),
      key_(key),
      end_(end),
      sequence_(sequence),
      idle_(most_steps),
      count_(spec.count) {
  const double on_s = spec_->on.mean_seconds(), off_s = spec_->off.mean_seconds();
  const double base = spec_->rate * (on_s + off_s) / on_s * (spec_->aligned ? count_ : 1);
  RateFunction rate(base, spec_->profile, spec_->surges);
  highest_rate_ = rate.highest();
  if (highest_rate_ <= 0) return;  // nobody ever comes
  mean_gap_ns_ = 1e9 / highest_rate_;
  if (!rate.is_constant()) rate_ = std::move(rate);
  const kernel::Claim claim;
  take_memory(spec, senders_, queue_, claim);
  for (std::uint32_t i = 0; i < senders(spec); ++i) {
    begin(i);
    idle_.count();
    if (walk(i)) queue_.push_back({{senders_[i].now, (*sequence_)++}, i});
  }
  std::make_heap(queue_.begin(), queue_.end(), later);
}

template <class Take>
void Bursts::take_memory(const ClientSpec& spec, std::vector<Sender>& senders_of,
                         std::vector<Entry>& queue, Take& take) {
  take(senders_of, senders(spec));
  take.room(queue, senders(spec), senders(spec));
}

std::uint64_t Bursts::bytes(const ClientSpec& spec) {
  std::vector<Sender> senders_of;
  std::vector<Entry> queue;
  kernel::Tally tally;
  take_memory(spec, senders_of, queue, tally);
  return tally.bytes();
}

Draws Bursts::period_draws(std::uint32_t sender, std::uint32_t period) const {
  return Draws(key_, {entity(sender, period), kPeriodDraws, 0, Purpose::kArrival});
}

// Clients that act together start with a burst. Others start somewhere in a burst or pause: of a
// constant length at any point of it, of an exponential one all of it is left, as always. Both are
// exactly what an observer finds who comes at any time; with other distributions, to whom a long
// period is more likely, it is so after some periods.
void Bursts::begin(std::uint32_t sender) {
  Sender& s = senders_[sender];
  Draws draws = period_draws(sender, s.periods++);
  const double on_s = spec_->on.mean_seconds(), off_s = spec_->off.mean_seconds();
  s.on = spec_->aligned || draws.uniform() * (on_s + off_s) < on_s;
  const Distribution& length = s.on ? spec_->on : spec_->off;
  const bool memoryless = length.kind() == Distribution::Kind::kExponential;
  const double left = spec_->aligned || memoryless ? 1 : 1 - draws.uniform();
  const Duration whole = length.sample(draws);
  s.edge =
      Time::zero() +
      (left == 1 ? whole : Duration::from_nanoseconds(static_cast<double>(whole.count()) * left));
}

void Bursts::next_period(std::uint32_t sender) {
  Sender& s = senders_[sender];
  s.on = !s.on;
  Draws draws = period_draws(sender, s.periods++);
  s.edge = s.edge + (s.on ? spec_->on : spec_->off).sample(draws);
}

// To the sender's next request: a gap of time in bursts, in which pauses do not count. False if
// there is none before the end.
bool Bursts::walk(std::uint32_t sender) {
  Sender& s = senders_[sender];
  for (;;) {
    Draws draws(key_, {entity(sender, s.requests++), 0, 0, Purpose::kArrival});
    // The fraction of a nanosecond is carried on: rounding every gap would bias high rates.
    double gap_ns = unit_exponential(draws) * mean_gap_ns_ + s.carried_ns;
    while (!s.on || gap_ns >= static_cast<double>((s.edge - s.now).count())) {
      if (s.on) gap_ns -= static_cast<double>((s.edge - s.now).count());
      s.now = s.edge;
      if (s.now >= end_) return false;
      next_period(sender);
      idle_.count();
    }
    const auto whole_ns = static_cast<std::int64_t>(gap_ns);
    s.carried_ns = gap_ns - static_cast<double>(whole_ns);
    s.now = s.now + Duration::nanoseconds(whole_ns);
    if (s.now >= end_) return false;
    if (!rate_ || draws.uniform() * highest_rate_ < rate_->at(s.now)) return true;
    idle_.count();
  }
}

Bursts::Next Bursts::pop() {
  assert(!queue_.empty());
  std::pop_heap(queue_.begin(), queue_.end(), later);
  Entry& entry = queue_.back();
  const std::uint32_t sender = entry.sender;
  const std::uint64_t name = entity(sender, senders_[sender].requests - 1);
  std::uint32_t client = sender;
  if (spec_->aligned) {
    Draws draws(key_, {name, kPeriodDraws + 1, 0, Purpose::kArrival});
    client = draws.below(count_);
  }
  if (walk(sender)) {
    entry.key = {senders_[sender].now, (*sequence_)++};
    std::push_heap(queue_.begin(), queue_.end(), later);
  } else {
    queue_.pop_back();
  }
  return {client, name};
}

}  // namespace retrysim::model
