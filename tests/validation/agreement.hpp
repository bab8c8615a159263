// Does the simulator agree with theory? The rule for one number, and the search for the length of
// run that lets it be decided.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/metrics.hpp>

#include "theory_cases.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::validation {

enum class Verdict : std::uint8_t {
  kAgrees,
  kDisagrees,
  kInconclusive,  ///< the interval is too wide to tell
};
std::string_view to_string(Verdict verdict);

/// With h the half-width of the 95 % interval across replications, by the row's closeness:
///
/// - interval: a difference beyond 3 h disagrees. At 20 replications 3 h are 6.28 standard errors,
///   which a correct simulator exceeds once in 200,000 times. Otherwise the number agrees if h is
///   at most `precision` of the exact value. An exact value below 1/1000 belongs to something rare,
///   of which no run sees enough for a relative width: it agrees within 3 h, or a millionth if that
///   is more;
/// - exact: the mean is the exact value, and replications do not differ (to 1e-12, so that a sum
///   may be rounded);
/// - analytic: the same to 1e-9;
/// - within: h is at most `precision`, and the difference at most `share`, of the exact value;
/// - reference: h is at most `precision`, and the difference at most three standard errors of the
///   difference, which a correct simulator exceeds three times in a thousand;
/// - at least: disagrees if the mean is more than 3 h below the bound.
Verdict judge(const TheoryRow& row, const Estimate& simulated);

struct RowResult {
  TheoryRow row;
  Estimate simulated;
  Verdict verdict = Verdict::kInconclusive;

  double half_width() const { return simulated.half_width().value_or(0); }
  /// Difference in standard errors; follows Student's t distribution if all is well.
  double z() const;
  /// Whether an exact value wrong by this share, either way, would have been noticed. Bounds and
  /// rare things are not meant to.
  bool would_notice(double share) const;
};

struct CaseResult {
  TheoryCase theory;
  double requests = 0;  ///< expected number that is measured, all replications together
  std::vector<RowResult> rows;
};

struct RunLimits {
  int jobs = 1;
  int replications = 20;
  double first_requests = 4e5;  ///< measured in the first pilot run, all replications together
  double most_requests = 1e9;   ///< in the longest run
  /// The run is long enough for h to be this share of what the rule asks for. Quick rows are worth
  /// more: 0.6 of 2 % is enough for an exact value that is wrong by 5 % to be noticed.
  double aim_quick = 0.6, aim_slow = 0.9;
  std::uint64_t seed = 0;  ///< another one gives other random numbers for every case
};

/// A seed of its own for each case, so that cases are independent of each other.
std::uint64_t seed_of_case(std::string_view id, std::uint64_t seed);

/// The scenario file of a case, for `requests` measured requests in all replications together. The
/// warm-up is twenty times the system's memory, at least a tenth of the run; time-series bins are
/// one memory long.
std::string scenario_text(const TheoryCase& theory, const RunLimits& limits, double requests);

/// Number of requests after which the half-widths are probably what is aimed at, judged by pilot
/// runs of growing length; at most `limits.most_requests`, unless that is very short. The pilots
/// have random numbers of their own: a run that is stopped because its own interval is narrow has
/// a bias, as short queues come with narrow intervals.
double length_of_run(const TheoryCase& theory, const RunLimits& limits);

/// Simulates that long; twice as long, and so on, only if a row is still inconclusive. Throws
/// std::runtime_error if there is no such model or quantity, or if the scenario does not load.
CaseResult validate(const TheoryCase& theory, const RunLimits& limits);

/// Root mean square of z with one row a case, because rows of a case depend on each other: the
/// first row of the first case, the second of the second, and so on in turns. Only rows of
/// closeness interval that are not rare count; elsewhere z means nothing. 1 without any.
double rms_z(const std::vector<CaseResult>& results);

}  // namespace retrysim::validation
