// SPDX-License-Identifier: MIT
#include "report/risk.hpp"

#include "report/document/json.hpp"
#include "report/document/text.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

namespace retrysim::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMinute = 60, kHour = 3'600, kDay = 86'400, kYear = 365.25 * kDay;

/// Two digits, the second also where it is zero: "1.0", "140", "14,000".
std::string two_digits(double value) {
  return value >= 1 && value < 9.95 ? fmt::format("{:.1f}", value) : scenario::said_count(value, 2);
}

/// The unit in which people say a length of time.
struct LongUnit {
  double below, of;
  const char* name;
};
constexpr std::array<LongUnit, 9> kLongUnits = {{{2 * kMinute, 1, "s"},
                                                 {2 * kHour, kMinute, "minutes"},
                                                 {2 * kDay, kHour, "hours"},
                                                 {60.5 * kDay, kDay, "days"},
                                                 {2 * kYear, kYear / 12, "months"},
                                                 {1e6 * kYear, kYear, "years"},
                                                 {1e9 * kYear, 1e6 * kYear, "million years"},
                                                 {1e12 * kYear, 1e9 * kYear, "billion years"},
                                                 {HUGE_VAL, 1e12 * kYear, "trillion years"}}};

const LongUnit& long_unit(double seconds) {
  for (const LongUnit& unit : kLongUnits) {
    if (seconds < unit.below) return unit;
  }
  return kLongUnits.back();
}

std::string in_unit(double seconds, const LongUnit& unit) { return two_digits(seconds / unit.of); }

/// A time with the ends of its interval: "56 days (45 to 70)".
std::string said_times(const Ranged& t, std::string_view before_ends = "") {
  const LongUnit& unit = long_unit(*t.value);
  return fmt::format("{} {} ({}{} to {})", in_unit(*t.value, unit), unit.name, before_ends,
                     in_unit(*t.low, unit), in_unit(*t.high, unit));
}

/// Whether a probability is said as one case in so many: as a percentage it would begin with zeros.
bool is_small(double p) { return p < 0.0001; }

std::string said_probability(double p, bool as_cases) {
  if (std::isnan(p)) return "unknown";
  if (as_cases) return scenario::said_one_in(p);
  return p > 0.995 ? "more than 99 %" : two_digits(100 * p) + " %";
}

/// "5.7 %", "1 in 12 million".
std::string said_probability(double p) { return said_probability(p, is_small(p)); }

/// Whether it says nothing that a probability is below this.
bool is_no_bound(double p) { return p > 0.995; }

/// As the end of "below ".
std::string said_bound(double p) {
  constexpr double kLeastSaid = 1e-15;
  return is_no_bound(p) ? "100 %" : said_probability(p < kLeastSaid ? kLeastSaid : p);
}

/// A probability with the ends of its interval, all in one form.
std::string said_probability(const Ranged& p) {
  const bool as_cases = is_small(*p.value);
  const std::string value = said_probability(*p.value, as_cases),
                    low = said_probability(*p.low, as_cases),
                    high = said_probability(*p.high, as_cases);
  return low == high ? value : fmt::format("{} ({} to {})", value, low, high);
}

/// The period as it was asked for.
std::string said_period(Duration period) {
  const double days = period.in_seconds() / kDay;
  if (days >= 1 && days == std::floor(days)) {
    return days == 1 ? std::string("a day") : fmt::format("{:.0f} days", days);
  }
  const double hours = period.in_seconds() / kHour;
  if (hours > 1 && hours == std::floor(hours)) return fmt::format("{:.0f} hours", hours);
  return hours == 1 ? "an hour" : scenario::said_time(period.in_seconds(), 4);
}

struct RiskRow {
  const RiskPlan& plan;
  const RiskPoint& point;
  const RiskStudy& study;

  /// Whether anything is known of how often it happens.
  bool is_known() const { return study.per_s || std::isfinite(study.per_s_below); }

  Ranged per_s() const {
    if (!is_known()) return {};
    if (!study.per_s) return {std::nullopt, std::nullopt, study.per_s_below};
    return {study.per_s->mean, study.per_s->low, study.per_s->high};
  }
  Ranged probability() const {
    if (study.probability) {
      return {study.probability->mean, study.probability->low, study.probability->high};
    }
    if (!is_known()) return {};
    if (study.drawn) return {std::nullopt, std::nullopt, study.per_s_below * horizon_s()};
    if (!study.per_s) {
      const double b = study.per_s_below;
      return {std::nullopt, std::nullopt, risk_within({b, b, b}, plan.period).high};
    }
    const RiskInterval p = risk_within(*study.per_s, plan.period);
    return {p.mean, p.low, p.high};
  }
  Ranged time_s() const {
    if (!is_known()) return {};
    if (!study.per_s) return {std::nullopt, 1 / study.per_s_below, std::nullopt};
    const RiskInterval t = mean_time_s(*study.per_s);
    return {t.mean, t.low, t.high};
  }

  double horizon_s() const { return study.horizon.in_seconds(); }

  std::string time_text() const {
    const Ranged t = time_s();
    if (!is_known()) return "unknown";
    if (!t.value) return "over " + said_long_time(*t.low);
    return said_times(t);
  }
  std::string probability_text() const {
    const Ranged p = probability();
    if (!is_known()) return "unknown";
    if (!p.value) return "below " + said_bound(*p.high);
    return said_probability(p);
  }
};

class RiskReport {
 public:
  RiskReport(const RiskPlan& plan, const std::vector<RiskStudy>& studies)
      : plan_(plan), studies_(studies) {
    for (std::size_t i = 0; i < plan.points.size(); ++i) {
      rows_.push_back({plan, plan.points[i], studies[i]});
    }
  }

  std::vector<std::string> sentences() const {
    std::vector<std::string> all;
    if (is_drawn()) return sentences_of_periods();
    if (rows_.size() == 1) {
      all = {answer(rows_.front()), chance(rows_.front())};
    } else {
      all = {answer_of_points()};
    }
    all.push_back(meaning());
    if (rows_.size() == 1) all.push_back(before_it(rows_.front()));
    if (rows_.size() == 1) all.push_back(effort(rows_.front()));
    std::erase(all, "");
    if (plan_.leaves_disturbances_out) {
      all.push_back(
          "Faults and surges of the scenario are left out: this is what chance alone does.");
    }
    return all;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    const auto add = [&](auto is_so, const char* text) {
      std::vector<std::string> names;
      for (const RiskRow& r : rows_) {
        if (is_so(r.study)) names.push_back(r.point.name);
      }
      if (names.empty()) return;
      notes.push_back(names.size() == rows_.size()
                          ? std::string(text)
                          : fmt::format("at {}: {}", fmt::join(names, ", "), text));
    };
    add([](const RiskStudy& s) { return s.is_late(); },
        "the event came later than chance would have it, so runs may have been too short and the "
        "event may be more frequent than this; a larger --effort allows longer ones");
    add([](const RiskStudy& s) { return s.has_poor_score(); },
        "the backlog says little about how near the event is here, so the interval is wider than "
        "as many runs could make it, and may miss more often than one time in twenty");
    add([](const RiskStudy& s) { return !s.per_s && std::isinf(s.per_s_below); },
        "too little was simulated to say anything; a larger --effort allows more");
    add([this](const RiskStudy& s) { return has_no_bound(s); },
        "too little was simulated to bound the chance within the period; give more --effort, or a "
        "shorter period (--per)");
    add(
        [this](const RiskStudy& s) {
          return s.per_s && s.per_s->high / s.per_s->mean - 1 > 1.5 * plan_.precision;
        },
        "the interval is wider than --precision asks for; a larger --effort makes it narrower");
    return notes;
  }

  CellTable table() const {
    Columns<RiskRow> t;
    t.csv("scenario", [](auto& r) { return r.plan.base.scenario.name; });
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      t.csv_key(key_column(plan_.keys[k], values_of(k)), {last_part(plan_.keys[k])}, [k](auto& r) {
        return Shown{key_cell(r.point.values[k]), r.point.values[k]};
      });
      t.json(plan_.keys[k], [k](auto& r) { return r.point.values[k]; });
    }
    t.files("event", [](auto& r) { return r.plan.event; });
    t.files("per_s per_s_low per_s_high", [](auto& r) { return r.per_s(); }).unit("1/s");
    t.files("period_s", [](auto& r) { return r.plan.period.in_seconds(); });
    t.files("probability probability_low probability_high",
            {"chance within\n" + said_period(plan_.period)}, [](auto& r) {
              return Shown{r.probability(), r.probability_text()};
            });
    t.files("mean_time_s mean_time_low mean_time_high", {"about\nonce in"}, [](auto& r) {
       return Shown{r.time_s(), r.time_text()};
     }).unit("s");
    t.files("level", [](auto& r) { return r.study.level; }).unit("1");
    t.files("method", [](auto& r) { return std::string(name(r.study.method)); });
    t.files("horizon_s", [](auto& r) { return r.study.horizon.in_seconds(); });
    t.files("repetitions", [](auto& r) { return r.study.repetitions; });
    t.files("particles", [](auto& r) { return r.study.particles; });
    t.files("levels", [](auto& r) { return r.study.levels; });
    t.files("ancestors", [](auto& r) { return r.study.ancestors; });
    t.files("relative_error", [](auto& r) {
       return r.study.per_s ? std::optional(r.study.relative_error) : std::nullopt;
     }).unit("1");
    t.files("excess_variance", [](auto& r) {
       return r.study.excess_variance > 0 ? std::optional(r.study.excess_variance) : std::nullopt;
     }).unit("1");
    t.files("events", [](auto& r) { return r.study.events; });
    t.files("repeated", [](auto& r) { return r.study.repeated; }).unit("1");
    t.files("plain_events", [](auto& r) {
      return r.study.per_s ? std::optional(r.study.plain_events) : std::nullopt;
    });
    return {t, rows_};
  }

  /// What the way to the event looks like at each point.
  CellTable paths() const {
    struct Row {
      const RiskRow& at;
      const RiskMoment& moment;
    };
    std::vector<Row> rows;
    for (const RiskRow& r : rows_) {
      for (const RiskMoment& m : r.study.path) rows.push_back({r, m});
    }
    Columns<Row> t;
    t.csv("scenario", [](auto& r) { return r.at.plan.base.scenario.name; });
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      t.csv_key(key_column(plan_.keys[k], values_of(k)),
                [k](auto& r) { return key_cell(r.at.point.values[k]); });
    }
    t.csv("time_s", [](auto& r) { return r.moment.time_s; });
    t.csv("requests_per_s", [](auto& r) { return r.moment.requests_per_s; });
    t.csv("attempts_per_s", [](auto& r) { return r.moment.attempts_per_s; });
    t.csv("in_system", [](auto& r) { return r.moment.in_system; });
    t.csv("success_share", [](auto& r) { return r.moment.success_share; });
    return {t, rows};
  }
  bool has_paths() const {
    return std::ranges::any_of(rows_, [](const RiskRow& r) { return !r.study.path.empty(); });
  }

  /// What was drawn at each point, a row for each period.
  CellTable periods() const {
    struct Row {
      const RiskRow& at;
      std::size_t draw;
      const DrawnPeriod& period;
    };
    std::vector<Row> rows;
    for (const RiskRow& r : rows_) {
      if (!r.study.drawn) continue;
      const std::vector<DrawnPeriod>& all = r.study.drawn->periods;
      for (std::size_t i = 0; i < all.size(); ++i) rows.push_back({r, i + 1, all[i]});
    }
    Columns<Row> t;
    t.csv("scenario", [](auto& r) { return r.at.plan.base.scenario.name; });
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      t.csv_key(key_column(plan_.keys[k], values_of(k)),
                [k](auto& r) { return key_cell(r.at.point.values[k]); });
    }
    t.csv("draw", [](auto& r) { return r.draw; });
    t.csv("faults", [](auto& r) { return r.period.faults; });
    t.csv("disturbed_s", [](auto& r) { return r.period.disturbed_s; });
    t.csv("lasting", [](auto& r) { return r.period.lasting; });
    t.csv("bad", [](auto& r) { return r.period.bad; });
    t.csv("availability", [](auto& r) { return r.period.availability; }).unit("1");
    t.csv("budget_used", [](auto& r) { return r.period.budget_used; }).unit("1");
    t.csv("outage_s", [](auto& r) { return r.period.outage_s; });
    return {t, rows};
  }

  /// How bad a period is once in so many, at each point.
  CellTable levels() const {
    struct Row {
      const RiskRow& at;
      ReturnLevel level;
    };
    std::vector<Row> rows;
    for (const RiskRow& r : rows_) {
      if (!r.study.drawn) continue;
      for (const ReturnLevel& level : return_levels(*r.study.drawn)) rows.push_back({r, level});
    }
    Columns<Row> t;
    t.csv("scenario", [](auto& r) { return r.at.plan.base.scenario.name; });
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      t.csv_key(key_column(plan_.keys[k], values_of(k)), {last_part(plan_.keys[k])}, [k](auto& r) {
        return Shown{key_cell(r.at.point.values[k]), r.at.point.values[k]};
      });
      t.json(plan_.keys[k], [k](auto& r) { return r.at.point.values[k]; });
    }
    const auto ranged = [](const RiskInterval& i) { return Ranged{i.mean, i.low, i.high}; };
    t.files("periods", {"once in\n" + said_periods()}, [](auto& r) {
      return Shown{r.level.periods, fmt::format("{:.0f}", r.level.periods)};
    });
    t.files("budget_used budget_used_low budget_used_high", {"budget used"}, [ranged](auto& r) {
       const RiskInterval& used = r.level.budget_used;
       return Shown{ranged(used),
                    fmt::format("{} % ({} to {})", two_digits(100 * used.mean),
                                two_digits(100 * used.low), two_digits(100 * used.high))};
     }).unit("1");
    t.files("outage_s outage_s_low outage_s_high", {"full outage\nof as much"}, [ranged](auto& r) {
       return Shown{ranged(r.level.outage_s), said_long_time(r.level.outage_s.mean)};
     }).unit("s");
    return {t, rows};
  }
  bool is_drawn() const { return rows_.front().study.drawn.has_value(); }
  /// Whether some level is above nothing, so that a table of them says something.
  bool shows_levels() const {
    return std::ranges::any_of(rows_, [](const RiskRow& r) {
      return r.study.drawn && std::ranges::any_of(return_levels(*r.study.drawn), [](const auto& l) {
               return l.budget_used.mean > 0;
             });
    });
  }
  bool has_levels() const {
    return std::ranges::any_of(rows_, [](const RiskRow& r) {
      return r.study.drawn && !return_levels(*r.study.drawn).empty();
    });
  }

  std::vector<std::string> key_units() const {
    std::vector<std::string> units;
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      units.emplace_back(key_column(plan_.keys[k], values_of(k)).unit);
    }
    return units;
  }

  std::uint64_t events() const {
    std::uint64_t all = 0;
    for (const RiskStudy& s : studies_) all += s.events;
    return all;
  }

 private:
  /// Whether all that is known is a bound of the rate under which the event may still be certain.
  bool has_no_bound(const RiskStudy& s) const {
    if (s.per_s || s.drawn || std::isinf(s.per_s_below)) return false;
    const double b = s.per_s_below;
    return is_no_bound(risk_within({b, b, b}, plan_.period).high);
  }

  bool is_collapse() const { return plan_.event == "collapse"; }

  /// "periods of 30 days".
  std::string said_periods() const { return "periods of " + said_period(plan_.period); }

  std::string used_text(double share) const { return two_digits(100 * share) + " %"; }

  std::vector<std::string> sentences_of_periods() const {
    if (rows_.size() > 1) return {answer_of_periods()};
    const RiskRow& r = rows_.front();
    const DrawnPeriods& drawn = *r.study.drawn;
    std::vector<std::string> all;
    const std::string event = plan_.said_event(r.point);
    const std::string period = said_period(plan_.period);
    const Ranged p = r.probability();
    if (p.value) {
      all.push_back(fmt::format("The faults of {} use {} with a chance of {}.", period, event,
                                said_probability(p)));
    } else {
      all.push_back(
          fmt::format("In none of {} drawn did the faults use {}: the chance is below {} "
                      "(95 %).",
                      said_things(drawn.periods.size()), event, said_bound(*p.high)));
    }
    const Means means(drawn);
    const bool is_one = period.starts_with("a ") || period.starts_with("an ");
    all.push_back(fmt::format(
        "On average {} {} {} faults, with their aftermaths {} long, an availability of {:.4f} %, "
        "and {} {} of the budget: as much as a full outage of {}.",
        period, is_one ? "has" : "have", two_digits(means.faults),
        said_long_time(means.disturbed_s), 100 * means.availability, is_one ? "uses" : "use",
        used_text(means.budget_used), said_long_time(means.outage_s)));
    const std::vector<ReturnLevel> levels = return_levels(drawn);
    if (!levels.empty() && levels.back().budget_used.mean > 0) {
      const ReturnLevel& worst = levels.back();
      all.push_back(fmt::format("Once in {:.0f} such periods it is {} of the budget or more.",
                                worst.periods, used_text(worst.budget_used.mean)));
    }
    if (means.lasting > 0) all.push_back(lasting(drawn));
    all.push_back(quiet(drawn));
    all.push_back(skipping());
    std::erase(all, "");
    return all;
  }

  std::string said_things(std::size_t periods) const {
    return fmt::format("{} {}", periods, said_periods());
  }

  std::string lasting(const DrawnPeriods& drawn) const {
    std::size_t faults = 0, collapses = 0;
    for (const DrawnPeriod& p : drawn.periods) {
      faults += p.faults;
      collapses += p.lasting;
    }
    const double repair_s = plan_.repair.in_seconds();
    const std::string ended =
        plan_.repair == Duration::max()
            ? "it lasts to the end of the period (see --repair)"
            : "somebody ends it " + said_long_time(repair_s) + " after the fault";
    return fmt::format("After {} of {} it does not recover by itself within {}; here {}.",
                       collapses, scenario::said_things(faults, "fault"),
                       said_long_time(drawn.followed.in_seconds()), ended);
  }

  std::string quiet(const DrawnPeriods& drawn) const {
    constexpr double kWorthSaying = 1e-9;
    if (drawn.quiet_bad <= kWorthSaying) return "";
    const double all = drawn.quiet_bad * drawn.requests_per_s * plan_.period.in_seconds();
    const Means means(drawn);
    return fmt::format(
        "Without any fault {} of the requests are bad, too, as {} of such time showed: {} of all "
        "bad ones.",
        used_text(drawn.quiet_bad), said_long_time(drawn.quiet_s),
        used_text(all / std::max(all, means.bad)));
  }

  std::string skipping() const {
    const DrawnPeriods& drawn = *rows_.front().study.drawn;
    const double all_s = static_cast<double>(drawn.periods.size()) * plan_.period.in_seconds();
    if (plan_.plain) return "No quiet stretch between faults was skipped.";
    // Where it does not recover, a fault is simulated several times, for longer and longer.
    const std::string saved =
        drawn.simulated_s < all_s
            ? fmt::format(" ({} of {} in all)", said_long_time(drawn.simulated_s),
                          said_long_time(all_s))
            : std::string();
    return fmt::format(
        "{} were drawn; of each, the time around its faults was simulated{}. Quiet times are like "
        "each other, and skipped from {} after the system has recovered.",
        said_things(drawn.periods.size()), saved, said_long_time(drawn.settle.in_seconds()));
  }

  std::string answer_of_periods() const {
    const auto chance_of = [](const RiskRow& r) {
      return r.study.probability ? r.study.probability->mean : 0.0;
    };
    const auto [least, most] = std::ranges::minmax_element(rows_, {}, chance_of);
    return fmt::format("The faults of {} use {} with a chance of {} at {}, and of {} at {}.",
                       said_period(plan_.period), plan_.said_event(rows_.front().point),
                       most->probability_text(), most->point.name, least->probability_text(),
                       least->point.name);
  }

  /// Means over the periods of a point.
  struct Means {
    double faults = 0, disturbed_s = 0, lasting = 0, bad = 0, availability = 0, budget_used = 0,
           outage_s = 0;

    explicit Means(const DrawnPeriods& drawn) {
      const double n = static_cast<double>(drawn.periods.size());
      for (const DrawnPeriod& p : drawn.periods) {
        faults += static_cast<double>(p.faults) / n;
        disturbed_s += p.disturbed_s / n;
        lasting += static_cast<double>(p.lasting) / n;
        bad += p.bad / n;
        availability += p.availability / n;
        budget_used += p.budget_used / n;
        outage_s += p.outage_s / n;
      }
    }
  };

  /// "It tips over by itself", "100 attempts at once at api happen".
  std::string subject(const RiskPoint& point) const {
    if (is_collapse()) return "it tips over by itself";
    const std::string said = plan_.said_event(point);
    return said + (point.event.kind == RareEvent::Kind::kInSystem ? " happen" : " happens");
  }

  static std::string upper_first(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
      text[0] = static_cast<char>(text[0] - 32);
    return text;
  }

  std::string answer(const RiskRow& r) const {
    const std::string begin = upper_first(subject(r.point));
    if (!r.is_known()) {
      return fmt::format("It is not known how often {}: too little was simulated.",
                         subject(r.point));
    }
    if (!r.study.per_s) {
      return fmt::format("{} less than once in {} (95 %).", begin,
                         said_long_time(1 / r.study.per_s_below));
    }
    const Ranged t = r.time_s();
    return fmt::format("{} about once in {}.", begin, said_times(t, "95 %: "));
  }

  std::string chance(const RiskRow& r) const {
    const Ranged p = r.probability();
    const std::string period = said_period(plan_.period);
    if (!r.is_known() || has_no_bound(r.study)) return "";  // a note says it
    if (!p.value) {
      return fmt::format("The chance that it happens within {} is below {}.", period,
                         said_bound(*p.high));
    }
    return fmt::format("The chance that it happens within {} is {}.", period, said_probability(p));
  }

  std::string answer_of_points() const {
    const auto rate = [](const RiskRow& r) {
      return r.study.per_s ? r.study.per_s->mean : r.study.per_s_below;
    };
    const auto [least, most] = std::ranges::minmax_element(rows_, {}, rate);
    const auto often = [](const RiskRow& r) {
      if (!r.is_known()) return "an unknown number of times at " + r.point.name;
      return r.study.per_s ? fmt::format("about once in {} at {}",
                                         said_long_time(1 / r.study.per_s->mean), r.point.name)
                           : fmt::format("less than once in {} at {}",
                                         said_long_time(1 / r.study.per_s_below), r.point.name);
    };
    return fmt::format("{} {}, and {}.", upper_first(subject(rows_.front().point)), often(*most),
                       often(*least));
  }

  std::string meaning() const {
    const RiskRow& r = rows_.front();
    std::string what;
    if (is_collapse()) {
      what = fmt::format("Tipped over: of the requests that end within {}, less than half succeed.",
                         scenario::said_time(r.point.event.window.in_seconds()));
    }
    const char* counted = "A time counts from a state without the event until it happens.";
    return what.empty() ? counted : what + " " + counted;
  }

  /// The stretch before the event in which most requests came, where that is more than usual.
  std::string before_it(const RiskRow& r) const {
    constexpr std::size_t kTogether = 10;
    constexpr double kNoticeable = 1.03;
    const std::vector<RiskMoment>& path = r.study.path;
    if (path.size() < kTogether) return "";
    const auto rate_from = [&](std::size_t first) {
      double sum = 0;
      for (std::size_t k = first; k < first + kTogether; ++k) sum += path[k].requests_per_s;
      return sum / kTogether;
    };
    std::size_t most = 0;
    for (std::size_t k = 1; k + kTogether <= path.size(); ++k) {
      if (rate_from(k) > rate_from(most)) most = k;
    }
    const double usual = r.study.usual.requests_per_s;
    if (rate_from(most) < kNoticeable * usual) return "";
    const double length_s = kTogether * (path[1].time_s - path[0].time_s);
    return fmt::format(
        "On the way to it, from {} before on, {} requests a second come for {} instead of {}; at "
        "most "
        "{} attempts are there then, usually {}.",
        said_long_time(-path[most].time_s), format_plain(rate_from(most), 3),
        said_long_time(length_s), format_plain(usual, 3),
        format_plain(std::ranges::max_element(path, {}, &RiskMoment::in_system)->in_system, 3),
        format_plain(r.study.usual.in_system, 2));
  }

  std::string effort(const RiskRow& r) const {
    const RiskStudy& s = r.study;
    const std::string runs =
        fmt::format("{} repetitions of {} particles", s.repetitions, s.particles);
    if (s.method == RiskMethod::kPlain) {
      const std::size_t all = std::size_t{s.repetitions} * s.particles;
      return fmt::format("Found by {} without splitting, each {} long at most.",
                         scenario::said_things(all, "run"), said_long_time(s.horizon.in_seconds()));
    }
    if (!s.per_s) {
      const std::string nearest = s.level >= 1 ? std::string("some came to it")
                                               : fmt::format("the nearest came {} of the way to it",
                                                             said_probability(s.level));
      return fmt::format(
          "Splitting ({}) was given up before all of its particles had come to it; {}.", runs,
          nearest);
    }
    const double times = s.plain_events / static_cast<double>(std::max<std::uint64_t>(1, s.events));
    const std::string saved =
        times >= 2 ? fmt::format(": plain simulation would have needed {} times as many events",
                                 two_digits(std::min(times, 1e15)))
                   : std::string();
    return fmt::format("Found by splitting, {}{}.", runs, saved);
  }

  std::vector<std::string> values_of(std::size_t key) const {
    std::vector<std::string> values;
    for (const RiskRow& r : rows_) values.push_back(r.point.values[key]);
    return values;
  }

  const RiskPlan& plan_;
  const std::vector<RiskStudy>& studies_;
  std::vector<RiskRow> rows_;
};

std::vector<TableSource> risk_tables(const RiskPlan& plan, const std::vector<RiskStudy>& studies) {
  const RiskReport report(plan, studies);
  std::vector<TableSource> tables;
  tables.push_back(source_of("risk", report.table()));
  if (report.has_paths()) tables.push_back(source_of("path", report.paths()));
  if (report.is_drawn()) tables.push_back(source_of("periods", report.periods()));
  if (report.has_levels()) tables.push_back(source_of("levels", report.levels()));
  return tables;
}

}  // namespace

std::string said_long_time(double seconds) {
  if (std::isnan(seconds)) return "an unknown time";
  const LongUnit& unit = long_unit(seconds);
  return in_unit(seconds, unit) + " " + unit.name;
}

Document risk_document(const RiskPlan& plan, const std::vector<RiskStudy>& studies) {
  const RiskReport report(plan, studies);
  const LoadedScenario& base = plan.base;
  const Heading heading = heading_of(base, plan.keys);
  Document d;
  const std::vector<std::string> sentences = report.sentences();
  d.title(heading, fmt::format("risk of {}, {} events, seed {}", plan.event,
                               scenario::said_number(static_cast<double>(report.events()), 2),
                               base.scenario.seed));
  d.gap().answer_first(sentences);
  if (plan.points.size() > 1) {
    TextTable points = shown(report.table());
    points.fixed = plan.keys.size();
    d.gap().show(std::move(points));
  }
  if (report.shows_levels()) d.gap().show(shown(report.levels()));
  d.notes(report.notes());
  d.head("risk", heading, base.scenario, studies.front().repetitions);
  d.member("risk",
           {{"event", plan.event},
            {"words", plan.said_event(plan.points.front())},
            {"period_s", plan.period.in_seconds()},
            {"precision", plan.precision},
            {"effort", plan.effort},
            {"plain", plan.plain},
            {"repair_s", plan.repair == Duration::max() ? Json() : Json(plan.repair.in_seconds())},
            {"period_words", said_period(plan.period)},
            {"keys", plan.keys},
            {"key_units", report.key_units()},
            {"vary", plan.varying},
            {"points", rows_json(report.table())},
            {"levels", report.has_levels() ? rows_json(report.levels()) : Json::array()}});
  d.member("sentences", sentences);
  d.member("notes", report.notes());
  d.scenario_members(base);
  d.tables(risk_tables(plan, studies));
  d.scenario_file(base);
  return d;
}

}  // namespace retrysim::report

namespace retrysim {

Tables tables(const RiskPlan& plan, const std::vector<RiskStudy>& studies) {
  return Tables(report::risk_tables(plan, studies));
}

}  // namespace retrysim
