// `retrysim report`: results as one HTML page.
//
// SPDX-License-Identifier: MIT
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/page/page.hpp"

#include <boost/program_options.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

/// Whether a file is a page of this program, which may be replaced.
bool is_own_page(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string head(std::string_view(report::kPageHead).size(), '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return in && head == report::kPageHead;
}

/// What a page about a result is made of.
std::vector<fs::path> files_of(const std::vector<fs::path>& folders) {
  std::vector<fs::path> files;
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
    "Usage: retrysim report DIR... [options]\n\n"
    "Writes one HTML page about the results in the folders, side by side: the answer in words, a\n"
    "drawing of the scenario, pictures over time and tables. The page needs no network and no "
    "other\n"
    "file, so that it can be sent to a colleague. That of a sweep has a slider for each varied "
    "key.\n"
    "Examples:\n"
    "  retrysim report results/capacity-dip\n"
    "  retrysim report results/before results/after --out change.html\n\n"
    "Exit status: 3 if a folder does not contain a result, or a file of it is missing or "
    "damaged.\n";

}  // namespace

int report(const Arguments& arguments) {
  po::options_description visible("Options");
  visible.add_options()  //
      ("out", po::value<std::string>()->value_name("FILE"),
       "the page; default report.html in the folder of the result, of several results in the "
       "current folder. An earlier page is replaced")                           //
      ("force", po::bool_switch(), "also replace a file that is no such page")  //
      ("quiet", po::bool_switch(), "print nothing");
  const auto parsed = read_command(arguments, visible, "folder", kReportUsage);
  if (!parsed) return kDone;
  const po::variables_map& values = *parsed;
  if (is_silent_rank(arguments)) return kDone;
  const std::vector<std::string> names = texts(values, "folder");
  if (names.empty()) throw UsageError("no folders given; expected retrysim report DIR...");
  const std::vector<fs::path> folders(names.begin(), names.end());
  fs::path file = folders.size() == 1 ? folders.front() / "report.html" : "report.html";
  if (values.count("out") != 0) file = values["out"].as<std::string>();
  if (file.empty()) throw UsageError("--out: name a file");
  bool is_stream = false;
  try {
    const report::OutputFile output(file, {is_own_page, "it is no page of retrysim",
                                           values["force"].as<bool>(), files_of(folders)});
    is_stream = output.is_stream();
    output.write(report::html_page(folders));
  } catch (const report::DamagedResult& e) {
    report::print_error("retrysim: error: {}\n", e.what());
    return kBadInput;
  }
  // Where a page goes down standard output, nothing else may.
  if (!values["quiet"].as<bool>() && !is_stream) report::print("Page: {}\n", file.string());
  return kDone;
}

}  // namespace retrysim::cli
