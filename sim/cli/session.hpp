// A command that simulates, from its options to its output: interruption and time limits, MPI
// ranks, free memory, the options shared by all such commands, the session that runs the work,
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

/// One at a time. While it lives, SIGINT, SIGTERM and SIGHUP set it, and work in the thread that
/// made it ends at its next stop point; a second signal ends the program.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Sets it when this time has passed, from now. At most once.
  void limit(Duration timeout);
  /// Sets it when the process has this much memory, and a little more than a small program has by
  /// itself, whatever it is for. At most once; no limit on systems that do not tell how much it is.
  void limit_memory(std::uint64_t bytes);

  const std::atomic<bool>* flag() const;
  /// If a limit has set the flag: what the command did, such as "took longer than --timeout
  /// allows".
  std::optional<std::string_view> limit_hit() const;

 private:
  std::optional<execution::StopTimer> timer_;
  std::unique_ptr<MemoryWatch> memory_;
  StopScope scope_;
};

/// Throws the `LimitExceeded` of a command that a limit has ended.
[[noreturn]] void throw_limit_exceeded(const Interruption& interruption);

/// Calls `work`, which simulates nothing, until it is done, interrupted, `timeout` has passed or it
/// takes more than `memory` bytes; gives its exit status. Throws what `work` throws; LimitExceeded
/// after a limit.
int interruptible(std::optional<Duration> timeout, const std::function<int()>& work,
                  std::optional<std::uint64_t> memory = std::nullopt);

// --- MPI ranks -----------------------------------------------------------------------------------

enum class Launch { kAuto, kOn, kOff };

/// "auto", "on" or "off". Throws UsageError.
Launch read_launch(const std::string& text);

/// Whether another one of several processes, started with the same `arguments`, prints the messages
/// about them. Not with `--mpi off`: then each stands for itself.
bool is_silent_rank(const Arguments& arguments);

/// How many ranks share this machine, as far as the environment tells; 1 with `--mpi off`.
std::uint64_t ranks_on_this_machine(Launch launch);

/// A rank computes with one thread: --jobs must not ask for more. Throws UsageError.
void check_jobs(Launch launch, bool jobs_given);

/// Ranks of the MPI job as `launch` has it; otherwise `jobs` threads. Throws UsageError if MPI is
/// wanted but this program was built without it.
std::unique_ptr<Executor> make_executor(Launch launch, int jobs, const std::atomic<bool>* stop);

// --- Memory --------------------------------------------------------------------------------------

/// The least of the memory that the machine has available (MemAvailable), that the control groups
/// of this process leave (versions 1 and 2), and that its limit on the address space leaves. All
/// memory, if nothing is known. `root` is that of the file system, for tests.
std::uint64_t free_memory(const std::filesystem::path& root = "/");

/// From now on, memory that is given back stays with the process, for the next that is taken. For
/// work that takes and gives back megabytes again and again, as predictions do: the system would
/// clear every page again. This affects only the time.
void keep_freed_memory();

/// A number of bytes: "4GiB", "512 MiB", "1.5G", "2GB", "1000000". K, M, G, T, alone or with "iB",
/// are powers of 1024; with "B" powers of 1000. Empty if it is not one, or 0.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// --- Shared options ------------------------------------------------------------------------------

/// One for each processor.
int default_jobs();

/// Unless the environment variable RETRYSIM_NO_REUSE says otherwise, for tests and benchmarks.
bool reuse_by_default();

/// The values of the options that simulating commands share.
struct SimulationSettings {
  std::vector<std::string> edits;  ///< --set, then --seed and --replications as further edits
  int jobs = default_jobs();
  bool jobs_given = false;  ///< more than one
  Launch launch = Launch::kAuto;
  std::string out;  ///< empty: not given
  bool force = false, quiet = false, progress = true;
  std::string format = "table";  ///< table, csv or json
  std::uint64_t max_events = ~std::uint64_t{0};
  std::optional<Duration> timeout;
  std::optional<std::uint64_t> max_memory;  ///< bytes of each process; otherwise what is free
  bool reuse = reuse_by_default();
  std::string store;  ///< empty: beside the results
  std::uint64_t store_size = std::uint64_t{1} << 30;
  std::optional<Shard> shard;  ///< of commands with `shard_option`
};

/// Where the results of a scenario go: to the folder of --out, or below results to NAME after a run
/// and NAME-COMMAND after any other command.
std::filesystem::path result_path(const SimulationSettings& settings, const std::string& scenario,
                                  std::string_view command);

/// For ResultFolder: without --out, an earlier result that differs is kept, and the user is told
/// where.
report::EarlierKept keep_earlier(const SimulationSettings& settings,
                                 const std::filesystem::path& folder);

/// The texts of --help that differ between commands.
struct SimulationHelp {
  const char* out;     ///< where the result files go
  const char* format;  ///< what of standard output --format chooses
};

/// The rows set, seed, replications, jobs, mpi, out, force, format, max-events, max-memory,
/// timeout, store, store-size, no-reuse, quiet and no-progress.
Options<SimulationSettings> simulation_options(const SimulationHelp& help);

/// The option --resume, which scripts of earlier versions give.
inline constexpr const char* kResumeHelp =
    "go on after an interruption, as every command does by itself";

/// The row shard of a command whose tasks leave their units in the store.
Options<SimulationSettings> shard_option();

/// "I/N". Throws UsageError.
Shard read_shard(const std::string& text);

/// The only scenario among the words of a command. Throws UsageError with the usage `expected`.
const std::string& only_scenario(const std::vector<std::string>& words, std::string_view expected);

/// "--vary A=1,2" for each: see `Option::asked`.
std::vector<std::string> vary_requests(const std::vector<std::string>& varied);

/// --variant, for commands that load their variants with `load_variants`.
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

// The values of options: each throws UsageError, which names --`option`.

/// A finite number.
double number(std::string_view option, const std::string& text);
/// A whole number of at least `min`.
std::uint64_t whole_number(std::string_view option, const std::string& text, std::uint64_t min);
/// A time; a bare number is seconds. Not zero.
Duration duration_above_zero(std::string_view option, const std::string& text);
/// --jobs: at least 1; more than 1024 counts as 1024.
int number_of_jobs(const std::string& text);
/// --format: table, csv or json.
std::string format_word(const std::string& text);
/// --out or another `option`, which must not be empty; `what` is "folder" or "file".
std::string output_path(const std::string& text, std::string_view what = "folder",
                        std::string_view option = "out");

/// A mistake as it is printed: a part of the request has the name of its option.
std::string error_text(Diagnostic d);
/// Prints errors to standard error.
void print_errors(const std::vector<Diagnostic>& errors);
/// Prints the notes of a loaded scenario to standard error, each once.
void print_notes(const LoadedScenario& loaded);

// --- The session ---------------------------------------------------------------------------------

// A command at work. With MPI it is in the first rank alone; the others serve it.

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
  /// Replications that this process computes at once.
  int jobs() const { return executor_.is_alone() ? settings_.jobs : 1; }
  /// Bytes that each process may take.
  std::uint64_t max_memory() const { return max_memory_; }

  /// Where the results of a scenario go: see `result_path`. Their units are kept beside it. Throws
  /// OutputError, also if another result is where --out says.
  std::unique_ptr<report::ResultFolder> result_folder(const report::ResultIdentity& identity);
  /// From now on units are kept beside this result folder, or where --store says.
  void keep_units_beside(const std::filesystem::path& folder);
  /// Null: no units are kept.
  Store* store() const { return store_.get(); }
  const std::filesystem::path& store_folder() const { return store_folder_; }

  /// Whether the user wants to see the progress.
  bool shows_progress() const { return settings_.progress; }
  /// A bar for `name`, if progress is shown.
  report::ProgressBar progress_bar(std::string name) const;

  /// The options of replications from the settings, with the bar as the progress.
  ReplicationOptions replication_options(report::ProgressBar& bar) const;

  /// Calls `work`, which simulates, with these options. Throws what `work` throws, and
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

/// The user's command, which must be the same in all ranks.
struct Invocation {
  std::string command;
  Arguments arguments;
};

/// Calls `work` and gives its exit status; in the other ranks, if `settings` say that there are
/// ranks, it serves that process and gives kDone. Says how much of the work was done before, and
/// after an interruption what is kept of it. Throws what `work` throws, and where a rank is out of
/// step. UsageError if MPI is wanted but this program was built without it.
int in_session(const Invocation& invocation, const SimulationSettings& settings,
               const std::function<int(Session&)>& work);

// --- Output --------------------------------------------------------------------------------------

/// The parts of a finished result that standard output shows.
struct ShownResult {
  std::filesystem::path folder;
  std::string_view csv_file;  ///< the file that --format csv prints; json prints result.json
  const report::Document* document = nullptr;  ///< for people; none: nothing is shown to them
};

/// Prints the result as --format asks, or nothing with --quiet; `before` goes in front. Throws
/// OutputError.
void print_result(const SimulationSettings& settings, const ShownResult& result,
                  std::string_view before = {});

}  // namespace retrysim::cli
