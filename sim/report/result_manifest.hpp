// What result.json says of the files of its folder, and how it protects itself.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/checksum.hpp"
#include "report/json_text.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

inline constexpr std::string_view kResultJson = "result.json";

/// A file of a result.
struct FileRecord {
  std::string name;  ///< without a folder
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;

  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

/// Whether `name` can be that of a file in the folder itself.
bool is_plain_name(std::string_view name);

/// The text of result.json: `document`, an object that has been begun and not ended, and behind its
/// members `files` (the names), `checksums` (size and CRC-32 of each but result.json) and
/// `crc32_of_this_file`: that of the text with zeros in place of its eight digits. result.json
/// itself need not be among `files`. Bytes that are not UTF-8 are replaced.
std::string sealed(JsonText document, const std::vector<FileRecord>& files);
/// The same with the members of `json`, an object.
std::string sealed(const nlohmann::ordered_json& json, const std::vector<FileRecord>& files);

/// A result folder that cannot be read or is not what it should be. The message names the file.
class DamagedResult : public std::runtime_error {
 public:
  DamagedResult(const std::filesystem::path& file, std::string_view what);
};

/// The bytes of a file. Throws DamagedResult if it is missing or cannot be read.
std::string content_of(const std::filesystem::path& file);

/// Reads a JSON file whose outermost value is an object. Throws DamagedResult, also if it is nested
/// deeper than any result.json is. Of the outermost object, members in `skip` are left out.
nlohmann::ordered_json read_json(const std::filesystem::path& file,
                                 std::span<const std::string_view> skip = {});

/// Calls `read` and turns a member of `file` that is missing or of another type than expected into
/// DamagedResult.
void read_members(const std::filesystem::path& file, const std::function<void()>& read);

/// The result.json of `folder`. Throws DamagedResult if it is missing, no result of retrysim, or
/// not as it was written.
nlohmann::ordered_json read_sealed(const std::filesystem::path& folder);

/// The records of the files that a result.json names; empty if it is of a version that had no
/// checksums. `path` is for messages. Throws DamagedResult.
std::vector<FileRecord> file_records(const nlohmann::ordered_json& json,
                                     const std::filesystem::path& path);

/// What is wrong with a file: "is missing", "is damaged: ..."; empty if it is as its record says.
std::string fault_of(const std::filesystem::path& folder, const FileRecord& record);

}  // namespace retrysim::report
