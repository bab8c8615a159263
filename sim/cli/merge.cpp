// `retrysim merge`: join the shards of a sweep.
//
// SPDX-License-Identifier: MIT
#include <retrysim/simulation.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/sweep.hpp"

#include <fmt/format.h>
#include <boost/program_options.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace retrysim::cli {

namespace po = boost::program_options;

namespace {

constexpr const char* kMergeUsage =
    "Usage: retrysim merge DIR... --out DIR [options]\n\n"
    "Joins all shards of a sweep (`retrysim sweep --shard I/N`) into the result that the sweep "
    "would\n"
    "have without shards, byte for byte. Example:\n"
    "  retrysim merge results/capacity-dip-sweep-shard-* --out results/capacity-dip-sweep\n";

}  // namespace

int merge(const Arguments& arguments) {
  po::options_description visible("Options");
  visible.add_options()  //
      ("out", po::value<std::string>()->value_name("DIR"),
       "folder of the joined result; an earlier result of the same sweep is replaced")  //
      ("force", po::bool_switch(), "also replace any other result")                     //
      ("timeout", po::value<std::string>()->value_name("D"),
       "give up after this much real time, such as 10min (exit status 5)")  //
      ("quiet", po::bool_switch(), "print nothing");
  const auto parsed = read_command(arguments, visible, "folder", kMergeUsage);
  if (!parsed) return kDone;
  const po::variables_map& values = *parsed;
  if (is_silent_rank(arguments)) return kDone;
  const std::vector<std::string> folders = texts(values, "folder");
  if (folders.empty())
    throw UsageError("no shards given; expected retrysim merge DIR... --out DIR");
  if (values.count("out") == 0)
    throw UsageError("--out is missing: the folder of the joined result");
  const std::string out = values["out"].as<std::string>();
  if (out.empty()) throw UsageError("--out: name a folder");
  try {
    return interruptible(read_timeout(values), [&]() -> int {
      const report::MergedSweep merged =
          report::merge_sweep({folders.begin(), folders.end()}, out, values["force"].as<bool>());
      if (!values["quiet"].as<bool>()) {
        report::print("{} point{} from {} shard{}\n\nResult files: {}\n", merged.points,
                      merged.points == 1 ? "" : "s", folders.size(), folders.size() == 1 ? "" : "s",
                      out);
      }
      if (merged.points_that_fail > 0) {
        report::print_error("FAIL expectations at {} of {} points; see {}/points.csv\n",
                            merged.points_that_fail, merged.points, out);
      }
      if (merged.points_over_limit > 0) {
        throw LimitExceeded(
            fmt::format("{} of {} points exceeded a limit; see column outcome of points.csv",
                        merged.points_over_limit, merged.points));
      }
      return merged.points_that_fail > 0 ? kExpectationFailed : kDone;
    });
  } catch (const report::MergeError& e) {
    report::print_error("retrysim: error: {}\n", e.what());
    return kBadInput;
  }
}

}  // namespace retrysim::cli
