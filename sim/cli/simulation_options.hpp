// The options that every command which simulates understands, and the messages of loading.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/time.hpp>

#include "cli/command_line.hpp"
#include "cli/launch.hpp"
#include "report/result_folder.hpp"

#include <boost/program_options.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

/// What those options say.
struct SimulationSettings {
  std::vector<std::string> edits;  ///< --set, then --seed and --replications as further edits
  int jobs = 1;
  Launch launch = Launch::kAuto;
  std::string out;  ///< empty: not given
  bool force = false, quiet = false, progress = true;
  std::string format = "table";  ///< table, csv or json
  std::uint64_t max_events = ~std::uint64_t{0};
  std::optional<Duration> timeout;
  std::optional<std::uint64_t> max_memory;  ///< bytes of each process; otherwise what is free
};

/// Where the results of a scenario go: to the folder of --out, or below results to NAME after a run
/// and NAME-COMMAND after any other command.
std::filesystem::path result_path(const SimulationSettings& settings, const std::string& scenario,
                                  std::string_view command);

/// For ResultFolder: without --out, an earlier result that differs is kept, and the user is told
/// where.
report::EarlierKept keep_earlier(const SimulationSettings& settings,
                                 const std::filesystem::path& folder);

/// The texts of --help that depend on the command.
struct SimulationHelp {
  const char* out;     ///< where the result files go
  const char* format;  ///< what of standard output --format chooses
};

/// Adds set, seed, replications, jobs, mpi, out, force, format, max-events, max-memory, timeout,
/// quiet and no-progress; the command adds its own options before or after, and help.
void add_simulation_options(boost::program_options::options_description& options,
                            const SimulationHelp& help);

/// Throws UsageError.
SimulationSettings read_simulation_settings(const boost::program_options::variables_map& values);

/// The value of an option that is given once at most, as text.
std::optional<std::string> text_of(const boost::program_options::variables_map& values,
                                   const std::string& name);

/// The value of --`option` as a number of at least `min`. Throws UsageError.
std::uint64_t whole_number(const std::string& option, const std::string& text, std::uint64_t min);

/// The value of --`option` as a time; a bare number is seconds. Throws UsageError, also for zero.
Duration duration_above_zero(const std::string& option, const std::string& text);

/// The value of --jobs, at most 1024; one a processor if it is not given. Throws UsageError.
int read_jobs(const boost::program_options::variables_map& values);

/// The value of --timeout, if it is given. Throws UsageError.
std::optional<Duration> read_timeout(const boost::program_options::variables_map& values);

/// Prints errors to standard error.
void print_errors(const std::vector<Diagnostic>& errors);
/// Prints the notes of a loaded scenario to standard error, each once.
void print_notes(const LoadedScenario& loaded);

}  // namespace retrysim::cli
