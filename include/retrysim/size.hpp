// How big must it be? The smallest, or the largest, safe value of a key: a retry budget, a queue, a
// timeout, a number of servers. A value is safe if, with stated confidence, at least a stated share
// of runs is good: they recover from each of the stated disturbances and keep what is asked of
// them.
//
//     SizeRequest request{.scenario = "mine.toml", .what = "service.api.servers=4:40"};
//     request.limits = {parse_choice_limit("success_rate>=0.99")};
//     const SizePlan plan = plan_size(request).value();
//     const SizeStudy study = find_size(plan);
//     if (study.answer.outcome == SizeOutcome::kFound) ... plan.grid[*study.answer.at] ...
//
// The values are those of a grid, each of which is at most 20 % less than the next, or 1 less. Some
// over the whole grid are tried first, and then those around each change between safe and not. No
// law is assumed: that safe values lie on one side is what the tried values show, or do not.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>
#include <retrysim/error.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/sweep.hpp>
#include <retrysim/table.hpp>
#include <retrysim/words.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retrysim {

// --- The search ----------------------------------------------------------------------------------

/// What is known of a value.
enum class SizeVerdict : std::uint8_t {
  kSafe,    ///< at least the stated share of runs is good, with the stated confidence
  kLikely,  ///< all runs of the first stage are good; no more were made
  kUnsafe,  ///< a smaller share is good, with that confidence
  kOpen,    ///< too close to the share: as many runs as are allowed do not tell, or hardly would
};
template <>
inline constexpr std::string_view kWords<SizeVerdict> = "safe|likely|unsafe|open";
static_assert(words_end_with(SizeVerdict::kOpen));

/// Values are places of a grid, from 0.
struct SizeSearch {
  std::size_t values = 0;         ///< of the grid; at least 2
  double share = 0.95;            ///< of the runs that must be good; above 0 and below 1
  double confidence = 0.95;       ///< at least 0.5 and below 1
  std::size_t first_stage = 20;   ///< runs of each value; at least 2
  std::size_t most_runs = 1'000;  ///< of each value; at least as many
};

/// A value that was tried.
struct SizeProbe {
  std::size_t place = 0;  ///< in the grid
  std::size_t good = 0, runs = 0;
  double low = 0, high = 1;  ///< 95 % interval of Clopper and Pearson for the share of good runs
  SizeVerdict verdict = SizeVerdict::kOpen;

  bool passes() const { return verdict == SizeVerdict::kSafe || verdict == SizeVerdict::kLikely; }
};

enum class SizeOutcome : std::uint8_t {
  kFound,        ///< one value; the next one of the grid on the other side is not safe
  kBracket,      ///< `at` is safe; what is between it and `beyond` is too close to tell, or unknown
  kAllSafe,      ///< each value that was tried is safe
  kNoneSafe,     ///< no value that was tried is safe
  kWindow,       ///< neither end of the range is safe, but what is between `at` and `to`
  kNotMonotone,  ///< safe values and others take turns
  kOpen,         ///< no value is known to be safe, and not all are known not to be
};
template <>
inline constexpr std::string_view kWords<SizeOutcome> =
    "found|bracket|all_safe|none_safe|window|not_monotone|open";
static_assert(words_end_with(SizeOutcome::kOpen));

struct SizeAnswer {
  SizeOutcome outcome = SizeOutcome::kOpen;
  /// The safe values are the small ones: `at` is the largest of them.
  bool is_largest = false;
  /// kFound, kBracket: the value, as a place. kAllSafe: the end of the grid that is asked for.
  /// kWindow: the smallest safe value.
  std::optional<std::size_t> at;
  std::optional<std::size_t> to;  ///< kWindow: the largest safe value
  /// kFound, kBracket: the nearest value on the other side that is not safe; none if that is not
  /// known of any.
  std::optional<std::size_t> beyond;
  std::vector<SizeProbe> probes;  ///< by place
  /// The shares of good runs do not differ between the values beyond what chance does.
  bool is_flat = false;

  const SizeProbe* find(std::size_t place) const;
  std::size_t runs() const;
};

// --- From a scenario -----------------------------------------------------------------------------

struct SizeRequest {
  std::filesystem::path scenario;
  std::vector<std::string> edits = {};          ///< as `load_scenario_file` takes them
  std::vector<std::string> variant_edits = {};  ///< those of a `Variant`
  /// "PATH=LO:HI", as for `parse_trigger`; LO is not above HI. "PATH" alone: from a tenth of the
  /// scenario's own value to ten times that, and 0 if the key takes it.
  std::string what = {};
  /// Keys of what happens, as `parse_variations` takes them: a run is good if it is with each
  /// combination of these values. Empty: what the scenario says.
  std::vector<std::string> disturbances = {};
  /// What a run must keep besides recovering.
  std::vector<ChoiceLimit> limits = {};
  std::string client = "all";      ///< the client group whose metrics the limits are about
  bool with_expectations = false;  ///< also the expectations of the scenario, in each run
  bool wants_largest = false;      ///< where all values are safe, the largest is the answer
  /// Each run draws the values of the keys that [uncertain] gives intervals for (`draw_uncertain`),
  /// the same for all values of the key: a value is safe if runs are good in `share` of what they
  /// allow.
  bool uncertain = false;
  double share = 0.95;
  double confidence = 0.95;
  std::size_t most_runs = 1'000;
};

/// What a good run keeps, besides recovering: a metric of a client group, or of "all".
struct SizeLimit {
  const MetricInfo* metric = nullptr;
  std::string client = "all";
  std::optional<double> at_least, at_most;
};

/// Why a run is not good: the first of these that holds.
struct SizeReasons {
  std::size_t ill_before = 0;       ///< less succeeds even before anything goes wrong
  std::size_t not_recovered = 0;    ///< or, where nothing goes wrong, too little succeeds
  std::size_t too_short = 0;        ///< the run is too short to tell whether it recovers
  std::vector<std::size_t> breaks;  ///< by limit
};

struct SizePlan {
  LoadedScenario base;
  Trigger key;  ///< its path, unit and kind; `first` and `last` are the ends of the grid
  std::vector<double> grid;             ///< rising
  std::vector<std::string> disturbing;  ///< as given
  std::vector<Variant> disturbances;    ///< at least one; one without a name if nothing is varied
  std::vector<SizeLimit> limits;
  bool wants_largest = false;
  std::vector<UncertainKey> uncertain = {};  ///< keys that are drawn with some disturbance
  SizeSearch search;
  /// Whether a fault or surge disturbs the scenario, so that it can recover.
  bool is_disturbed = false;
  /// How long a run must be, s, to show that it does not recover; empty if all are, at both ends.
  std::optional<double> duration_needed_s = {};
  std::uint64_t id = 0;  ///< a hash of the question
  std::vector<std::filesystem::path> inputs = {};
  /// The scenario with a value and a disturbance, and, if keys are uncertain, the draw of that
  /// replication. May be called by several threads.
  std::function<std::shared_ptr<const Scenario>(std::size_t place, std::size_t disturbance,
                                                std::uint32_t replication)>
      scenario;
};

using SizePlanResult = Planned<SizePlan>;

/// Loads the scenario at both ends of the range with each disturbance, and the first draws of what
/// is uncertain there. Throws RequestError for a request that cannot be answered, also if nothing
/// is uncertain that has to be; Interrupted.
SizePlanResult plan_size(const SizeRequest& request);

/// The values from `low` to `high`, rising: each is at most 20 % less than the next one, or 1 less
/// if they are whole numbers. Above 0 they have three significant digits, but for the ends. With
/// `low` 0 the least one above it is 1, or a thousandth of `high`.
std::vector<double> size_grid(double low, double high, bool whole_numbers);

struct SizeStudy {
  SizeAnswer answer;
  std::vector<SizeReasons> reasons;  ///< by probe: of its runs that are not good
  std::size_t replications = 0;      ///< simulated, disturbance by disturbance
  /// By probe and by `size_figures`: means over its runs with all disturbances, of all clients
  /// together; nothing where no run has the figure.
  std::vector<std::vector<std::optional<double>>> figures;
};

/// What a size costs and brings: success rate, attempts per request, peak attempt rate, p99 latency
/// of successes.
std::span<const MetricInfo* const> size_figures();

/// Called before each stage with the value and the number of its runs so far; may be empty.
using SizeProgress = std::function<void(double value, std::size_t runs)>;

/// Simulates and concludes. Throws what `simulate_all` throws.
SizeStudy find_size(const SizePlan& plan, const ReplicationOptions& run = {},
                    const SizeProgress& probing = {});

/// The table size: a row for each value that was tried.
Tables tables(const SizePlan& plan, const SizeStudy& study);

// --- At several values of other keys -------------------------------------------------------------

// How big must one key be, by how big another one is? A queue against a quota, servers against a
// timeout.
//
//     SizeRequest request{.scenario = "mine.toml", .what = "service.api.servers=4:40"};
//     const SizeFrontierPlan plan =
//         plan_size_frontier(request, {"service.api.queue.capacity=10,100,1000"}).value();
//     const std::vector<SizeStudy> studies = find_sizes(plan);

/// A combination of values of the other keys.
struct SizePoint {
  std::string name;                 ///< "capacity=10"
  std::vector<std::string> values;  ///< by key
  SizePlan plan;
};

struct SizeFrontierPlan {
  LoadedScenario base;
  std::vector<std::string> keys;     ///< the varied ones
  std::vector<std::string> varying;  ///< as given
  std::vector<SizePoint> points;     ///< at least one
};

using SizeFrontierPlanResult = Planned<SizeFrontierPlan>;

/// Plans a search at each combination of the values that `varying` names (as `parse_variations`
/// takes them). Throws RequestError as `plan_size` does; besides, for more than 1,000 combinations,
/// and if a key is varied that the request searches for or disturbs.
SizeFrontierPlanResult plan_size_frontier(const SizeRequest& request,
                                          const std::vector<std::string>& varying);

/// Called before each stage with the point, the value and the number of its runs so far.
using SizeFrontierProgress =
    std::function<void(const SizePoint& point, double value, std::size_t runs)>;

/// Searches at each point, one after the other. Throws what `simulate_all` throws.
std::vector<SizeStudy> find_sizes(const SizeFrontierPlan& plan, const ReplicationOptions& run = {},
                                  const SizeFrontierProgress& probing = {});

/// The tables frontier (a row for each point) and size (for each value that was tried at one).
Tables tables(const SizeFrontierPlan& plan, const std::vector<SizeStudy>& studies);

}  // namespace retrysim
