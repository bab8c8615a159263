// Ending early: Ctrl-C, a polite kill, or a limit on the time by the clock. All three set one flag
// that whatever takes long looks at (retrysim/simulation.hpp), so that it ends in order and nothing
// is half written.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/experiment.hpp>
#include <retrysim/run_result.hpp>
#include <retrysim/scenario_file.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "execution/executor.hpp"
#include "execution/journal.hpp"
#include "report/document/document.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "report/folder/result_folder.hpp"

#include <atomic>
#include <boost/program_options.hpp>
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

  const std::atomic<bool>* flag() const;
  /// The flag was set by the time limit.
  bool timed_out() const { return timer_ && timer_->expired(); }

 private:
  std::optional<execution::StopTimer> timer_;
  StopScope scope_;
};

/// What a command says that --timeout has ended, as `LimitExceeded`.
[[noreturn]] void throw_timed_out();

/// Calls `work`, which simulates nothing, until it is done, interrupted or `timeout` has passed;
/// gives its exit status. Throws what `work` throws; LimitExceeded after the timeout.
int interruptible(std::optional<Duration> timeout, const std::function<int()>& work);

// Whether a command works alone or as one of the ranks of an MPI job.

enum class Launch { kAuto, kOn, kOff };

/// "auto", "on" or "off". Throws UsageError.
Launch read_launch(const std::string& text);

/// Whether another one of several processes, started with the same `arguments`, prints what there
/// is to say about them. Not with `--mpi off`: then each stands for itself.
bool is_silent_rank(const Arguments& arguments);

/// How many ranks share this machine, as far as the environment tells; 1 with `--mpi off`.
std::uint64_t ranks_on_this_machine(Launch launch);

/// A rank computes with one thread: --jobs must not ask for more. Throws UsageError.
void check_jobs(Launch launch, const std::optional<std::string>& jobs);

/// Ranks of the MPI job as `launch` has it; otherwise `jobs` threads. Throws UsageError if MPI is
/// wanted but this program was built without it.
std::unique_ptr<Executor> make_executor(Launch launch, int jobs, const std::atomic<bool>* stop);

// How much memory this process may still take without harm to others, or to itself.

/// The least of what the machine has available (MemAvailable), what the control groups of this
/// process leave (versions 1 and 2), and what its limit on the address space does. All there is, if
/// nothing is known. `root` is that of the file system, for tests.
std::uint64_t free_memory(const std::filesystem::path& root = "/");

/// From now on, memory that is given back stays with the process, for the next that is taken. For
/// what takes and gives back megabytes again and again, as predictions do: the system would clear
/// every page anew. Nothing but the time that it takes depends on it.
void keep_freed_memory();

/// A number of bytes: "4GiB", "512 MiB", "1.5G", "2GB", "1000000". K, M, G, T, alone or with "iB",
/// are powers of 1024; with "B" powers of 1000. Nothing if it is none, or 0.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// The options that every command which simulates understands, and the messages of loading.

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

// A command at work: alone, or as one of the ranks of an MPI job, until it is done or interrupted.
// All ranks take the same steps; only the first one says something and writes files.

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
  /// Bytes that this process may take; the same in all ranks.
  std::uint64_t max_memory() const { return max_memory_; }
  /// Whether this process is the one that prints and writes.
  bool leads() const { return executor_.is_owner(); }

  /// Makes sure that all ranks have read the same: scenario files and CSV inputs. Throws what
  /// `Executor::agree` throws.
  void agree_on(const LoadedScenario& loaded) const;

  /// To standard error, if this process leads.
  void print_errors(const std::vector<Diagnostic>& errors) const;
  void print_notes(const LoadedScenario& loaded) const;
  void print_note(std::string_view note) const;

  /// Where the results of a scenario go: see `result_path`. Null if this process does not lead.
  /// Throws OutputError, also if another result is where --out says.
  std::unique_ptr<report::ResultFolder> result_folder(const report::ResultIdentity& identity) const;

  /// Whether this process leads and the user wants to see how far it is.
  bool shows_progress() const { return settings_.progress && leads(); }
  /// A bar for `name`, if progress is shown.
  report::ProgressBar progress_bar(std::string name) const;

  /// What the settings ask for, with the bar as the progress.
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
};

/// What the user has asked for, which must be the same in all ranks.
struct Invocation {
  std::string command;
  Arguments arguments;
};

/// Calls `work`, in each rank if `settings` say that there are ranks, and gives its exit status; in
/// the ranks that only help kDone. Throws what `work` throws where it leads, and where a rank is
/// out of step. UsageError if MPI is wanted but this program was built without it.
int in_session(const Invocation& invocation, const SimulationSettings& settings,
               const std::function<int(const Session&)>& work);

// The folder of a result whose finished replications are kept in a journal, from which an
// interrupted command continues.

/// Where the results of the process that leads go. Folders that were made for something that kept
/// nothing are removed again.
class JournalFolder {
 public:
  /// `path`: see `result_path`. What is under way is called `what` in messages ("search"). Throws
  /// OutputError if an unfinished one is there and neither `resume` nor --force is given.
  JournalFolder(const SimulationSettings& settings, bool resume, std::filesystem::path path,
                std::string_view journal, std::string_view what);
  ~JournalFolder();
  JournalFolder(const JournalFolder&) = delete;
  JournalFolder& operator=(const JournalFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool unfinished() const { return unfinished_; }

  /// Makes sure that the result can be written; gives the place of the journal. Throws OutputError.
  std::filesystem::path open(report::ResultIdentity identity);

  /// After `open`.
  report::ResultFolder& result() { return *result_; }

 private:
  std::filesystem::path path_;
  std::string_view journal_;
  report::EarlierKept kept_;
  bool force_, resume_, unfinished_ = false;
  std::vector<std::filesystem::path> made_;  // innermost first
  std::unique_ptr<report::ResultFolder> result_;
};

/// Calls `open`, which opens a journal in `folder`; turns what is wrong with it into an OutputError
/// that says what to do.
template <class Open>
auto open_journal(const std::filesystem::path& folder, const Open& open) {
  try {
    return open();
  } catch (const execution::JournalError& e) {
    throw report::OutputError(
        folder,
        std::string(e.what()) + "; use another folder, or --force without --resume to start again");
  }
}

/// Prints what a resumed journal had, to standard error.
void print_what_was_kept(std::size_t replications, std::uint64_t dropped_bytes);

/// "12 replications are finished; --resume continues the search"
std::string kept_text(std::size_t replications, std::string_view what);

// How a command shows its result on standard output.

/// What standard output shows of a result whose files are in place.
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
