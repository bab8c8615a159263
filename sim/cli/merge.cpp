// `retrysim merge`: joins the shards of a sweep.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "report/document/text.hpp"
#include "report/sweep.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <filesystem>
#include <string>
#include <vector>

namespace retrysim::cli {

namespace {

constexpr const char* kMergeUsage =
    "Usage: retrysim merge DIR... --out DIR [options]\n"
    "\n"
    "Joins all shards of a sweep (`retrysim sweep --shard I/N`) into the result that\n"
    "the sweep would have without shards, byte for byte. Exit status 1: an\n"
    "expectation of the scenario failed at some point. Example:\n"
    "  retrysim merge results/capacity-dip-sweep-shard-* \\\n"
    "      --out results/capacity-dip-sweep\n";

}  // namespace

namespace {

struct MergeCommand {
  std::vector<std::string> folders;
  std::string out;
  bool force = false, quiet = false;
  std::optional<Duration> timeout;
};

Options<MergeCommand> merge_options() {
  using C = MergeCommand;
  return std::vector<Option<C>>{
      {{"out", "DIR",
        "folder of the joined result; an earlier result of the same sweep is replaced"},
       [](C& c, const std::string& text) { c.out = output_path(text); }},
      {{"force", "", "also replace any other result"}, into(&C::force)},
      {{"timeout", "D", "give up after this much real time, such as 10min (exit status 5)"},
       [](C& c, const std::string& text) { c.timeout = duration_above_zero("timeout", text); }},
      {{"quiet", "", "print nothing"}, into(&C::quiet)}};
}

int merge(const Arguments& arguments) {
  const auto command =
      merge_options().read(arguments, kMergeUsage, "folder", &MergeCommand::folders);
  if (!command) return kDone;
  if (is_silent_rank(arguments)) return kDone;
  const std::vector<std::string>& folders = command->folders;
  const std::string& out = command->out;
  if (folders.empty())
    throw UsageError("no shards given; expected retrysim merge DIR... --out DIR");
  if (out.empty()) throw UsageError("--out is missing: the folder of the joined result");
  try {
    return interruptible(command->timeout, [&]() -> int {
      const report::MergedSweep merged =
          report::merge_sweep({folders.begin(), folders.end()}, out, command->force);
      if (!command->quiet) {
        report::print("{} from {}\n\nResult files: {}\n",
                      scenario::said_things(merged.points, "point"),
                      scenario::said_things(folders.size(), "shard"), out);
      }
      if (merged.points_that_fail > 0) {
        report::print_error("FAIL expectations at {}; see {}/points.csv\n",
                            scenario::said_part(merged.points_that_fail, merged.points, "point"),
                            out);
      }
      if (merged.points_over_limit > 0) {
        throw LimitExceeded(
            fmt::format("{} exceeded a limit; see column outcome of points.csv",
                        scenario::said_part(merged.points_over_limit, merged.points, "point")));
      }
      return merged.points_that_fail > 0 ? kExpectationFailed : kDone;
    });
  } catch (const report::MergeError& e) {
    report::print_error("retrysim: error: {}\n", e.what());
    return kBadInput;
  }
}

constexpr Command kMergeCommand{.name = "merge",
                                .arguments = "DIR... --out DIR",
                                .purpose = "join the shards of a sweep",
                                .run = merge,
                                .after = "sweep",
                                .less_memory = "name fewer results, or results with fewer points"};
RETRYSIM_COMMAND_ROW merge_row = &kMergeCommand;

}  // namespace
}  // namespace retrysim::cli
