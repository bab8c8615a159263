// `retrysim verify`: checks whether the files of results are as they were written.
//
// SPDX-License-Identifier: MIT
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/result_folder.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;

/// Whether a result is intact; prints what is not.
bool verify_one(const fs::path& folder, bool quiet) {
  // A run that replaces the result waits until all its files have been read.
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  const report::FolderLock lock(error ? folder : real.parent_path());
  try {
    const auto json = report::read_sealed(folder);
    const auto records = report::file_records(json, folder / report::kResultJson);
    if (records.empty()) {
      throw report::DamagedResult(folder / report::kResultJson,
                                  "has no checksums; it was written by a version without them");
    }
    std::size_t faults = 0;
    for (const report::FileRecord& record : records) {
      const std::string fault = report::fault_of(folder, record);
      if (fault.empty()) continue;
      ++faults;
      report::print_error("retrysim: error: {}: {}\n", (folder / record.name).string(), fault);
    }
    if (faults > 0) return false;
    if (!quiet) report::print("{}: intact, {} files\n", folder.string(), records.size() + 1);
    return true;
  } catch (const report::DamagedResult& e) {
    report::print_error("retrysim: error: {}\n", e.what());
    return false;
  }
}

constexpr const char* kVerifyUsage =
    "Usage: retrysim verify DIR... [options]\n"
    "\n"
    "Reads every file of each result folder and compares its size and CRC-32 with\n"
    "those in result.json, which has a CRC-32 of its own. Files that are not part of\n"
    "the result, such as pictures, are ignored. Example:\n"
    "  retrysim verify results/*\n"
    "\n"
    "Exit status: 0 if all are intact; 3 if a file is missing or damaged (standard\n"
    "error names it), or if a folder does not contain a result.\n";

}  // namespace

namespace {

struct VerifyCommand {
  std::vector<std::string> folders;
  bool quiet = false;
};

int verify(const Arguments& arguments) {
  using C = VerifyCommand;
  const Options<C> options = std::vector<Option<C>>{
      {{"quiet", "", "do not mention results that are intact"}, into(&C::quiet)}};
  const auto command = options.read(arguments, kVerifyUsage, "folder", &C::folders);
  if (!command) return kDone;
  if (is_silent_rank(arguments)) return kDone;
  if (command->folders.empty()) {
    throw UsageError("no folders given; expected retrysim verify DIR...");
  }
  bool intact = true;
  for (const std::string& folder : command->folders) {
    intact = verify_one(folder, command->quiet) && intact;
  }
  return intact ? kDone : kBadInput;
}

constexpr Command kVerifyCommand{.name = "verify",
                                 .arguments = "DIR...",
                                 .purpose = "check the files of results against their checksums",
                                 .run = verify,
                                 .after = "report",
                                 .less_memory = "name fewer results, or results with fewer points"};
RETRYSIM_COMMAND_ROW verify_row = &kVerifyCommand;

}  // namespace
}  // namespace retrysim::cli
