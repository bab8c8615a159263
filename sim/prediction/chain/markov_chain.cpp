// Elimination, and the questions that a Markov chain answers with it.
//
// SPDX-License-Identifier: MIT
#include "prediction/chain/markov_chain.hpp"

#include "kernel/stop.hpp"
#include "prediction/chain/elimination.hpp"

#include <Eigen/SparseCore>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>

namespace retrysim::prediction {

namespace {

constexpr std::size_t kStates = 4;  // states taken out at once

/// Adds four rows, times their shares, to `cells` numbers; in this order, so that the result does
/// not depend on the width of registers.
inline __attribute__((always_inline)) void add_rows(double* __restrict to,
                                                    const double* const* rows, const double* shares,
                                                    std::size_t cells) {
  const double a = shares[0], b = shares[1], c = shares[2], d = shares[3];
  const double *p = rows[0], *q = rows[1], *r = rows[2], *s = rows[3];
  for (std::size_t j = 0; j < cells; ++j) {
    to[j] = to[j] + a * p[j] + b * q[j] + c * r[j] + d * s[j];
  }
}

using AddRows = void (*)(double*, const double* const*, const double*, std::size_t);

void add_rows_anywhere(double* to, const double* const* rows, const double* shares,
                       std::size_t cells) {
  add_rows(to, rows, shares, cells);
}

#if defined(__x86_64__)
// Four numbers at a time instead of two: this loop is nearly all that a chain costs.
__attribute__((target("avx2"))) void add_rows_avx2(double* to, const double* const* rows,
                                                   const double* shares, std::size_t cells) {
  add_rows(to, rows, shares, cells);
}
AddRows fastest_add_rows() {
  return __builtin_cpu_supports("avx2") != 0 ? add_rows_avx2 : add_rows_anywhere;
}
#else
AddRows fastest_add_rows() { return add_rows_anywhere; }
#endif

}  // namespace

Elimination::Elimination(std::size_t states, std::size_t bandwidth)
    : states_(states),
      band_(bandwidth),
      width_(2 * bandwidth + 1),
      cells_(states * width_),
      exit_(states),
      mean_stay_(states) {}

void Elimination::take_out_of(std::size_t i, std::size_t k) {
  const std::size_t first = lowest(k);
  double& into_k = row(i)[k - i + band_];
  if (into_k == 0) return;
  const double share = into_k *= mean_stay_[k];
  exit_[i] += share * exit_[k];
  // The diagonal is among these cells: its value is never used.
  const double* const from_k = row(k) + (first + band_ - k);
  double* const from_i = row(i) + (first + band_ - i);
  for (std::size_t j = 0; j < k - first; ++j) from_i[j] += share * from_k[j];
}

bool Elimination::sum_up(std::size_t k) {
  const std::size_t first = lowest(k);
  const double* const from_k = row(k) + (first + band_ - k);
  double out = exit_[k];
  for (std::size_t j = 0; j < k - first; ++j) out += from_k[j];
  // A way out through many unlikely steps may be rarer than the smallest number.
  assert(out >= 0);
  mean_stay_[k] = 1 / out;
  return std::isfinite(mean_stay_[k]);
}

/// Takes out four states at once, so that a row is read and written once for all of them; with the
/// same sums in the same order as one by one.
std::optional<std::size_t> Elimination::take_out_four(std::size_t top) {
  for (std::size_t t = 0; t < kStates; ++t) {
    for (std::size_t before = 0; before < t; ++before) take_out_of(top - t, top - before);
    if (!sum_up(top - t)) return top - t;
  }
  const std::size_t bottom = top - (kStates - 1), common = lowest(top);
  for (std::size_t i = lowest(bottom); i < common; ++i) {
    for (std::size_t t = 1; t < kStates; ++t) {
      if (i >= lowest(top - t)) take_out_of(i, top - t);
    }
  }
  const double* from[kStates];  // cell 0 belongs to state `common`
  for (std::size_t t = 0; t < kStates; ++t) from[t] = row(top - t) + (common + band_ - (top - t));
  for (std::size_t i = common; i < bottom; ++i) {
    double* const from_i = row(i) + (common + band_ - i);
    double share[kStates];
    for (std::size_t t = 0; t < kStates; ++t) {
      const std::size_t k = top - t;
      double& into_k = from_i[k - common];
      share[t] = into_k *= mean_stay_[k];
      exit_[i] += share[t] * exit_[k];
      for (std::size_t j = bottom; j < k; ++j) from_i[j - common] += share[t] * from[t][j - common];
      // States that only the lower ones of the four reach.
      for (std::size_t j = lowest(k); j < common; ++j) {
        row(i)[j + band_ - i] += share[t] * row(k)[j + band_ - k];
      }
    }
    fastest_add_rows()(from_i, from, share, bottom - common);
  }
  return std::nullopt;
}

std::optional<std::size_t> Elimination::run(std::size_t last) {
  std::size_t left = states_;
  // The first rows of the band are shorter; states with them are taken out one by one.
  while (left >= last + kStates && left > band_ + 2 * kStates && band_ >= 2 * kStates) {
    stop_point();
    if (const auto stays = take_out_four(left - 1)) return stays;
    left -= kStates;
  }
  for (std::size_t k = left; k-- > last;) {
    stop_point();
    if (!sum_up(k)) return k;
    for (std::size_t i = lowest(k); i < k; ++i) take_out_of(i, k);
  }
  return std::nullopt;
}

std::vector<double> Elimination::solve_down_to(std::size_t last, std::vector<double> x) const {
  for (std::size_t i = states_; i-- > last;) {
    const double* const share = row(i) + band_;  // shares of entries into state i + step
    double sum = x[i];
    for (std::size_t step = std::min(band_, states_ - 1 - i); step > 0; --step) {
      sum += share[step] * x[i + step];
    }
    x[i] = sum;
  }
  for (std::size_t k = last; k < states_; ++k) {
    const std::size_t first = lowest(k);
    const double* const from_k = row(k) + (first + band_ - k);
    double sum = x[k];
    for (std::size_t j = 0; j < k - first; ++j) sum += from_k[j] * x[first + j];
    x[k] = sum * mean_stay_[k];
  }
  return x;
}

std::vector<double> Elimination::solve(std::vector<double> reward) const {
  return solve_down_to(0, std::move(reward));
}

std::vector<double> Elimination::solve_above_first(std::vector<double> reward) const {
  reward[0] = 0;
  return solve_down_to(1, std::move(reward));
}

std::vector<double> Elimination::time_below(std::size_t targets) const {
  std::vector<double> reward(states_, 1);
  std::fill_n(reward.begin(), targets, 0);
  return solve_down_to(targets, std::move(reward));
}

std::vector<double> Elimination::stationary() const {
  constexpr double kLarge = 1e200;
  std::vector<double> law(states_);
  law[0] = 1;
  for (std::size_t j = 0; j < states_; ++j) {
    if (law[j] > kLarge) {
      for (double& p : law) p /= kLarge;
    }
    const std::size_t reach = std::min(band_, states_ - 1 - j);
    const double* const from_j = row(j) + band_;
    for (std::size_t step = 1; step <= reach; ++step) law[j + step] += law[j] * from_j[step];
  }
  double sum = 0;
  for (const double p : law) sum += p;
  for (double& p : law) p /= sum;
  return law;
}

}  // namespace retrysim::prediction

namespace retrysim {

// --- The chain -----------------------------------------------------------------------------------

using prediction::Elimination;
using StateList = std::vector<std::size_t>;
constexpr double kNever = std::numeric_limits<double>::infinity();

struct MarkovChain::Steps {
  using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

  /// The rates as a matrix, whose diagonal is empty. Steps between the same states are added up.
  const Matrix& rates() {
    if (!added.empty()) {
      Matrix more(static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(count));
      more.setFromTriplets(added.begin(), added.end());
      matrix = matrix.size() == 0 ? more : Matrix(matrix + more);
      added.clear();
    }
    if (matrix.size() == 0) {
      matrix.resize(static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(count));
    }
    return matrix;
  }

  template <class Visit>  // visit(to, rate)
  void for_each_from(std::size_t from, Visit visit) {
    for (Matrix::InnerIterator it(rates(), static_cast<Eigen::Index>(from)); it; ++it) {
      if (it.value() > 0) visit(static_cast<std::size_t>(it.col()), it.value());
    }
  }

  /// Which states can reach one of `goals`.
  std::vector<bool> that_reach(const std::vector<bool>& goals) {
    using ByTarget = Eigen::SparseMatrix<double, Eigen::ColMajor>;
    const ByTarget from = rates();
    std::vector<bool> reach = goals;
    StateList unread;
    for (std::size_t i = 0; i < count; ++i) {
      if (goals[i]) unread.push_back(i);
    }
    while (!unread.empty()) {
      const std::size_t at = unread.back();
      unread.pop_back();
      for (ByTarget::InnerIterator it(from, static_cast<Eigen::Index>(at)); it; ++it) {
        const auto i = static_cast<std::size_t>(it.row());
        if (it.value() > 0 && !reach[i]) reach[i] = true, unread.push_back(i);
      }
    }
    return reach;
  }

  std::size_t count = 0;
  std::size_t bandwidth = 0;
  std::vector<Eigen::Triplet<double>> added;
  Matrix matrix;
};

namespace {

std::vector<bool> marked(std::size_t states, const std::function<bool(std::size_t)>& is_in) {
  std::vector<bool> marks(states);
  for (std::size_t i = 0; i < states; ++i) marks[i] = is_in(i);
  return marks;
}

/// StateList to solve for, in order, and their places among them.
struct Part {
  explicit Part(const std::vector<bool>& inside) : place(inside.size()) {
    for (std::size_t i = 0; i < inside.size(); ++i) {
      place[i] = states.size();
      if (inside[i]) states.push_back(i);
    }
  }
  StateList states, place;
};

}  // namespace

MarkovChain::MarkovChain(std::size_t states) : steps_(std::make_unique<Steps>()) {
  if (states == 0 || states > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw std::invalid_argument("number of states out of range");
  }
  steps_->count = states;
}
MarkovChain::~MarkovChain() = default;
MarkovChain::MarkovChain(MarkovChain&&) noexcept = default;
MarkovChain& MarkovChain::operator=(MarkovChain&&) noexcept = default;

void MarkovChain::add(std::size_t from, std::size_t to, double rate) {
  if (from >= states() || to >= states()) throw std::invalid_argument("no such state");
  if (!(rate >= 0) || rate == kNever) {
    throw std::invalid_argument("a rate must be finite and not negative");
  }
  if (rate == 0 || from == to) return;
  steps_->added.emplace_back(static_cast<int>(from), static_cast<int>(to), rate);
  steps_->bandwidth = std::max(steps_->bandwidth, from > to ? from - to : to - from);
}

std::size_t MarkovChain::states() const { return steps_->count; }

namespace {

constexpr const char* kTooRare = "the chain leaves a state too rarely for numbers";

/// The elimination of all states but the first.
template <class Steps>
Elimination down_to_first(Steps& steps) {
  std::vector<bool> first(steps.count);
  first[0] = true;
  const std::vector<bool> reach = steps.that_reach(first);
  if (std::find(reach.begin(), reach.end(), false) != reach.end()) {
    throw std::domain_error("the chain cannot reach its first state from every state");
  }
  Elimination elimination(steps.count, steps.bandwidth);
  for (std::size_t i = 0; i < steps.count; ++i) {
    steps.for_each_from(i, [&](std::size_t to, double rate) { elimination.add(i, to, rate); });
  }
  if (elimination.run(1)) throw std::domain_error(kTooRare);
  return elimination;
}

/// The elimination of the states of `part`, with an exit to all others; or a state that is left too
/// rarely for a double.
template <class Steps>
std::variant<Elimination, std::size_t> with_exit(Steps& steps, const Part& part,
                                                 const std::vector<bool>& inside) {
  Elimination elimination(part.states.size(), std::min(steps.bandwidth, part.states.size() - 1));
  for (std::size_t i = 0; i < part.states.size(); ++i) {
    steps.for_each_from(part.states[i], [&](std::size_t to, double rate) {
      if (inside[to]) {
        elimination.add(i, part.place[to], rate);
      } else {
        elimination.add_exit(i, rate);
      }
    });
  }
  if (const auto stays = elimination.run(0)) return part.states[*stays];
  return elimination;
}

}  // namespace

std::vector<double> MarkovChain::stationary() const { return down_to_first(*steps_).stationary(); }

MarkovChain::LawAndReturn MarkovChain::law_and_return(std::size_t targets) const {
  if (targets == 0 || targets > states()) throw std::invalid_argument("no state is a target");
  const Elimination elimination = down_to_first(*steps_);
  return {elimination.stationary(), elimination.time_below(targets)};
}

namespace {

/// A time beyond the range of double (infinite or NaN) counts as never.
double sayable(double time) { return std::isfinite(time) ? time : kNever; }

/// What has to be eliminated for the times until a target.
template <class Steps>
class Journey {
 public:
  Journey(Steps& steps, const std::function<bool(std::size_t)>& is_target)
      : steps_(steps), target_(marked(steps.count, is_target)) {
    if (std::find(target_.begin(), target_.end(), true) == target_.end()) {
      throw std::invalid_argument("no state is a target");
    }
    // States from which the target may never be reached: those that can go to a state from which it
    // cannot be.
    never_ = steps.that_reach(target_);
    never_.flip();
  }

  /// Calls `solve(part, elimination)` for the states from which the target is reached in a time
  /// within the range of double, and `never(state)` for the others.
  template <class Solve, class Never>
  void times(Solve solve, Never never) {
    for (;;) {
      spread();
      std::vector<bool> inside(steps_.count);
      for (std::size_t i = 0; i < steps_.count; ++i) inside[i] = !target_[i] && !never_[i];
      const Part part(inside);
      if (!part.states.empty()) {
        const auto found = with_exit(steps_, part, inside);
        if (const std::size_t* const stays = std::get_if<std::size_t>(&found)) {
          never_[*stays] = true;
          continue;
        }
        solve(part, std::get<Elimination>(found));
      }
      for (std::size_t i = 0; i < steps_.count; ++i) {
        if (!target_[i] && never_[i]) never(i);
      }
      return;
    }
  }

 private:
  /// Spreads "never" to all states that can come to such a state; a way through the target does not
  /// count.
  void spread() {
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < steps_.count; ++i) {
        if (never_[i] || target_[i]) continue;
        steps_.for_each_from(i, [&](std::size_t to, double) {
          if (never_[to] && !target_[to] && !never_[i]) never_[i] = more = true;
        });
      }
    }
  }

  Steps& steps_;
  std::vector<bool> target_, never_;
};

}  // namespace

std::vector<MarkovChain::HittingTime> MarkovChain::time_to(
    const std::function<bool(std::size_t)>& is_target) const {
  std::vector<HittingTime> times(states());
  Journey(*steps_, is_target)
      .times(
          [&](const Part& part, const Elimination& elimination) {
            const std::vector<double> mean =
                elimination.solve(std::vector<double>(part.states.size(), 1));
            std::vector<double> twice = mean;
            for (double& x : twice) x *= 2;
            const std::vector<double> square = elimination.solve(std::move(twice));
            for (std::size_t i = 0; i < part.states.size(); ++i) {
              const double m = sayable(mean[i]);
              times[part.states[i]] = {m, m == kNever ? m : std::max(0.0, square[i] - m * m)};
            }
          },
          [&](std::size_t i) {
            times[i] = {kNever, kNever};
          });
  return times;
}

std::vector<double> MarkovChain::mean_time_to(
    const std::function<bool(std::size_t)>& is_target) const {
  std::vector<double> times(states());
  Journey(*steps_, is_target)
      .times(
          [&](const Part& part, const Elimination& elimination) {
            const std::vector<double> mean =
                elimination.solve(std::vector<double>(part.states.size(), 1));
            for (std::size_t i = 0; i < part.states.size(); ++i) {
              times[part.states[i]] = sayable(mean[i]);
            }
          },
          [&](std::size_t i) { times[i] = kNever; });
  return times;
}

std::vector<double> MarkovChain::committor(const std::function<bool(std::size_t)>& wins,
                                           const std::function<bool(std::size_t)>& loses) const {
  const std::vector<bool> won = marked(states(), wins), lost = marked(states(), loses);
  std::vector<bool> decided(states()), inside(states());
  for (std::size_t i = 0; i < states(); ++i) decided[i] = won[i] || lost[i];
  const std::vector<bool> reach = steps_->that_reach(decided);
  std::vector<double> chance(states());
  for (std::size_t i = 0; i < states(); ++i) {
    inside[i] = !decided[i] && reach[i];
    chance[i] = won[i] ? 1 : 0;
  }
  const Part part(inside);
  if (part.states.empty()) return chance;
  std::vector<double> reward(part.states.size());
  for (std::size_t i = 0; i < part.states.size(); ++i) {
    steps_->for_each_from(part.states[i], [&](std::size_t to, double rate) {
      if (won[to]) reward[i] += rate;
    });
  }
  const auto found = with_exit(*steps_, part, inside);
  const Elimination* const elimination = std::get_if<Elimination>(&found);
  if (elimination == nullptr) throw std::domain_error(kTooRare);
  const std::vector<double> u = elimination->solve(std::move(reward));
  for (std::size_t i = 0; i < part.states.size(); ++i) {
    chance[part.states[i]] = std::min(1.0, u[i]);
  }
  return chance;
}

std::optional<double> MarkovChain::relaxation_time(int most_steps) const {
  constexpr double kSettled = 1e-10;
  if (states() < 2) return 0;
  const Elimination elimination = down_to_first(*steps_);
  const std::vector<double> law = elimination.stationary();
  const auto centred = [&](std::vector<double> x) {
    double mean = 0;
    for (std::size_t i = 0; i < x.size(); ++i) mean += law[i] * x[i];
    for (double& v : x) v -= mean;
    return x;
  };
  const auto product = [&](const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += law[i] * x[i] * y[i];
    return sum;
  };
  std::vector<double> x(states());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  x = centred(std::move(x));
  double time = 0;
  int settled = 0;
  for (int step = 0; step < most_steps; ++step) {
    const double size = std::sqrt(product(x, x));
    if (!(size > 0)) return std::nullopt;
    for (double& v : x) v /= size;
    std::vector<double> y = centred(elimination.solve_above_first(x));
    const double next = product(x, y);
    settled = std::abs(next - time) <= kSettled * std::abs(next) ? settled + 1 : 0;
    time = next;
    if (settled == 3) return time > 0 ? std::optional(time) : std::nullopt;
    x = std::move(y);
  }
  return std::nullopt;
}

std::vector<double> MarkovChain::law_after(double time, std::vector<double> start) const {
  if (!(time >= 0) || time == kNever) throw std::invalid_argument("time out of range");
  if (start.size() != states()) throw std::invalid_argument("a probability for each state");
  constexpr double kMissing = 1e-12;
  std::vector<double> out(states());
  double fastest = 0;
  for (std::size_t i = 0; i < states(); ++i) {
    steps_->for_each_from(i, [&](std::size_t, double rate) { out[i] += rate; });
    fastest = std::max(fastest, out[i]);
  }
  if (fastest == 0 || time == 0) return start;
  // Steps of a mean of at most 50 jumps: e^-50 does not underflow.
  const auto rounds = static_cast<int>(std::ceil(fastest * time / 50));
  const double jumps = fastest * time / rounds;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> sum(states()), term = std::move(start);
    double weight = std::exp(-jumps), missing = 1;
    for (int n = 0; missing > kMissing / rounds && n < 1000; ++n) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * term[i];
      missing -= weight;
      weight *= jumps / (n + 1);
      std::vector<double> next(states());
      for (std::size_t i = 0; i < next.size(); ++i) {
        next[i] += term[i] * (1 - out[i] / fastest);
        steps_->for_each_from(
            i, [&](std::size_t to, double rate) { next[to] += term[i] * rate / fastest; });
      }
      term = std::move(next);
    }
    start = std::move(sum);
  }
  return start;
}

}  // namespace retrysim
