// Which question a result answers, so that the answer to another one does not take its place.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>

#include "report/result_manifest.hpp"

#include <string>
#include <utility>
#include <vector>

namespace retrysim::report {

struct ResultIdentity {
  /// Of a result of which no more is known than its scenario.
  ResultIdentity(std::string scenario_name) : scenario(std::move(scenario_name)) {}
  ResultIdentity(const char* scenario_name) : scenario(scenario_name) {}

  std::string scenario;
  std::string version;
  std::string command;                ///< its name, such as "run"; empty: not known
  std::vector<std::string> requests;  ///< what else was asked for: "--vary PATH=VALUES"
  /// The keys in force and their values as TOML; of several variants those that they share.
  std::vector<std::pair<std::string, std::string>> keys;
  std::vector<FileRecord> files;  ///< with the CSV inputs among them
  /// Files and folders that the command reads, which it must not replace.
  std::vector<std::filesystem::path> reads;
};

/// Of a result that `command` is about to compute of these variants, at least one.
ResultIdentity identity_of(const std::vector<const LoadedScenario*>& variants, std::string command,
                           std::vector<std::string> requests = {});

/// Of the result that a result.json describes. `path` is for messages. Throws DamagedResult.
ResultIdentity identity_of(const nlohmann::ordered_json& json, const std::filesystem::path& path);

/// What is asked for with `run --twin` and `compare --twin`; result.json then has `twin`: true.
inline constexpr const char* kTwinRequest = "--twin";

/// What is asked for with `tip --trigger`, and with `tip --hysteresis`.
std::string trigger_request(const std::string& path, double first, double last);
std::string tolerance_request(double tolerance);
std::string hysteresis_request(const std::string& path, const std::vector<double>& loads,
                               double dwell_s);

/// What is asked for with `map`.
std::vector<std::string> map_requests(const std::vector<std::string>& varied,
                                      const std::string& service, std::size_t confirmed);

/// In what `now` asks another question than `earlier`, its first differences in words; empty if
/// `now` may take the place of `earlier`. These do not matter: the version, the description,
/// expectations, and more replications. Fewer do, and another command. Then the keys that both have
/// are compared, too.
std::string difference(const ResultIdentity& earlier, const ResultIdentity& now);

}  // namespace retrysim::report
