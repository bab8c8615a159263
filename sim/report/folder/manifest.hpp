// The description of a folder in result.json: the files with their checksums, so that damage is
// noticed, and the question that the result answers, so that the answer to another one does not
// replace it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "report/document/json.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {

/// CRC-32 of `bytes` as in zip, gzip and PNG (`zlib.crc32` of Python). `before` is the CRC-32 of
/// the bytes before these.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

inline constexpr std::string_view kResultJson = "result.json";

/// A file of a result.
struct FileRecord {
  std::string name;  ///< name of the file, without a folder
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;

  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

/// Whether `name` is the plain name of a file in the folder itself, without a path.
bool is_plain_name(std::string_view name);

/// Thrown if a result folder cannot be read or is not as it was written. The message names the
/// file.
class DamagedResult : public std::runtime_error {
 public:
  DamagedResult(const std::filesystem::path& file, std::string_view what);
};

/// The bytes of a file. Throws DamagedResult if it is missing or cannot be read.
std::string content_of(const std::filesystem::path& file);

/// Reads a JSON file whose outermost value is an object. Throws DamagedResult, also for a file that
/// is nested deeper than any result.json. Members of the outermost object in `skip` are left out.
nlohmann::ordered_json read_json(const std::filesystem::path& file,
                                 std::span<const std::string_view> skip = {});

/// The JSON of `text`, the content of `file`.
nlohmann::ordered_json json_in(const std::filesystem::path& file, const std::string& text);
/// As above, of a text by JsonText, without the members of the outermost object in `skip`.
nlohmann::ordered_json json_in(const std::filesystem::path& file, std::string text,
                               std::span<const std::string_view> skip);

/// Frees what the members of `json` hold, with stop points: of a large result that takes long.
void take_apart(nlohmann::ordered_json& json);

/// Calls `read` and turns a member of `file` that is missing or of another type than expected into
/// DamagedResult.
void read_members(const std::filesystem::path& file, const std::function<void()>& read);

/// The result.json of `folder`. Throws DamagedResult if it is missing, no result of retrysim, or
/// not as it was written.
nlohmann::ordered_json read_sealed(const std::filesystem::path& folder);

/// The records of the files that a result.json names; empty for a version that had no checksums.
/// `path` is for messages. Throws DamagedResult.
std::vector<FileRecord> file_records(const nlohmann::ordered_json& json,
                                     const std::filesystem::path& path);

/// The fault of a file: "is missing", "is damaged: ..."; empty if it agrees with its record.
std::string fault_of(const std::filesystem::path& folder, const FileRecord& record);

/// The question that a result answers.
struct ResultIdentity {
  /// The identity of a result of which only the scenario is known.
  ResultIdentity(std::string scenario_name) : scenario(std::move(scenario_name)) {}
  ResultIdentity(const char* scenario_name) : scenario(scenario_name) {}

  std::string scenario;
  std::string version;
  std::string command;               ///< name of the command, such as "run"; empty: not known
  std::vector<std::string> options;  ///< options that matter to the answer: "--vary PATH=VALUES"
  /// The effective keys and their values as TOML; for several variants the keys that they share.
  std::vector<std::pair<std::string, std::string>> keys;
  std::vector<FileRecord> files;  ///< files, including the CSV inputs
  /// The contents of the CSV inputs when the question was asked, which a result keeps: a file may
  /// be written anew while the command runs.
  std::map<std::filesystem::path, std::shared_ptr<const std::string>> inputs;
  /// Files and folders that the command reads, which it must not replace.
  std::vector<std::filesystem::path> reads;
};

/// The text of result.json: `document`, an object that has been begun and not ended, and behind its
/// members the `command` and `options` of the question it `answers`, `files` (the names),
/// `checksums` (size and CRC-32 of each but result.json) and `crc32_of_this_file`: that of the text
/// with zeros in place of its eight digits. Without a command, the first two are left out.
/// result.json itself need not be among `files`. Bytes that are not UTF-8 are replaced.
std::string sealed(JsonText document, const ResultIdentity& answers,
                   const std::vector<FileRecord>& files);
/// As above, with the members of `json`, an object.
std::string sealed(const nlohmann::ordered_json& json, const ResultIdentity& answers,
                   const std::vector<FileRecord>& files);

/// The identity of a result that `command` is about to compute from these variants, at least one.
ResultIdentity identity_of(const std::vector<const LoadedScenario*>& variants, std::string command,
                           std::vector<std::string> options = {});

/// The identity of a result of one scenario from which others are made, which also read
/// `further_reads`.
ResultIdentity identity_of(const LoadedScenario& base,
                           const std::vector<std::filesystem::path>& further_reads,
                           std::string command, std::vector<std::string> options);

/// The identity of the result that a result.json describes. `path` is for messages. Throws
/// DamagedResult.
ResultIdentity identity_of(const nlohmann::ordered_json& json, const std::filesystem::path& path);

/// The first differences between the questions of `now` and `earlier`, in words; empty if `now` may
/// replace `earlier`, as it may if its own command is not known. The version, the description,
/// expectations and more replications do not matter; fewer replications and another command do.
/// Otherwise the keys that both have are compared.
std::string difference(const ResultIdentity& earlier, const ResultIdentity& now);

/// A key with its values as TOML; empty where it has none.
struct KeyDifference {
  std::string path, earlier, now;
};
/// The keys of which `earlier` and `now` have different values: those of `now` in their order, then
/// those that only `earlier` has.
std::vector<KeyDifference> key_differences(const ResultIdentity& earlier,
                                           const ResultIdentity& now);

}  // namespace retrysim::report
