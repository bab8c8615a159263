// SPDX-License-Identifier: MIT
#include "cli/tip_search.hpp"

#include <retrysim/simulation.hpp>

#include "cli/commands.hpp"
#include "cli/journal_folder.hpp"
#include "cli/output.hpp"
#include "report/progress_bar.hpp"
#include "report/result_folder.hpp"
#include "report/result_identity.hpp"
#include "report/result_manifest.hpp"
#include "report/sink.hpp"
#include "report/terminal.hpp"
#include "report/tip_curve_report.hpp"
#include "report/tip_report.hpp"

#include <fmt/format.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;

std::string_view csv_file_of(const TipCommand& options) {
  return options.request.varying.empty() ? "tip.csv" : "curve.csv";
}

std::vector<std::string> tip_requests(const TipRequest& request) {
  const Trigger& trigger = request.trigger;
  std::vector<std::string> requests = {
      report::trigger_request(trigger.path, trigger.first, trigger.last)};
  for (const std::string& vary : request.varying) requests.push_back("--vary " + vary);
  requests.push_back(report::tolerance_request(request.tolerance));
  return requests;
}

/// The exit status that this very search, finished earlier in `folder`, ended with. Nothing if a
/// file of it is gone or damaged.
std::optional<int> status_of_finished_search(const fs::path& folder, const TipPlan& plan) {
  try {
    const auto json = report::read_sealed(folder);
    std::optional<int> status;
    report::read_members(folder / report::kResultJson, [&] {
      if (!json.contains("search") ||
          json.at("search").at("id") != fmt::format("{:016x}", plan.id)) {
        return;
      }
      for (const auto& record : report::file_records(json, folder / report::kResultJson)) {
        if (!report::fault_of(folder, record).empty()) return;
      }
      const bool found = json.contains("curve")
                             ? json.at("curve").at("found").get<std::size_t>() > 0
                             : json.at("outcome") == name(TippingOutcome::kFound);
      status = found ? kDone : kExpectationFailed;
    });
    return status;
  } catch (const report::DamagedResult&) {
    return std::nullopt;
  }
}

/// Searches; on an interruption what is finished stays in the journal, and the message says so.
std::vector<TipPoint> run_searches(TipSearches& searches, const Session& session) {
  try {
    return searches.run();
  } catch (const Interrupted&) {
    const std::size_t kept = searches.replications_kept();
    const bool timed_out = session.interruption().timed_out();
    const std::string text = kept_text(kept, "search");
    if (kept == 0) searches.remove_journal();
    if (timed_out) {
      throw LimitExceeded(fmt::format("\"{}\" took longer than --timeout allows{}",
                                      searches.plan().base.scenario.name,
                                      kept == 0 ? "" : "; " + text));
    }
    if (kept > 0) session.print_note(text);
    throw;
  } catch (...) {
    if (searches.replications_kept() == 0) searches.remove_journal();
    throw;
  }
}

/// What the process that leads writes and prints at the end.
int conclude_search(const TipCommand& options, TipSearches& searches,
                    const std::vector<TipPoint>& points, JournalFolder& folder) {
  const TipPlan& plan = searches.plan();
  const auto print = [&](const auto& write_text) {
    print_result(options, {folder.path(), csv_file_of(options), write_text});
  };
  if (options.request.varying.empty()) {
    const TipResult& result = points.front().found;
    const report::TipReport found{plan.base, plan.trigger, result, plan.id};
    report::write_tip_files(folder.result(), found);
    searches.remove_journal();
    print(
        [&](report::Sink& sink) { report::write_tip_text(sink, found, report::output_columns()); });
    return result.point.outcome == TippingOutcome::kFound ? kDone : kExpectationFailed;
  }
  const report::TipCurveReport curve{plan, points};
  report::write_curve_files(folder.result(), curve);
  searches.remove_journal();
  print(
      [&](report::Sink& sink) { report::write_curve_text(sink, curve, report::output_columns()); });
  return curve.found() > 0 ? kDone : kExpectationFailed;
}

int search(const TipCommand& options, TipPlan plan, const Session& session) {
  std::optional<JournalFolder> folder;
  TipSearchOptions search_options;
  if (session.leads()) {
    folder.emplace(options, options.resume, result_path(options, plan.base.scenario.name, "tip"),
                   report::kTipJournal, "search");
    if (options.resume && !folder->unfinished()) {
      if (const auto finished = status_of_finished_search(folder->path(), plan)) {
        report::print_error("note: this search is already complete: {}\n", folder->path().string());
        print_result(options, {folder->path(), csv_file_of(options), {}});
        return *finished;
      }
    }
    search_options.journal =
        folder->open(report::identity_of({&plan.base}, "tip", tip_requests(options.request)));
    search_options.resume = options.resume;
  }
  if (plan.base.scenario.precision.target > 0) {
    session.print_note(
        "precision has no effect on a search for a tipping point: every value has the number of "
        "replications that the scenario gives");
  }
  const std::string name = plan.base.scenario.name;
  const bool several = !options.request.varying.empty();
  std::optional<report::ProgressBar> bar;  // one for each value
  report::ProgressBar none(name, false);
  search_options.run = session.replication_options(none);
  search_options.run.progress = [&](double share) { bar->show(share); };
  search_options.probing = [&](const std::string& point, int probe, double value) {
    bar.emplace(
        fmt::format("{}{}, value {}: {:.6g}", name, several ? ", " + point : "", probe, value),
        session.shows_progress());
  };
  const fs::path path = folder ? folder->path() : fs::path();
  TipSearches searches =
      open_journal(path, [&] { return TipSearches(std::move(plan), std::move(search_options)); });
  if (options.resume && session.leads()) {
    print_what_was_kept(searches.replications_found(), searches.dropped_bytes());
  }
  const std::vector<TipPoint> points = run_searches(searches, session);
  if (bar) bar->clear();
  return session.leads() ? conclude_search(options, searches, points, *folder) : kDone;
}

}  // namespace

int search_for_tipping_points(const TipCommand& options, const Session& session) {
  TipPlanResult planned = plan_tip(options.request);
  session.print_errors(planned.errors);
  if (!planned.plan) return kBadInput;
  session.print_notes(planned.plan->base);
  session.agree_on(planned.plan->base);
  return search(options, std::move(*planned.plan), session);
}

}  // namespace retrysim::cli
