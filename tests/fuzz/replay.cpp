// Plays what fuzzers start from and what they have found, without a fuzzer.
//
//   fuzz_replay PROJECT                all targets: some of their seeds, and all files of
//                                      tests/fuzz/found
//   fuzz_replay PROJECT TARGET FILE... these inputs of a target
//   fuzz_replay PROJECT --seeds FOLDER writes the seeds to FOLDER/TARGET/NUMBER
//   fuzz_replay --list                 name and meaning of each target
//
// SPDX-License-Identifier: MIT
#include "fuzz/targets.hpp"
#include "temporary_folder.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using retrysim::fuzz::Target;
using retrysim::test::content_of;

namespace {

/// What a target says goes to standard output, which nobody reads here.
void play(const Target& target, const std::string& bytes, std::string_view what) {
  fmt::print(stderr, "{}: {}\n", target.name, what);
  target.play(bytes);
}

int replay_all(const fs::path& project) {
  for (const Target& target : retrysim::fuzz::targets()) {
    constexpr std::size_t kEnough = 5;
    const std::vector<std::string> seeds = target.seeds(project);
    const std::size_t step = seeds.size() / kEnough + 1;
    for (std::size_t i = 0; i < seeds.size(); i += step) {
      play(target, seeds[i], fmt::format("seed {}", i));
    }
    std::vector<fs::path> found;
    const fs::path folder = project / "tests" / "fuzz" / "found" / target.name;
    if (fs::is_directory(folder)) {
      for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
    }
    std::ranges::sort(found);
    for (const fs::path& file : found) play(target, content_of(file), file.filename().string());
  }
  return 0;
}

int write_seeds(const fs::path& project, const fs::path& folder) {
  for (const Target& target : retrysim::fuzz::targets()) {
    fs::create_directories(folder / target.name);
    int number = 0;
    for (const std::string& seed : target.seeds(project)) {
      std::ofstream(folder / target.name / std::to_string(number++), std::ios::binary) << seed;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"--list"}) {
    for (const Target& target : retrysim::fuzz::targets()) {
      fmt::print("{}\t{}\n", target.name, target.meaning);
    }
    return 0;
  }
  if (arguments.empty()) return std::fputs("fuzz_replay: names no project\n", stderr), 2;
  const int nowhere = ::open("/dev/null", O_WRONLY);
  (void)::dup2(nowhere, STDOUT_FILENO);
  const fs::path project = arguments[0];
  if (arguments.size() == 1) return replay_all(project);
  if (arguments[1] == "--seeds" && arguments.size() == 3) return write_seeds(project, arguments[2]);
  const Target* target = retrysim::fuzz::find_target(arguments[1]);
  if (target == nullptr) return std::fputs("fuzz_replay: there is no such target\n", stderr), 2;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    play(*target, content_of(arguments[i]), arguments[i]);
  }
  return 0;
}
