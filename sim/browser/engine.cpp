// SPDX-License-Identifier: MIT
#include "browser/engine.hpp"

#include <retrysim/compare.hpp>
#include <retrysim/retry_rules.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include "execution/executor.hpp"
#include "report/comparison.hpp"
#include "report/document/document.hpp"
#include "report/folder/manifest.hpp"
#include "report/page/page.hpp"
#include "report/pictures/pictures.hpp"
#include "report/run/evaluation.hpp"
#include "report/run/text.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/changes.hpp"
#include "scenario/text/scenario_reader.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace retrysim::browser {
namespace {

using Json = nlohmann::ordered_json;

/// Of the 4 GiB that a page can have.
constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << 30;
constexpr std::size_t kMaxSeriesBytes = 1'800'000;  // as `retrysim report` has it of a run

struct Request {
  explicit Request(const Json& json)
      : ask(json.at("ask")),
        toml(json.at("toml")),
        edits(json.value("edits", std::vector<std::string>())),
        vary(json.value("vary", std::vector<std::string>())),
        offers(json.value("offers", std::vector<std::vector<std::string>>())),
        max_events(json.value("max_events", ~std::uint64_t{0})) {
    for (const Json& change : json.value("changes", Json::array())) {
      changes.push_back(
          {change.at("key").get<std::string>(), change.at("value").get<std::string>()});
    }
    if (!json.contains("files")) return;
    for (const auto& [name, text] : json.at("files").items()) files.emplace(name, text);
  }

  std::string ask, toml;
  std::vector<std::string> edits, vary;
  std::vector<std::vector<std::string>> offers;
  std::vector<ScenarioChange> changes;
  InputTexts files;
  std::uint64_t max_events;
};

/// Reads the scenario of a request, with the edits of its variants if there are any.
class Reader {
 public:
  explicit Reader(const Request& request)
      : request_(request), reader_(request.toml, "scenario", request.files, request.edits) {}

  LoadResult load(const std::vector<std::string>& variant_edits = {}) const {
    LoadResult read = reader_.load(variant_edits);
    if (read.loaded) {
      std::vector<ScenarioChange> changes = request_.changes;
      scenario::add_changes(changes, read.loaded->changes);
      read.loaded->changes = std::move(changes);
    }
    return read;
  }

 private:
  const Request& request_;
  scenario::ScenarioReader reader_;
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
    list.push_back({{"file", d.in_request ? "--" + d.file : d.file},
                    {"line", d.line},
                    {"column", d.column},
                    {"message", d.message},
                    {"source_line", d.source_line},
                    {"caret", d.caret}});
  }
  return list;
}

ReplicationOptions options_of(const Request& request, OwnThread& thread) {
  ReplicationOptions options;
  options.executor = &thread;
  options.fingerprint = true;
  options.max_events = request.max_events;
  options.max_memory = kMaxMemory;
  return options;
}

/// A result on the page, with what else there is to say of it.
std::string page_text(const report::Document& document, const LoadedScenario& scenario,
                      const report::ResultIdentity& answers, std::span<const RunResult> runs) {
  const report::PageResult page = report::page_result(document, scenario, answers, kMaxSeriesBytes);
  std::uint64_t events = 0;
  for (const RunResult& run : runs) events += run.events;
  return fmt::format(
      R"({{"result":{},"series":{},"fingerprint":"{:016x}","events":{},"notes":{}}})",
      page.metadata, page.series, combined_fingerprint(runs), events,
      report::json_for_script(distinct_notes(scenario)));
}

std::string text_of(const Json& answer) { return report::json_for_script(answer); }

/// The answer to "run", or the files of its result.
std::string result_of(LoadedScenario loaded, const Request& request) {
  OwnThread thread;
  Experiment experiment = run_experiment(loaded.scenario, options_of(request, thread));
  if (experiment.warmup) take_warmup(loaded, *experiment.warmup);
  report::ResultSet results{loaded, "base", std::move(experiment.runs)};
  results.warmup = std::move(experiment.warmup);
  results.precision = std::move(experiment.precision);
  const report::Evaluation evaluation(results);
  const report::Document document = report::run_document(evaluation);
  if (request.ask == "files") {
    Json files = {{"scenario.toml", to_toml(loaded, false)}};
    for (const report::TableSource& table : document.tables()) {
      report::StringSink sink;
      report::write_csv(sink, table);
      files[report::file_name(table)] = sink.text();
    }
    return text_of({{"files", std::move(files)}});
  }
  report::ResultIdentity answers(loaded.scenario.name);
  answers.command = "run";
  return page_text(document, loaded, answers, results.runs);
}

/// The variants that a request asks for, or their mistakes.
VariantsResult variants_of(const Request& request) {
  VariantsResult result;
  const VariationsResult parsed = parse_variations(request.vary);
  result.errors = parsed.errors;
  if (!result.errors.empty()) return result;
  const Reader reader(request);
  for (const Variant& variant : grid(parsed.variations)) {
    LoadResult one = reader.load(variant.edits);
    if (!one.loaded) {
      result.errors = std::move(one.errors);
      result.variants.clear();
      return result;
    }
    result.variants.push_back({variant.name, std::move(*one.loaded)});
  }
  return result;
}

/// The answer to "compare".
std::string comparison_of(std::vector<NamedScenario> variants, const Request& request) {
  OwnThread thread;
  Comparison comparison =
      compare(std::move(variants), {headline_metrics(), false, options_of(request, thread)});
  std::vector<report::ResultSet> sets;
  for (const ComparedVariant& v : comparison.variants) sets.push_back(report::result_set_of(v));
  const std::vector<report::Evaluation> evaluations(sets.begin(), sets.end());
  report::ResultIdentity answers(comparison.baseline().loaded.scenario.name);
  answers.command = "compare";
  for (const std::string& vary : request.vary) answers.options.push_back("--vary " + vary);
  std::vector<RunResult> runs;
  for (const report::ResultSet& set : sets)
    runs.insert(runs.end(), set.runs.begin(), set.runs.end());
  return page_text(
      report::comparison_document({comparison, evaluations, false, request.vary, false}),
      comparison.baseline().loaded, answers, runs);
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
    case ValueKind::kAmount:
      return "amount";
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

/// The SDKs that have rules of their own in a mode.
std::vector<std::string_view> sdks_of(std::string_view mode) {
  std::vector<std::string_view> sdks;
  for (const Preset& preset : presets()) {
    const bool is_new = std::find(sdks.begin(), sdks.end(), preset.sdk) == sdks.end();
    if (preset.mode == mode && !preset.sdk.empty() && is_new) sdks.push_back(preset.sdk);
  }
  return sdks;
}

/// The answer to "describe".
Json keys_json(const LoadedScenario& loaded) {
  Json list = Json::array();
  std::string mode;  // of the client group that the next keys belong to
  for (const ResolvedKey& key : loaded.keys) {
    Json row = {{"path", key.path}, {"toml", key.toml}, {"origin", name_of(key.origin)}};
    if (const scenario::KeyInfo* info = scenario::find_key(key.path)) {
      const scenario::ValueRules& rules = info->rules;
      row["meaning"] = info->meaning;
      row["words_of_key"] = report::key_words(key.path);
      row["kind"] = name_of(rules.kind);
      if (!rules.words.empty()) row["words"] = scenario::split_words(rules.words);
      if (std::isfinite(rules.range.min)) row["min"] = rules.range.min;
      if (std::isfinite(rules.range.max)) row["max"] = rules.range.max;
      if (key.path.ends_with(".retry.mode")) mode = Json::parse(key.toml);
      if (key.path.ends_with(".retry.sdk")) row["words"] = sdks_of(mode);
      for (const std::string_view word : {rules.else_word, rules.also_word}) {
        if (!word.empty()) row["others"].push_back(word);
      }
    }
    list.push_back(std::move(row));
  }
  return list;
}

/// The answer to "offers".
Json refusals_json(const Request& request) {
  const Reader reader(request);
  Json refusals = Json::array();
  for (const std::vector<std::string>& edits : request.offers) {
    const LoadResult read = reader.load(edits);
    refusals.push_back(read.loaded ? Json() : Json(read.errors.front().message));
  }
  return refusals;
}

std::string answer_to(const Request& request) {
  const std::array known = {"run", "files", "compare", "describe", "offers"};
  if (std::find(known.begin(), known.end(), request.ask) == known.end()) {
    return text_of({{"failure", fmt::format("'{}' is no question; expected one of {}", request.ask,
                                            fmt::join(known, ", "))}});
  }
  if (request.ask == "compare") {
    VariantsResult read = variants_of(request);
    if (!read.errors.empty()) return text_of({{"errors", diagnostics_json(read.errors)}});
    if (read.variants.size() < 2) {
      return text_of({{"failure", "a comparison needs two variants or more"}});
    }
    return comparison_of(std::move(read.variants), request);
  }
  if (request.ask == "offers") return text_of({{"refusals", refusals_json(request)}});
  LoadResult read = Reader(request).load();
  if (!read.loaded) return text_of({{"errors", diagnostics_json(read.errors)}});
  if (request.ask == "describe") return text_of({{"keys", keys_json(*read.loaded)}});
  return result_of(std::move(*read.loaded), request);
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
