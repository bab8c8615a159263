// SPDX-License-Identifier: MIT
#include "model/workload.hpp"

#include <retrysim/distribution.hpp>

#include "kernel/memory.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace retrysim::model {

using kernel::EventKey;

ArrivalStream::ArrivalStream(const ClientSpec& spec, const RandomKey& key, std::uint64_t* sequence,
                             Time end, std::uint64_t most_steps)
    : key_(key), sequence_(sequence), count_(spec.count) {
  const ArrivalSpec& a = spec.arrivals;
  const kernel::Claim claim;
  take_memory(spec, phases_, list_, claim);
  switch (a.process) {
    case ArrivalProcess::kPoisson:
    case ArrivalProcess::kPoll: {
      RateFunction rate(a.rate * count_, a.profile, a.surges);
      if (rate.is_constant()) {
        if (rate.constant_rate() == 0) return;  // nobody ever comes
        mean_gap_ns_ = 1e9 / rate.constant_rate();
      } else {
        kind_ = Kind::kVaryingPoisson;
        rate_ = std::move(rate);
      }
      break;
    }
    case ArrivalProcess::kTrace:
      if (!a.rows.empty()) {
        prepare_list(spec);
        return;
      }
      kind_ = a.even_spacing ? Kind::kEven : Kind::kVaryingPoisson;
      rate_ = RateFunction(1, a.profile, a.surges);
      break;
    case ArrivalProcess::kConstant:
      prepare_phases(spec);
      return;
    case ArrivalProcess::kOnce:
      prepare_list(spec);
      return;
    case ArrivalProcess::kOnOff:
      kind_ = Kind::kBursts;
      bursts_.emplace(spec, key, end, sequence, most_steps);
      head_ = bursts_->head();
      return;
    case ArrivalProcess::kClosed:
      assert(false && "closed-loop clients have no arrival stream");
      return;
  }
  if (rate_) cursor_.emplace(*rate_);
  schedule_next();
}

// Sorting takes as much again for a moment; it is counted, but the sort takes it itself.
template <class Take>
void ArrivalStream::take_memory(const ClientSpec& spec, std::vector<Client>& phases,
                                std::vector<Listed>& list, Take& take) {
  constexpr std::size_t kTwice = 2;
  const ArrivalSpec& a = spec.arrivals;
  if (a.process == ArrivalProcess::kConstant) {
    take.room(phases, kTwice * spec.count, spec.count);
  } else if (a.process == ArrivalProcess::kTrace) {
    take.room(list, a.rows.size(), a.rows.size());
  } else if (a.process == ArrivalProcess::kOnce) {
    take.room(list, (a.spread > Duration::zero() ? kTwice : 1) * spec.count, spec.count);
  }
}

std::uint64_t ArrivalStream::bytes(const ClientSpec& spec) {
  std::vector<Client> phases;
  std::vector<Listed> list;
  kernel::Tally tally;
  take_memory(spec, phases, list, tally);
  const bool in_bursts = spec.arrivals.process == ArrivalProcess::kOnOff;
  return tally.bytes() + (in_bursts ? Bursts::bytes(spec) : 0);
}

// Every client's next request is scheduled when its previous one is made, as if each had a timer of
// its own; at the start, in the order of the clients.
void ArrivalStream::prepare_phases(const ClientSpec& spec) {
  const ArrivalSpec& a = spec.arrivals;
  kind_ = Kind::kPhases;
  RateFunction rate(a.rate, a.profile, a.surges);
  if (rate.is_constant()) {
    if (rate.constant_rate() == 0) return;  // nobody ever comes
    interval_ns_ = 1e9 / rate.constant_rate();
  } else {
    rate_ = std::move(rate);
    cursor_.emplace(*rate_);
  }
  StopCounter<> stop;
  for (std::uint32_t i = 0; i < count_; ++i) {
    stop.count();
    const double phase = a.aligned ? 0 : draws(client_entity(i, 0)).uniform();
    phases_.push_back({phase, i, (*sequence_)++});
  }
  std::stable_sort(phases_.begin(), phases_.end(),
                   [](const Client& x, const Client& y) { return x.phase < y.phase; });
  const Time time = time_of_phase(phases_[0]);
  if (time != Time::max()) head_ = {time, phases_[0].sequence};
}

// Requests whose times are known from the start: all are scheduled at once.
void ArrivalStream::prepare_list(const ClientSpec& spec) {
  const ArrivalSpec& a = spec.arrivals;
  kind_ = Kind::kListed;
  StopCounter<> stop;
  if (a.process == ArrivalProcess::kTrace) {
    for (std::uint64_t n = 0; n < a.rows.size(); ++n) {
      list_.push_back({a.rows[n], draws(n).below(count_)});
      stop.count();
    }
  } else {
    for (std::uint32_t i = 0; i < count_; ++i) {
      stop.count();
      Duration offset;
      if (a.spread > Duration::zero()) {
        offset = Duration::from_nanoseconds(draws(client_entity(i, 0)).uniform() *
                                            static_cast<double>(a.spread.count()));
      }
      list_.push_back({a.start + offset, i});
    }
    if (a.spread > Duration::zero()) {
      std::stable_sort(list_.begin(), list_.end(),
                       [](const Listed& x, const Listed& y) { return x.time < y.time; });
    }
  }
  first_sequence_ = *sequence_;
  *sequence_ += list_.size();
  if (!list_.empty()) head_ = {list_[0].time, first_sequence_};
}

Time ArrivalStream::time_of_phase(const Client& c) {
  const double position = static_cast<double>(round_) + c.phase;
  if (!rate_) return Time::zero() + Duration::from_nanoseconds(position * interval_ns_);
  const double step = position - walked_;
  walked_ = position;
  return cursor_->advance(step);
}

void ArrivalStream::draw_ahead() {
  std::uint64_t entity = ordinal_;
  for (Drawn& drawn : drawn_) {
    const DrawId id{entity++, 0, 0, Purpose::kArrival};
    const auto words = Draws::first_words(key_, id);
    const kernel::ZigguratLayer& layer = kernel::kExponentialLayers[words[0] & 255];
    const std::uint64_t position = words[0] >> 11;
    if (kind_ == Kind::kEven) [[unlikely]] {
      drawn.client = Draws::below(words[0], count_);
    } else if (position < layer.inside) [[likely]] {
      drawn.gap = static_cast<double>(static_cast<std::int64_t>(position)) * layer.width;
      drawn.client = Draws::below(words[1], count_);
    } else {
      Draws d(key_, id);
      drawn.gap = unit_exponential(d);
      drawn.client = d.below(count_);
    }
  }
}

void ArrivalStream::schedule_next() {
  const std::size_t place = ordinal_ % drawn_.size();
  if (place == 0) draw_ahead();
  const Drawn& drawn = drawn_[place];
  next_ = {drawn.client, ordinal_};
  const bool is_first = ordinal_++ == 0;
  if (kind_ == Kind::kPoisson) [[likely]] {
    // The fraction of a nanosecond is carried on: rounding every gap would bias high rates.
    const double gap_ns = drawn.gap * mean_gap_ns_ + carried_ns_;
    constexpr double kNever = 9e18;
    if (gap_ns >= kNever) [[unlikely]]
      return set_head(Time::max());
    const auto whole_ns = static_cast<std::int64_t>(gap_ns);
    carried_ns_ = gap_ns - static_cast<double>(whole_ns);
    const Time previous = is_first ? Time::zero() : head_.time;
    return set_head(previous + Duration::nanoseconds(whole_ns));
  }
  if (kind_ == Kind::kVaryingPoisson) return set_head(cursor_->advance(drawn.gap));
  // Half a gap before the first and after the last request of a stretch of constant rate.
  set_head(cursor_->advance(is_first ? 0.5 : 1.0));
}

Arrival ArrivalStream::pop() {
  assert(head_.time != Time::max());
  if (kind_ == Kind::kPoisson) [[likely]] {
    const Arrival arrival = next_;
    schedule_next();
    return arrival;
  }
  if (kind_ == Kind::kListed) {
    const std::uint32_t client = list_[position_].client;
    const Arrival arrival{client, ordinal_++};
    ++position_;
    head_ = position_ == list_.size()
                ? EventKey::never()
                : EventKey{list_[position_].time, first_sequence_ + position_};
    return arrival;
  }
  if (kind_ == Kind::kPhases) {
    Client& c = phases_[position_];
    const Arrival arrival{c.client, client_entity(c.client, round_)};
    c.sequence = (*sequence_)++;
    if (++position_ == phases_.size()) {
      position_ = 0;
      ++round_;
    }
    const Client& following = phases_[position_];
    const Time time = time_of_phase(following);
    head_ = time == Time::max() ? EventKey::never() : EventKey{time, following.sequence};
    return arrival;
  }
  if (kind_ == Kind::kBursts) {
    const Bursts::Next next = bursts_->pop();
    head_ = bursts_->head();
    return {next.client, next.entity};
  }
  const Arrival arrival = next_;
  schedule_next();
  return arrival;
}

}  // namespace retrysim::model
