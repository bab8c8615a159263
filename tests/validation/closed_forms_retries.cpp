// The formulas of clients that retry: backoffs, the retry quota, the send-rate limiter, and
// services under the load of retries.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "closed_forms.hpp"

namespace retrysim::validation {
namespace {

int whole(const Parameters& p, std::string_view name) { return static_cast<int>(p.number(name)); }

// Backoff.

struct Moments {
  double mean = 0, square = 0;
  double variance() const { return std::max(0.0, square - mean * mean); }
};

/// The delay before a retry whose backoff is v before cap and jitter.
Moments delay_moments(const std::string& kind, double v, double cap) {
  const double limited = std::min(v, cap);
  if (kind == "full") return {limited / 2, limited * limited / 3};
  if (kind == "equal") return {limited * 3 / 4, limited * limited * 7 / 12};
  if (kind == "full_inner" && v > cap) {  // the smaller of cap and a uniform draw up to v
    return {cap - cap * cap / (2 * v), cap * cap - 2 * cap * cap * cap / (3 * v)};
  }
  if (kind == "full_inner") return {v / 2, v * v / 3};
  return {limited, limited * limited};
}

Moments delay_before_retry(const Parameters& p, const std::string& kind, int retry) {
  const double exponent = p.number("first_exponent") + retry - 1;
  return delay_moments(kind, p.number("base") * std::pow(2, exponent), p.number("cap"));
}

Values backoff_single(const Parameters& p) {
  Values values;
  for (const std::string kind : {"expo", "full", "equal", "full_inner"}) {
    const Moments m = delay_before_retry(p, kind, whole(p, "retry"));
    values["mean_" + kind] = m.mean;
    values["sd_" + kind] = kind == "expo" ? 0 : std::sqrt(m.variance());
  }
  return values;
}

Values backoff_total(const Parameters& p) {
  const double failure = p.number("p");
  const int most = whole(p, "n") - 1;
  Moments total;
  double means = 0, variances = 0;  // of the retries so far
  for (int retries = 1; retries <= most; ++retries) {
    const Moments m = delay_before_retry(p, p.text("kind"), retries);
    means += m.mean;
    variances += m.variance();
    const double probability = std::pow(failure, retries) * (retries < most ? 1 - failure : 1);
    total.mean += probability * means;
    total.square += probability * (variances + means * means);
  }
  return {{"E_total", total.mean},
          {"sd_total", std::sqrt(total.variance())},
          {"E_total_given_all_retries", means}};
}

// The retry quota of a client with one request at a time.

double quota_drift(double p, int attempts, double cost) {
  double drift = 1 - p;
  for (int k = 2; k <= attempts; ++k) drift -= cost * std::pow(p, k);
  return drift;
}

double critical_probability(int attempts, double cost) {
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (quota_drift(middle, attempts, cost) > 0 ? low : high) = middle;
  }
  return low;
}

Values quota_total_outage(const Parameters& p) {
  const int cost = whole(p, "cost"), capacity = whole(p, "capacity");
  const int retries = capacity / cost, left = capacity % cost;
  return {{"total_retries", retries},
          {"request_index_of_first_denial", 1.0 + retries / (whole(p, "n") - 1)},
          {"tokens_left", left},
          {"successes_to_next_retry", cost - left}};
}

using Matrix = std::vector<std::vector<double>>;

/// What a request that finds `level` tokens does. The level is that of the last request's end.
struct QuotaStep {
  std::vector<double> next;  ///< probability of each level, denied requests left out
  double denied = 0;         ///< probability of a denial ...
  int level_denied = 0;      ///< ... and the level then
  double retries = 0;
};

QuotaStep quota_step(const Parameters& parameters, int level) {
  const double p = parameters.number("p");
  const int cost = whole(parameters, "cost"), capacity = whole(parameters, "capacity");
  QuotaStep step;
  step.next.resize(static_cast<std::size_t>(capacity) + 1);
  const auto goes_to = [&](int to) -> double& { return step.next[static_cast<std::size_t>(to)]; };
  goes_to(std::min(capacity, level + 1)) += 1 - p;
  double failing = p;
  for (int attempt = 2; attempt <= whole(parameters, "n"); ++attempt) {
    if (level < cost) {
      step.denied = failing;
      step.level_denied = level;
      return step;
    }
    step.retries += failing;
    goes_to(level) += failing * (1 - p);  // pays, succeeds and is given back what it paid
    level -= cost;
    failing *= p;
  }
  goes_to(level) += failing;
  return step;
}

/// The columns from `first` up to `last`, excluded, in which a row has something. Chains that step
/// to neighbours fill their matrix but little.
std::vector<std::size_t> filled_columns(const std::vector<double>& row, std::size_t first,
                                        std::size_t last) {
  std::vector<std::size_t> columns;
  for (std::size_t j = first; j < last; ++j) {
    if (row[j] != 0) columns.push_back(j);
  }
  return columns;
}

/// Stationary distribution by elimination without subtraction (Grassmann, Taksar, Heyman 1985), so
/// that small probabilities are as exact as large ones.
std::vector<double> stationary(Matrix a) {
  const std::size_t n = a.size();
  for (std::size_t k = n - 1; k > 0; --k) {
    const std::vector<std::size_t> columns = filled_columns(a[k], 0, k);
    double out = 0;
    for (const std::size_t j : columns) out += a[k][j];
    for (std::size_t i = 0; i < k; ++i) {
      if (a[i][k] == 0) continue;
      a[i][k] /= out;
      for (const std::size_t j : columns) a[i][j] += a[i][k] * a[k][j];
    }
  }
  std::vector<double> pi(n);
  pi[0] = 1;
  double sum = 1;
  for (std::size_t k = 1; k < n; ++k) {
    for (std::size_t i = 0; i < k; ++i) pi[k] += pi[i] * a[i][k];
    sum += pi[k];
  }
  for (double& x : pi) x /= sum;
  return pi;
}

/// Mean number of steps until a chain ends that stays with probabilities `a`, from its last state.
double steps_to_end(Matrix a) {
  const std::size_t n = a.size();
  std::vector<double> steps(n, 1);
  for (std::size_t k = 0; k < n; ++k) {  // removes state k from those after it
    const double leaves = 1 - a[k][k];
    const std::vector<std::size_t> columns = filled_columns(a[k], k + 1, n);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double share = a[i][k] / leaves;
      if (share == 0) continue;
      for (const std::size_t j : columns) a[i][j] += share * a[k][j];
      steps[i] += share * steps[k];
    }
  }
  return steps[n - 1] / (1 - a[n - 1][n - 1]);
}

Values quota_chain(const Parameters& parameters) {
  const double p = parameters.number("p"), cost = parameters.number("cost");
  const int attempts = whole(parameters, "n"), capacity = whole(parameters, "capacity");
  std::vector<QuotaStep> steps;
  Matrix undenied;
  for (int level = 0; level <= capacity; ++level) {
    steps.push_back(quota_step(parameters, level));
    undenied.push_back(steps.back().next);
  }
  Matrix all = undenied;
  for (std::size_t level = 0; level < all.size(); ++level) {
    all[level][static_cast<std::size_t>(steps[level].level_denied)] += steps[level].denied;
  }
  const std::vector<double> pi = stationary(all);
  double retries = 0, denials = 0, mean = 0, exhausted = 0;
  for (std::size_t level = 0; level < pi.size(); ++level) {
    retries += pi[level] * steps[level].retries;
    denials += pi[level] * steps[level].denied;
    mean += pi[level] * static_cast<double>(level);
    // Every attempt is made if the quota grants it, and the last fails too.
    const bool granted = static_cast<double>(level) >= cost * (attempts - 1);
    if (granted) exhausted += pi[level] * std::pow(p, attempts);
  }
  return {{"retries_per_request", retries},
          {"amplification", 1 + retries},
          {"success_rate", 1 - denials - exhausted},
          {"denials_per_request", denials},
          {"mean_quota", mean},
          {"drift_full", quota_drift(p, attempts, cost)},
          {"requests_to_first_denial_from_full", steps_to_end(undenied)},
          {"retry_law_(1-p)/(cost*p)", (1 - p) / (cost * p)}};
}

// The send-rate limiter.

constexpr double kBeta = 0.7, kScale = 0.4;

double cubic_window(double peak) { return std::cbrt(peak * (1 - kBeta) / kScale); }

Values cubic(const Parameters& p) {
  const double peak = p.number("w_max"), k = cubic_window(peak);
  Values values{{"K", k},
                {"rate_after_throttle", kBeta * peak},
                {"avg_fraction_of_peak", 1 - (1 - kBeta) / 4},
                {"time_to_1.1w", k + std::cbrt(0.1 * peak / kScale)}};
  for (const std::string time : {"0", "0.5", "1", "3", "4.21716", "6"}) {
    const double t = Parameters("t=" + time).number("t");
    values["rate_at_" + time] = kScale * std::pow(t - k, 3) + peak;
  }
  return values;
}

/// If all clients were throttled together; and no client sends less than once in two seconds.
Values cubic_shared(const Parameters& p) {
  constexpr double kLeastRate = 0.5;
  const double clients = p.number("N"), limit = p.number("X"), floor = kLeastRate * clients;
  return {{"sync_total_avg", limit * (1 - (1 - kBeta) / 4)},
          {"sync_period", cubic_window(limit / clients)},
          {"floor_attempt_rate", floor},
          {"floor_throttle_fraction", std::max(0.0, 1 - limit / floor)}};
}

// Bursts of attempts: every request brings its retries along. The index of dispersion is 1 plus
// what pairs of attempts of the same request add: the probability that both exist and the share of
// windows that hold both, over the mean number of attempts.

Values retry_burst(const Parameters& parameters) {
  const double p = parameters.number("p");
  const int n = whole(parameters, "n");
  constexpr double kWindow = 20;  // delays
  double attempts = 0, pairs = 0, pairs_in_window = 0, neighbours = 0, second_neighbours = 0;
  for (int j = 1; j <= n; ++j) {
    const double exists = std::pow(p, j - 1);
    attempts += exists;
    for (int i = 1; i < j; ++i) {
      pairs += exists;
      pairs_in_window += exists * (1 - (j - i) / kWindow);
    }
    if (j >= 2) neighbours += exists;
    if (j >= 3) second_neighbours += exists;
  }
  return {{"IDC_infinite_window", 1 + 2 * pairs / attempts},
          {"IDC_window_20d", 1 + 2 * pairs_in_window / attempts},
          {"IDC_window_lt_d", 1},
          {"acf_at_lag_d", neighbours / attempts},
          {"acf_at_lag_2d", second_neighbours / attempts}};
}

/// Three attempts, whose delays are uniform up to u1 and u2.
Values retry_burst_fulljitter(const Parameters& parameters) {
  const double p = parameters.number("p"), w = parameters.number("window");
  const double u1 = parameters.number("u1"), u2 = parameters.number("u2");
  const auto square = [](double x) { return x > 0 ? x * x / 2 : 0; };
  const auto cube = [](double x) { return x > 0 ? x * x * x / 6 : 0; };
  const auto one_delay = [&](double u) { return (square(w) - square(w - u)) / (u * w); };
  const double two_delays =
      (cube(w) - cube(w - u1) - cube(w - u2) + cube(w - u1 - u2)) / (u1 * u2 * w);
  const double pairs = p * one_delay(u1) + p * p * (one_delay(u2) + two_delays);
  return {{"IDC", 1 + 2 * pairs / (1 + p + p * p)}};
}

// Services under the load of retries.

Values retrial_mm11(const Parameters& p) {
  const double rate = p.number("lam"), pause_rate = p.number("nu"), rho = rate / p.number("mu");
  const double orbit = rho * (rate + rho * pause_rate) / ((1 - rho) * pause_rate);
  return {{"P_block_primary", rho},
          {"orbit_mean", orbit},
          {"attempt_rate", rate + pause_rate * orbit},
          {"amplification", 1 + pause_rate * orbit / rate}};
}

double attempts_per_request(double failure, int n) {
  return failure == 1 ? n : (1 - std::pow(failure, n)) / (1 - failure);
}

/// Of those that read the same version one writes; the others go on in lockstep, after a backoff.
/// Read and write are two messages each, there and back.
Values occ_lockstep(const Parameters& p) {
  const int clients = whole(p, "N");
  double end = 4 * p.number("net") * clients;
  for (int lost = 1; lost < clients && p.text("backoff") == "expo"; ++lost) {
    end += std::min(p.number("cap"), p.number("base") * std::pow(2, lost));
  }
  return {{"calls", clients * (clients + 1) / 2}, {"end_time", end}};
}

Values jain(std::string_view shares) {
  double sum = 0, squares = 0, count = 0;
  while (!shares.empty()) {
    const std::size_t end = std::min(shares.find('|'), shares.size());
    const double x = Parameters("x=" + std::string(shares.substr(0, end))).number("x");
    sum += x;
    squares += x * x;
    ++count;
    shares.remove_prefix(std::min(end + 1, shares.size()));
  }
  return {{"jain", sum * sum / (count * squares)}};
}

/// The chain of ps_zombie: live attempts and zombies share the server.
class ZombieChain {
 public:
  explicit ZombieChain(const Parameters& p) : p_(p), places_(whole(p, "K")) {
    for (int n = 0; n <= places_; ++n) {
      for (int live = 0; live <= n; ++live) states_.push_back({live, n - live});
    }
  }

  Values values() const {
    const std::vector<double> pi = stationary(rates(states_));
    double good = 0, busy = 0, live = 0, zombies = 0, full = 0;
    for (std::size_t i = 0; i < pi.size(); ++i) {
      const auto [l, z] = states_[i];
      if (l + z > 0) good += pi[i] * p_.number("mu") * l / (l + z);
      if (l + z > 0) busy += pi[i];
      if (l + z == places_) full += pi[i];
      live += pi[i] * l;
      zombies += pi[i] * z;
    }
    return {{"goodput", good},
            {"util", busy},
            {"L_live", live},
            {"Z_zombie", zombies},
            {"P_full", full},
            {"timeout_rate", p_.number("theta") * live},
            {"hit_full_from_empty", time_within({0, 0}, 0, places_ - 1)},
            {"recover_from_1_Kminus1_to_le_lo",
             time_within({1, places_ - 1}, whole(p_, "lo") + 1, places_)}};
  }

 private:
  struct State {
    int live, zombies;
    bool operator==(const State&) const = default;
  };

  /// Rates from each state to each, in the order of `states`; others are left out.
  Matrix rates(const std::vector<State>& states) const {
    std::map<std::pair<int, int>, std::size_t> index;
    for (std::size_t i = 0; i < states.size(); ++i) {
      index[{states[i].live, states[i].zombies}] = i;
    }
    Matrix a(states.size(), std::vector<double>(states.size()));
    for (std::size_t i = 0; i < states.size(); ++i) {
      for_each_step(states[i], [&](State to, double rate) {
        const auto found = index.find({to.live, to.zombies});
        if (found != index.end()) a[i][found->second] += rate;
      });
    }
    return a;
  }

  template <class Visit>
  void for_each_step(State s, Visit visit) const {
    const int n = s.live + s.zombies;
    const double mu = p_.number("mu"), gives_up = p_.number("theta") * s.live;
    const double again = n < places_ ? p_.number("alpha") : 0;
    if (n < places_) visit({s.live + 1, s.zombies}, p_.number("lam"));
    if (s.live > 0) {
      visit({s.live - 1, s.zombies}, mu * s.live / n);
      visit({s.live, s.zombies + 1}, gives_up * again);
      visit({s.live - 1, s.zombies + 1}, gives_up * (1 - again));
    }
    if (s.zombies > 0) visit({s.live, s.zombies - 1}, mu * s.zombies / n);
  }

  /// Mean time in which the number of attempts stays between `least` and `most`.
  double time_within(State start, int least, int most) const {
    std::vector<State> inside;
    for (const State& s : states_) {
      const int n = s.live + s.zombies;
      if (n >= least && n <= most && s != start) inside.push_back(s);
    }
    inside.push_back(start);
    Matrix a = rates(inside);
    double fastest = 0;  // steps of equal mean length
    const auto leaving = [&](const State& s) {
      double sum = 0;
      for_each_step(s, [&](State, double rate) { sum += rate; });
      return sum;
    };
    for (const State& s : inside) fastest = std::max(fastest, leaving(s));
    for (std::size_t i = 0; i < inside.size(); ++i) {
      for (double& x : a[i]) x /= fastest;
      a[i][i] += 1 - leaving(inside[i]) / fastest;
    }
    return steps_to_end(std::move(a)) / fastest;
  }

  const Parameters& p_;
  int places_;
  std::vector<State> states_;
};

/// A client that refuses a call with probability (r - K a) / (r + 1) for a accepts among the last
/// r. In the mean a is r times what is sent and accepted; below the critical p nothing is refused.
Values sre_adaptive_throttle(const Parameters& p) {
  const double k = p.number("K"), r = p.number("window_requests"), accepted = 1 - p.number("p");
  const double sent = k * accepted > 1 ? 1 : 1 / (1 + r - k * accepted * r);
  return {{"send_fraction", sent}, {"local_reject", 1 - sent}, {"p_crit", 1 - 1 / k}};
}

/// Requests and answers that get lost. What was executed is tried again if its answer was lost.
Values duplicates(const Parameters& p) {
  const double arrives = 1 - p.number("q_request_lost");
  const double failure = 1 - arrives * (1 - p.number("l_response_lost"));
  const int n = whole(p, "n");
  const double executions = arrives * attempts_per_request(failure, n);
  const double succeeds = 1 - std::pow(failure, n), takes_effect = 1 - std::pow(1 - arrives, n);
  // One execution only: it is the attempt that succeeds, or all others are lost on their way.
  double once = 0;
  for (int i = 1; i <= n; ++i) {
    const double earlier_lost = std::pow(1 - arrives, i - 1);
    once += earlier_lost * arrives *
            (1 - p.number("l_response_lost") +
             p.number("l_response_lost") * std::pow(1 - arrives, n - i));
  }
  return {{"executions_per_request", executions},
          {"P_client_success", succeeds},
          {"P_exec_ge2", takes_effect - once},
          {"P_exec_0", 1 - takes_effect},
          {"exec_per_request_dedup", takes_effect},
          {"replays_per_request", executions - takes_effect},
          {"P_ambiguous_fail", takes_effect - succeeds}};
}

/// Retries so late that they are as random as requests.
Values loss_fixed_point(const Parameters& p) {
  const double rate = p.number("lam") / p.number("mu");
  const int n = whole(p, "n");
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double failure = (low + high) / 2;
    const double blocked = erlang_b(whole(p, "c"), rate * attempts_per_request(failure, n));
    (blocked > failure ? low : high) = failure;
  }
  return {{"attempt_failure", low},
          {"amplification", attempts_per_request(low, n)},
          {"success_rate", 1 - std::pow(low, n)}};
}

Values fluid_cheap_reject(const Parameters& p) {
  const double rho = p.number("rho");
  const int n = whole(p, "n");
  const double failure = std::pow(1 - 1 / rho, 1.0 / n);
  const double amplification = attempts_per_request(failure, n);
  return {{"attempt_failure", failure},
          {"attempts_over_mu", rho * amplification},
          {"amplification", amplification},
          {"success_rate", 1 / rho}};
}

/// A rejection costs w services. In equilibrium g(p) = (1 - p^n) (1 + w p / (1 - p)) is 1 / rho for
/// a share p of failures; where g rises there it is unstable. Collapse is p = 1, where g is n w.
Values fluid_costly_reject(const Parameters& parameters) {
  constexpr int kSteps = 1'000'000;
  const double rho = parameters.number("rho"), w = parameters.number("w");
  const int n = whole(parameters, "n");
  const auto g = [&](double p) {
    return (1 - std::pow(p, n)) + w * p * attempts_per_request(p, n);
  };
  double peak = 0, at_peak = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double p = static_cast<double>(i) / kSteps;
    if (g(p) > peak) peak = g(p), at_peak = p;
  }
  Values values{{"rho_vulnerable", 1 / peak}, {"collapse_exists", rho * n * w >= 1}};
  if (g(0) < 1 / rho && peak > 1 / rho) {
    double low = 0, high = at_peak;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (g(middle) > 1 / rho ? high : low) = middle;
    }
    values["p_unstable"] = low;
  }
  return values;
}

// A FIFO queue whose clients give up after T and come back at once, as a fluid; in units of T.

Values fifo_zombie(const Parameters& p) {
  const double rho = p.number("rho"), n = p.number("n");
  return {{"lower_bound", 1 + (1 - rho) * (1 - rho) / rho},
          {"rho_safe_below", 1 / n},
          {"amplification_collapsed", n}};
}

Values fifo_zombie_drain(const Parameters& p) {
  const double slope = p.number("n") * p.number("rho") - 1;
  return {{"slope_above_T", slope},
          {"time_to_T_if_stationary_retries", (p.number("W0") - p.number("T")) / -slope}};
}

/// Work balance: what came during the outage and what the quota let be repeated, down to T.
Values fifo_zombie_quota_recovery(const Parameters& p) {
  const double rho = p.number("rho");
  const double retries = p.number("N") * p.number("quota") / p.number("timeout_cost");
  return {{"recovery_time_after_outage",
           (rho * p.number("outage") + retries / p.number("mu") - p.number("T")) / (1 - rho)}};
}

}  // namespace

Values retry_values(const TheoryCase& theory) {
  const Parameters& p = theory.parameters;
  const std::string& model = theory.model;
  if (model == "backoff_single") return backoff_single(p);
  if (model == "backoff_total") return backoff_total(p);
  if (model == "quota_critical") {
    return {{"p_crit", critical_probability(whole(p, "n"), p.number("cost"))}};
  }
  if (model == "quota_total_outage") return quota_total_outage(p);
  if (model == "quota_chain") return quota_chain(p);
  if (model == "cubic") return cubic(p);
  if (model == "cubic_shared") return cubic_shared(p);
  if (model == "retry_burst") return retry_burst(p);
  if (model == "retry_burst_fulljitter") return retry_burst_fulljitter(p);
  if (model == "retrial_mm11") return retrial_mm11(p);
  if (model == "loss_fixed_point") return loss_fixed_point(p);
  if (model == "fluid_cheap_reject") return fluid_cheap_reject(p);
  if (model == "sre_adaptive_throttle") return sre_adaptive_throttle(p);
  if (model == "occ_lockstep") return occ_lockstep(p);
  if (model == "jain") return jain(p.text("x"));
  if (model == "ps_zombie") return ZombieChain(p).values();
  if (model == "fluid_costly_reject") return fluid_costly_reject(p);
  if (model == "duplicates" || model == "duplicates_with_token") return duplicates(p);
  if (model == "layered_amplification") {
    return {{"amplification_at_bottom", std::pow(p.number("n"), p.number("depth"))}};
  }
  if (model == "fifo_zombie_outage") return fifo_zombie(p);
  if (model == "fifo_zombie_spike") {
    return {{"first_timeouts_at", p.number("T") / (p.number("f") * p.number("rho") - 1)}};
  }
  if (model == "fifo_zombie_drain") return fifo_zombie_drain(p);
  if (model == "fifo_zombie_quota_recovery") return fifo_zombie_quota_recovery(p);
  return {};
}

}  // namespace retrysim::validation
