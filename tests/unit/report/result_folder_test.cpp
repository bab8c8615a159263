// A result folder appears whole or not at all, and never at the cost of what is not ours.
//
// SPDX-License-Identifier: MIT
#include "report/folder/result_folder.hpp"

#include "report/folder/output.hpp"
#include "report/run/text.hpp"
#include "sample_result.hpp"
#include "temporary_folder.hpp"

#include <retrysim/error.hpp>

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

using namespace retrysim;
using namespace retrysim::report;
namespace fs = std::filesystem;

namespace {

struct Temporary {
  const test::TemporaryFolder place;
  const fs::path dir = place.path();

  static void put(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }
  static std::string get(const fs::path& file) { return test::content_of(file); }
  static std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  /// An earlier result of `scenario` with one table and an input that later results lack.
  fs::path earlier(const std::string& scenario) const {
    const fs::path out = dir / "out";
    ResultFolder folder(out, scenario, false);
    folder.write("a.csv", [](Sink& s) { s.write("old"); });
    folder.write("input.csv", [](Sink& s) { s.write("old input"); });
    folder.write("result.json", [&](Sink& s) {
      s.write("{\"program\": \"retrysim\", \"scenario\": \"" + scenario +
              "\", \"files\": [\"a.csv\", \"input.csv\", \"result.json\", \"../outside\"]}");
    });
    folder.commit();
    return out;
  }
};

using Names = std::set<std::string>;

std::string refusal(const fs::path& target, const std::string& scenario) {
  try {
    ResultFolder folder(target, scenario, false);
  } catch (const OutputError& error) {
    CHECK(error.path() == target);
    return error.reason();
  }
  return "no refusal";
}

}  // namespace

namespace {

/// Writes a result of one file; whoever kept the earlier one says where it is.
Names kept_by(const fs::path& out, const std::string& scenario) {
  Names kept;
  ResultFolder folder(out, scenario, false, [&](const fs::path& place, const auto& what) {
    kept.insert(place.filename().string() + ": " + what);
  });
  folder.write("a.csv", [&](Sink& s) { s.write(scenario); });
  folder.write("result.json", [&](Sink& s) {
    s.write("{\"program\": \"retrysim\", \"scenario\": \"" + scenario +
            "\", \"files\": [\"a.csv\", \"result.json\"]}");
  });
  folder.commit();
  return kept;
}

}  // namespace

TEST_CASE_METHOD(Temporary, "another result is kept under the next number, with all it has") {
  const fs::path out = earlier("s");
  put(out / "overview.png", "picture of the old data");
  put(out / "notes.txt", "my notes");
  fs::create_directory(out / "mine");
  CHECK(kept_by(out, "t") == Names{"out.1: the scenario (there \"s\", now \"t\")"});
  CHECK(names_in(out) == Names{"a.csv", "result.json"});
  CHECK(names_in(dir / "out.1") ==
        Names{"a.csv", "input.csv", "result.json", "overview.png", "notes.txt", "mine"});
  // The same question takes the place of its answer; numbers go on where files are in the way.
  CHECK(kept_by(out, "t").empty());
  put(dir / "out.7", "not ours");
  put(dir / "out.old", "not ours");
  CHECK(kept_by(out, "u").size() == 1);
  CHECK(names_in(dir) == Names{"out", "out.1", "out.7", "out.8", "out.old"});
  CHECK(get(dir / "out.8" / "a.csv") == "t");
  // By another name of the folder, it is kept beside the folder itself.
  fs::create_directory(dir / "elsewhere");
  fs::create_directory_symlink("../out", dir / "elsewhere" / "link");
  CHECK(kept_by(dir / "elsewhere" / "link", "v")
            .count("out.9: the scenario (there \"u\", now \"v\")") == 1);
  CHECK(get(out / "a.csv") == "v");
}

TEST_CASE_METHOD(Temporary, "what is kept needs no permission, other things do") {
  fs::create_directory(dir / "foreign");
  put(dir / "foreign" / "thesis.tex", "years of work");
  CHECK_THROWS_WITH(kept_by(dir / "foreign", "s"), Catch::Contains("do not belong to a result"));
}

TEST_CASE_METHOD(Temporary, "who comes second keeps what has come meanwhile") {
  Names kept;
  ResultFolder second(dir / "out", "other", false,
                      [&](const fs::path& at, const auto&) { kept.insert(at.filename()); });
  CHECK(kept_by(dir / "out", "s").empty());
  second.write("b.csv", [](Sink& s) { s.write("second"); });
  second.commit();
  CHECK(kept == Names{"out.1"});
  CHECK(get(dir / "out.1" / "a.csv") == "s");
  CHECK(names_in(dir / "out") == Names{"b.csv"});
}

TEST_CASE_METHOD(Temporary, "only regular files are replaced, even by force") {
  const auto refused = [&](const fs::path& out, const std::string& why) {
    const Names before = names_in(out);
    CHECK_THROWS_WITH(ResultFolder(out, "s", true), Catch::EndsWith(why));
    CHECK(names_in(out) == before);
  };
  const fs::path out = earlier("s");
  REQUIRE(::mkfifo((out / "summary.csv").c_str(), 0600) == 0);
  refused(out, "summary.csv: is a pipe");
  fs::remove(out / "summary.csv");
  put(dir / "mine", "years of work");
  fs::remove(out / "input.csv");  // a name of the earlier result
  fs::create_symlink("../mine", out / "input.csv");
  refused(out, "input.csv: is a symbolic link");
  fs::remove(out / "input.csv");
  fs::rename(out / "result.json", out / "earlier");
  REQUIRE(::mkfifo((out / "result.json").c_str(), 0600) == 0);
  refused(out, "result.json: is a pipe");
  if (::mknod((dir / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {  // as root
    fs::rename(dir / "device", out / "storms.csv");
    fs::remove(out / "result.json");
    refused(out, "storms.csv: is a device");
  }
  fs::create_symlink("nowhere", dir / "dangling");
  CHECK(refusal(dir / "dangling", "s") == "is a symbolic link to a folder that does not exist");
}

TEST_CASE_METHOD(Temporary, "writing a result ends when it is asked to, and leaves nothing") {
  const LoadedScenario loaded = sample_scenario();
  const ResultSet set{loaded, "base", {sample_run(0, 2), sample_run(1, 4)}};
  const Evaluation evaluation(set);
  std::atomic<bool> stop{false};
  const StopScope scope(&stop);
  const auto write = [&](const fs::path& out) {
    ResultFolder folder(out, loaded.scenario.name, false);
    run_document(evaluation).write_files(folder);
  };
  write(dir / "whole");
  CHECK(fs::exists(dir / "whole" / "result.json"));
  stop = true;
  CHECK_THROWS_AS(write(dir / "stopped"), Interrupted);
  CHECK(names_in(dir) == std::set<std::string>{"whole"});
}

TEST_CASE_METHOD(Temporary, "what the command reads is not replaced, by no other name either") {
  const fs::path out = earlier("s");
  ResultIdentity identity("s");
  const auto refused = [&](const fs::path& read, const std::string& why) {
    identity.reads = {read};
    CHECK_THROWS_WITH(ResultFolder(out, identity, true), Catch::EndsWith(why));
  };
  put(out / "scenario.toml", "mine");
  refused(out / "scenario.toml", "scenario.toml: the command reads this file; use another folder");
  fs::create_symlink(out / "scenario.toml", dir / "link.toml");
  refused(dir / "link.toml", "scenario.toml: the command reads this file; use another folder");
  fs::create_hard_link(out / "input.csv", dir / "hard.csv");
  refused(dir / "hard.csv", "input.csv: the command reads this file; use another folder");
  refused(out / ".." / "out", "the command reads from this folder; use another one");
  // What the result says nothing of stays, and so may be read.
  put(out / "profile.csv", "mine");
  identity.reads = {out / "profile.csv"};
  ResultFolder folder(out, identity, true);
  folder.commit();
  CHECK(names_in(out) == Names{"profile.csv", "scenario.toml"});
}

TEST_CASE_METHOD(Temporary, "dots behind a symbolic link mean what the system takes them for") {
  fs::create_directories(dir / "far" / "below");
  fs::create_directory_symlink(dir / "far" / "below", dir / "link");
  ResultFolder folder(dir / "link" / ".." / "out", "s", false);
  folder.write("a.csv", [](Sink& s) { s.write("text"); });
  folder.commit();
  CHECK(names_in(dir / "far") == Names{"below", "out"});
}

TEST_CASE_METHOD(Temporary, "a new folder appears with its files at commit, parents included") {
  const fs::path out = dir / "x" / "y" / "out";
  {
    ResultFolder folder(out, "s", false);
    folder.write("a.csv", [](Sink& s) { s.write("text"); });
    CHECK(!fs::exists(out));
    folder.commit();
  }
  CHECK(get(out / "a.csv") == "text");
  CHECK(names_in(dir / "x" / "y") == Names{"out"});
}

TEST_CASE_METHOD(Temporary, "without a commit nothing is left, not even parents") {
  {
    ResultFolder folder(dir / "x" / "y" / "out", "s", false);
    folder.write("a.csv", [](Sink& s) { s.write("text"); });
  }
  CHECK(names_in(dir).empty());
}

TEST_CASE_METHOD(Temporary, "a trailing slash names the same folder") {
  ResultFolder folder(dir / "out" / "", "s", false);
  folder.write("a.csv", [](Sink& s) { s.write("text"); });
  folder.commit();
  CHECK(get(dir / "out" / "a.csv") == "text");
}

TEST_CASE_METHOD(Temporary, "an empty folder is taken") {
  fs::create_directory(dir / "out");
  ResultFolder folder(dir / "out", "s", false);
  folder.write("a.csv", [](Sink& s) { s.write("text"); });
  folder.commit();
  CHECK(names_in(dir / "out") == Names{"a.csv"});
}

TEST_CASE_METHOD(Temporary, "an earlier result of the scenario is replaced, other files stay") {
  const fs::path out = earlier("s");
  put(dir / "outside", "not ours");
  put(out / "notes.txt", "my notes");
  put(out / "overview.png", "picture of the old data");
  ResultFolder folder(out, "s", false);
  folder.write("a.csv", [](Sink& s) { s.write("new"); });
  folder.write("result.json", [](Sink& s) { s.write("{}"); });
  CHECK(get(out / "a.csv") == "old");
  folder.commit();
  CHECK(get(out / "a.csv") == "new");
  CHECK(names_in(out) == Names{"a.csv", "result.json", "notes.txt"});
  CHECK(get(out / "notes.txt") == "my notes");
  CHECK(get(dir / "outside") == "not ours");
}

TEST_CASE_METHOD(Temporary, "a failure leaves the earlier result as it was") {
  const fs::path out = earlier("s");
  const Names before = names_in(out);
  {
    ResultFolder folder(out, "s", false);
    folder.write("a.csv", [](Sink& s) { s.write("new"); });
    CHECK_THROWS_AS(folder.write("b.csv",
                                 [](Sink& s) {
                                   s.write("half");
                                   throw OutputError("b.csv", "disk full");
                                 }),
                    OutputError);
  }
  CHECK(names_in(out) == before);
  CHECK(get(out / "a.csv") == "old");
}

TEST_CASE_METHOD(Temporary, "a failure while moving into place is undone") {
  const fs::path out = earlier("s");
  const Names before = names_in(out);
  {
    ResultFolder folder(out, "s", false);
    folder.write("a.csv", [](Sink& s) { s.write("new"); });
    folder.write("z.csv", [](Sink& s) { s.write("new"); });
    fs::create_directory(out / "z.csv");  // somebody put a folder where a file belongs
    CHECK_THROWS_AS(folder.commit(), OutputError);
    fs::remove(out / "z.csv");
  }
  CHECK(names_in(out) == before);
  CHECK(get(out / "a.csv") == "old");
  CHECK(get(out / "input.csv") == "old input");
}

TEST_CASE_METHOD(Temporary, "a full disk is reported with the final path and leaves nothing") {
  // A limit on the size of files stands in for a full disk: the system refuses the same call.
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string message;
  try {
    ResultFolder folder(dir / "out", "s", false);
    folder.write("a.csv", [](Sink& s) { s.write(std::string(5000, 'x')); });
  } catch (const OutputError& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(message == "cannot write " + (dir / "out" / "a.csv").string() + ": File too large");
  CHECK(names_in(dir).empty());
}

TEST_CASE_METHOD(Temporary, "what is not ours is refused") {
  const fs::path out = earlier("s");
  CHECK(
      refusal(out, "other") ==
      "it contains a result that differs in the scenario (there \"s\", now \"other\"); replace it "
      "with --force, or keep it and choose another folder with --out");
  CHECK(refusal(out, "s") == "no refusal");
  fs::create_directory(dir / "foreign");
  put(dir / "foreign" / "thesis.tex", "years of work");
  CHECK(refusal(dir / "foreign", "s") ==
        "it contains files that do not belong to a result; use another folder or --force");
  put(dir / "file", "");
  CHECK(refusal(dir / "file", "s") == "is not a folder");
  CHECK(refusal(dir / "file" / "out", "s") == "Not a directory");
  put(dir / "foreign" / "result.json", "no JSON");
  CHECK(refusal(dir / "foreign", "s") ==
        "it contains files that do not belong to a result; use another folder or --force");
}

TEST_CASE_METHOD(Temporary, "force replaces another scenario's result and spares foreign files") {
  const fs::path out = earlier("s");
  put(out / "thesis.tex", "years of work");
  ResultFolder folder(out, "other", true);
  folder.write("b.csv", [](Sink& s) { s.write("new"); });
  folder.commit();
  CHECK(names_in(out) == Names{"b.csv", "thesis.tex"});
}

TEST_CASE_METHOD(Temporary, "two files of one name are an error") {
  ResultFolder folder(dir / "out", "s", false);
  folder.write("a.csv", [](Sink&) {});
  CHECK_THROWS_WITH(folder.write("a.csv", [](Sink&) {}),
                    Catch::Contains("the result already has a different file of that name"));
  CHECK_THROWS_AS(folder.write("../a.csv", [](Sink&) {}), OutputError);
  CHECK_THROWS_AS(folder.copy(dir / "missing.csv"), OutputError);
}

TEST_CASE_METHOD(Temporary, "a complete result, and again over itself byte for byte") {
  LoadedScenario loaded = sample_scenario();
  put(dir / "trace.csv", "time_s\n1\n");
  loaded.input_files = {dir / "trace.csv", dir / "trace.csv"};
  const ResultSet set{loaded, "base", {sample_run(0, 2), sample_run(1, 4)}};
  const Evaluation evaluation(set);
  const fs::path out = dir / "out";
  const auto write = [&] {
    ResultFolder folder(out, loaded.scenario.name, false);
    run_document(evaluation).write_files(folder);
  };
  write();
  const Names expected = {"summary.csv",      "replications.csv", "timeseries.csv",
                          "service.csv",      "latency.csv",      "attempts.csv",
                          "burstiness.csv",   "storms.csv",       "mean_timeseries.csv",
                          "mean_service.csv", "scenario.toml",    "trace.csv",
                          "result.json"};
  CHECK(names_in(out) == expected);
  CHECK(get(out / "trace.csv") == "time_s\n1\n");
  std::vector<std::string> first;
  for (const std::string& name : expected) first.push_back(get(out / name));
  write();
  CHECK(names_in(out) == expected);
  std::vector<std::string> second;
  for (const std::string& name : expected) second.push_back(get(out / name));
  CHECK(first == second);
}

TEST_CASE_METHOD(Temporary, "a result keeps the inputs of its question, not later ones") {
  LoadedScenario loaded = sample_scenario();
  put(dir / "trace.csv", "time_s\n1\n");
  loaded.input_files = {dir / "trace.csv"};
  const ResultSet set{loaded, "base", {sample_run(0, 2)}};
  const Evaluation evaluation(set);
  ResultFolder folder(dir / "out", identity_of({&loaded}, "run"), false);
  put(dir / "trace.csv", "time_s\n2\n");  // while the command runs
  run_document(evaluation).write_files(folder);
  CHECK(get(dir / "out" / "trace.csv") == "time_s\n1\n");
}

namespace {

/// Runs `body`, which ends with `die`, in a process of its own.
template <class Body>
void in_killed_process(Body body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    body();
    std::_Exit(1);  // not reached
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

/// No destructor, no clean-up.
void die() { ::kill(::getpid(), SIGKILL); }

std::size_t staging_folders_in(const fs::path& folder) {
  std::size_t n = 0;
  for (const std::string& name : Temporary::names_in(folder)) {
    n += name.starts_with(".retrysim-new-") ? 1 : 0;
  }
  return n;
}

}  // namespace

TEST_CASE_METHOD(Temporary, "what a killed run left behind goes with the next run") {
  const fs::path out = dir / "out";
  in_killed_process([&] {
    ResultFolder folder(out, "s", false);
    folder.write("a.csv", [](Sink& s) { s.write("half"); });
    die();
  });
  CHECK(staging_folders_in(dir) == 1);
  {
    ResultFolder folder(out, "s", false);
    CHECK(staging_folders_in(dir) == 1);  // its own
    folder.write("a.csv", [](Sink& s) { s.write("whole"); });
    folder.commit();
  }
  CHECK(names_in(dir) == Names{"out"});
  // The same where the folder exists.
  in_killed_process([&] {
    ResultFolder folder(out, "s", true);
    die();
  });
  CHECK(staging_folders_in(dir) == 1);
  { ResultFolder folder(out, "s", true); }
  CHECK(names_in(dir) == Names{"out"});
  CHECK(names_in(out) == Names{"a.csv"});
}

TEST_CASE_METHOD(Temporary, "a run that lives keeps its staging folder") {
  ResultFolder first(dir / "first", "s", false);
  first.write("a.csv", [](Sink& s) { s.write("first"); });
  {
    ResultFolder second(dir / "second", "s", false);
    second.write("a.csv", [](Sink& s) { s.write("second"); });
    CHECK(staging_folders_in(dir) == 2);
    second.commit();
  }
  CHECK(staging_folders_in(dir) == 1);
  first.commit();
  CHECK(get(dir / "first" / "a.csv") == "first");
  CHECK(names_in(dir) == Names{"first", "second"});
}

TEST_CASE_METHOD(Temporary, "a result that was half replaced when its run was killed comes back") {
  const fs::path out = earlier("s");
  // As a run leaves it that was killed while it replaced the files one by one: a.csv replaced,
  // input.csv put away, b.csv not yet in place.
  const fs::path staging = out / ".retrysim-new-1-0";
  fs::create_directories(staging / "earlier");
  fs::create_directories(staging / "result");
  fs::rename(out / "a.csv", staging / "earlier" / "a.csv");
  fs::rename(out / "input.csv", staging / "earlier" / "input.csv");
  put(out / "a.csv", "new");
  put(staging / "result" / "b.csv", "new");
  { ResultFolder folder(out, "s", false); }
  CHECK(names_in(out) == Names{"a.csv", "input.csv", "result.json"});
  CHECK(get(out / "a.csv") == "old");
  CHECK(get(out / "input.csv") == "old input");
}

TEST_CASE_METHOD(Temporary, "a result that was replaced when its run was killed stays") {
  const fs::path out = earlier("s");
  const fs::path staging = out / ".retrysim-new-1-0";
  fs::create_directories(staging / "earlier");
  fs::create_directories(staging / "result");
  put(staging / "earlier" / "a.csv", "older");
  { ResultFolder folder(out, "s", false); }
  CHECK(names_in(out) == Names{"a.csv", "input.csv", "result.json"});
  CHECK(get(out / "a.csv") == "old");
}

TEST_CASE_METHOD(Temporary,
                 "a folder with only a result is exchanged, one with other things stays") {
  const fs::path out = earlier("s");
  const auto number = [&] {
    struct stat status {};
    REQUIRE(::stat(out.c_str(), &status) == 0);
    return status.st_ino;
  };
  const auto replace = [&] {
    ResultFolder folder(out, "s", false);
    folder.write("a.csv", [](Sink& s) { s.write("new"); });
    folder.commit();
  };
  auto before = number();
  replace();
  CHECK(number() != before);
  CHECK(names_in(out) == Names{"a.csv"});
  put(out / "result.json", "{\"program\": \"retrysim\", \"scenario\": \"s\"}");
  put(out / "notes.txt", "my notes");
  before = number();
  replace();
  CHECK(number() == before);
  CHECK(names_in(out) == Names{"a.csv", "notes.txt"});
  CHECK(names_in(dir) == Names{"out"});
}

TEST_CASE_METHOD(Temporary, "folders of the user's in a result stay with what is in them") {
  const fs::path out = earlier("s");
  fs::create_directory(out / "mine");
  put(out / "mine" / "thesis.tex", "years of work");
  fs::create_symlink("nowhere", out / "link");
  fs::permissions(out, fs::perms::owner_all);
  ResultFolder folder(out, "s", false);
  folder.write("a.csv", [](Sink& s) { s.write("new"); });
  folder.commit();
  CHECK(names_in(out) == Names{"a.csv", "mine", "link"});
  CHECK(get(out / "mine" / "thesis.tex") == "years of work");
  CHECK(fs::is_symlink(out / "link"));
  CHECK(fs::status(out).permissions() == fs::perms::owner_all);
  CHECK(names_in(dir) == Names{"out"});
}

TEST_CASE_METHOD(Temporary, "a symbolic link to a result goes on naming it") {
  const fs::path out = earlier("s");
  fs::create_directory_symlink("out", dir / "latest");
  ResultFolder folder(dir / "latest", "s", false);
  folder.write("a.csv", [](Sink& s) { s.write("new"); });
  folder.commit();
  CHECK(fs::is_symlink(dir / "latest"));
  CHECK(get(out / "a.csv") == "new");
}

TEST_CASE_METHOD(Temporary, "the current folder is replaced without going away") {
  const fs::path out = earlier("s");
  put(out / "notes.txt", "my notes");
  const fs::path before = fs::current_path();
  fs::current_path(out);
  {
    ResultFolder folder(".", "s", false);
    folder.write("a.csv", [](Sink& s) { s.write("new"); });
    folder.commit();
  }
  const Names seen = names_in(".");
  fs::current_path(before);
  CHECK(seen == Names{"a.csv", "notes.txt"});
  CHECK(get(out / "a.csv") == "new");
}

TEST_CASE_METHOD(Temporary, "who comes second finds what has come meanwhile") {
  ResultFolder first(dir / "out", "s", false);
  ResultFolder second(dir / "out", "other", false);
  first.write("a.csv", [](Sink& s) { s.write("first"); });
  first.write("result.json",
              [](Sink& s) { s.write("{\"program\": \"retrysim\", \"scenario\": \"s\"}"); });
  first.commit();
  second.write("b.csv", [](Sink& s) { s.write("second"); });
  CHECK_THROWS_WITH(
      second.commit(),
      Catch::Contains("it contains a result that differs in the scenario (there \"s\""));
  CHECK(names_in(dir / "out") == Names{"a.csv", "result.json"});
}

TEST_CASE_METHOD(Temporary, "an earlier result that changes meanwhile is judged again") {
  const fs::path out = earlier("s");
  const auto result = [](const std::string& scenario, const std::string& file) {
    return "{\"program\": \"retrysim\", \"scenario\": \"" + scenario + "\", \"files\": [\"" + file +
           "\"], \"summary\": []}";
  };
  {
    ResultFolder folder(out, "s", false);
    put(out / "result.json", result("another", "a.csv"));
    folder.write("b.csv", [](Sink& s) { s.write("new"); });
    CHECK_THROWS_WITH(folder.commit(), Catch::Contains("the scenario (there \"another\""));
  }
  CHECK(get(out / "result.json") == result("another", "a.csv"));
  put(out / "result.json", result("s", "a.csv"));
  ResultFolder folder(out, "s", false);
  put(out / "found_later.csv", "of the other one");
  put(out / "result.json", result("s", "found_later.csv"));
  folder.write("b.csv", [](Sink& s) { s.write("new"); });
  folder.commit();
  CHECK(names_in(out) == Names{"a.csv", "b.csv", "input.csv"});
}

TEST_CASE_METHOD(Temporary, "only folders are taken for staging folders") {
  put(dir / ".retrysim-new-notes", "mine");
  fs::create_directory(dir / "elsewhere");
  fs::create_directory_symlink(dir / "elsewhere", dir / ".retrysim-new-link");
  { ResultFolder folder(dir / "out", "s", false); }
  CHECK(names_in(dir) == Names{".retrysim-new-notes", ".retrysim-new-link", "elsewhere"});
}

TEST_CASE_METHOD(Temporary, "a result may have more files than a process keeps open") {
  constexpr int kFiles = 150;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 100;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::string message;
  try {
    ResultFolder folder(dir / "out", "s", false);
    for (int i = 0; i < kFiles; ++i) {
      folder.write(std::to_string(i), [&](Sink& s) { s.write("file " + std::to_string(i)); });
    }
    folder.commit();
  } catch (const OutputError& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(message.empty());
  CHECK(names_in(dir / "out").size() == kFiles);
  CHECK(get(dir / "out" / "0") == "file 0");
  CHECK(get(dir / "out" / "149") == "file 149");
}
