// Options and clock of the programs that simulate the benchmark system by hand.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

struct Options {
  double rate = 1000;  // requests per second, all clients together
  std::uint64_t queue_capacity = std::numeric_limits<std::uint64_t>::max();
  double seconds = 1000;  // simulated time
  std::uint64_t seed = 1;
};

// CPU time, not wall time: other programs on the machine must not be measured.
inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

inline bool set_option(std::string_view argument, Options& options) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = argument.substr(0, equals);
  const std::string_view value = argument.substr(equals + 1);
  if (key == "rate") return parse(value, options.rate) && options.rate > 0;
  if (key == "qcap") return parse(value, options.queue_capacity);
  if (key == "secs") return parse(value, options.seconds) && options.seconds > 0;
  if (key == "seed") return parse(value, options.seed);
  return false;
}

/// The options of the command line; empty, after a message, if one cannot be used.
inline std::optional<Options> read_options(const char* program, int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (set_option(argv[i], options)) continue;
    std::fprintf(stderr, "%s: error: cannot use '%s'; options: rate= qcap= secs= seed=\n", program,
                 argv[i]);
    return std::nullopt;
  }
  return options;
}
