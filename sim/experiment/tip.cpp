// SPDX-License-Identifier: MIT
#include <retrysim/executor.hpp>
#include <retrysim/request_error.hpp>
#include <retrysim/tip.hpp>

#include "estimate/tipping.hpp"
#include "execution/time_limit.hpp"
#include "experiment/tip_probe.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace retrysim {
namespace {

std::vector<std::string> notes_on_search(const TippingPoint& point, double duration_needed) {
  std::vector<std::string> notes;
  const std::size_t n = point.thresholds.size();
  if (n < 20) {
    notes.push_back(fmt::format("{} replication{}: the result is rough; use at least 20", n,
                                n == 1 ? "" : "s"));
  }
  std::size_t unknown = 0;
  for (const TippingProbe& p : point.probes) unknown += p.count(TippingResponse::kUnknown);
  if (unknown > 0) {
    notes.push_back(
        fmt::format("{} too short to tell whether {}; a duration of {:.4g} s "
                    "would be long enough",
                    unknown == 1 ? "1 run was" : fmt::format("{} runs were", unknown),
                    unknown == 1 ? "it recovers" : "they recover", std::ceil(duration_needed)));
  }
  return notes;
}

/// The search of one case.
class Prober {
 public:
  Prober(std::size_t number, const ReplicationOptions& run, Executor& executor,
         experiment::ProbeLog& log)
      : number_(number), run_(run), executor_(executor), log_(log) {}

  TipResult find(const ScenarioAt& scenario_at, const TippingSearch& search,
                 const std::function<void(int, double)>& probing) {
    TipResult result;
    result.search = search;
    result.point = stats::bisect(search, [&](double value) {
      const Scenario scenario = scenario_at(value);
      if (probing) probing(static_cast<int>(probes_.size()) + 1, value);
      auto& runs = probes_[value] =
          experiment::probe(number_, value, scenario, run_, executor_, log_);
      std::vector<TippingResponse> responses;
      for (const experiment::ProbeRun& run : runs) responses.push_back(run.response);
      return responses;
    });
    for (TippingProbe& probe : result.point.probes) add_twins(probe);
    result.notes = notes_on_search(result.point, duration_needed());
    return result;
  }

 private:
  void add_twins(TippingProbe& probe) const {
    for (const experiment::ProbeRun& run : probes_.at(probe.value)) {
      probe.twin_recovered += run.twin_recovered;
      probe.metastable += run.metastable;
    }
  }

  /// The shortest duration that would have let every run be judged; zero if all were.
  double duration_needed() const {
    double needed = 0;
    for (const auto& [value, runs] : probes_) {
      for (const experiment::ProbeRun& run : runs) needed = std::max(needed, run.duration_needed_s);
    }
    return needed;
  }

  std::size_t number_;
  const ReplicationOptions& run_;
  Executor& executor_;
  experiment::ProbeLog& log_;
  std::map<double, std::vector<experiment::ProbeRun>> probes_;  // by size
};

/// Throws RequestError.
void check_search(const TippingSearch& search) {
  if (!(search.tolerance >= 1e-6 && search.tolerance <= 0.5)) {
    throw RequestError("the tolerance of a search for a tipping point is from 1e-6 to 0.5");
  }
  if (!std::isfinite(search.first) || !std::isfinite(search.last) || search.first == search.last) {
    throw RequestError("a search for a tipping point needs two sizes that differ");
  }
}

/// Calls `work` with the options that are left and the executor.
template <class Work>
auto with_executor(const ReplicationOptions& options, const Work& work) {
  return execution::in_time(options, [&](const ReplicationOptions& run) {
    if (run.executor != nullptr) return work(run, *run.executor);
    return work(run, *make_thread_executor(run.jobs, run.stop));
  });
}

}  // namespace

TipResult find_tipping_point(const ScenarioAt& scenario_at, const TippingSearch& search,
                             const TipOptions& options) {
  check_search(search);
  return with_executor(options.run, [&](const ReplicationOptions& run, Executor& executor) {
    experiment::ProbeLog log;
    return Prober(0, run, executor, log).find(scenario_at, search, options.probing);
  });
}

TipPlan plan_tip(std::vector<TipCase> cases, const TippingSearch& search) {
  if (cases.empty()) throw RequestError("there is nothing to search for");
  check_search(search);
  TipPlan plan;
  plan.search = search;
  plan.cases = std::move(cases);
  return plan;
}

class TipSearches::Progress {
 public:
  Progress(TipPlan plan, TipSearchOptions options)
      : plan_(std::move(plan)), options_(std::move(options)), log_(open(plan_, options_)) {}

  std::vector<TipPoint> run() {
    return with_executor(options_.run, [this](const ReplicationOptions& run, Executor& executor) {
      try {
        std::vector<TipPoint> points = find_all(run, executor);
        log_.sync();
        return points;
      } catch (...) {
        log_.sync();
        throw;
      }
    });
  }

  const TipPlan& plan() const { return plan_; }
  experiment::ProbeLog& log() { return log_; }

 private:
  static experiment::ProbeLog open(const TipPlan& plan, const TipSearchOptions& options) {
    check_search(plan.search);
    if (options.journal.empty()) return {};
    if (plan.identity.empty()) throw RequestError("searches made by hand have no journal");
    return {options.journal, plan.identity, options.resume};
  }

  std::vector<TipPoint> find_all(const ReplicationOptions& run, Executor& executor) {
    std::vector<TipPoint> points;
    for (std::size_t i = 0; i < plan_.cases.size(); ++i) {
      const TipCase& one = plan_.cases[i];
      const auto probing = [&](int probe, double value) {
        if (options_.probing) options_.probing(one.name, probe, value);
      };
      Prober prober(i, run, executor, log_);
      points.push_back({one.name, one.keys, prober.find(one.scenario, plan_.search, probing)});
    }
    return points;
  }

  TipPlan plan_;
  TipSearchOptions options_;
  experiment::ProbeLog log_;
};

TipSearches::TipSearches(TipPlan plan, TipSearchOptions options)
    : progress_(std::make_unique<Progress>(std::move(plan), std::move(options))) {}
TipSearches::TipSearches(TipSearches&&) noexcept = default;
TipSearches::~TipSearches() = default;

std::vector<TipPoint> TipSearches::run() { return progress_->run(); }
const TipPlan& TipSearches::plan() const { return progress_->plan(); }
std::size_t TipSearches::replications_kept() const { return progress_->log().kept(); }
std::size_t TipSearches::replications_found() const { return progress_->log().found(); }
std::uint64_t TipSearches::dropped_bytes() const { return progress_->log().dropped_bytes(); }
void TipSearches::remove_journal() { progress_->log().remove(); }

std::vector<TipPoint> find_tipping_points(TipPlan plan, const TipSearchOptions& options) {
  return TipSearches(std::move(plan), options).run();
}

}  // namespace retrysim
