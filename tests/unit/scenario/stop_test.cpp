// Reading and resolving a scenario end when they are asked to.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

#include <retrysim/error.hpp>

#include "scenario/text/document.hpp"
#include "scenario/text/portions.hpp"
#include "scenario/text/problems.hpp"

#include <atomic>
#include <fstream>
#include <string>

using namespace retrysim;

TEST_CASE("reading a scenario ends when it is asked to") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "small.toml";
  std::ofstream(file) << kSmall;
  std::atomic<bool> stop{false};
  const StopScope scope(&stop);
  CHECK(load_scenario_file(file, {}).loaded);
  stop = true;
  CHECK_THROWS_AS(load_scenario_file(file, {}), Interrupted);
}

TEST_CASE("resolving a scenario ends when it is asked to") {
  std::atomic<bool> stop{false};
  const StopScope scope(&stop);
  CHECK(load_scenario_text(kSmall, "demo.toml", {}, {}).loaded);
  stop = true;
  CHECK_THROWS_AS(load_scenario_text(kSmall, "demo.toml", {}, {}), Interrupted);
}

TEST_CASE("a text in portions is whole, and ends when it is asked to") {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += static_cast<char>('a' + i % 26);
  std::atomic<bool> stop{false};
  const StopScope scope(&stop);
  scenario::PortionedStream stream(text);
  std::string read(text.size(), ' ');
  stream.read(read.data(), 5'000);
  CHECK(stream.tellg() == std::istream::pos_type(5'000));
  stream.seekg(3);
  CHECK(stream.get() == 'd');
  stream.seekg(0);
  stream.read(read.data(), static_cast<std::streamsize>(read.size()));
  CHECK(read == text);
  CHECK(stream.peek() == std::istream::traits_type::eof());
  stream.clear();
  stream.seekg(0);
  CHECK(stream.get() == 'a');
  stop = true;
  CHECK_THROWS_AS(stream.read(read.data(), 9'000), Interrupted);
}

TEST_CASE("what was read of a text in portions can be put back, at its end and between portions") {
  const std::string text(10'000, 'x');
  for (const std::size_t length : {1u, 2u, 4'096u, 4'097u, 10'000u}) {
    scenario::PortionedStream stream(std::string_view(text).substr(0, length));
    std::string read(length, ' ');
    stream.read(read.data(), static_cast<std::streamsize>(length));
    CHECK(stream.get() == std::istream::traits_type::eof());
    stream.clear();
    for (std::size_t i = 0; i < length; ++i) stream.unget();
    CHECK(stream.tellg() == std::istream::pos_type(0));
    stream.read(read.data(), static_cast<std::streamsize>(length));
    CHECK(stream.gcount() == static_cast<std::streamsize>(length));
    stream.putback('x');
    CHECK_THROWS_AS(stream.putback('y'), std::ios::failure);  // which was not read
  }
}

TEST_CASE("TOML is read in portions") {
  std::atomic<bool> stop{true};
  const StopScope scope(&stop);
  scenario::Sources sources;
  scenario::Problems problems(sources);
  const int source = sources.add("demo.toml", "a = 1\n");
  CHECK_THROWS_AS(scenario::parse_document(sources, source, problems), Interrupted);
}
