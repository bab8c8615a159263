// `retrysim report`: writes results as one HTML page.
//
// SPDX-License-Identifier: MIT
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/page/page.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;

/// Whether a file is a page of this program, which may be replaced.
bool is_own_page(const fs::path& file) { return report::begins_with(file, report::kPageHead); }

/// The files from which a page is made.
std::vector<fs::path> files_read(const std::vector<fs::path>& folders, const fs::path& live) {
  std::vector<fs::path> files;
  if (!live.empty()) files.push_back(live);
  for (const fs::path& folder : folders) {
    files.push_back(folder / report::kResultJson);
    const auto json = report::read_sealed(folder);
    for (const report::FileRecord& file : report::file_records(json, files.back())) {
      files.push_back(folder / file.name);
    }
  }
  return files;
}

constexpr const char* kReportUsage =
    "Usage: retrysim report DIR... [options]\n"
    "\n"
    "Writes one HTML page about the results in the folders, side by side: the answer\n"
    "in words, a drawing of the scenario, pictures over time and tables. The page\n"
    "needs no network and no other file, so you can send it to a colleague. The page\n"
    "of a sweep has a slider for each varied key.\n"
    "Examples:\n"
    "  retrysim report results/capacity-dip\n"
    "  retrysim report results/before results/after --out change.html\n"
    "\n"
    "Exit status: 3 if a folder does not contain a result, or a file of it is missing\n"
    "or damaged.\n";

}  // namespace

namespace {

struct ReportCommand {
  std::vector<std::string> folders;
  std::string out, live;
  bool force = false, quiet = false;
};

Options<ReportCommand> report_options() {
  using C = ReportCommand;
  return std::vector<Option<C>>{
      {{"out", "FILE",
        "the page; default report.html in the folder of the result, of several results in the "
        "current folder. An earlier page is replaced"},
       [](C& c, const std::string& text) { c.out = output_path(text, "file"); }},
      {{"live", "PAGE",
        "a report that computes: sliders and the text of the scenario change it, and the engine in "
        "PAGE, which scripts/page has made, answers in the browser. Of one result of run"},
       [](C& c, const std::string& text) { c.live = output_path(text, "file"); }},
      {{"force", "", "also replace a file that is not such a page"}, into(&C::force)},
      {{"quiet", "", "print nothing"}, into(&C::quiet)}};
}

int report(const Arguments& arguments) {
  const auto command =
      report_options().read(arguments, kReportUsage, "folder", &ReportCommand::folders);
  if (!command) return kDone;
  if (is_silent_rank(arguments)) return kDone;
  const std::vector<fs::path> folders(command->folders.begin(), command->folders.end());
  if (folders.empty()) throw UsageError("no folders given; expected retrysim report DIR...");
  const bool live = !command->live.empty();
  if (live && folders.size() > 1) throw UsageError("--live takes one result");
  fs::path file = folders.size() == 1 ? folders.front() / "report.html" : "report.html";
  if (!command->out.empty()) file = command->out;
  bool is_stream = false;
  try {
    const report::OutputFile output(file, {is_own_page, "it is not a page of retrysim",
                                           command->force, files_read(folders, command->live)});
    is_stream = output.is_stream();
    output.write(live ? report::live_page(folders.front(), report::engine_of_page(command->live))
                      : report::html_page(folders));
  } catch (const report::DamagedResult& e) {
    report::print_error("retrysim: error: {}\n", e.what());
    return kBadInput;
  }
  // If the page goes to standard output, nothing else may.
  if (!command->quiet && !is_stream) report::print("Page: {}\n", file.string());
  return kDone;
}

constexpr Command kReportCommand{.name = "report",
                                 .arguments = "DIR...",
                                 .purpose = "write results as one HTML page to read and share",
                                 .run = report,
                                 .after = "merge",
                                 .less_memory = "name fewer results, or results with fewer points"};
RETRYSIM_COMMAND_ROW report_row = &kReportCommand;

}  // namespace
}  // namespace retrysim::cli
