// A first scenario of a service of one's own, from five answers: how many requests come, how long
// one takes, how many are served at once, which library the clients have, and what goes wrong.
// Everything else is a default that its comment explains; numbers of a client library come from the
// tables of presets and name their source.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/time.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::scenario {

/// What has been answered. Zero or empty: not yet.
struct FirstAnswers {
  double rate = 0;             ///< requests per second of all clients together
  Duration service_time = {};  ///< mean
  /// The law of that time as TOML, by percentiles or a histogram; empty: exponential.
  std::string service_law = {};
  std::string service_percentiles = {};  ///< as they were typed; empty with the law
  std::uint32_t servers = 0;             ///< requests that are served at the same time
  std::string client = {};               ///< a preset, with or without its version, or "none"
  std::string fault = {};                ///< one of the words of the question
  /// An access log that some of these come from; empty: they are the user's.
  std::string log = {};
  /// Shares of all requests that get these statuses.
  std::vector<std::pair<int, double>> errors = {};
  /// A file whose retry policy is to take the place of the client's; empty: none.
  std::string retry = {};
};

/// The client that does not retry.
inline constexpr std::string_view kNoRetryClient = "none";

/// An answer that makes no sense; the message says what would.
class BadAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct FirstQuestion {
  std::string_view option;  ///< its name on a command line: "service-time"
  std::string_view value;   ///< what stands for the answer there: "D", or "a|b" if words are chosen
  std::string_view asks;    ///< in a few words, without the option: "mean time to serve a request"
  std::string_view help;    ///< more about it, for --help; begins where `asks` ends
  /// The default, after the answers to the questions before; empty: there must be one.
  std::string (*usual)(const FirstAnswers& earlier);
  /// What can be chosen, as the user may want to see it; empty: nothing in particular.
  std::vector<std::string_view> (*choices)();
  /// Takes the answer in. Throws BadAnswer, also if it contradicts another answer, and then leaves
  /// `answers` as they were.
  void (*read)(FirstAnswers& answers, std::string_view text);
};

/// The five questions, in the order in which they are asked.
std::span<const FirstQuestion> first_questions();

/// The scenario, a TOML file. Takes complete answers and a name for the scenario that is valid.
/// `made_by` is a comment: what makes it again; empty: none.
std::string first_scenario(const FirstAnswers& answers, const std::string& name,
                           const std::string& made_by = "");

/// Lets files that the answers name, which are relative to the working directory, be found from the
/// folder of the scenario.
void name_files_from(FirstAnswers& answers, const std::filesystem::path& folder);

}  // namespace retrysim::scenario
