// SPDX-License-Identifier: MIT
#include "cli/output.hpp"

#include "report/output_error.hpp"
#include "report/result_manifest.hpp"
#include "report/terminal.hpp"

#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <string>

namespace retrysim::cli {
namespace {

void copy_file(report::Sink& sink, const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw report::OutputError(report::kStandardOutput, path.string() + " cannot be read");
  std::string block(1 << 16, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
    sink.write(std::string_view(block.data(), static_cast<std::size_t>(in.gcount())));
  }
}

void show(const SimulationSettings& settings, const ShownResult& result, std::string_view before) {
  report::StandardOutput out(settings.format);
  out.write(before);
  if (settings.format == "csv") {
    copy_file(out, result.folder / result.csv_file);
  } else if (settings.format == "json") {
    copy_file(out, result.folder / report::kResultJson);
  } else if (result.table) {
    result.table(out);
    out.write(fmt::format("\nResult files: {}\n", result.folder.string()));
  }
  out.flush();
}

}  // namespace

void print_result(const SimulationSettings& settings, const ShownResult& result,
                  std::string_view before) {
  if (settings.quiet) return;
  try {
    show(settings, result, before);
  } catch (const report::OutputClosed&) {  // the files are there; whoever looked has seen enough
  }
}

}  // namespace retrysim::cli
