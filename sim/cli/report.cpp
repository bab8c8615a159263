// `retrysim report`: results as one HTML page.
//
// SPDX-License-Identifier: MIT
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/launch.hpp"
#include "report/output_error.hpp"
#include "report/page.hpp"
#include "report/result_manifest.hpp"
#include "report/sink.hpp"
#include "report/terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <boost/program_options.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
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

void check_target(const fs::path& file, bool force) {
  std::error_code error;
  if (fs::is_directory(file, error)) throw report::OutputError(file, "it is a folder");
  if (force || !fs::exists(file, error) || is_own_page(file)) return;
  throw report::OutputError(file, "it is no page of retrysim; --force replaces it");
}

/// Writes beside the target first: whoever opens that sees a whole page.
void write_page(const fs::path& file, std::string_view page) {
  fs::path fresh = file;
  fresh += fmt::format(".{}.new", ::getpid());
  const auto fail = [&](int code) {
    std::error_code ignored;
    fs::remove(fresh, ignored);
    throw report::OutputError(file, std::generic_category().message(code));
  };
  const int descriptor = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(errno);
  try {
    report::DescriptorSink sink(descriptor, file);
    sink.write(page);
    sink.flush();
  } catch (...) {
    ::close(descriptor);
    std::error_code ignored;
    fs::remove(fresh, ignored);
    throw;
  }
  if (::close(descriptor) != 0) fail(errno);
  if (::rename(fresh.c_str(), file.c_str()) != 0) fail(errno);
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
  try {
    const std::string page = report::html_page(folders);
    check_target(file, values["force"].as<bool>());
    write_page(file, page);
  } catch (const report::DamagedResult& e) {
    report::print_error("retrysim: error: {}\n", e.what());
    return kBadInput;
  }
  if (!values["quiet"].as<bool>()) report::print("Page: {}\n", file.string());
  return kDone;
}

}  // namespace retrysim::cli
