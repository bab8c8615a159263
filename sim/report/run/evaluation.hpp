// A set of replications, and everything that is computed from it once for all files and tables.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "estimate/modes.hpp"
#include "estimate/slos.hpp"
#include "estimate/steady_state.hpp"
#include "measure/analyse/storms.hpp"

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {

/// Replications: its own, or those of another owner, which must outlive it.
class Runs {
 public:
  Runs() = default;
  Runs(std::vector<RunResult> own) : own_(std::move(own)) {}
  Runs(std::initializer_list<RunResult> own) : own_(own) {}
  static Runs of(const std::vector<RunResult>& theirs) {
    Runs runs;
    runs.theirs_ = &theirs;
    return runs;
  }

  const RunResult* begin() const { return all().data(); }
  const RunResult* end() const { return begin() + size(); }
  std::size_t size() const { return all().size(); }
  const RunResult& front() const { return all().front(); }
  const RunResult& operator[](std::size_t i) const { return all()[i]; }
  /// The own replications, to be changed.
  std::vector<RunResult>& own() { return own_; }

 private:
  const std::vector<RunResult>& all() const { return theirs_ != nullptr ? *theirs_ : own_; }

  std::vector<RunResult> own_;
  const std::vector<RunResult>* theirs_ = nullptr;
};

/// The replications of one variant of a scenario, in the order of their numbers.
struct ResultSet {
  const LoadedScenario& scenario;
  std::string variant = "base";
  Runs runs;
  /// The storms of each run after the test with twins, if there was one.
  std::shared_ptr<const std::vector<std::vector<stats::Storm>>> storms_with_twins = nullptr;
  /// Verdicts on the differences without parts of the scenario, if requested.
  std::vector<Verdict> twin_verdicts = {};
  std::optional<FoundWarmup> warmup = std::nullopt;  ///< the warm-up found, if looked for
  std::optional<PrecisionReport> precision =
      std::nullopt;                                   ///< check of the target, if there was one
  std::optional<MetricValues> values = std::nullopt;  ///< values of `runs`, if they are known
};

/// The result set of a variant, to which it refers.
ResultSet result_set_of(const ComparedVariant& variant);

/// Statistics of a result set. Keeps a reference to it.
struct Evaluation {
  explicit Evaluation(const ResultSet& results);

  const Scenario& scenario() const { return set.scenario.scenario; }
  /// Number of client groups and "all", which comes last.
  std::size_t clients() const { return values.clients(); }
  /// The group's name, or "all".
  std::string client_name(std::size_t client) const;
  /// The row of `summary` of a group, or of "all", and a metric; null if there is none. Skips the
  /// rows of other groups, of which there may be thousands.
  const SummaryRow* row(std::string_view client, std::string_view metric) const;

  const ResultSet& set;
  MetricValues values;
  std::vector<SummaryRow> summary;
  std::vector<PhaseSummary> phases;  ///< empty without a fault, surge or own phase of the scenario
  std::optional<stats::SingleRunIntervals> single_run;  ///< intervals of a single replication
  std::optional<stats::Bistability> bistability;
  std::vector<ExpectationResult> expectations;
  std::vector<std::vector<stats::Storm>> storms;  ///< storms by replication
  std::vector<stats::SloSummary> slos;            ///< use of the error budgets
  std::vector<Verdict> verdicts;

 private:
  /// First row of each client in `summary`.
  std::map<std::string, std::size_t, std::less<>> first_rows_;
};

/// The scenarios of the variants.
std::vector<const LoadedScenario*> scenarios_of(std::span<const Evaluation> evaluations);

/// The client groups of a scenario in the order of calls: each after the group whose requests make
/// it call, with the number of services in between.
struct Layer {
  std::size_t group = 0;
  std::size_t depth = 0;
};
std::vector<Layer> call_order(const Scenario& scenario);

}  // namespace retrysim::report
