// SPDX-License-Identifier: MIT
#include "browser/engine.hpp"

#include <retrysim/compare.hpp>
#include <retrysim/experiment.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/simulation.hpp>

#include "report/document/document.hpp"
#include "report/folder/manifest.hpp"
#include "report/page/page.hpp"
#include "report/run/evaluation.hpp"
#include "report/run/text.hpp"
#include "scenario/keys/keys.hpp"

#include <fmt/format.h>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

namespace retrysim::browser {
namespace {

using Json = nlohmann::ordered_json;

/// Of the 4 GiB that a page can have.
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 30;
constexpr std::size_t kMostSeriesBytes = 1'800'000;  // as `retrysim report` has it of a run

struct Request {
  explicit Request(const Json& json)
      : ask(json.at("ask")),
        toml(json.at("toml")),
        edits(json.value("edits", std::vector<std::string>())),
        max_events(json.value("max_events", ~std::uint64_t{0})) {
    if (!json.contains("files")) return;
    for (const auto& [name, text] : json.at("files").items()) files.emplace(name, text);
  }

  std::string ask, toml;
  std::vector<std::string> edits;
  InputTexts files;
  std::uint64_t max_events;
};

/// The thread that asks does the work.
class OwnThread : public Executor {
 public:
  bool is_owner() const override { return true; }
  bool is_alone() const override { return true; }
  std::string share(std::string bytes) override { return bytes; }
  void agree(const std::string&) override {}
  void run(const Task& task) override {
    if (task.units == 0) return;
    const Work work = task.make_work();
    for (std::size_t unit = 0; unit < task.units; ++unit) task.deliver(unit, work(unit));
  }
};

Json diagnostics_json(const std::vector<Diagnostic>& errors) {
  Json list = Json::array();
  for (const Diagnostic& d : errors) {
    list.push_back({{"file", d.file},
                    {"line", d.line},
                    {"column", d.column},
                    {"message", d.message},
                    {"source_line", d.source_line},
                    {"caret", d.caret}});
  }
  return list;
}

/// The answer to "run".
std::string result_of(LoadedScenario loaded, std::uint64_t max_events) {
  OwnThread thread;
  ReplicationOptions options;
  options.executor = &thread;
  options.fingerprint = true;
  options.max_events = max_events;
  options.max_memory = kMostMemory;
  Experiment experiment = run_experiment(loaded.scenario, options);
  if (experiment.warmup) take_warmup(loaded, *experiment.warmup);
  report::ResultSet results{loaded, "base", std::move(experiment.runs)};
  results.warmup = std::move(experiment.warmup);
  results.precision = std::move(experiment.precision);
  const report::Evaluation evaluation(results);
  report::ResultIdentity answers(loaded.scenario.name);
  answers.command = "run";
  const report::PageResult page =
      report::page_result(report::run_document(evaluation), loaded, answers, kMostSeriesBytes);
  std::uint64_t events = 0;
  for (const RunResult& run : results.runs) events += run.events;
  return fmt::format(
      R"({{"result":{},"series":{},"fingerprint":"{:016x}","events":{},"notes":{}}})",
      page.metadata, page.series, combined_fingerprint(results.runs), events,
      report::json_for_script(distinct_notes(loaded)));
}

const char* name_of(scenario::ValueKind kind) {
  using scenario::ValueKind;
  switch (kind) {
    case ValueKind::kDuration:
      return "duration";
    case ValueKind::kNumber:
      return "number";
    case ValueKind::kCount:
      return "count";
    case ValueKind::kBoolean:
      return "boolean";
    case ValueKind::kWord:
      return "word";
    case ValueKind::kText:
      return "text";
    case ValueKind::kNames:
      return "names";
    case ValueKind::kFile:
      return "file";
    case ValueKind::kDistribution:
      return "distribution";
    case ValueKind::kDistributionList:
      return "distributions";
    case ValueKind::kCountDistribution:
      return "count distribution";
  }
  return "text";
}

const char* name_of(Origin origin) {
  switch (origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kPreset:
      return "preset";
    case Origin::kEnvironment:
      return "environment";
    case Origin::kScenario:
      return "scenario";
    case Origin::kSet:
      return "set";
    case Origin::kFound:
      return "found";
  }
  return "default";
}

/// The answer to "describe".
Json keys_json(const LoadedScenario& loaded) {
  Json list = Json::array();
  for (const ResolvedKey& key : loaded.keys) {
    Json row = {{"path", key.path}, {"toml", key.toml}, {"origin", name_of(key.origin)}};
    if (const scenario::KeyInfo* info = scenario::find_key(key.path)) {
      const scenario::ValueRules& rules = info->rules;
      row["meaning"] = info->meaning;
      row["kind"] = name_of(rules.kind);
      if (!rules.words.empty()) row["words"] = scenario::split_words(rules.words);
      if (std::isfinite(rules.range.min)) row["min"] = rules.range.min;
      if (std::isfinite(rules.range.max)) row["max"] = rules.range.max;
      for (const std::string_view word : {rules.else_word, rules.also_word}) {
        if (!word.empty()) row["others"].push_back(word);
      }
    }
    list.push_back(std::move(row));
  }
  return list;
}

std::string text_of(const Json& answer) { return report::json_for_script(answer); }

std::string answer_to(const Request& request) {
  const bool runs = request.ask == "run";
  if (!runs && request.ask != "describe") {
    return text_of(
        {{"failure", fmt::format("'{}' is no question; expected run or describe", request.ask)}});
  }
  LoadResult read = load_scenario_text(request.toml, "scenario", request.files, request.edits);
  if (!read.loaded) return text_of({{"errors", diagnostics_json(read.errors)}});
  if (!runs) return text_of({{"keys", keys_json(*read.loaded)}});
  return result_of(std::move(*read.loaded), request.max_events);
}

}  // namespace

std::string answer(std::string_view request) {
  std::string failure;
  try {
    return answer_to(Request(Json::parse(request)));
  } catch (const Json::exception&) {
    failure = "the request cannot be understood";
  } catch (const std::bad_alloc&) {
    failure = "there is not enough memory for this";
  } catch (const std::exception& e) {
    failure = e.what();
  }
  return text_of({{"failure", failure}});
}

}  // namespace retrysim::browser
