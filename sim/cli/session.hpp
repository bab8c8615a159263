// A command from its options to its output, most of it for those that simulate: interruption and
// time limits, MPI ranks, free memory, the options that they share, the session that runs the work,
// printing, and commands that can be resumed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/run.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "execution/executor.hpp"
#include "report/document/document.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

// --- Ending early --------------------------------------------------------------------------------

// Ctrl-C, SIGTERM and time limits set one flag that all long work checks (retrysim/simulation.hpp),
// so it ends in order and no file is left half written.

class MemoryWatch;

/// Sets the flag at signals and limits. While the object lives, SIGINT, SIGTERM and SIGHUP set the
/// flag, and work in the thread that made the object ends at its next stop point; a second signal
/// ends the program. There is at most one object at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Sets the flag when `timeout` has passed, from now on. To be called at most once.
  void limit(Duration timeout);
  /// Sets the flag when the process has more than `bytes` of memory, beyond what a small program
  /// has by itself. To be called at most once; without effect on systems that do not tell the
  /// memory.
  void limit_memory(std::uint64_t bytes);

  const std::atomic<bool>* flag() const;
  /// The end of a message if a limit has set the flag, such as "took longer than --timeout allows";
  /// else empty.
  std::optional<std::string_view> limit_hit() const;

 private:
  std::optional<execution::StopTimer> timer_;
  std::unique_ptr<MemoryWatch> memory_;
  StopScope scope_;
};

/// Throws LimitExceeded for a command that a limit has ended.
[[noreturn]] void throw_limit_exceeded(const Interruption& interruption);

/// Calls `work`, which simulates nothing, until it is done, interrupted, `timeout` has passed or it
/// takes more than `memory` bytes; returns its exit status. Throws what `work` throws, and
/// LimitExceeded after a limit.
int interruptible(std::optional<Duration> timeout, const std::function<int()>& work,
                  std::optional<std::uint64_t> memory = std::nullopt);

// --- MPI ranks -----------------------------------------------------------------------------------

enum class Launch { kAuto, kOn, kOff };

/// Reads "auto", "on" or "off". Throws UsageError.
Launch read_launch(const std::string& text);

/// Whether another one of several processes, started with the same `arguments`, prints the messages
/// about them. False with `--mpi off`: then each process stands for itself.
bool is_silent_rank(const Arguments& arguments);

/// How many ranks share this machine, as far as the environment tells; 1 with `--mpi off`.
std::uint64_t ranks_on_this_machine(Launch launch);

/// Throws UsageError if --jobs asks for more than one thread in a rank.
void check_jobs(Launch launch, bool jobs_given);

/// Makes an executor: the ranks of the MPI job if `launch` says so, otherwise `jobs` threads.
/// Throws UsageError if MPI is wanted but this program was built without it.
std::unique_ptr<Executor> make_executor(Launch launch, int jobs, const std::atomic<bool>* stop);

// --- Memory --------------------------------------------------------------------------------------

/// The free memory, bytes: the least of the machine's available memory (MemAvailable), the memory
/// that the control groups of this process leave (versions 1 and 2), and that its limit on the
/// address space leaves. The largest number if nothing is known. `root` is the root of the file
/// system, for tests.
std::uint64_t free_memory(const std::filesystem::path& root = "/");

/// Makes freed memory stay with the process from now on. This saves time, and changes nothing else,
/// in work that takes and frees megabytes again and again, as predictions do: the system would
/// clear every page again.
void keep_freed_memory();

/// Parses a number of bytes: "4GiB", "512 MiB", "1.5G", "2GB", "1000000". K, M, G, T, alone or with
/// "iB", are powers of 1024; with "B" powers of 1000. Empty if the text is no such number, or 0.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// --- Shared options ------------------------------------------------------------------------------

/// The default number of jobs: one for each processor.
int default_jobs();

/// Whether results are reused by default: true, unless the environment variable RETRYSIM_NO_REUSE
/// says otherwise, for tests and benchmarks.
bool reuse_by_default();

/// The values of the options that simulating commands share.
struct SimulationSettings {
  std::vector<std::string> edits;  ///< --set, then --seed and --replications as further edits
  int jobs = default_jobs();
  bool jobs_given = false;  ///< whether --jobs asks for more than one
  Launch launch = Launch::kAuto;
  std::string out;  ///< empty: not given
  bool force = false, quiet = false, progress = true;
  std::string format = "table";  ///< table, csv or json
  std::uint64_t max_events = ~std::uint64_t{0};
  std::optional<Duration> timeout;
  std::optional<std::uint64_t> max_memory;  ///< bytes of each process; empty: the free memory
  bool reuse = reuse_by_default();
  std::string store;  ///< folder of the store; empty: beside the results
  std::uint64_t store_size = std::uint64_t{1} << 30;
  std::optional<Shard> shard;  ///< only for commands with `shard_option`
};

/// The folder for the results of a scenario: that of --out, or below `results` NAME after a run and
/// NAME-COMMAND after any other command.
std::filesystem::path result_path(const SimulationSettings& settings, const std::string& scenario,
                                  std::string_view command);

/// The function for ResultFolder that, without --out, keeps an earlier result that differs, and
/// tells the user where.
report::EarlierKept keep_earlier(const SimulationSettings& settings,
                                 const std::filesystem::path& folder);

/// The texts of --help that differ between commands.
struct SimulationHelp {
  const char* out;     ///< the destination of the result files
  const char* format;  ///< the part of the output that --format chooses
};

/// The rows set, seed, replications, jobs, mpi, out, force, format, max-events, max-memory,
/// timeout, store, store-size, no-reuse, quiet and no-progress.
Options<SimulationSettings> simulation_options(const SimulationHelp& help);

/// The help of the option --resume, which scripts of earlier versions give.
inline constexpr const char* kResumeHelp =
    "go on after an interruption, as every command does by itself";

/// The row `shard`, for commands whose tasks leave their units in the store.
Options<SimulationSettings> shard_option();

/// Reads "I/N". Throws UsageError.
Shard read_shard(const std::string& text);

/// The only scenario among the words of a command. Throws UsageError with the usage `expected`.
const std::string& only_scenario(const std::vector<std::string>& words, std::string_view expected);

/// Texts "--vary A=1,2" for each varied key: see `Option::asked`.
std::vector<std::string> vary_requests(const std::vector<std::string>& varied);

/// The row `variant`, for commands that load their variants with `load_variants`.
template <class Settings>
Option<Settings> variant_option(std::vector<std::string> Settings::*files) {
  return {{"variant", "NAME=FILE",
           "a file that stands against SCENARIO, which is then called base: a scenario of its own, "
           "or (without a name key) keys that are put into SCENARIO, such as the tables that "
           "`retrysim import` writes. May be given several times; with --vary, all combinations",
           true},
          into(files),
          [files](const Settings& settings) {
            std::vector<std::string> requests;
            for (const std::string& file : settings.*files) requests.push_back("--variant " + file);
            return requests;
          }};
}

// Readers of the values of options. They throw UsageError, which names --`option`.

/// Reads a finite number.
double number(std::string_view option, const std::string& text);
/// Reads a whole number of at least `min`.
std::uint64_t whole_number(std::string_view option, const std::string& text, std::uint64_t min);
/// Reads a time above zero; a bare number is seconds.
Duration duration_above_zero(std::string_view option, const std::string& text);
/// Reads --jobs: at least 1; more than 1024 counts as 1024.
int number_of_jobs(const std::string& text);
/// Reads --format: table, csv or json.
std::string format_word(const std::string& text);
/// Reads --out or another `option`, which must not be empty; `what` is "folder" or "file".
std::string output_path(const std::string& text, std::string_view what = "folder",
                        std::string_view option = "out");

/// The printed text of a mistake: a part of the request has the name of its option.
std::string error_text(Diagnostic d);
/// Prints errors to standard error.
void print_errors(const std::vector<Diagnostic>& errors);
/// Prints the notes of a loaded scenario to standard error, each once.
void print_notes(const LoadedScenario& loaded);

// --- The session ---------------------------------------------------------------------------------

// A session is a command at work. With MPI it exists in the first rank only; the others serve it.

class Session {
 public:
  Session(const SimulationSettings& settings, const Interruption& interruption, Executor& executor,
          std::uint64_t max_memory)
      : settings_(settings),
        interruption_(interruption),
        executor_(executor),
        max_memory_(max_memory) {}

  const Interruption& interruption() const { return interruption_; }
  Executor& executor() const { return executor_; }
  /// The number of replications that this process computes at once.
  int jobs() const { return executor_.is_alone() ? settings_.jobs : 1; }
  /// The most bytes that each process may take.
  std::uint64_t max_memory() const { return max_memory_; }

  /// The folder for the results of a scenario: see `result_path`. Units are kept beside it. Throws
  /// OutputError, also if another result is in the folder of --out.
  std::unique_ptr<report::ResultFolder> result_folder(const report::ResultIdentity& identity);
  /// Keeps units from now on beside this result folder, or in the folder of --store.
  void keep_units_beside(const std::filesystem::path& folder);
  /// The store of units; null: no units are kept.
  Store* store() const { return store_.get(); }
  const std::filesystem::path& store_folder() const { return store_folder_; }

  /// Whether the user wants to see the progress.
  bool shows_progress() const { return settings_.progress; }
  /// A bar for `name`, if progress is shown.
  report::ProgressBar progress_bar(std::string name) const;

  /// The options of replications from the settings, with the bar as the progress.
  ReplicationOptions replication_options(report::ProgressBar& bar) const;

  /// Calls `work`, which simulates, with `replication_options`. Throws what `work` throws, and
  /// LimitExceeded with `name` if --timeout ended it; `bar` is cleared in any case.
  void simulate(const std::string& name, report::ProgressBar& bar,
                const std::function<void(const ReplicationOptions&)>& work) const;

 private:
  const SimulationSettings& settings_;
  const Interruption& interruption_;
  Executor& executor_;
  std::uint64_t max_memory_;
  std::filesystem::path store_folder_;
  std::unique_ptr<Store> store_;
};

/// The user's command and arguments, which must be the same in all ranks.
struct Invocation {
  std::string command;
  Arguments arguments;
};

/// Calls `work` and returns its exit status. If `settings` say that there are ranks, the other
/// ranks serve that process and return kDone. Prints how much of the work was done before, and
/// after an interruption what is kept of it. Throws what `work` throws, and if a rank is out of
/// step. Throws UsageError if MPI is wanted but this program was built without it.
int in_session(const Invocation& invocation, const SimulationSettings& settings,
               const std::function<int(Session&)>& work);

// --- Output --------------------------------------------------------------------------------------

/// The parts of a finished result that standard output shows.
struct ShownResult {
  std::filesystem::path folder;
  std::string_view csv_file;  ///< the file that --format csv prints; json prints result.json
  const report::Document* document = nullptr;  ///< the output for people; null: none
};

/// Prints the result as --format asks, with `before` in front, or nothing with --quiet. Throws
/// OutputError.
void print_result(const SimulationSettings& settings, const ShownResult& result,
                  std::string_view before = {});

}  // namespace retrysim::cli
