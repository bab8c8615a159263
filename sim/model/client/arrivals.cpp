// SPDX-License-Identifier: MIT
#include "model/client/arrivals.hpp"

#include <retrysim/random.hpp>

#include "kernel/memory.hpp"
#include "kernel/stop.hpp"
#include "model/run/request.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>

namespace retrysim::model {

namespace {

// The rate of a profile just from `t` on, and its slope there.
void evaluate(const RateProfile& profile, Time t, double* rate, double* slope) {
  const auto next = std::upper_bound(profile.times.begin(), profile.times.end(), t);
  const auto i = static_cast<std::size_t>(next - profile.times.begin());
  *slope = 0;
  if (i == 0) {
    *rate = profile.rates.front();
    return;
  }
  *rate = profile.rates[i - 1];
  if (!profile.linear || i == profile.times.size()) return;
  const double length = (profile.times[i] - profile.times[i - 1]).in_seconds();
  *slope = (profile.rates[i] - profile.rates[i - 1]) / length;
  *rate += *slope * (t - profile.times[i - 1]).in_seconds();
}

}  // namespace

RateFunction::RateFunction(double base, const std::optional<RateProfile>& profile,
                           const std::vector<SurgeSpec>& surges) {
  std::vector<Time> edges{Time::zero()};
  if (profile) edges.insert(edges.end(), profile->times.begin(), profile->times.end());
  for (const SurgeSpec& s : surges) {
    edges.push_back(s.start);
    edges.push_back(s.start + s.duration);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  // The surges that are on, by their places in the order of names: factors are always multiplied in
  // that order, which decides the last bit of the product.
  const std::vector<std::size_t> order = name_order(surges);
  std::vector<std::size_t> by_start(order.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::ranges::stable_sort(by_start, {}, [&](std::size_t i) { return surges[order[i]].start; });
  std::set<std::size_t> on;
  std::size_t begun = 0;
  StopCounter<> stop;
  for (const Time t : edges) {
    double rate = 1, slope = 0;
    if (profile) evaluate(*profile, t, &rate, &slope);
    double factor = base;
    for (; begun < by_start.size() && surges[order[by_start[begun]]].start <= t; ++begun) {
      on.insert(by_start[begun]);
    }
    for (auto at = on.begin(); at != on.end();) {
      stop.count();
      const SurgeSpec& s = surges[order[*at]];
      if (t < s.start + s.duration) {
        factor *= s.factor;
        ++at;
      } else {
        at = on.erase(at);
      }
    }
    const Piece piece{t.in_seconds(), rate * factor, slope * factor};
    const bool same = !pieces_.empty() && piece.slope == 0 && pieces_.back().slope == 0 &&
                      piece.rate == pieces_.back().rate;
    if (!same) pieces_.push_back(piece);
  }
}

double RateFunction::at(Time t) const {
  const double s = t.in_seconds();
  auto after = std::upper_bound(pieces_.begin(), pieces_.end(), s,
                                [](double x, const Piece& p) { return x < p.start_s; });
  const Piece& p = *(after - 1);
  return p.rate + p.slope * (s - p.start_s);
}

double RateFunction::highest() const {
  double highest = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& p = pieces_[i];
    highest = std::max(highest, p.rate);
    if (i + 1 < pieces_.size()) {
      highest = std::max(highest, p.rate + p.slope * (pieces_[i + 1].start_s - p.start_s));
    }
  }
  return highest;
}

double RateFunction::area(Time end) const {
  const double end_s = end.in_seconds();
  double area = 0;
  for (std::size_t i = 0; i < pieces_.size() && pieces_[i].start_s < end_s; ++i) {
    const Piece& p = pieces_[i];
    const double until_s = i + 1 < pieces_.size() ? std::min(end_s, pieces_[i + 1].start_s) : end_s;
    const double length_s = until_s - p.start_s;
    area += (p.rate + 0.5 * p.slope * length_s) * length_s;
  }
  return area;
}

Time RateFunction::Cursor::advance(double area) {
  for (;;) {
    const Piece& p = function_->pieces_[piece_];
    const double rate = std::max(0.0, p.rate + p.slope * offset_s_);
    const bool last = piece_ + 1 == function_->pieces_.size();
    const double left_s =
        last ? HUGE_VAL : function_->pieces_[piece_ + 1].start_s - p.start_s - offset_s_;
    const double area_left =
        last ? (rate > 0 ? HUGE_VAL : 0) : std::max(0.0, (rate + 0.5 * p.slope * left_s) * left_s);
    if (area < area_left) {
      // Solve rate x + slope x^2 / 2 = area; this form of the root also holds for slope = 0.
      const double x =
          area == 0
              ? 0
              : 2 * area / (rate + std::sqrt(std::max(0.0, rate * rate + 2 * p.slope * area)));
      offset_s_ += x;
      const double t = p.start_s + offset_s_;
      return t >= 9.2e9 ? Time::max() : Time::zero() + Duration::from_seconds(t);
    }
    if (last) return Time::max();
    area -= area_left;
    ++piece_;
    offset_s_ = 0;
  }
}

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

// Aligned clients start with a burst. Others start in the middle of a burst or pause: if its length
// is constant, at a uniformly random point of it; if exponential, with a whole length still to go,
// because it has no memory. Both starts are exactly stationary. Other distributions become
// stationary only after some periods: a long period should be likelier at the start.
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
    case ArrivalProcess::kCalls:
      assert(false && "closed loops and calls have no arrival stream");
      return;
  }
  if (rate_) cursor_.emplace(*rate_);
  head_.time = Time::zero();
  schedule_next();
}

void ArrivalStream::branch(const RandomKey& key, Time now) {
  key_ = key;
  if (kind_ == Kind::kBursts && bursts_) bursts_->branch(key);
  const bool draws_times = kind_ == Kind::kPoisson || kind_ == Kind::kVaryingPoisson;
  if (head_.time == Time::max() || (!draws_times && kind_ != Kind::kEven)) return;
  if (draws_times) --ordinal_;  // the next request is scheduled again
  const std::uint64_t ordinal = ordinal_;
  ordinal_ -= ordinal_ % drawn_.size();
  draw_ahead();
  ordinal_ = ordinal;
  if (!draws_times) return;
  head_.time = now;
  carried_ns_ = 0;
  if (kind_ == Kind::kVaryingPoisson) {
    cursor_.emplace(*rate_);
    cursor_->advance(rate_->area(now));
  }
  schedule_next();
  head_.time = std::max(head_.time, now);  // the rate's integral is rounded
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
  std::stable_sort(phases_.begin(), phases_.end(), [&](const Client& x, const Client& y) {
    stop.count();
    return x.phase < y.phase;
  });
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
      std::stable_sort(list_.begin(), list_.end(), [&](const Listed& x, const Listed& y) {
        stop.count();
        return x.time < y.time;
      });
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

EventKey ArrivalStream::head() const { return head_; }

void ArrivalStream::set_head(Time time) {
  head_ = time == Time::max() ? EventKey::never() : EventKey{time, (*sequence_)++};
}

void ArrivalStream::draw_ahead() {
  const RandomKey key = key_;  // a copy stays in registers: 7 % fewer instructions
  std::uint64_t entity = ordinal_;
  for (Drawn& drawn : drawn_) {
    const DrawId id{entity++, 0, 0, Purpose::kArrival};
    const auto words = Draws::first_words(key, id);
    const kernel::ZigguratLayer& layer = kernel::kExponentialLayers[words[0] & 255];
    const std::uint64_t position = words[0] >> 11;
    if (kind_ == Kind::kEven) {
      drawn.client = Draws::below(words[0], count_);
    } else if (position < layer.inside) {
      drawn.gap = static_cast<double>(static_cast<std::int64_t>(position)) * layer.width;
      drawn.client = Draws::below(words[1], count_);
    } else {
      Draws d(key, id);
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
  if (kind_ == Kind::kPoisson) {
    // The fraction of a nanosecond is carried on: rounding every gap would bias high rates.
    const double gap_ns = drawn.gap * mean_gap_ns_ + carried_ns_;
    constexpr double kNever = 9e18;
    if (gap_ns >= kNever) return set_head(Time::max());
    const auto whole_ns = static_cast<std::int64_t>(gap_ns);
    carried_ns_ = gap_ns - static_cast<double>(whole_ns);
    return set_head(head_.time + Duration::nanoseconds(whole_ns));
  }
  if (kind_ == Kind::kVaryingPoisson) return set_head(cursor_->advance(drawn.gap));
  // Half a gap before the first and after the last request of a stretch of constant rate.
  set_head(cursor_->advance(is_first ? 0.5 : 1.0));
}

Arrival ArrivalStream::pop() {
  assert(head_.time != Time::max());
  if (kind_ == Kind::kPoisson) {
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

std::uint32_t Polling::begin(ClientId client, std::uint64_t entity, bool in_cohort, Time now) {
  const std::uint32_t id = jobs_.allocate();
  Job& j = jobs_[id];
  Draws draws(key_, {entity, 0, 0, Purpose::kTimeout});
  j.entity = entity;
  j.done = now + spec_->job_time.sample(draws);
  j.pause_ns = static_cast<double>(spec_->poll.base.count());
  j.client = client;
  j.checks = 0;
  j.in_cohort = in_cohort;
  j.open = true;
  return id;
}

// Jobs are numbered from 0; their checks have names of their own, 2^24 a job before any is used
// twice.
std::uint64_t Polling::check_entity(const Job& j) const { return j.entity << 24 | j.checks; }

// min(cap, base * factor^checks), spread by the jitter. There is a pause before the first check,
// too.
Duration Polling::next_pause(std::uint32_t job) {
  const PollSpec& p = spec_->poll;
  Job& j = jobs_[job];
  const double cap = static_cast<double>(p.cap.count());
  const double pause = std::min(j.pause_ns, cap);
  Draws draws(key_, {check_entity(j), 0, 0, Purpose::kThinkTime});
  if (p.jitter == Jitter::kDecorrelated) {
    const double base = static_cast<double>(p.base.count());
    j.pause_ns = std::min(cap, base + draws.uniform() * std::max(0.0, 3 * pause - base));
    return Duration::from_nanoseconds(j.pause_ns);
  }
  j.pause_ns = std::min(pause * p.factor, cap);
  if (p.jitter == Jitter::kFull) return Duration::from_nanoseconds(pause * draws.uniform());
  if (p.jitter == Jitter::kEqual) {
    return Duration::from_nanoseconds(pause * (0.5 + 0.5 * draws.uniform()));
  }
  return Duration::from_nanoseconds(pause);
}

std::uint64_t Polling::begin_check(std::uint32_t job) {
  Job& j = jobs_[job];
  checking_ = job;
  const std::uint64_t entity = check_entity(j);
  ++j.checks;
  return entity;
}

void Polling::attach(RequestId request) {
  checks_->reach(request);
  (*checks_)[request] = {Time::zero(), checking_, ResponseClass::kNotRetryable};
}

// Not ready and throttled mean to ask again; anything else ends the loop.
std::optional<JobEnd> Polling::after_check(RequestId request, Outcome outcome) const {
  const JobCheck& c = (*checks_)[request];
  const Job& j = jobs_[c.job];
  if (outcome == Outcome::kSuccess) {
    if (c.read >= j.done) return JobEnd::kSucceeded;
  } else if (outcome == Outcome::kDeadlineExceeded || outcome == Outcome::kNoSendToken ||
             outcome == Outcome::kBreakerOpen || c.last_failure != ResponseClass::kThrottling) {
    return JobEnd::kFailed;
  }
  if (j.checks >= spec_->poll.max_checks) return JobEnd::kGivenUp;
  return std::nullopt;
}

}  // namespace retrysim::model
