// Stores: what was added is found, exactly or not at all, whatever has happened to the files.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run.hpp>

#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace retrysim {
namespace {

namespace fs = std::filesystem;

UnitKey nth_key(std::uint64_t n) { return {n * 0x9e3779b97f4a7c15u, n}; }
std::string nth_bytes(std::uint64_t n) {
  return std::string(static_cast<std::size_t>(n * 37 % 200), static_cast<char>('a' + n % 26));
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

std::string text_in(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_file(const fs::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

void fill_store(const fs::path& folder, std::uint64_t from, std::uint64_t to) {
  const auto store = open_store(folder);
  for (std::uint64_t n = from; n < to; ++n) REQUIRE(store->add(nth_key(n), nth_bytes(n)));
}

/// How many units are found; each is as it was added.
std::size_t count_found(Store& store, std::uint64_t to) {
  std::size_t count = 0;
  for (std::uint64_t n = 0; n < to; ++n) {
    const auto found = store.find(nth_key(n));
    if (!found) continue;
    REQUIRE(*found == nth_bytes(n));
    ++count;
  }
  return count;
}

TEST_CASE("A store finds what was added, and only that") {
  const test::TemporaryFolder folder;
  for (const bool in_memory : {true, false}) {
    const auto store = in_memory ? make_store() : open_store(folder.path() / "a" / "b");
    CHECK(!store->find(nth_key(1)));
    CHECK(store->add(nth_key(1), "one"));
    CHECK(store->add(nth_key(1), "again"));
    CHECK(store->add(nth_key(2), ""));
    CHECK(store->find(nth_key(1)) == "one");
    CHECK(store->find(nth_key(2)) == "");
    CHECK(!store->find(nth_key(3)));
  }
  const auto again = open_store(folder.path() / "a" / "b");
  CHECK(again->find(nth_key(1)) == "one");
  CHECK(again->find(nth_key(2)) == "");
  CHECK(files_in(folder.path() / "a" / "b").size() == 1);  // nothing was added
}

TEST_CASE("A store in memory keeps to its size") {
  const auto store = make_store(10);
  CHECK(store->add(nth_key(1), "12345678"));
  CHECK(!store->add(nth_key(2), "123"));
  CHECK(store->add(nth_key(3), "12"));
  CHECK(store->find(nth_key(1)));
  CHECK(!store->find(nth_key(2)));
}

TEST_CASE("A file that is cut off anywhere gives the units before the cut") {
  const test::TemporaryFolder folder;
  fill_store(folder.path(), 0, 6);
  const fs::path file = files_in(folder.path()).front();
  const std::string whole = text_in(file);
  std::size_t least = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    put_file(file, whole.substr(0, size));
    const auto store = open_store(folder.path());
    const std::size_t found = count_found(*store, 6);
    REQUIRE(found >= least);
    least = found;
  }
  CHECK(least == 6);
}

TEST_CASE("A damaged byte anywhere loses units, and changes none") {
  const test::TemporaryFolder folder;
  fill_store(folder.path(), 0, 5);
  const fs::path file = files_in(folder.path()).front();
  const std::string whole = text_in(file);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    put_file(file, damaged);
    const auto store = open_store(folder.path());
    REQUIRE(count_found(*store, 5) < 5);
  }
}

TEST_CASE("A damaged unit can be added again") {
  const test::TemporaryFolder folder;
  fill_store(folder.path(), 0, 5);
  const fs::path file = files_in(folder.path()).front();
  std::string damaged = text_in(file);
  damaged.back() = '?';  // in the bytes of the last one
  put_file(file, damaged);
  {
    const auto store = open_store(folder.path());
    CHECK(count_found(*store, 5) == 4);
    CHECK(store->add(nth_key(4), nth_bytes(4)));
    CHECK(count_found(*store, 5) == 5);
  }
  CHECK(count_found(*open_store(folder.path()), 5) == 5);
}

TEST_CASE("Two writers at once keep all that both add") {
  const test::TemporaryFolder folder;
  {
    const auto one = open_store(folder.path()), other = open_store(folder.path());
    for (std::uint64_t n = 0; n < 20; ++n) {
      CHECK((n % 3 == 0 ? one : other)->add(nth_key(n), nth_bytes(n)));
      if (n % 5 == 0) CHECK(one->add(nth_key(n), nth_bytes(n)));
    }
  }
  CHECK(count_found(*open_store(folder.path()), 20) == 20);
}

TEST_CASE("A store stays within its size, and loses the oldest files") {
  const test::TemporaryFolder folder;
  for (std::uint64_t n = 1; n <= 4; ++n) {
    const auto store = open_store(folder.path(), 3000);
    CHECK(store->add(nth_key(n), std::string(1000, 'x')));
    for (const fs::path& file : files_in(folder.path())) {
      fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(1));
    }
  }
  const auto store = open_store(folder.path());
  CHECK(!store->find(nth_key(1)));
  CHECK(!store->find(nth_key(2)));
  CHECK(store->find(nth_key(3)));
  CHECK(store->find(nth_key(4)));
}

TEST_CASE("A store says whether what was found or added outlasts it") {
  const test::TemporaryFolder folder;
  fill_store(folder.path(), 1, 2);
  fill_store(folder.path(), 2, 3);
  const std::uint64_t both = 2 * fs::file_size(files_in(folder.path()).front()) + 200;
  {
    const auto store = open_store(folder.path(), both);
    CHECK(store->find(nth_key(1)));
    CHECK(store->add(nth_key(1), nth_bytes(1)));
    CHECK(store->keeps_all());
  }
  {
    const auto store = open_store(folder.path(), 1);
    CHECK(store->keeps_all());  // nobody has asked for what will go
    CHECK(store->find(nth_key(2)));
    CHECK(!store->keeps_all());
  }
  CHECK(files_in(folder.path()).empty());
  const auto store = open_store(folder.path(), 100);
  CHECK(store->add(nth_key(1), std::string(101, 'x')));
  CHECK(!store->keeps_all());
}

TEST_CASE("What a command adds stays as long as it goes on, however much that is") {
  const test::TemporaryFolder folder;
  {
    const auto store = open_store(folder.path(), 100);
    for (std::uint64_t n = 1; n < 20; ++n) CHECK(store->add(nth_key(n), nth_bytes(n)));
    for (std::uint64_t n = 1; n < 20; ++n) CHECK(store->find(nth_key(n)) == nth_bytes(n));
  }
  CHECK(files_in(folder.path()).empty());
}

TEST_CASE("Many small files become one") {
  const test::TemporaryFolder folder;
  for (std::uint64_t n = 0; n < 70; ++n) fill_store(folder.path(), n, n + 1);
  CHECK(files_in(folder.path()).size() == 70);  // a writer of any may still be at work
  for (const fs::path& file : files_in(folder.path())) {
    fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(2));
  }
  CHECK(count_found(*open_store(folder.path()), 70) == 70);
  CHECK(files_in(folder.path()).size() == 1);
  CHECK(count_found(*open_store(folder.path()), 70) == 70);
}

TEST_CASE("A place that cannot be used is said once, and nothing is kept") {
  const test::TemporaryFolder folder;
  std::vector<std::string> notes;
  const auto note = [&](const std::string& text) { notes.push_back(text); };
  const fs::path file = folder.path() / "file";
  put_file(file, "mine");
  {
    const auto store = open_store(file, 1000, note);
    CHECK(!store->add(nth_key(1), "one"));
    CHECK(!store->add(nth_key(2), "two"));
    CHECK(!store->find(nth_key(1)));
  }
  REQUIRE(notes.size() == 1);
  CHECK(notes.front() == "Not a directory");
  CHECK(text_in(file) == "mine");
  if (::geteuid() == 0) return;  // who may write everywhere
  const fs::path sealed = folder.path() / "sealed";
  fs::create_directory(sealed);
  fs::permissions(sealed, fs::perms::owner_read | fs::perms::owner_exec);
  const auto store = open_store(sealed, 1000, note);
  CHECK(!store->add(nth_key(1), "one"));
  CHECK(notes.size() == 2);
}

TEST_CASE("Whoever cannot do without a store throws instead of taking note") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  put_file(file, "mine");
  const auto note = [](const std::string& reason) { throw std::runtime_error(reason); };
  CHECK_THROWS_WITH(open_store(file, 1000, note), "Not a directory");
  CHECK(text_in(file) == "mine");
}

TEST_CASE("A disk that becomes full costs what does not fit, and nothing else") {
  const test::TemporaryFolder folder;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  std::vector<std::string> notes;
  std::size_t kept = 0;
  {
    const auto store =
        open_store(folder.path(), 1 << 20, [&](const std::string& text) { notes.push_back(text); });
    const rlimit limit{1500, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (std::uint64_t n = 0; n < 30; ++n) kept += store->add(nth_key(n), nth_bytes(n)) ? 1u : 0u;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(count_found(*store, 30) == kept);
  }
  std::signal(SIGXFSZ, handler);
  CHECK(kept > 3);
  CHECK(kept < 30);
  CHECK(notes.size() == 1);
  CHECK(count_found(*open_store(folder.path()), 30) == kept);
}

TEST_CASE("What else lies in the folder is left alone") {
  const test::TemporaryFolder folder;
  fs::create_directory(folder.path() / "folder.units");
  put_file(folder.path() / "note.txt", "mine");
  put_file(folder.path() / "other.units", "not a store");
  fs::create_symlink("note.txt", folder.path() / "link.units");
  REQUIRE(::mkfifo((folder.path() / "pipe.units").c_str(), 0600) == 0);
  fill_store(folder.path(), 0, 3);
  CHECK(count_found(*open_store(folder.path()), 3) == 3);
  CHECK(text_in(folder.path() / "note.txt") == "mine");
  // Not even if there is too much, or there are many files.
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(2);
  for (std::uint64_t n = 0; n < 70; ++n) fill_store(folder.path(), 10 + n, 11 + n);
  for (const fs::path& file : files_in(folder.path())) {
    if (fs::is_regular_file(fs::symlink_status(file))) fs::last_write_time(file, old);
  }
  CHECK(count_found(*open_store(folder.path()), 3) == 3);
  CHECK(files_in(folder.path()).size() == 6);
  open_store(folder.path(), 1);
  CHECK(files_in(folder.path()).size() == 5);
  CHECK(text_in(folder.path() / "other.units") == "not a store");
}

}  // namespace
}  // namespace retrysim
