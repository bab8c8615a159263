// `retrysim sweep`: the grid of all combinations of varied keys, resumable, in shards, over threads
// or MPI ranks.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include "cli/commands.hpp"
#include "cli/session.hpp"
#include "cli/simulation_options.hpp"
#include "cli/sweep_plan.hpp"
#include "experiment/byte_order.hpp"
#include "experiment/journal.hpp"
#include "experiment/points.hpp"
#include "experiment/unit_result.hpp"
#include "report/output_error.hpp"
#include "report/progress_bar.hpp"
#include "report/result_folder.hpp"
#include "report/result_identity.hpp"
#include "report/result_manifest.hpp"
#include "report/sink.hpp"
#include "report/sweep_files.hpp"
#include "report/terminal.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;
using experiment::Journal;

// How often what is finished is made to survive a crash of the machine, too.
constexpr auto kSyncInterval = std::chrono::seconds(5);

struct SweepOptions {
  SimulationSettings settings;
  SweepRequest request;
  bool resume = false;
};

po::options_description describe_options() {
  po::options_description options("Options");
  options.add_options()  //
      ("vary", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUES"),
       "a key and its values: V1,V2,... or LO:HI:STEP or LO:HI:*N (N of them, log-spaced); keys "
       "that move together: A,B=(1,2),(3,4). Several make a grid")  //
      ("resume", po::bool_switch(),
       "resume a sweep that was interrupted; if there is none, start it")  //
      ("shard", po::value<std::string>()->value_name("I/N"),
       "simulate only every N-th point, starting with the I-th (I from 1 to N); `retrysim merge` "
       "joins the N results");
  add_simulation_options(
      options,
      {"folder of the result files; default results/NAME (of a shard results/NAME-shard-I-of-N). "
       "An earlier result of the same resolved scenario and grid is replaced (see --force)",
       "of standard output: table (default), csv (points.csv) or json (result.json)"});
  options.add_options()("help", "print this text");
  return options;
}

report::Shard read_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  report::Shard shard;
  if (slash != std::string::npos) {
    shard.count = whole_number("shard", text.substr(slash + 1), 1);
    shard.index = whole_number("shard", text.substr(0, slash), 1);
  }
  if (slash == std::string::npos || shard.index > shard.count) {
    throw UsageError(fmt::format(
        "--shard: '{}' is not I/N with I from 1 to N, such as 1/4 for the first of four", text));
  }
  return shard;
}

SweepOptions read_options(const po::variables_map& values) {
  SweepOptions o;
  const auto scenarios = texts(values, "scenario");
  if (scenarios.size() != 1)
    throw UsageError("expected one scenario: retrysim sweep SCENARIO --vary PATH=VALUES...");
  o.request.scenario = scenarios.front();
  o.request.varying = texts(values, "vary");
  if (o.request.varying.empty()) {
    throw UsageError("nothing to vary; expected --vary PATH=V1,V2,... or --vary PATH=LO:HI:STEP");
  }
  o.settings = read_simulation_settings(values);
  o.request.edits = o.settings.edits;
  o.resume = values["resume"].as<bool>();
  if (const auto shard = text_of(values, "shard")) o.request.shard = read_shard(*shard);
  return o;
}

fs::path folder_of(const SweepOptions& options, const std::string& name) {
  if (!options.settings.out.empty()) return options.settings.out;
  const auto& shard = options.request.shard;
  return fs::path("results") /
         (shard ? fmt::format("{}-shard-{}-of-{}", name, shard->index, shard->count) : name);
}

/// What is asked for beside the scenario.
std::vector<std::string> requests_of(const SweepRequest& request) {
  std::vector<std::string> requests;
  for (const std::string& vary : request.varying) requests.push_back("--vary " + vary);
  if (request.shard) requests.push_back("--shard " + request.shard->text());
  return requests;
}

report::SweepDescription describe(const SweepPlan& plan, const SweepRequest& request) {
  report::SweepDescription d;
  d.base = &plan.base;
  d.variations = request.varying;
  d.paths = plan.points.paths();
  d.points = plan.points.grid_count();
  d.shard = request.shard;
  d.id = plan.id;
  return d;
}

/// What processes without a part in the planning must know: the scenario's text, how many
/// replications each point has, and the units that are left to do.
std::string briefing(const SweepPlan& plan, const std::vector<std::size_t>& units) {
  std::string bytes;
  experiment::put_text(bytes, plan.text);
  experiment::put(bytes, static_cast<std::uint64_t>(plan.replications.size()));
  for (const std::uint32_t n : plan.replications) experiment::put(bytes, n);
  for (const std::size_t unit : units) experiment::put(bytes, static_cast<std::uint64_t>(unit));
  return bytes;
}

/// `task` with the units that are left, numbered from 0.
experiment::Task only(std::vector<std::size_t> units, std::function<experiment::Work()> make_work) {
  experiment::Task task;
  task.units = units.size();
  auto left = std::make_shared<const std::vector<std::size_t>>(std::move(units));
  task.make_work = [left, make_work = std::move(make_work)]() -> experiment::Work {
    return [left, work = make_work()](std::size_t i) { return work((*left)[i]); };
  };
  return task;
}

/// A process that only computes.
int help_out(const SweepOptions& options, const Session& session) {
  const std::string shared = session.executor().share("");
  std::string_view rest = shared;
  // Rank 0 runs the same program: what is cut off is an error of the transport
  // (bad_optional_access).
  const auto text = experiment::take_text(rest);
  std::vector<std::uint32_t> replications;
  const std::uint64_t count = experiment::take<std::uint64_t>(rest).value();
  for (std::uint64_t i = 0; i < count; ++i) {
    replications.push_back(experiment::take<std::uint32_t>(rest).value());
  }
  std::vector<std::size_t> left;
  while (const auto unit = experiment::take<std::uint64_t>(rest)) left.push_back(*unit);
  const auto points = SweepPoints::of(options.request, text.value());
  const LoadResult base = points->load_base();
  if (base.loaded) session.agree_on(*base.loaded);
  const experiment::PointUnits units(replications);
  const experiment::PointScenarios scenarios = [&](std::size_t point) {
    LoadResult result = points->load(point);
    if (!result.loaded) throw std::runtime_error(to_string(result.errors.front()));
    return std::make_shared<const Scenario>(std::move(result.loaded->scenario));
  };
  experiment::PointOptions point_options;
  point_options.max_events = options.settings.max_events;
  point_options.max_memory = session.max_memory();
  point_options.jobs = session.jobs();
  point_options.stop = session.interruption().flag();
  point_options.name = [&](std::size_t point) { return points->variant(point).name; };
  session.executor().run(only(std::move(left), simulate_units(units, scenarios, point_options)));
  return kDone;
}

std::string outcome_of(LimitKind limit) {
  switch (limit) {
    case LimitKind::kMemory:
      return "over_memory";
    case LimitKind::kInstant:
      return "endless_instant";
    case LimitKind::kEvents:
    case LimitKind::kTime:
      break;
  }
  return "over_events";
}

/// The process that plans, collects and writes.
class Sweep {
 public:
  /// `resumed`: the sweep has begun in `folder` earlier, and was allowed to.
  Sweep(const SweepOptions& options, SweepPlan plan, const fs::path& folder, bool resumed)
      : options_(options),
        plan_(std::move(plan)),
        description_(describe(plan_, options.request)),
        units_(plan_.replications),
        folder_(folder, report::identity_of({&plan_.base}, "sweep", requests_of(options.request)),
                options.settings.force || resumed, report::ResultFolder::Journal::kOurs),
        journal_(open_journal()),
        bar_(plan_.base.scenario.name, options.settings.progress) {
    missing_.resize(units_.points());
    for (std::size_t point = 0; point < units_.points(); ++point) {
      missing_[point] = units_.replications(point);
    }
    for (std::size_t unit = 0; unit < units_.units(); ++unit) {
      if (journal_.has(unit)) {
        note_done(unit);
      } else {
        left_.push_back(unit);
      }
    }
    say_what_is_there();
  }

  std::string briefing() const { return cli::briefing(plan_, left_); }

  void compute(const Session& session) {
    const experiment::PointScenarios scenarios = [this](std::size_t point) {
      if (plan_.is_whole[point]) return plan_.outlines[point];
      LoadResult result = plan_.points.load(point);
      if (!result.loaded) throw std::runtime_error(to_string(result.errors.front()));
      return std::make_shared<const Scenario>(std::move(result.loaded->scenario));
    };
    experiment::PointOptions point_options;
    point_options.max_events = options_.settings.max_events;
    point_options.max_memory = session.max_memory();
    point_options.jobs = session.jobs();
    point_options.stop = session.interruption().flag();
    point_options.name = [this](std::size_t point) { return plan_.points.variant(point).name; };
    experiment::Task task = only(left_, simulate_units(units_, scenarios, point_options));
    task.deliver = [this](std::size_t i, const std::string& bytes) { take(left_[i], bytes); };
    task.tick = [this] { tick(); };
    try {
      session.executor().run(task);
    } catch (...) {
      bar_.clear();
      journal_.sync();
      throw;
    }
    bar_.clear();
    journal_.sync();
  }

  report::SweepOverview write() {
    auto overview = report::write_sweep_files(folder_, description_, units_.points(),
                                              [this](std::size_t i) { return point(i); });
    journal_.remove();
    return overview;
  }

  /// What the first point that went over a limit, in the order of the grid, says about it.
  std::string first_over_limit() const {
    return over_limit_.empty() ? "" : over_limit_.begin()->second.message;
  }

  const report::SweepDescription& description() const { return description_; }
  const fs::path& folder() const { return folder_.path(); }
  std::size_t points() const { return units_.points(); }
  std::size_t points_done() const { return points_done_; }

 private:
  Journal open_journal() const {
    const fs::path path = folder_.path() / report::kJournalName;
    try {
      return options_.resume ? Journal::resume(path, plan_.identity, units_.units())
                             : Journal::begin(path, plan_.identity, units_.units());
    } catch (const experiment::JournalError& e) {
      throw report::OutputError(
          folder_.path(), std::string(e.what()) +
                              "; use another folder, or --force without --resume to start again");
    }
  }

  void say_what_is_there() const {
    if (!options_.resume) return;
    if (journal_.dropped_bytes() > 0) {
      report::print_error(
          "note: {} bytes at the end of the journal were cut off or damaged; their "
          "results are computed again\n",
          journal_.dropped_bytes());
    }
    if (journal_.count() > 0) {
      report::print_error("note: resuming with {} of {} points finished\n", points_done_,
                          units_.points());
    }
  }

  void take(std::size_t unit, const std::string& bytes) {
    auto result = experiment::decode(bytes);
    if (result && result->limit) {
      // Not for the journal: with --resume, and more memory or another limit, it is tried again.
      over_limit_.emplace(unit, *std::move(result));
      note_done(unit);
      return;
    }
    journal_.append(unit, bytes);
    // A point that is finished survives whatever happens to this process.
    if (note_done(unit)) journal_.flush();
  }

  /// Whether that makes its point complete.
  bool note_done(std::size_t unit) {
    if (--missing_[units_.point_of(unit)] > 0) return false;
    ++points_done_;
    return true;
  }

  void tick() {
    journal_.flush();
    const auto now = std::chrono::steady_clock::now();
    if (now - last_sync_ >= kSyncInterval) {
      journal_.sync();
      last_sync_ = now;
    }
    if (bar_.visible()) {
      bar_.show(static_cast<double>(journal_.count()) / static_cast<double>(units_.units()));
    }
  }

  /// The limit that a point went over in its first replication that did; null if none.
  const experiment::UnitResult* over_limit(std::size_t point) const {
    const auto at = over_limit_.lower_bound(units_.first(point));
    const bool own = at != over_limit_.end() && units_.point_of(at->first) == point;
    return own ? &at->second : nullptr;
  }

  report::SweepPoint point(std::size_t i) {
    const Variant& variant = plan_.points.variant(i);
    if (const experiment::UnitResult* over = over_limit(i)) {
      const std::size_t clients = plan_.outlines[i]->clients.size() + 1;
      return {variant.name, variant.values, plan_.outlines[i], MetricValues(0, clients, {}),
              outcome_of(*over->limit)};
    }
    std::vector<experiment::UnitResult> results;
    for (std::size_t r = 0; r < units_.replications(i); ++r) {
      auto result = experiment::decode(journal_.read(units_.first(i) + r));
      if (!result || result->clients != plan_.outlines[i]->clients.size() + 1) {
        throw std::logic_error("the journal does not contain the results of its points");
      }
      results.push_back(std::move(*result));
    }
    return {variant.name, variant.values, plan_.outlines[i], experiment::combine(results)};
  }

  const SweepOptions& options_;
  SweepPlan plan_;
  report::SweepDescription description_;
  experiment::PointUnits units_;
  report::ResultFolder folder_;
  Journal journal_;
  report::ProgressBar bar_;
  std::vector<std::size_t> left_;                             // units to do
  std::vector<std::size_t> missing_;                          // replications, by point
  std::map<std::size_t, experiment::UnitResult> over_limit_;  // by unit
  std::size_t points_done_ = 0;
  std::chrono::steady_clock::time_point last_sync_ = std::chrono::steady_clock::now();
};

/// The exit status that a sweep of this very kind, finished earlier in `folder`, ended with.
/// Nothing if a file of it is gone or damaged.
std::optional<int> status_of_finished(const fs::path& folder, const SweepPlan& plan,
                                      const SweepRequest& request) {
  try {
    const auto json = report::read_sealed(folder);
    const report::Shard shard = request.shard.value_or(report::Shard{});
    std::optional<int> status;
    report::read_members(folder / report::kResultJson, [&] {
      const auto& sweep = json.at("sweep");
      report::Shard found;
      if (sweep.contains("shard")) {
        sweep.at("shard").at("index").get_to(found.index);
        sweep.at("shard").at("count").get_to(found.count);
      }
      if (sweep.at("id") != fmt::format("{:016x}", plan.id) || found.index != shard.index ||
          found.count != shard.count) {
        return;
      }
      for (const auto& record : report::file_records(json, folder / report::kResultJson)) {
        if (!report::fault_of(folder, record).empty()) return;
      }
      status = sweep.at("points_over_limit").get<std::size_t>() > 0  ? kLimitHit
               : sweep.at("points_that_fail").get<std::size_t>() > 0 ? kExpectationFailed
                                                                     : kDone;
    });
    return status;
  } catch (const report::DamagedResult&) {
    return std::nullopt;
  }
}

void print_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  report::StandardOutput out(report::StandardOutput::For::kPrograms);
  std::string block(1 << 16, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
    out.write(std::string_view(block.data(), static_cast<std::size_t>(in.gcount())));
  }
  out.flush();
}

/// The file that the user wants to see, if any.
void print_format(const SimulationSettings& settings, const fs::path& folder) {
  if (settings.quiet) return;
  if (settings.format == "csv") print_file(folder / "points.csv");
  if (settings.format == "json") print_file(folder / "result.json");
}

void print_overview(const SimulationSettings& settings, const Sweep& sweep,
                    const report::SweepOverview& overview) {
  print_format(settings, sweep.folder());
  if (!settings.quiet && settings.format == "table") {
    report::StandardOutput out(settings.format);
    out.write(report::sweep_table(sweep.description(), overview));
    out.write(fmt::format("\nResult files: {}\n", sweep.folder().string()));
    out.flush();
  }
}

/// Plans, and makes sure that the result can be written. Nothing, with `status`, if there is
/// nothing to do.
std::unique_ptr<Sweep> prepare(const SweepOptions& options, std::uint64_t max_memory, int& status) {
  SweepRequest request = options.request;
  request.max_memory = max_memory;
  auto plan = plan_sweep(request);
  if (!plan) {
    status = kBadInput;
    return nullptr;
  }
  const fs::path folder = folder_of(options, plan->base.scenario.name);
  std::error_code error;
  const bool unfinished = fs::exists(folder / report::kJournalName, error);
  if (unfinished && !options.resume && !options.settings.force) {
    throw report::OutputError(
        folder, "it contains an unfinished sweep; --resume continues it, --force starts again");
  }
  if (options.resume && !unfinished) {
    if (const auto finished = status_of_finished(folder, *plan, options.request)) {
      report::print_error("note: this sweep is already complete: {}\n", folder.string());
      print_format(options.settings, folder);
      status = *finished;
      return nullptr;
    }
  }
  fs::create_directories(folder, error);
  if (error) throw report::OutputError(folder, error.message());
  return std::make_unique<Sweep>(options, std::move(*plan), folder, unfinished && options.resume);
}

int lead(const SweepOptions& options, const Session& session) {
  const Interruption& interruption = session.interruption();
  int status = kDone;
  const std::unique_ptr<Sweep> sweep = prepare(options, session.max_memory(), status);
  if (!sweep) return status;
  try {
    session.executor().share(sweep->briefing());
    session.agree_on(*sweep->description().base);
    sweep->compute(session);
    session.executor().finish();
    const report::SweepOverview overview = sweep->write();
    print_overview(options.settings, *sweep, overview);
    if (overview.points_over_limit > 0) {
      report::print_error("retrysim: error: {} of {} points exceeded a limit; the first: {}\n",
                          overview.points_over_limit, overview.points, sweep->first_over_limit());
      return kLimitHit;
    }
    return overview.points_that_fail > 0 ? kExpectationFailed : kDone;
  } catch (const Interrupted&) {
    const std::string kept =
        fmt::format("{} of {} points are finished; --resume continues the sweep",
                    sweep->points_done(), sweep->points());
    if (interruption.timed_out()) {
      throw LimitExceeded("the sweep took longer than --timeout allows; " + kept);
    }
    report::print_error("retrysim: error: interrupted; {}\n", kept);
    return kInterrupted;
  }
}

}  // namespace

int sweep(const Arguments& arguments) {
  const po::options_description visible = describe_options();
  const po::variables_map values = parse_command_line(arguments, visible, "scenario");
  if (values.count("help") != 0) {
    report::print(
        "Usage: retrysim sweep SCENARIO --vary PATH=VALUES... [options]\n\nSimulates "
        "every combination of the varied keys and writes the result files; points.csv "
        "has one\nrow for each point. Finished points are kept if the sweep is "
        "interrupted. A point that needs more\nthan --max-memory or --max-events "
        "allows is marked in column outcome; the other points go on, and\nthe exit "
        "status is 5. Example:\n  retrysim sweep scenarios/capacity-dip.toml --vary "
        "'fault.*.duration=10s:60s:10s' \\\n      --vary "
        "'client.*.retry.max_attempts=1,2,3,5' --replications 5\n\n{}",
        help_text(visible));
    return kDone;
  }
  const SweepOptions options = read_options(values);
  return in_session({"sweep", arguments}, options.settings, [&](const Session& session) {
    return session.leads() ? lead(options, session) : help_out(options, session);
  });
}

}  // namespace retrysim::cli
