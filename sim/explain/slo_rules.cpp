// What faults and surges use of error budgets, in a sentence for each.
//
// SPDX-License-Identifier: MIT
#include "estimate/slos.hpp"
#include "explain/rules.hpp"
#include "explain/sources.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::explain {

const VerdictRule kErrorBudgetRule = {
    "error-budget", Severity::kInfo, false,
    "the scenario has an objective ([slo.NAME]): how much of its error budget a fault or surge "
    "uses, with its aftermath; bad above the whole of it. Without either, whether the objective is "
    "kept"};

namespace {

using stats::SloSummary;

constexpr double kDaySeconds = 24 * 3600;

/// The sentence about what one event uses of the error budget of one SLO.
class Budget {
 public:
  explicit Budget(const Scenario& scenario, const SloSummary& row)
      : scenario_(scenario), row_(row), path_("slo." + row.slo->name) {}

  Sentence sentence() const { return is_event() ? of_event() : of_run(); }

  Severity severity() const {
    if (!is_event()) return row_.mean.burn_rate > 1 ? Severity::kBad : Severity::kGood;
    if (row_.mean.bad == 0) return Severity::kGood;
    const bool too_much = row_.mean.budget_used > 1 || row_.year_used().value_or(0) > 1;
    return too_much ? Severity::kBad : Severity::kInfo;
  }

  std::vector<EvidenceFigure> evidence() const {
    const stats::SloFigures& m = row_.mean;
    std::vector<EvidenceFigure> all = {{"budget_used_share", m.budget_used},
                                       {"budget", m.budget},
                                       {"requests", m.requests},
                                       {"bad", m.bad},
                                       {"failed", m.failed},
                                       {"slow", m.slow},
                                       {"burn_rate_ratio", m.burn_rate},
                                       {"outage_s", m.outage_s}};
    if (m.users_hurt) all.push_back({"users_hurt", *m.users_hurt});
    if (const auto year = row_.year_used()) all.push_back({"year_budget_used_share", *year});
    return all;
  }

 private:
  bool is_event() const { return !row_.event.parts.empty(); }
  FigureSource cell(std::string_view column) const {
    return slo_cell(row_.slo->name, row_.event.name, column);
  }

  /// "1.7 % of", or "2.9 times" where it is more than the whole.
  static Sentence part_of(double part, FigureSource source) {
    if (part > 1) return times(part, std::move(source));
    return say("{} of", share(part, std::move(source)));
  }

  /// "30 days", "24 hours".
  Sentence window() const {
    const double seconds = row_.slo->window.in_seconds();
    const FigureSource source = key(path_ + ".window");
    const double days = seconds / kDaySeconds;
    if (days < 2 || std::fmod(seconds, kDaySeconds) != 0) return time(seconds, source);
    return say("{} days", count(days, source / number(kDaySeconds), 6));
  }

  /// As many significant digits as a share that somebody wrote has: 99.99999999 is not 100.
  static int digits_of(double percent) {
    int digits = 6;
    const auto is_another = [percent](const std::string& text) {
      return std::abs(std::stod(text) - percent) > 1e-13 * percent;
    };
    while (digits < 15 && is_another(fmt::format("{:.{}g}", percent, digits))) ++digits;
    return digits;
  }

  /// "availability: 99.9 % of the requests within 500 ms".
  Sentence objective() const {
    const double percent = 100 * row_.slo->share;
    const Figure share = count(percent, key(path_ + ".share") * number(100), digits_of(percent));
    Sentence words = say("{}: {} % of the requests", Name{row_.slo->name}, share);
    if (row_.slo->latency != Duration::max()) {
      words += say(" within {}", time(row_.slo->latency.in_seconds(), key(path_ + ".latency")));
    }
    return words;
  }

  /// "734 of 1200 requests are bad (600 fail, 134 are too slow)", "134 of 1200 requests are too
  /// slow", "600 of 1200 requests fail".
  Sentence bad() const {
    const stats::SloFigures& m = row_.mean;
    const Figure all = count(m.requests, cell("requests"));
    const Figure these = count(m.bad, cell("bad"));
    if (m.slow == 0) return say("{} of {} requests fail", these, all);
    if (m.failed == 0) return say("{} of {} requests are too slow", these, all);
    return say("{} of {} requests are bad ({} fail, {} are too slow)", these, all,
               count(m.failed, cell("failed")), count(m.slow, cell("slow")));
  }

  Sentence of_event() const {
    const stats::SloFigures& m = row_.mean;
    const Name event{row_.event.name};
    if (m.bad == 0) {
      return say("{} uses nothing of the error budget of {} ({})", event, window(), objective());
    }
    const bool ends = row_.ended == row_.runs;
    Sentence words =
        say("{} uses {}{} the error budget of {} ({}): {}, as many as in {} of full outage", event,
            ends ? Sentence() : say("at least "), part_of(m.budget_used, cell("budget_used")),
            window(), objective(), bad(), time(m.outage_s, cell("outage_s")));
    if (m.users_hurt && row_.users > 1 && *m.users_hurt > 0) {
      words += say("; {} of {} clients have a request that fails",
                   count(*m.users_hurt, cell("users_hurt")), whole(row_.users, cell("users")));
    }
    if (stats::has_prices(scenario_)) {
      words += say("; the retries cost {}", count(m.retries_cost, cell("retries_cost")));
    }
    if (row_.per_year) {
      words += say("; {} a year use {} the year's budget",
                   count(*row_.per_year, cell("events_per_year")),
                   part_of(*row_.year_used(), cell("year_budget_used")));
    }
    if (!ends) words += say("; the run ends before it is known to be over");
    return words;
  }

  Sentence of_run() const {
    const stats::SloFigures& m = row_.mean;
    if (m.burn_rate <= 1) {
      return say("the objective is kept ({}): {}, {} of what it permits", objective(), bad(),
                 share(m.burn_rate, cell("burn_rate")));
    }
    const FigureSource used_up = key(path_ + ".window") / cell("burn_rate");
    const double seconds = row_.slo->window.in_seconds() / m.burn_rate;
    const Sentence until =
        seconds >= 2 * kDaySeconds
            ? say("{} days", count(seconds / kDaySeconds, used_up / number(kDaySeconds)))
            : Sentence(time(seconds, used_up));
    return say(
        "the objective is not kept ({}): {}, {} what it permits; if that lasts, the error "
        "budget of {} is used up in {}",
        objective(), bad(), times(m.burn_rate, cell("burn_rate")), window(), until);
  }

  const Scenario& scenario_;
  const SloSummary& row_;
  std::string path_;
};

}  // namespace

std::vector<Verdict> error_budgets(const Scenario& scenario,
                                   std::span<const stats::SloSummary> slos) {
  std::vector<Verdict> all;
  for (const stats::SloSummary& row : slos) {
    const Budget budget(scenario, row);
    const std::vector<std::size_t> groups = stats::slo_groups(scenario, *row.slo);
    const Sentence sentence = budget.sentence();
    all.push_back({groups.size() == 1 ? scenario.clients[groups.front()].name : "all",
                   kErrorBudgetRule.id, budget.severity(), sentence.text(), budget.evidence(),
                   sentence.figures()});
  }
  return all;
}

}  // namespace retrysim::explain
