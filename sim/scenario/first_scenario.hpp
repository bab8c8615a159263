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

/// The answers so far. Zero or empty: not yet answered.
struct FirstAnswers {
  double rate = 0;             ///< requests per second of all clients together
  Duration service_time = {};  ///< mean service time
  /// The service time's law as TOML, by percentiles or a histogram; empty: exponential.
  std::string service_law = {};
  std::string service_percentiles = {};  ///< percentiles as typed; empty if there are none
  std::uint32_t servers = 0;             ///< requests that are served at the same time
  std::string client = {};               ///< a preset, with or without its version, or "none"
  std::string fault = {};                ///< one of the words of the question about trouble
  /// An access log from which some answers come; empty: all are the user's.
  std::string log = {};
  /// Answers with errors: the status, and its share of all requests.
  std::vector<std::pair<int, double>> errors = {};
};

/// The client that does not retry.
inline constexpr std::string_view kNoRetryClient = "none";

/// An answer that makes no sense; the message says what would.
class BadAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct FirstQuestion {
  std::string_view option;  ///< the option's name on a command line: "service-time"
  std::string_view value;  ///< placeholder of the answer in help: "D", or "a|b" if words are chosen
  /// the question in a few words, without the option: "mean time to serve a request"
  std::string_view asks;
  std::string_view help;  ///< more about the question, for --help; continues where `asks` ends
  /// The default, which may depend on earlier answers; empty: an answer is required.
  std::string (*usual)(const FirstAnswers& earlier);
  /// The possible answers, for display; empty: any.
  std::vector<std::string_view> (*choices)();
  /// Stores an answer. Throws BadAnswer if it makes no sense or contradicts another answer;
  /// `answers` then stay as they were.
  void (*read)(FirstAnswers& answers, std::string_view text);
};

/// The five questions, in the order in which they are asked.
std::span<const FirstQuestion> first_questions();

/// The text of the scenario, a TOML file. `answers` must be complete and `name` valid for a
/// scenario. `made_by`: a comment that says how to make the file again; empty: none.
std::string first_scenario(const FirstAnswers& answers, const std::string& name,
                           const std::string& made_by = "");

/// Changes the names of files in the answers, which are relative to the working directory, so that
/// they are found from the scenario's folder.
void name_files_from(FirstAnswers& answers, const std::filesystem::path& folder);

}  // namespace retrysim::scenario
