// The journal: what was appended comes back, whatever part of its end is missing or bad; and
// nothing goes on from the journal of another experiment.
//
// SPDX-License-Identifier: MIT
#include "execution/journal.hpp"

#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

namespace retrysim::execution {
namespace {

namespace fs = std::filesystem;

/// A path for a journal that goes away with the test.
class Place {
 public:
  fs::path path() const { return folder_.path() / "journal"; }
  std::string content() const { return test::content_of(path()); }
  void set_content(const std::string& bytes) const { folder_.write("journal", bytes); }

 private:
  test::TemporaryFolder folder_;
};

const Identity kIdentity = {{"the scenario", "name = \"x\""}, {"--vary", "a=1,2"}};

std::string record_of(std::size_t unit) {
  return std::string(unit * 3, 'a') + std::string(1, '\0') + std::to_string(unit);
}

/// A journal of units 0 to `count` - 1 of 10.
void write(const Place& place, std::size_t count) {
  Journal journal = Journal::begin(place.path(), kIdentity, 10);
  for (std::size_t unit = 0; unit < count; ++unit) journal.append(unit, record_of(unit));
}

TEST_CASE("A journal gives back what was appended in any order") {
  const Place place;
  {
    Journal journal = Journal::begin(place.path(), kIdentity, 10);
    for (const std::size_t unit : {7u, 0u, 3u}) journal.append(unit, record_of(unit));
    REQUIRE(journal.read(0) == record_of(0));  // also before it has been flushed
    journal.append(3, "something else");
  }
  Journal journal = Journal::resume(place.path(), kIdentity, 10);
  REQUIRE(journal.count() == 3);
  REQUIRE(journal.dropped_bytes() == 0);
  for (std::size_t unit = 0; unit < 10; ++unit) {
    const bool there = unit == 0 || unit == 3 || unit == 7;
    REQUIRE(journal.has(unit) == there);
    if (there) REQUIRE(journal.read(unit) == record_of(unit));
  }
  journal.remove();
  REQUIRE(!fs::exists(place.path()));
}

TEST_CASE("A journal cut off at any byte keeps its whole records and goes on") {
  const Place place;
  write(place, 0);
  const std::size_t head = place.content().size();
  write(place, 4);
  const std::string whole = place.content();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    place.set_content(whole.substr(0, size));
    std::size_t kept = 0;
    for (std::size_t end = head; kept < 4; ++kept) {
      end += 16 + record_of(kept).size();
      if (end > size) break;
    }
    {
      Journal journal = Journal::resume(place.path(), kIdentity, 10);
      REQUIRE(journal.count() == kept);
      for (std::size_t unit = 0; unit < kept; ++unit) {
        REQUIRE(journal.read(unit) == record_of(unit));
      }
      for (std::size_t unit = kept; unit < 4; ++unit) journal.append(unit, record_of(unit));
    }
    REQUIRE(place.content() == whole);
  }
}

TEST_CASE("A record with any wrong byte is dropped with those after it") {
  const Place place;
  write(place, 1);
  const std::size_t first = place.content().size();
  write(place, 2);
  const std::size_t second = place.content().size();
  write(place, 3);
  const std::string whole = place.content();
  for (std::size_t at = first; at < second; ++at) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    place.set_content(bad);
    Journal journal = Journal::resume(place.path(), kIdentity, 10);
    REQUIRE(journal.count() == 1);
    REQUIRE(journal.dropped_bytes() == whole.size() - first);
    REQUIRE(journal.read(0) == record_of(0));
  }
}

TEST_CASE("A damaged length takes no more memory than the journal has bytes") {
  const Place place;
  write(place, 1);
  const std::string whole = place.content();
  const auto peak_kib = [] {
    rusage usage{};
    REQUIRE(::getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss;
  };
  const long before = peak_kib();
  // Of a record behind the first one, and of the head: nearly 4 GiB.
  place.set_content(whole + std::string("\xF0\xFF\xFF\xFF", 4) + std::string(100, 'x'));
  REQUIRE(Journal::resume(place.path(), kIdentity, 10).count() == 1);
  std::string bad_head = whole;
  bad_head.replace(whole.find('\n') + 1, 4, "\xF0\xFF\xFF\xFF");
  place.set_content(bad_head);
  REQUIRE(Journal::resume(place.path(), kIdentity, 10).count() == 0);
  REQUIRE(peak_kib() - before < 512 * 1024);
}

TEST_CASE("Zeros behind the records are dropped as a machine that stopped leaves them") {
  const Place place;
  write(place, 3);
  place.set_content(place.content() + std::string(5000, '\0'));
  REQUIRE(Journal::resume(place.path(), kIdentity, 10).count() == 3);
  REQUIRE(Journal::resume(place.path(), kIdentity, 10).dropped_bytes() == 0);
}

TEST_CASE("Records larger than a block of reading come back") {
  const Place place;
  const std::string large(5'000'000, 'x');
  {
    Journal journal = Journal::begin(place.path(), kIdentity, 10);
    journal.append(2, record_of(2));
    journal.append(1, large);
    journal.append(5, record_of(5));
  }
  Journal journal = Journal::resume(place.path(), kIdentity, 10);
  REQUIRE(journal.count() == 3);
  REQUIRE(journal.read(1) == large);
  REQUIRE(journal.read(5) == record_of(5));
}

TEST_CASE("A journal of another experiment is refused with what differs") {
  const Place place;
  write(place, 2);
  const std::string before = place.content();
  Identity other = kIdentity;
  other[1].second = "a=1,2,3";
  REQUIRE_THROWS_WITH(Journal::resume(place.path(), other, 15),
                      Catch::EndsWith("belongs to a different experiment; they differ in --vary"));
  REQUIRE(place.content() == before);
  place.set_content("time_s,rate\n0,1\n");
  REQUIRE_THROWS_WITH(Journal::resume(place.path(), kIdentity, 10),
                      Catch::EndsWith("is not a journal of this version of retrysim"));
}

TEST_CASE("A journal in use is refused") {
  const Place place;
  Journal journal = Journal::begin(place.path(), kIdentity, 10);
  REQUIRE_THROWS_AS(Journal::resume(place.path(), kIdentity, 10), JournalError);
  REQUIRE_THROWS_AS(Journal::begin(place.path(), kIdentity, 10), JournalError);
}

TEST_CASE("Whoever comes when a journal is done finds none, or one in use, whatever it was about") {
  const Place place;
  const Identity others[] = {kIdentity, {{"the scenario", "name = \"y\""}, {"--vary", "a=3"}}};
  std::atomic<int> completed = 0;
  std::string wrong[2];
  const auto work = [&](std::size_t which) {
    for (int round = 0; round < 2000 && wrong[which].empty(); ++round) {
      try {
        Journal journal = Journal::resume(place.path(), others[which], 10);
        if (journal.count() > 0) wrong[which] = "has units of another one";
        journal.append(which, record_of(which));
        journal.flush();
        if (!fs::exists(place.path())) wrong[which] = "was removed by another one";
        journal.remove();
        ++completed;
      } catch (const JournalError& error) {
        const std::string_view text = error.what();
        if (!text.ends_with("another process is using it")) wrong[which] = text;
      }
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  REQUIRE(wrong[0] == "");
  REQUIRE(wrong[1] == "");
  REQUIRE(completed > 0);
}

TEST_CASE("A journal that cannot be written says so") {
  REQUIRE_THROWS_AS(Journal::begin("/dev/full", kIdentity, 10), std::exception);
  REQUIRE_THROWS_AS(Journal::begin("/no/such/folder/journal", kIdentity, 10), std::system_error);
}

}  // namespace
}  // namespace retrysim::execution
