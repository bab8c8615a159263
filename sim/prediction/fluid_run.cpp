// The delay equations, bin by bin. What an attempt will come to is known when it arrives, because a
// FIFO queue shows it how long it will wait; so each bin hands its attempts on to the bins in which
// their retries arrive, and no equation looks back.
//
// SPDX-License-Identifier: MIT
#include <retrysim/fluid.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "prediction/bucket_law.hpp"
#include "prediction/client_gates.hpp"
#include "prediction/flow.hpp"
#include "prediction/fluid_run.hpp"

namespace retrysim::prediction {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

/// Shares of a group's attempts in one bin, by what becomes of them, and when they know, in
/// seconds.
struct Shares {
  std::array<double, kFates> fate{};
  std::array<double, kFates> known{};
  double success = 0, answered = 0;
  double error_retryable = 1;  // of error answers
};

struct GroupState {
  GroupState(const FluidClients& of, const ClientSpec& spec, std::size_t bins, double step)
      : clients(of),
        good(bins),
        thinking(bins),
        ready(bins),
        still_thinks(of.streams, 1),
        age(of.streams),
        rates(of.streams) {
    for (std::size_t i = 0; i < of.streams; ++i) streams.emplace_back(bins);
    const RetryRules& retry = spec.retry;
    if (retry.quota.enabled) bucket.emplace(retry.quota, of.clients);
    if (retry.rate_limit.enabled) limiter.emplace(retry.rate_limit, of.clients, of.streams);
    if (retry.throttle.enabled) throttle.emplace(retry.throttle, of.clients, step);
    pool = of.slots;
    conditional = retry.quota.threshold > 0 || retry.quota.failure_cost > 0;
    pays_for_last = retry.quota.order == QuotaOrder::kBeforeAttempts ||
                    retry.quota.order == QuotaOrder::kBeforeClassification;
  }

  const FluidClients& clients;
  std::vector<Flow> streams;
  Flow good;      // requests that succeed
  Flow thinking;  // closed: requests that have ended
  Flow ready;     // closed: those whose pause was over before the request was
  double pool = 0;
  /// Closed, with pauses that begin with the request: probability that an exponential one is not
  /// over when attempt i is sent.
  std::vector<double> still_thinks;
  std::vector<double> age;    // of the request when attempt i is sent, s
  std::vector<double> rates;  // of attempts that are sent
  std::vector<double> arrivals;
  std::optional<BucketLaw> bucket;
  std::optional<LimiterFleet> limiter;
  std::optional<MeanThrottle> throttle;
  double tokens = 0;     // of the service's throttle, if each client has one
  double throttled = 0;  // share, in the bin before
  double price = 0;      // mean cost of retries granted lately
  double sent = 0, accepted = 0;
  bool conditional = false;    // retries need tokens even where they cost none
  bool pays_for_last = false;  // the quota is asked before the limit on attempts
  FluidGroup books;
};

class Runner {
 public:
  Runner(const Scenario& scenario, const FluidSystem& system, double step, std::size_t steps)
      : system_(system), step_(step), steps_(steps) {
    const double longest = system.shortest_timeout == kForever
                               ? kForever
                               : longest_timeout() + system.most_backoff + longest_round_trip();
    const auto bins =
        static_cast<std::size_t>(std::min(static_cast<double>(steps), longest / step) + 4);
    groups_.reserve(system.groups.size());
    for (const FluidClients& g : system.groups) {
      groups_.push_back(std::make_unique<GroupState>(g, scenario.clients[g.client], bins, step));
      GroupState& state = *groups_.back();
      state.arrivals = arrival_rates(scenario, g.client, step, steps);
      state.books.client = g.client;
      state.tokens = system.throttle_burst * g.clients;
    }
    using Kind = Distribution::Kind;
    const Kind kind = system.service_law.kind();
    light_ = kind == Kind::kConstant || kind == Kind::kExponential || kind == Kind::kUniform ||
             kind == Kind::kErlang;
    shares_.resize(groups_.size());
    tokens_ = system.throttle_burst;
  }

  template <class Visit>  // visit(bin, sample)
  void run(Visit visit) {
    for (std::size_t k = 0; k < steps_; ++k) visit(k, advance(k));
  }

  std::vector<FluidGroup> groups() const {
    std::vector<FluidGroup> result;
    for (const auto& g : groups_) result.push_back(g->books);
    return result;
  }
  double backlog() const { return work_; }

 private:
  double longest_timeout() const {
    double longest = 0;
    for (const FluidClients& g : system_.groups) longest = std::max(longest, g.timeout);
    return longest;
  }
  double longest_round_trip() const {
    double longest = 0;
    for (const FluidClients& g : system_.groups) longest = std::max(longest, g.round_trip);
    double fault = 0;
    for (const FluidStretch& s : system_.stretches) fault = std::max(fault, s.latency);
    return longest + fault;
  }

  double start_of(std::size_t stretch) const {
    return stretch < system_.stretches.size() ? system_.stretches[stretch].start : kForever;
  }

  /// Time until work that arrives at `t` behind `work` begins, with the capacity to come.
  double wait(double t, double work) const {
    double left = work, at = t;
    for (std::size_t j = stretch_;; ++j) {
      const double end = start_of(j + 1), pace = system_.stretches[j].capacity;
      if (end <= at) continue;
      if (left <= pace * (end - at)) return at - t + (left > 0 ? left / pace : 0);
      if (end == kForever) return kForever;
      left -= pace * (end - at);
      at = end;
    }
  }

  /// Work that can be done in [from, to).
  double capacity(double from, double to) const {
    double sum = 0;
    for (std::size_t j = stretch_; j < system_.stretches.size() && start_of(j) < to; ++j) {
      const double a = std::max(from, start_of(j)), b = std::min(to, start_of(j + 1));
      if (b > a) sum += system_.stretches[j].capacity * (b - a);
    }
    return sum;
  }

  /// Share of attempts whose answer comes too late if their wait grows from `first` to `last`.
  double late_share(const FluidClients& g, double first, double last) const {
    if (g.timeout == kForever) return 0;
    const double room = g.timeout - g.round_trip - latency();
    const double slow = 1 + system_.slowdown * in_service_;
    const double typical = g.service_time * slow;
    const double low = room - std::max(first, last), high = room - std::min(first, last);
    if (high < 0) return 1;
    if (low > 40 * typical && light_) return 0;
    const double scale = slow * g.service_time / system_.service_law.mean_seconds();
    const auto late = [&](double left) {
      if (left < 0) return 1.0;
      if (g.service_time == 0) return 0.0;
      return survival(system_.service_law, left / scale);
    };
    if (high - low < 1e-3 * typical) return late((low + high) / 2);
    if (typical < (high - low) / 4) {
      // Services are short against the change: all the same.
      const double edge = typical;
      return std::clamp((edge - low) / (high - low), 0.0, 1.0);
    }
    constexpr int kParts = 8;
    double sum = 0;
    for (int i = 0; i < kParts; ++i) sum += late(low + (high - low) * (i + 0.5) / kParts);
    return sum / kParts;
  }

  double latency() const { return system_.stretches[stretch_].latency; }

  FluidSample advance(std::size_t k) {
    now_ = static_cast<double>(k) * step_;
    while (start_of(stretch_ + 1) <= now_ + step_ * 1e-9) {
      ++stretch_;
      if (system_.stretches[stretch_].restart) work_ = in_service_ = 0;
    }
    FluidSample sample;
    for (auto& g : groups_) send(*g, k, sample);
    serve();
    for (std::size_t i = 0; i < groups_.size(); ++i) settle(*groups_[i], shares_[i], sample);
    sample.backlog = work_;
    return sample;
  }

  bool counts() const { return now_ >= system_.warmup; }
  bool inside() const { return counts() && now_ < system_.duration; }

  /// The attempts that leave the clients in this bin.
  void send(GroupState& g, std::size_t k, FluidSample& sample) {
    double fresh = g.arrivals[k];
    if (g.clients.closed) fresh += wake(g);
    double wanted = 0;
    for (std::size_t i = 0; i < g.rates.size(); ++i) {
      g.rates[i] = g.streams[i].take() + (i == 0 ? fresh : 0);
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

  /// Closed loops: clients that have thought.
  double wake(GroupState& g) {
    const FluidClients& c = g.clients;
    const double back = g.thinking.take(), ready = g.ready.take();
    if (now_ >= system_.duration) return 0;
    if (!c.think_is_exponential && have_begun(g)) return back + ready;
    g.pool += back * step_;
    const double share = c.think_mean > 0 ? -std::expm1(-step_ / c.think_mean) : 1;
    const double awake = g.pool * share;
    g.pool -= awake;
    return awake / step_ + ready;
  }
  /// Whether the clients that began with a pause have all had it.
  static bool have_begun(const GroupState& g) { return g.pool < 1e-9 * g.clients.slots; }

  /// Requests of a closed loop that end `delay` after their attempt `i` was sent think before they
  /// begin again.
  void end(GroupState& g, std::size_t i, double rate, double delay) {
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

  /// What becomes of the attempts that were sent.
  void serve() {
    const FluidStretch& stretch = system_.stretches[stretch_];
    const double through = stretch.unreachable ? 0 : 1 - stretch.request_loss;
    double demand = 0;
    for (const auto& g : groups_) demand += g->sent * through;
    tokens_ =
        std::min(std::max(1.0, system_.throttle_burst), tokens_ + system_.throttle_rate * step_);
    double pass = 1;
    if (system_.throttle_rate > 0 && !system_.throttle_by_client) {
      pass = demand * step_ > tokens_ ? tokens_ / (demand * step_) : 1;
      tokens_ -= demand * step_ * pass;
    }
    const double before = wait(now_, work_);
    std::vector<double>& entering = entering_;
    entering.assign(groups_.size(), 0);
    double inflow = 0;  // work a second
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      GroupState& g = *groups_[i];
      double passes = pass;
      if (system_.throttle_rate > 0 && system_.throttle_by_client)
        passes = pass_by_client(g, through);
      g.throttled = 1 - passes;
      entering[i] = g.sent * through * passes;
      inflow += entering[i] * g.clients.service_time / system_.servers;
    }
    queue(before, inflow);
    for (std::size_t i = 0; i < groups_.size(); ++i) share_out(i, before);
  }

  double pass_by_client(GroupState& g, double through) {
    const double n = g.clients.clients;
    g.tokens = std::min(system_.throttle_burst * n, g.tokens + system_.throttle_rate * n * step_);
    const double wanted = g.sent * through * step_;
    const double passes = wanted > g.tokens ? g.tokens / wanted : 1;
    g.tokens -= wanted * passes;
    return passes;
  }

  /// Moves the backlog on by a bin; finds who is late and how many are turned away.
  void queue(double before, double inflow) {
    if (system_.servers == kForever) {
      after_ = before;
      turned_away_ = 0;
      crowd();
      return;
    }
    const double done = capacity(now_, now_ + step_);
    const double guess = std::clamp(work_ + inflow * step_ - done, 0.0, system_.room);
    double after = wait(now_ + step_, guess);
    double useful = inflow;
    if (!system_.zombies) {
      // What will be dropped when its turn comes makes nobody wait.
      useful = 0;
      for (std::size_t i = 0; i < groups_.size(); ++i) {
        const FluidClients& g = groups_[i]->clients;
        useful +=
            entering_[i] * g.service_time / system_.servers * (1 - late_share(g, before, after));
      }
    }
    const double next = work_ + useful * step_ - done;
    turned_away_ = 0;
    if (next > system_.room) {
      double entering = 0;
      for (const double rate : entering_) entering += rate;
      const double price = entering * system_.turning_away / system_.servers;
      turned_away_ = useful > price ? (next - system_.room) / (step_ * (useful - price)) : 1;
      turned_away_ = std::min(1.0, turned_away_);
    }
    work_ = std::clamp(next, 0.0, system_.room);
    after_ = wait(now_ + step_, work_);
  }

  /// Servers without limit: who is in service, for the slowdown.
  void crowd() {
    if (system_.slowdown == 0) return;
    if (!leaving_) leaving_ = std::make_unique<Flow>(steps_);
    double in = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const double service =
          groups_[i]->clients.service_time * (1 + system_.slowdown * in_service_);
      leaving_->put(service / step_, entering_[i]);
      in += entering_[i];
    }
    in_service_ = std::max(0.0, in_service_ + (in - leaving_->take()) * step_);
  }

  void share_out(std::size_t index, double before) {
    const FluidClients& c = groups_[index]->clients;
    const FluidStretch& stretch = system_.stretches[stretch_];
    const ErrorShares& errors = stretch.errors[index];
    Shares& s = shares_[index];
    s = {};
    const auto at = [](Fate fate) { return static_cast<std::size_t>(fate); };
    const double trip = c.round_trip + stretch.latency;
    const double middle = (before + after_) / 2;
    s.answered = middle + c.service_time * (1 + system_.slowdown * in_service_) + trip;
    s.known = {c.timeout, trip, trip, trip, s.answered, s.answered};
    double rest = 1;
    if (stretch.unreachable) {
      s.fate[at(Fate::kUnreachable)] = 1;
      rest = 0;
    }
    s.fate[at(Fate::kLate)] = rest * stretch.request_loss;
    rest *= 1 - stretch.request_loss;
    s.fate[at(Fate::kThrottled)] = rest * groups_[index]->throttled;
    rest *= 1 - groups_[index]->throttled;
    s.fate[at(Fate::kTurnedAway)] = rest * turned_away_;
    rest *= 1 - turned_away_;
    const double restart = next_restart();
    if (restart < now_ + middle + c.service_time && restart < now_ + c.timeout) {
      s.fate[at(Fate::kUnreachable)] += rest;
      s.known[at(Fate::kUnreachable)] = restart - now_ + trip;
      rest = 0;
    }
    const double late = late_share(c, before, after_);
    s.fate[at(Fate::kLate)] += rest * late;
    rest *= 1 - late;
    s.fate[at(Fate::kLate)] += rest * stretch.response_loss;
    rest *= 1 - stretch.response_loss;
    s.fate[at(Fate::kError)] = rest * errors.error;
    s.fate[at(Fate::kThrottlingError)] = rest * errors.throttling;
    s.success = rest * (1 - errors.error - errors.throttling);
    s.error_retryable = errors.error_retryable;
    s.known[at(Fate::kThrottled)] = std::min(trip, c.timeout);
    if (system_.drops) s.known[at(Fate::kTurnedAway)] = c.timeout;
  }

  double next_restart() const {
    for (std::size_t j = stretch_ + 1; j < system_.stretches.size(); ++j) {
      if (system_.stretches[j].restart) return system_.stretches[j].start;
    }
    return kForever;
  }

  /// Books what becomes of a group's attempts, and hands on its retries.
  void settle(GroupState& g, const Shares& s, FluidSample& sample) {
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

  void books(GroupState& g, const Shares& s) const {
    if (!counts()) return;
    const auto booked = [&](Fate fate) {
      return g.sent * s.fate[static_cast<std::size_t>(fate)] * step_;
    };
    g.books.timeouts += booked(Fate::kLate);
    g.books.rejected += booked(Fate::kTurnedAway);
    g.books.throttled += booked(Fate::kThrottled) + booked(Fate::kThrottlingError);
    g.books.errors += booked(Fate::kError) + booked(Fate::kUnreachable);
  }

  /// Attempts number `i` (from 0) that end as `fate`.
  void fail(GroupState& g, const Shares& s, std::size_t i, Fate fate, double rate) {
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

  /// Probability that an exponential pause outlasts a delay.
  static double lasting(const DelayLaw& law, const FluidClients& c) {
    double sum = 0;
    for (const DelayPiece& p : law) {
      const double low = p.low / c.think_mean, width = (p.high - p.low) / c.think_mean;
      sum += p.probability * std::exp(-low) * (width > 1e-9 ? -std::expm1(-width) / width : 1);
    }
    return sum;
  }

  /// What the service's suggestion adds to the backoff; exact where it is added, a bound elsewhere.
  double suggested(const FluidClients& c, Fate fate) const {
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

  const FluidSystem& system_;
  double step_;
  std::size_t steps_;
  std::vector<std::unique_ptr<GroupState>> groups_;
  std::vector<Shares> shares_;
  std::vector<double> entering_;
  std::unique_ptr<Flow> leaving_;
  bool light_;  // the tail of service times ends before forty means
  double now_ = 0;
  std::size_t stretch_ = 0;
  double work_ = 0, after_ = 0, turned_away_ = 0, in_service_ = 0, tokens_ = 0;
};

/// Flows summed up from the start, at the ends of bins.
struct Sums {
  std::vector<double> offered, good;
};

/// When the shortfall of successes stopped growing for as long as the scenario asks for.
std::optional<double> recovery_time(const Scenario& scenario, const FluidSystem& system,
                                    const Sums& sums, double step) {
  const auto bin = [&](double t) {
    return std::min(sums.good.size() - 1, static_cast<std::size_t>(std::max(0.0, t) / step));
  };
  const auto between = [](const std::vector<double>& sum, std::size_t a, std::size_t b) {
    return sum[b] - sum[a];
  };
  const std::size_t first = bin(system.warmup), before = bin(system.first_disturbance);
  const std::size_t off = bin(system.disturbance_end), end = bin(system.duration);
  const double due = between(sums.offered, first, before);
  const double normal = before > first && due > 0 ? between(sums.good, first, before) / due : 1;
  const double bar = scenario.recovery_share * std::min(1.0, normal);
  const auto shortfall = [&](std::size_t k) { return bar * sums.offered[k] - sums.good[k]; };
  const auto hold = static_cast<std::size_t>(scenario.recovery_hold.in_seconds() / step);
  const double margin = 1e-9 * std::max(1.0, sums.offered.back());
  std::size_t at = off;
  for (std::size_t k = off; k <= end; ++k) {
    if (shortfall(k) > shortfall(at) + margin) at = k;
    if (k >= at + hold) return static_cast<double>(at - off) * step;
  }
  return std::nullopt;
}

bool is_down(const FluidSystem& system, const Sums& sums, double step) {
  const auto bin = [&](double t) {
    return std::min(sums.good.size() - 1, static_cast<std::size_t>(std::max(0.0, t) / step));
  };
  const double from = std::min(system.disturbance_end, system.duration);
  const std::size_t last = bin(system.duration), first = bin(system.duration * 0.75 + from * 0.25);
  return sums.good[last] - sums.good[first] < 0.5 * (sums.offered[last] - sums.offered[first]);
}

}  // namespace

double fluid_step(const FluidSystem& system, double steps_per_timeout) {
  constexpr double kMostSteps = 2e6;
  double step = system.duration / 20'000;
  const bool timeout = system.shortest_timeout != kForever;
  if (timeout) step = system.shortest_timeout / steps_per_timeout;
  for (const FluidClients& g : system.groups) {
    // A loop is as quick as its answers; elsewhere they are over before anybody waits for them.
    const double answer = g.round_trip + g.service_time;
    if ((g.closed || !timeout) && answer > 0) step = std::min(step, answer / 4);
  }
  for (std::size_t i = 1; i < system.stretches.size(); ++i) {
    const double length = system.stretches[i].start - system.stretches[i - 1].start;
    if (length > 0) step = std::min(step, std::max(length / 50, step / 20));
  }
  step = std::max(step, (system.duration + system.drain) / kMostSteps);
  return timeout ? system.shortest_timeout / std::ceil(system.shortest_timeout / step) : step;
}

FluidRun run_system(const Scenario& scenario, const FluidSystem& system, double step,
                    double series_interval) {
  // What is under way at the end has time to finish, but nothing new comes.
  double finish = 0;
  for (const FluidClients& g : system.groups) {
    const double attempts = std::min<double>(g.attempts, 16);
    finish = std::max(finish, attempts * (std::min(g.timeout, 60.0) + system.most_backoff));
  }
  const double horizon = system.duration + std::min(system.drain, finish);
  const auto steps = static_cast<std::size_t>(std::max(1.0, std::ceil(horizon / step)));
  Runner runner(scenario, system, step, steps);
  FluidRun run;
  run.steps = steps;
  Sums sums;
  sums.offered.reserve(steps + 1);
  sums.good.reserve(steps + 1);
  double offered = 0, good = 0;
  sums.offered.push_back(0);
  sums.good.push_back(0);
  const auto per_bin =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(series_interval / step)));
  FluidSample bin;
  runner.run([&](std::size_t k, const FluidSample& now) {
    offered += now.offered * step;
    good += now.goodput * step;
    sums.offered.push_back(offered);
    sums.good.push_back(good);
    const auto share = 1 / static_cast<double>(per_bin);
    bin.offered += now.offered * share;
    bin.attempts += now.attempts * share;
    bin.goodput += now.goodput * share;
    if ((k + 1) % per_bin != 0) return;
    bin.time = (static_cast<double>(k + 1) - static_cast<double>(per_bin) / 2) * step;
    bin.backlog = now.backlog;
    if (bin.time < system.duration) run.series.push_back(bin);
    bin = {};
  });
  run.groups = runner.groups();
  const double window = system.duration - system.warmup;
  for (FluidGroup& g : run.groups) {
    g.goodput /= window;
    g.attempt_rate /= window;
    g.offered /= window;
  }
  run.backlog = runner.backlog();
  run.disturbed = system.disturbed;
  run.down_at_end = is_down(system, sums, step);
  if (system.disturbed) run.recovery = recovery_time(scenario, system, sums, step);
  return run;
}

}  // namespace retrysim::prediction

namespace retrysim {

FluidRun run_fluid(const Scenario& scenario, std::size_t service, const FluidOptions& options) {
  if (const auto why = why_no_fluid(scenario, service)) throw std::domain_error(*why);
  const prediction::FluidSystem system = prediction::fluid_system(scenario, service);
  const double steps = std::clamp(options.steps_per_timeout, 50.0, 10'000.0);
  const double interval =
      options.series_interval > 0 ? options.series_interval : scenario.interval.in_seconds();
  return prediction::run_system(scenario, system, prediction::fluid_step(system, steps), interval);
}

}  // namespace retrysim
