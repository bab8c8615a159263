// Only regular files are replaced, and none that the command reads.
//
// SPDX-License-Identifier: MIT
#include "report/folder/output.hpp"

#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

using namespace retrysim;
using namespace retrysim::report;
namespace fs = std::filesystem;

namespace {

/// Why a page is not written; empty if it is.
std::string page_refusal(const fs::path& path, bool force,
                         const std::vector<fs::path>& reads = {}) {
  const auto is_ours = [](const fs::path& file) { return test::content_of(file) == "page"; };
  try {
    OutputFile(path, {is_ours, "it is not ours", force, reads}).write("new page");
  } catch (const OutputError& error) {
    return error.reason();
  }
  return "";
}

}  // namespace

TEST_CASE("an output file replaces its own kind, others by force, its sources never") {
  const test::TemporaryFolder place;
  const fs::path dir = place.path(), file = dir / "file";
  CHECK(page_refusal(file, false).empty());
  std::ofstream(file) << "page";
  CHECK(page_refusal(file, false).empty());
  CHECK(test::content_of(file) == "new page");
  CHECK(page_refusal(file, false) == "it is not ours; --force replaces it");
  CHECK(page_refusal(file, true).empty());
  fs::create_symlink("file", dir / "link");
  fs::create_hard_link(file, dir / "hard");
  for (const char* name : {"file", "link", "hard"}) {
    CHECK(page_refusal(dir / name, true, {file}) ==
          "the command reads this file; choose another name");
  }
  CHECK(page_refusal(dir / "link", true).empty());
  CHECK(fs::is_symlink(dir / "link"));
  const auto left = fs::directory_iterator(dir);
  CHECK(std::distance(begin(left), end(left)) == 3);
}

TEST_CASE("pipes and devices are written to or refused, never replaced") {
  const test::TemporaryFolder place;
  const fs::path dir = place.path();
  CHECK(page_refusal(dir, true) == "it is a folder");
  fs::create_symlink("nowhere", dir / "dangling");
  CHECK(page_refusal(dir / "dangling", true) ==
        "it is a symbolic link to a file that does not exist");
  const fs::path pipe = dir / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(page_refusal(pipe, true) == "no program reads from this pipe");
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  CHECK(page_refusal(pipe, false).empty());
  std::string text(100, ' ');
  text.resize(static_cast<std::size_t>(::read(reader, text.data(), text.size())));
  ::close(reader);
  CHECK(text == "new page");
  CHECK(fs::is_fifo(pipe));
  if (::mknod((dir / "null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) return;  // not as root
  CHECK(page_refusal(dir / "null", true).empty());
  CHECK(fs::is_character_file(dir / "null"));
  REQUIRE(::mknod((dir / "disk").c_str(), S_IFBLK | 0600, makedev(7, 250)) == 0);
  CHECK(page_refusal(dir / "disk", true) == "it is a device");
}

TEST_CASE("an output file that cannot be completed leaves the earlier one, and nothing beside it") {
  const test::TemporaryFolder place;
  const fs::path file = place.path() / "file";
  std::ofstream(file) << "page";
  const OutputFile output(file, {[](const fs::path&) { return true; }, "", false, {}});
  const auto fails = [](Sink& sink) {
    sink.write("half");
    throw std::runtime_error("the rest is missing");
  };
  CHECK_THROWS_WITH(output.write(fails), "the rest is missing");
  CHECK(test::content_of(file) == "page");
  const auto left = fs::directory_iterator(place.path());
  CHECK(std::distance(begin(left), end(left)) == 1);
  output.write([](Sink& sink) { sink.write("two "), sink.write("pieces"); });
  CHECK(test::content_of(file) == "two pieces");
}

TEST_CASE("what a killed writer has left beside an output file goes with the next one") {
  const test::TemporaryFolder place;
  const fs::path abandoned = place.path() / (std::string(StagingFolder::kMark) + "1-0");
  fs::create_directories(abandoned / "result");
  std::ofstream(abandoned / "result" / "file") << "half";
  std::ofstream(place.path() / "file.1.new") << "the user's";
  CHECK(page_refusal(place.path() / "file", false).empty());
  CHECK(!fs::exists(abandoned));
  CHECK(test::content_of(place.path() / "file") == "new page");
  const auto left = fs::directory_iterator(place.path());
  CHECK(std::distance(begin(left), end(left)) == 2);
}
