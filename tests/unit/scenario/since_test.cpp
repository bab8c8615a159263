// The table of changes since earlier releases: each row has a scenario that it concerns, in
// tests/upgrade, and its line brings the old value back. That the old value is that of the release
// is tested there, with what the release printed.
//
// SPDX-License-Identifier: MIT
#include "scenario/since.hpp"
#include "unit/scenario/loading.hpp"

#include <retrysim/error.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace retrysim::scenario {
namespace {

// The folder of a release is that of its minor version.
std::filesystem::path folder_of(std::string_view release) {
  return std::filesystem::path(RETRYSIM_TEST_DATA) / "../../upgrade" /
         release.substr(0, release.rfind('.'));
}

LoadedScenario load_changed(const ReleaseChange& row, const Edits& edits = {}) {
  const std::filesystem::path file =
      folder_of(row.release) / "changes" / (std::string(row.id) + ".toml");
  LoadResult result = load_scenario_file(file, edits);
  INFO(errors_of(result));
  REQUIRE(result.loaded.has_value());
  return *std::move(result.loaded);
}

std::vector<ChangeSince> of_row(const LoadedScenario& loaded, const ReleaseChange& row) {
  std::vector<ChangeSince> found;
  for (const ChangeSince& change : changes_since(loaded, row.release)) {
    if (change.row == &row) found.push_back(change);
  }
  return found;
}

std::string problem_of(std::string_view release) {
  try {
    known_release(release);
  } catch (const RequestError& e) {
    return e.text([](const std::string& part) { return part; });
  }
  return "";
}

TEST_CASE("each change has a scenario that it concerns") {
  for (const ReleaseChange& row : release_changes()) {
    INFO(row.id);
    CHECK_FALSE(of_row(load_changed(row), row).empty());
  }
}

TEST_CASE("the line of a change brings back what was before") {
  for (const ReleaseChange& row : release_changes()) {
    if (row.keeps.empty()) continue;
    INFO(row.id);
    const std::string key(row.keeps.substr(0, row.keeps.find(" = ")));
    const std::string value(row.keeps.substr(row.keeps.find(" = ") + 3));
    for (const ChangeSince& change : of_row(load_changed(row), row)) {
      const std::string path = change.table.empty() ? key : change.table + "." + key;
      const LoadedScenario kept = load_changed(row, {path + "=" + value});
      CHECK(of_row(kept, row).empty());
      if (row.was.empty()) continue;
      CHECK(change.value != row.was);
      CHECK(value_of(kept, change.key) == row.was);
    }
  }
}

TEST_CASE("changes have names, and either a line or a reason where something is lost") {
  std::set<std::string_view> ids;
  for (const ReleaseChange& row : release_changes()) {
    INFO(row.id);
    CHECK(ids.insert(row.id).second);
    CHECK(std::ranges::count(known_releases(), row.release) == 1);
    CHECK(row.says.ends_with('.'));
    const bool needs_line = row.kind == ReleaseChangeKind::kDefault ||
                            row.kind == ReleaseChangeKind::kPreset ||
                            row.kind == ReleaseChangeKind::kRule;
    CHECK((row.keeps.empty() != row.cannot.empty()) == needs_line);
  }
}

TEST_CASE("nothing of a plain scenario has changed") {
  CHECK(changes_since(load(kSmall), "0.2.0").empty());
}

TEST_CASE("a change is told with its place, its table and its value") {
  const LoadedScenario loaded = load(kSmall + R"(
[client.app]
arrivals = { process = "poisson", rate = 5 }
retry.mode = "standard"
retry.sdk = "go-v2"
retry.revision = "2.1"
[client.web.retry.breaker]
failure_share = 0.5
)",
                                     {"client.web.retry.mode=standard"});
  const std::vector<ChangeSince> changes = changes_since(loaded, "0.2.0");
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].row->id == "retry-breaker-key");
  CHECK(changes[0].key == "client.web.retry.breaker");
  CHECK(changes[0].place == "demo.toml:15");
  CHECK(changes[1].row->id == "go-v2-429");
  CHECK(changes[1].key == "client.app.retry.status_429");
  CHECK(changes[1].place == "demo.toml:12");
  CHECK(changes[1].table == "client.app");
  CHECK(changes[1].value == "\"throttling\"");
}

TEST_CASE("keys of calls are keys of client groups") {
  const LoadedScenario loaded = load(kSmall + R"(
[service.api.calls.db]
retry.mode = "custom"
retry.sdk = "circuit-breaker"
retry.budget.kind = "active"
[service.db]
service_time = "1ms"
)",
                                     {"client.web.calls=\"api\""});
  const std::vector<ChangeSince> changes = changes_since(loaded, "0.2.0");
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].key == "service.api.calls.db.retry.sdk");
  CHECK(changes[1].key == "service.api.calls.db.retry.budget.kind");
  CHECK(changes[1].table == "service.api.calls.db");
}

TEST_CASE("a release is named with or without its last number") {
  CHECK(known_release("0.2") == "0.2.0");
  CHECK(known_release("0.2.0") == "0.2.0");
  CHECK(known_release("0.3") == "0.3.0");
  CHECK(problem_of("0.1") == "since = \"0.1\" is too old: changes are recorded since 0.2.0");
  CHECK(problem_of("99.0") ==
        "since = \"99.0\" is newer than this program, which is " RETRYSIM_VERSION);
  for (const char* text : {"", "2", "v0.2", "0.2.", "0.2.0.1", "0.2.0 ", "-1.0", "99999999999.0"}) {
    CHECK(problem_of(text) ==
          "since = \"" + std::string(text) + "\" is no release; expected one such as 0.2.0");
  }
}

}  // namespace
}  // namespace retrysim::scenario
