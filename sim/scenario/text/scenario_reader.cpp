// Loading a scenario: parse and edit once; then, for each variant, edit, inherit, check names and
// resolve. Also the public functions that load a scenario from file or text and write it back.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/scenario_reader.hpp"

#include <retrysim/scenario.hpp>

#include "kernel/stop.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/resolve/tables.hpp"
#include "scenario/text/changes.hpp"
#include "scenario/text/csv_inputs.hpp"
#include "scenario/text/document.hpp"
#include "scenario/text/edits.hpp"
#include "scenario/text/scenario_writer.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace retrysim::scenario {

namespace {

void apply(std::string_view option, const std::vector<std::string>& edits, Node& root,
           Sources& sources, Problems& problems, std::vector<OldKeyName>& renamed) {
  for (const std::string& edit : edits) {
    apply_edit(root, sources, sources.add(std::string(option), edit), problems, renamed);
  }
  rename_old_keys(root, renamed);
}

}  // namespace

std::optional<std::string> read_scenario_text(const std::filesystem::path& path,
                                              std::vector<Diagnostic>& errors) {
  std::string error;
  auto text = read_whole_file(path, kMaxScenarioBytes, error);
  if (!text) {
    Diagnostic& d = errors.emplace_back();
    d.file = path.string();
    d.message = error;
  }
  return text;
}

ScenarioReader::ScenarioReader(std::string_view text, const std::string& file,
                               std::filesystem::path directory,
                               const std::vector<std::string>& edits, const Overlay* overlay)
    : problems_(sources_), edits_(edits), directory_(std::move(directory)) {
  root_ = parse_document(sources_, sources_.add(file, std::string(text)), problems_);
  if (!root_) return;
  rename_old_keys(*root_, renamed_);
  if (overlay != nullptr && !put_over(*overlay, file)) {
    root_.reset();
    return;
  }
  if (!edits.empty()) file_ = root_;
  apply(kEditFile, edits, *root_, sources_, problems_, renamed_);
}

bool ScenarioReader::put_over(const Overlay& overlay, const std::string& scenario) {
  overlay_ = sources_.add(overlay.file, overlay.text);
  overlay_directory_ = overlay.directory;
  std::optional<Node> keys = parse_document(sources_, overlay_, problems_);
  if (!keys) return false;
  rename_old_keys(*keys, renamed_);
  const std::string before = render(*root_);
  merge_file(*root_, *keys, scenario, problems_);
  if (render(*root_) == before) {
    notes_.push_back(overlay.file + " says nothing that " + scenario + " does not say");
  }
  return problems_.empty();
}

ScenarioReader::ScenarioReader(std::string_view text, const std::string& file,
                               const InputTexts& inputs, const std::vector<std::string>& edits)
    : ScenarioReader(text, file, std::filesystem::path(), edits) {
  inputs_ = &inputs;
}

LoadResult ScenarioReader::load(const std::vector<std::string>& variant_edits,
                                CsvMemory* memory) const {
  Sources sources = sources_;
  Problems problems(problems_, sources);
  LoadResult result;
  if (root_) {
    Node root = *root_;
    std::vector<OldKeyName> renamed = renamed_;
    apply(kVaryFile, variant_edits, root, sources, problems, renamed);
    std::vector<std::string> edits = edits_;
    edits.insert(edits.end(), variant_edits.begin(), variant_edits.end());
    std::vector<ScenarioChange> changes = changes_between(file_ ? *file_ : *root_, root, edits);
    const auto incomplete = apply_like(root, problems);
    check_names(root, problems);
    CsvFiles files(directory_, inputs_, memory, sources, problems);
    if (overlay_ >= 0) files.look_in(overlay_, overlay_directory_);
    LoadedScenario loaded = resolve(root, incomplete, files);
    loaded.changes = std::move(changes);
    std::vector<std::string> notes;
    for (const OldKeyName& name : renamed) notes.push_back(note_of(name));
    notes.insert(notes.end(), notes_.begin(), notes_.end());
    loaded.notes.insert(loaded.notes.begin(), notes.begin(), notes.end());
    loaded.old_names = std::move(renamed);
    if (problems.empty()) result.loaded = std::move(loaded);
  }
  result.errors = problems.diagnostics();
  return result;
}

}  // namespace retrysim::scenario

namespace retrysim {

// --- The public functions ------------------------------------------------------------------------

namespace {

// The part of a path that names a TOML section: "client.web" of "client.web.retry.mode".
std::string_view section_of(std::string_view path) {
  for (const scenario::KeyScope& scope : scenario::key_scopes()) {
    if (!scope.pattern.ends_with(".*")) continue;
    const std::string_view kind = scope.pattern.substr(0, scope.pattern.size() - 1);
    if (path.starts_with(kind)) {
      return path.substr(0, kind.size() + scenario::end_of_name(path.substr(kind.size())));
    }
  }
  return {};
}

std::string origin_text(const ResolvedKey& key) {
  switch (key.origin) {
    case Origin::kDefault:
      return key.origin_detail.empty() ? "default" : key.origin_detail;
    case Origin::kPreset:
      return "preset " + key.origin_detail;
    case Origin::kEnvironment:
      return "environment " + key.origin_detail;
    case Origin::kScenario:
    case Origin::kSet:
    case Origin::kFound:
      break;
  }
  return key.origin_detail;
}

// The range of the column at which comments are aligned: as far to the right as the longest origin
// permits.
constexpr std::size_t kLeastCommentColumn = 30, kMaxCommentColumn = 50;

std::size_t comment_column(const LoadedScenario& loaded, std::size_t columns) {
  std::size_t longest = 0;
  for (const ResolvedKey& key : loaded.keys) {
    longest = std::max(longest, scenario::columns_of("# " + origin_text(key)));
  }
  const std::size_t room = columns - std::min(columns, longest);
  return std::clamp(room, kLeastCommentColumn, kMaxCommentColumn);
}

}  // namespace

LoadResult load_scenario_text(std::string_view text, const std::string& file,
                              const std::filesystem::path& directory,
                              const std::vector<std::string>& edits,
                              const std::vector<std::string>& variant_edits) {
  return scenario::ScenarioReader(text, file, directory, edits).load(variant_edits);
}

LoadResult load_scenario_with_inputs(std::string_view text, const std::string& file,
                                     const InputTexts& inputs,
                                     const std::vector<std::string>& edits) {
  return scenario::ScenarioReader(text, file, inputs, edits).load();
}

LoadedScenario LoadResult::value() && {
  check(errors);
  return *std::move(loaded);
}

LoadedScenario load(const std::filesystem::path& path, const std::vector<std::string>& edits) {
  return load_scenario_file(path, edits).value();
}

namespace {

/// Whether a text is a scenario of its own. Mistakes in it are not reported here.
bool is_scenario(const std::string& text) {
  scenario::Sources sources;
  scenario::Problems problems(sources);
  const auto root = scenario::parse_document(sources, sources.add("", text), problems);
  return root && root->find("name") != nullptr;
}

}  // namespace

LoadResult load_scenario_file(const std::filesystem::path& path,
                              const std::vector<std::string>& edits,
                              const std::vector<std::string>& variant_edits) {
  LoadResult result;
  const auto text = scenario::read_scenario_text(path, result.errors);
  if (!text) return result;
  result = load_scenario_text(*text, path.string(), path.parent_path(), edits, variant_edits);
  if (result.loaded) result.loaded->file = path;
  return result;
}

scenario::FileReader scenario::reader_of(const std::filesystem::path& path,
                                         const std::filesystem::path& variant,
                                         const std::vector<std::string>& edits,
                                         std::vector<Diagnostic>& errors) {
  const auto alone = [&](const std::filesystem::path& file, const std::string& text) {
    return FileReader{
        std::make_unique<ScenarioReader>(text, file.string(), file.parent_path(), edits), file};
  };
  std::optional<std::string> keys;
  if (!variant.empty()) {
    keys = read_scenario_text(variant, errors);
    if (!keys) return {};
    if (is_scenario(*keys)) return alone(variant, *keys);
  }
  const auto text = read_scenario_text(path, errors);
  if (!text) return {};
  if (!keys) return alone(path, *text);
  const Overlay overlay{*keys, variant.string(), variant.parent_path()};
  return {
      std::make_unique<ScenarioReader>(*text, path.string(), path.parent_path(), edits, &overlay),
      path};
}

LoadResult load_scenario_file_with(const std::filesystem::path& path,
                                   const std::filesystem::path& variant,
                                   const std::vector<std::string>& edits,
                                   const std::vector<std::string>& variant_edits) {
  LoadResult result;
  const scenario::FileReader found = scenario::reader_of(path, variant, edits, result.errors);
  if (found.reader == nullptr) return result;
  result = found.reader->load(variant_edits);
  if (result.loaded) result.loaded->file = found.file;
  return result;
}

std::string to_toml(const LoadedScenario& loaded, bool with_origins, std::size_t columns) {
  using scenario::ScenarioWriter;
  ScenarioWriter writer({
      .columns = with_origins ? columns : std::numeric_limits<std::size_t>::max(),
      .comments = ScenarioWriter::Comments::kAt,
      .comments_at = with_origins ? comment_column(loaded, columns) : kMaxCommentColumn,
  });
  std::string_view section;
  StopCounter<256> stop;
  for (const ResolvedKey& key : loaded.keys) {
    stop.count();
    // Some keys are left out, because their effect is written out, so that the file means the same
    // everywhere.
    const scenario::KeyInfo* row = with_origins ? nullptr : scenario::find_key(key.path);
    if (row != nullptr && row->role == scenario::KeyRole::kReplaced) continue;
    const std::string_view own = section_of(key.path);
    if (own != section) {
      section = own;
      writer.table(section);
    }
    std::string_view name = key.path;
    if (!section.empty()) name.remove_prefix(section.size() + 1);
    const bool has_comment = with_origins || key.origin == Origin::kFound;
    writer.key(name, key.toml, has_comment ? origin_text(key) : "");
  }
  return writer.text();
}

std::vector<std::string> distinct_notes(const LoadedScenario& loaded) {
  std::vector<std::string> notes = loaded.notes;  // a file used twice is noted twice
  std::sort(notes.begin(), notes.end());
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
  constexpr std::size_t kMost = 10;
  if (notes.size() > kMost + 1) {
    const std::size_t more = notes.size() - kMost;
    notes.resize(kMost);
    notes.push_back("... and " + scenario::grouped(more) + " more notes");
  }
  return notes;
}

void set_found_warmup(LoadedScenario& loaded, Duration warmup, const std::string& how) {
  loaded.scenario.warmup = warmup;
  loaded.scenario.warmup_is_auto = false;
  for (ResolvedKey& key : loaded.keys) {
    if (key.path != "warmup") continue;
    key.toml = '"' + scenario::to_text(warmup) + '"';
    key.origin = Origin::kFound;
    key.origin_detail = how;
  }
}

}  // namespace retrysim
