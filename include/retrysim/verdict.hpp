// Verdicts: how each client group fared and why, in sentences with the figures behind them. They
// come from a table of rules, each of which looks at the measurements and at what the scenario
// makes inevitable (prediction.hpp).
//
//     for (const Verdict& v : verdicts(scenario, runs)) ... v.client ... v.sentence ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/words.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {

/// How good the news is for the operator of the system.
enum class Severity : std::uint8_t { kGood, kInfo, kBad };
template <>
inline constexpr std::string_view kWords<Severity> = "good|info|bad";
static_assert(words_end_with(Severity::kBad));

/// One figure behind a sentence. Its name ends in the unit: "_s" seconds, "_per_s" per second,
/// "_share" 0 to 1, "_ratio" a multiple.
struct EvidenceFigure {
  std::string name;
  double value = 0;
};

/// Where a figure of a sentence is counted: cells of the result's files, a key of the scenario, or
/// a formula of several of these (sim/explain/README.md).
struct FigureSource {
  enum class Kind : std::uint8_t {
    kUnknown,  ///< no file has it; `text` says what it is counted from
    kNumber,   ///< `number`
    kKey,      ///< `text` is the path of a key
    kCells,    ///< the cells of `column` in `file`, in the rows of `of` and in `window`
    kFormula,  ///< `formula` of `parts`: + - * / // ^ <= >= ==
  };
  Kind kind = Kind::kUnknown;
  double number = 0;
  std::string text = {};
  std::string_view file = {}, column = {};  ///< a column, or a metric
  std::string_view weight = {};             ///< a metric of the same row that each is multiplied by
  std::string of = {};                      ///< name of the client group or service
  /// The value in rows over time and phases; from `from_s` to `to_s` where it is empty.
  std::string_view window = {};
  double from_s = 0, to_s = 0;
  std::string_view over = "sum";  ///< what is made of the cells: sum, mean, median, min, max, count
  double above = -1;              ///< of cells with a value above this
  std::string_view formula = {};
  std::vector<FigureSource> parts = {};
};

/// A figure as the sentence has it, or a claim ("every", "at once"), whose source is a condition.
struct SaidFigure {
  std::string text;
  double value = 0;  ///< of a claim 1
  FigureSource source;
};

struct Verdict {
  std::string client;     ///< name of the group; "all": of several together
  std::string_view rule;  ///< `VerdictRule::id`
  Severity severity = Severity::kInfo;
  std::string sentence;  ///< without a full stop at its end; begins in lower case
  std::vector<EvidenceFigure> evidence;
  std::vector<SaidFigure> figures = {};  ///< in the sentence, in their order
  std::string culprit = {};  ///< the service that is named as the only cause; empty: none is
  /// For an answer: what became of the group, in the few words that a picture has room for: "12 %
  /// succeed during the fault, back 21 s after it". Empty: of a cause.
  std::string fate = {};
};

/// One row of the table of rules.
struct VerdictRule {
  std::string_view id;
  Severity severity = Severity::kInfo;
  bool is_answer = false;  ///< says how the group fared; exactly one of these applies
  std::string_view when;   ///< the condition, for people
};

/// All rules, in the order in which their verdicts are listed.
std::vector<VerdictRule> verdict_rules();

/// First what is to be said of several groups together, if services call each other or groups share
/// them: which service is the cause, and what each group loses. Then the verdicts on every client
/// group, in the order of the scenario: first the answer, then the causes in the order of the
/// rules. `runs` are replications of `scenario`. Runs without time series have answers, but few
/// causes.
std::vector<Verdict> verdicts(const Scenario& scenario, std::span<const RunResult> runs);

/// How each client group that sent requests fares without a part of the scenario, such as "the
/// retry quota": `twin_runs` are the replications `runs` of the same scenario without it. Rule
/// "twin", which is not among `verdict_rules`.
std::vector<Verdict> twin_verdicts(const Scenario& scenario, std::span<const RunResult> runs,
                                   const Scenario& twin, std::span<const RunResult> twin_runs,
                                   std::string_view part);

/// All that verdicts need from one replication of `scenario`, so that many can be judged without
/// keeping their results: numbers that mean nothing on their own, many of them zero.
std::vector<double> verdict_figures(const Scenario& scenario, const RunResult& run);

/// The verdicts on the replications with these figures. Throws std::invalid_argument if they are
/// not those of this scenario.
std::vector<Verdict> verdicts(const Scenario& scenario,
                              std::span<const std::vector<double>> figures_by_run);

}  // namespace retrysim
