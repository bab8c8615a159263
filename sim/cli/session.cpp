// Signals, ranks, free memory, shared options, sessions and output: the parts of session.hpp in the
// same order.
//
// SPDX-License-Identifier: MIT
#include "cli/session.hpp"

#include <retrysim/error.hpp>
#include <retrysim/simulation.hpp>

#include "cli/commands.hpp"
#include "execution/executor.hpp"
#include "execution/units.hpp"
#include "report/document/text.hpp"
#include "report/folder/manifest.hpp"
#include "report/folder/output.hpp"
#include "scenario/text/names.hpp"
#include "scenario/text/result_names.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RETRYSIM_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RETRYSIM_SANITIZED
#endif
#endif

namespace retrysim::cli {

// --- Ending early --------------------------------------------------------------------------------

namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// Bytes in memory that belong to this process alone; 0 if unknown. With sanitizers, which use
/// memory themselves, the number would mean nothing.
std::uint64_t memory_of_this_process() {
#if defined(RETRYSIM_SANITIZED)
  return 0;
#else
  std::ifstream in("/proc/self/statm");
  std::uint64_t size = 0, resident = 0, shared = 0;
  if (!(in >> size >> resident >> shared)) return 0;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return (resident - std::min(resident, shared)) * page;
#endif
}

extern "C" void request_stop(int) { stop_requested = true; }

// Sets a handler for signals. The first signal sets the flag and, by SA_RESETHAND, restores the
// default for the second. There is no SA_RESTART, so that reads of input notice the signal.
void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

}  // namespace

Interruption::Interruption() : scope_(&stop_requested) {
  stop_requested = false;
  handle(request_stop);
}

/// Checks every few milliseconds how much memory the process has. Runs limit the memory that they
/// know to need beforehand; this is for everything else.
class MemoryWatch {
 public:
  explicit MemoryWatch(std::uint64_t most) : thread_([this, most] { watch(most); }) {}
  ~MemoryWatch() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    done_changed_.notify_all();
  }
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  bool hit() const { return hit_; }

 private:
  void watch(std::uint64_t most) {
    constexpr std::chrono::milliseconds kPause{5};
    std::unique_lock lock(mutex_);
    while (!done_changed_.wait_for(lock, kPause, [this] { return done_; })) {
      if (memory_of_this_process() <= most) continue;
      hit_ = true;
      stop_requested = true;
      return;
    }
  }

  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::atomic<bool> hit_{false};
  std::jthread thread_;
};

void Interruption::limit(Duration timeout) { timer_.emplace(stop_requested, timeout); }

void Interruption::limit_memory(std::uint64_t bytes) {
  constexpr std::uint64_t kOfAnyProgram = std::uint64_t{32} << 20;
  const std::uint64_t most = bytes + kOfAnyProgram;
  if (memory_of_this_process() > 0 && most > bytes) memory_ = std::make_unique<MemoryWatch>(most);
}

Interruption::~Interruption() {
  timer_.reset();
  memory_.reset();
  handle(SIG_DFL);
}

std::optional<std::string_view> Interruption::limit_hit() const {
  if (timer_ && timer_->expired()) return "took longer than --timeout allows";
  if (memory_ && memory_->hit()) return "took more memory than --max-memory allows";
  return std::nullopt;
}

const std::atomic<bool>* Interruption::flag() const { return &stop_requested; }

void throw_limit_exceeded(const Interruption& interruption) {
  throw LimitExceeded(
      fmt::format("the command {}; nothing was written", interruption.limit_hit().value_or("")));
}

int interruptible(std::optional<Duration> timeout, const std::function<int()>& work,
                  std::optional<std::uint64_t> memory) {
  Interruption interruption;
  if (timeout) interruption.limit(*timeout);
  if (memory) interruption.limit_memory(*memory);
  try {
    return work();
  } catch (const Interrupted&) {
    if (interruption.limit_hit()) throw_limit_exceeded(interruption);
    throw;
  }
}

}  // namespace retrysim::cli

#ifdef RETRYSIM_MPI
#include "execution/mpi/mpi_executor.hpp"
#endif

namespace retrysim::cli {

// --- MPI ranks -----------------------------------------------------------------------------------

namespace {

/// The number in an environment variable; -1 if there is none.
long number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' ? value : -1;
}

/// The number of ranks, from the environment of Open MPI's mpirun, of MPICH's and Intel's and srun
/// for them, or of srun --mpi=pmix.
long ranks() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const long n = number_in(variable); n >= 0) return n;
  }
  return number_in("PMIX_RANK") >= 0 ? number_in("SLURM_NTASKS") : 1;
}

long rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    if (const long n = number_in(variable); n >= 0) return n;
  }
  return 0;
}

// Whether this process is one of several, as its environment says: MPI is neither needed nor
// started to find out.
bool started_as_one_of_several() { return ranks() > 1; }

}  // namespace

Launch read_launch(const std::string& text) {
  if (text == "auto") return Launch::kAuto;
  if (text == "on") return Launch::kOn;
  if (text == "off") return Launch::kOff;
  throw UsageError(fmt::format("--mpi: '{}' is none of auto, on, off", text));
}

bool is_silent_rank(const Arguments& arguments) {
  if (!started_as_one_of_several() || rank() == 0) return false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--mpi=off") return false;
    if (arguments[i] == "--mpi" && i + 1 < arguments.size() && arguments[i + 1] == "off") {
      return false;
    }
  }
  return true;
}

std::uint64_t ranks_on_this_machine(Launch launch) {
  if (launch == Launch::kOff) return 1;
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const long n = number_in(variable); n > 0) return static_cast<std::uint64_t>(n);
  }
  return static_cast<std::uint64_t>(std::max(1L, ranks()));
}

void check_jobs(Launch launch, bool jobs_given) {
  if (!jobs_given || launch == Launch::kOff) return;
  if (launch == Launch::kOn || started_as_one_of_several()) {
    throw UsageError("--jobs: an MPI rank computes with one thread; start more ranks instead");
  }
}

std::unique_ptr<Executor> make_executor(Launch launch, int jobs, const std::atomic<bool>* stop) {
  const bool mpi =
      launch == Launch::kOn || (launch == Launch::kAuto && started_as_one_of_several());
  if (!mpi) return make_thread_executor(jobs, stop);
#ifdef RETRYSIM_MPI
  return execution::make_mpi_executor(stop);
#else
  throw UsageError(
      "started as one of several MPI ranks, but built without MPI; install libopenmpi-dev and "
      "rebuild, or use --shard or --mpi off");
#endif
}

}  // namespace retrysim::cli

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace retrysim::cli {

// --- Memory --------------------------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kNoGroupLimit = std::uint64_t{1} << 62;

/// The number in a file that holds nothing else; empty for "max", or without the file.
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

/// The number behind `name`, as written, in a file of lines such as "MemAvailable:  123 kB".
std::optional<std::uint64_t> named_number_in(const fs::path& file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t value = 0;
    if (words >> word && word == name && words >> value) return value;
  }
  return std::nullopt;
}

std::uint64_t left(std::optional<std::uint64_t> limit, std::uint64_t used) {
  if (!limit) return kNoLimit;
  return *limit > used ? *limit - used : 0;
}

/// The memory that a control group and the groups around it leave, bytes. Cached pages of files
/// count as used there, but would be given back.
std::uint64_t left_in_group(const fs::path& mount, fs::path group, bool version_2) {
  const char* limit_name = version_2 ? "memory.max" : "memory.limit_in_bytes";
  const char* used_name = version_2 ? "memory.current" : "memory.usage_in_bytes";
  const char* cache_name = version_2 ? "inactive_file" : "total_inactive_file";
  std::uint64_t least = kNoLimit;
  for (group = group.relative_path();; group = group.parent_path()) {
    const fs::path folder = mount / group;
    // Most groups have no limit: their file has "max", or a number beyond all memory.
    const std::optional<std::uint64_t> limit = number_in(folder / limit_name);
    if (limit && *limit < kNoGroupLimit) {
      const std::uint64_t used = number_in(folder / used_name).value_or(0);
      const std::uint64_t cache = named_number_in(folder / "memory.stat", cache_name).value_or(0);
      least = std::min(least, left(limit, used - std::min(used, cache)));
    }
    if (group.empty()) return least;
  }
}

std::uint64_t left_in_groups(const fs::path& root) {
  std::uint64_t least = kNoLimit;
  std::ifstream in(root / "proc/self/cgroup");
  // Lines are "0::/path" in version 2, "4:cpu,memory:/path" in version 1.
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, left_in_group(root / "sys/fs/cgroup", group, true));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, left_in_group(root / "sys/fs/cgroup/memory", group, false));
    }
  }
  return least;
}

std::uint64_t left_of_address_space(const fs::path& root) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  const auto used = named_number_in(root / "proc/self/status", "VmSize:");
  return left(limit.rlim_cur, used.value_or(0) * 1024);
}

}  // namespace

void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kLargestTakenApart = 32 << 20, kLargestKept = 256 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestTakenApart);
  mallopt(M_TRIM_THRESHOLD, kLargestKept);
#endif
}

std::uint64_t free_memory(const fs::path& root) {
  std::uint64_t least = std::min(left_in_groups(root), left_of_address_space(root));
  if (const auto kib = named_number_in(root / "proc/meminfo", "MemAvailable:")) {
    least = std::min(least, *kib * 1024);
  }
  return least;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  constexpr std::string_view kPrefixes = "KMGT";
  double factor = 1;
  if (!text.empty() && text != "B") {
    const std::size_t power = kPrefixes.find(text.front() == 'k' ? 'K' : text.front());
    if (power == std::string_view::npos) return std::nullopt;
    text.remove_prefix(1);
    if (text != "" && text != "iB" && text != "B") return std::nullopt;
    const double base = text == "B" ? 1000 : 1024;
    for (std::size_t i = 0; i <= power; ++i) factor *= base;
  }
  const double bytes = value * factor;
  constexpr double kMost = 9e18;
  if (!(bytes >= 1) || bytes > kMost) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

// --- Shared options ------------------------------------------------------------------------------

namespace fs = std::filesystem;

fs::path result_path(const SimulationSettings& settings, const std::string& scenario,
                     std::string_view command) {
  if (!settings.out.empty()) return settings.out;
  return fs::path("results") /
         (command == "run" ? scenario : fmt::format("{}-{}", scenario, command));
}

report::EarlierKept keep_earlier(const SimulationSettings& settings, const fs::path& folder) {
  if (!settings.out.empty()) return {};
  return [folder](const fs::path& kept, const std::string& difference) {
    report::print_error("note: the earlier result in {} differs in {}; it is now in {}\n",
                        folder.string(), difference, kept.string());
  };
}

Options<SimulationSettings> simulation_options(const SimulationHelp& help) {
  using S = SimulationSettings;
  return std::vector<Option<S>>{
      {{"set", "PATH=VALUE",
        "change a key before the scenario is validated; '*' matches any one name: --set "
        "'client.*.retry.backoff.jitter=equal'. May be given several times",
        true},
       into(&S::edits)},
      {{"seed", "N", "random seed; overrides the scenario's"},
       [](S& s, const std::string& text) {
         s.edits.push_back(fmt::format("seed={}", whole_number("seed", text, 0)));
       }},
      {{"replications", "N",
        "number of independent replications; overrides the scenario's. For run with a precision: "
        "the least number"},
       [](S& s, const std::string& text) {
         s.edits.push_back(fmt::format("replications={}", whole_number("replications", text, 1)));
       }},
      {{"jobs", "N",
        "number of threads, which does not affect the results; default: one per processor"},
       [](S& s, const std::string& text) {
         s.jobs = number_of_jobs(text);
         s.jobs_given = text != "1";
       }},
      {{"mpi", "auto|on|off",
        "share the work among MPI ranks: auto (the default: if started by mpirun), on or off"},
       [](S& s, const std::string& text) { s.launch = read_launch(text); }},
      {{"out", "DIR", help.out}, [](S& s, const std::string& text) { s.out = output_path(text); }},
      {{"force", "",
        "replace any result in the folder. Without --force a result is replaced if it differs "
        "only in version, description or expectations, or has fewer replications; another one is "
        "refused with --out, and otherwise kept as results/NAME.1, results/NAME.2, ..."},
       into(&S::force)},
      {{"format", "table|csv|json", help.format},
       [](S& s, const std::string& text) { s.format = format_word(text); }},
      {{"max-events", "N",
        "give up after N events, counted over all replications (exit status 5). In a sweep and in "
        "choose the limit is for each replication; the other points of a sweep go on"},
       [](S& s, const std::string& text) { s.max_events = whole_number("max-events", text, 1); }},
      {{"max-memory", "SIZE",
        "give up rather than take more memory than this, such as 4GiB, on each MPI rank: before "
        "a run that needs more, in one that turns out to, and while input is read or results are "
        "written (exit status 5; the other points of a sweep go on). Default: the free memory of "
        "the machine, for runs"},
       [](S& s, const std::string& text) {
         s.max_memory = parse_bytes(text);
         if (s.max_memory) return;
         throw UsageError(fmt::format(
             "--max-memory: '{}' is not a size such as 512MiB, 4GiB or a number of bytes above 0",
             text));
       }},
      {{"timeout", "D",
        "give up after this much real time, including reading and writing, such as 10min or a "
        "number of seconds (exit status 5)"},
       [](S& s, const std::string& text) { s.timeout = duration_above_zero("timeout", text); }},
      {{"store", "DIR",
        "folder of replications that are done, from which any command takes those that it needs; "
        "default .retrysim-runs beside the folder of the result files"},
       [](S& s, const std::string& text) {
         s.store = output_path(text, "folder", "store");
         s.reuse = true;
       }},
      {{"store-size", "SIZE",
        "remove the oldest of them if they take more space than this; default 1GiB"},
       [](S& s, const std::string& text) {
         const auto bytes = parse_bytes(text);
         if (!bytes) {
           throw UsageError(fmt::format(
               "--store-size: '{}' is not a size such as 512MiB, 4GiB or a number of bytes above 0",
               text));
         }
         s.store_size = *bytes;
       }},
      {{"no-reuse", "",
        "simulate everything anew, and keep nothing for later commands; so does the environment "
        "variable RETRYSIM_NO_REUSE=1"},
       [](S& s, const std::string&) { s.reuse = false; }},
      {{"quiet", "", "no summary on standard output"}, into(&S::quiet)},
      {{"no-progress", "", "no progress bar, not even on a terminal"},
       [](S& s, const std::string&) { s.progress = false; }}};
}

Shard read_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  Shard shard;
  if (slash != std::string::npos) {
    shard.count = whole_number("shard", text.substr(slash + 1), 1);
    shard.index = whole_number("shard", text.substr(0, slash), 1);
  }
  if (slash == std::string::npos || shard.index > shard.count) {
    throw UsageError(fmt::format(
        "--shard: '{}' is not I/N with I from 1 to N, such as 1/4 for the first of four", text));
  }
  return shard;
}

Options<SimulationSettings> shard_option() {
  using S = SimulationSettings;
  return std::vector<Option<S>>{
      {{"shard", "I/N",
        "simulate only every N-th replication, starting with the I-th (I from 1 to N), into the "
        "store; when all N are done, the same command without --shard writes the result. Exit "
        "status 6: what to simulate next depends on the results; start all N again"},
       [](S& s, const std::string& text) { s.shard = read_shard(text); }}};
}

const std::string& only_scenario(const std::vector<std::string>& words, std::string_view expected) {
  if (words.size() != 1) throw UsageError(fmt::format("expected one scenario: {}", expected));
  return words.front();
}

std::vector<std::string> vary_requests(const std::vector<std::string>& varied) {
  std::vector<std::string> requests;
  for (const std::string& vary : varied) requests.push_back("--vary " + vary);
  return requests;
}

double number(std::string_view option, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    throw UsageError(fmt::format("--{}: '{}' is not a number", option, text));
  }
  return value;
}

std::uint64_t whole_number(std::string_view option, const std::string& text, std::uint64_t min) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min) {
    throw UsageError(
        fmt::format("--{}: '{}' is not a whole number of at least {}", option, text, min));
  }
  return value;
}

Duration duration_above_zero(std::string_view option, const std::string& text) {
  // As in scenarios, a bare number means seconds.
  const bool bare =
      !text.empty() && (text.back() == '.' || (text.back() >= '0' && text.back() <= '9'));
  const auto parsed = scenario::parse_duration(bare ? text + "s" : text);
  if (!parsed || parsed->duration == Duration::zero()) {
    throw UsageError(
        fmt::format("--{}: '{}' is not a duration such as 90s or 10min, or a number of seconds "
                    "above 0",
                    option, text));
  }
  return parsed->duration;
}

int number_of_jobs(const std::string& text) {
  return static_cast<int>(std::min<std::uint64_t>(1024, whole_number("jobs", text, 1)));
}

bool reuse_by_default() {
  const char* const setting = std::getenv("RETRYSIM_NO_REUSE");
  return setting == nullptr || std::string_view(setting) != "1";
}

int default_jobs() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

std::string format_word(const std::string& text) {
  if (text == "table" || text == "csv" || text == "json") return text;
  throw UsageError(fmt::format("--format: '{}' is none of table, csv, json", text));
}

std::string output_path(const std::string& text, std::string_view what, std::string_view option) {
  if (text.empty()) throw UsageError(fmt::format("--{}: name a {}", option, what));
  for (const std::filesystem::path& part : std::filesystem::path(text)) {
    const std::string name = part.string();
    std::string seen;  // bytes of a name, which need not be UTF-8
    for (std::string_view rest = name; !rest.empty();) {
      const std::string_view character = scenario::first_character(rest);
      seen += scenario::is_character(character) ? character : "?";
      rest.remove_prefix(character.size());
    }
    // An empty part follows a slash at the end.
    if (name.empty() || scenario::can_be_name(seen)) continue;
    throw UsageError(fmt::format(
        "--{}: \"{}\" cannot name a {}; expected a name that is not only blanks and has no control "
        "characters",
        option, scenario::printable_line(name), what));
  }
  return text;
}

std::string error_text(Diagnostic d) {
  if (d.in_request) d.file = option_of_part(d.file);
  return to_string(d);
}

void print_errors(const std::vector<Diagnostic>& errors) {
  for (const Diagnostic& d : errors) report::print_error("{}\n", error_text(d));
}

void print_notes(const LoadedScenario& loaded) {
  for (const std::string& note : distinct_notes(loaded)) report::print_error("note: {}\n", note);
}

// --- The session ---------------------------------------------------------------------------------

std::unique_ptr<report::ResultFolder> Session::result_folder(
    const report::ResultIdentity& identity) {
  const auto path = result_path(settings_, identity.scenario, identity.command);
  keep_units_beside(path);
  return std::make_unique<report::ResultFolder>(path, identity, settings_.force,
                                                keep_earlier(settings_, path));
}

namespace {

/// Whether another user made the folder, who could slip results into it: the folder of the results
/// may be one that all users share.
bool is_of_others(const fs::path& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 &&
         (status.st_uid != ::geteuid() || !S_ISDIR(status.st_mode));
}

/// Makes a folder if it does not exist. Throws OutputError if nothing can be written there.
void check_writable(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  // What some libraries say of a file in its place.
  if (error == std::errc::file_exists) error = std::make_error_code(std::errc::not_a_directory);
  if (!error && ::access(folder.c_str(), W_OK | X_OK) != 0) {
    error.assign(errno, std::generic_category());
  }
  if (error) throw report::OutputError(folder, error.message());
}

}  // namespace

void Session::keep_units_beside(const fs::path& folder) {
  if (!settings_.reuse) return;
  fs::path place = settings_.store;
  if (place.empty()) {
    const fs::path result = folder.has_filename() ? folder : folder.parent_path();
    place = result.parent_path() / scenario::kStoreFolder;
    if (is_of_others(place)) {
      constexpr const char* kOthers = "belongs to somebody else, or is no folder";
      if (settings_.shard) {
        throw UsageError(
            fmt::format("--shard: {} {}; name a folder with --store", place.string(), kOthers));
      }
      if (std::exchange(store_folder_, place) != place) {
        report::print_error("note: {} {}; what is simulated is not kept for the next time\n",
                            place.string(), kOthers);
      }
      store_.reset();
      return;
    }
  }
  if (store_ && place == store_folder_) return;
  store_folder_ = place;
  const bool must_keep = settings_.shard.has_value();
  if (must_keep) check_writable(place);
  store_ = open_store(place, settings_.store_size, [=](const std::string& reason) {
    if (must_keep) throw report::OutputError(place, reason);
    report::print_error("note: {}: {}; what is simulated is not kept for the next time\n",
                        place.string(), reason);
  });
}

report::ProgressBar Session::progress_bar(std::string name) const {
  return {std::move(name), shows_progress()};
}

ReplicationOptions Session::replication_options(report::ProgressBar& bar) const {
  ReplicationOptions options;
  options.executor = &executor_;
  options.store = store_.get();
  options.shard = settings_.shard;
  options.jobs = jobs();
  options.max_memory = max_memory_;
  options.max_events = settings_.max_events;
  options.stop_flag = interruption_.flag();
  if (bar.visible()) options.progress = [&bar](double share) { bar.show(share); };
  return options;
}

void Session::simulate(const std::string& name, report::ProgressBar& bar,
                       const std::function<void(const ReplicationOptions&)>& work) const {
  try {
    work(replication_options(bar));
  } catch (const Interrupted&) {
    bar.clear();
    const auto limit = interruption_.limit_hit();
    if (!limit) throw;
    throw LimitExceeded(fmt::format("\"{}\" {}", name, *limit));
  } catch (...) {
    bar.clear();
    throw;
  }
  bar.clear();
}

namespace {

std::string runs_text(std::size_t count) {
  return fmt::format("{} run{}", count, count == 1 ? "" : "s");
}

std::string part_text(std::size_t part, std::size_t all) {
  return fmt::format("{} of {}", part, runs_text(all));
}

/// Prints how many units were in the store before, so that nobody takes them for simulated.
void say_what_was_there(const Store& store) {
  if (store.units_found == 0) return;
  report::print_error("note: {} {} there already\n",
                      part_text(store.units_found, store.units_asked),
                      store.units_found == 1 ? "was" : "were");
}

constexpr const char* kTooLarge =
    "the runs that are done take more space than --store-size allows, and not all are kept";

void say_what_is_kept(const Store& store) {
  if (!store.keeps_all()) return report::print_error("note: {}\n", kTooLarge);
  const std::size_t kept = store.units_found + store.units_kept;
  if (kept == 0) return;
  report::print_error("note: {} {} kept; the same command goes on from there\n", runs_text(kept),
                      kept == 1 ? "is" : "are");
}

int lead(const SimulationSettings& settings, const Interruption& interruption, Executor& executor,
         const std::function<int(Session&)>& work) {
  const std::uint64_t memory = settings.max_memory
                                   ? *settings.max_memory
                                   : free_memory() / ranks_on_this_machine(settings.launch);
  Session session(settings, interruption, executor, memory);
  try {
    const int status = work(session);
    if (session.store() != nullptr) say_what_was_there(*session.store());
    return status;
  } catch (const ShardDone& done) {
    if (!session.store()->keeps_all()) throw report::OutputError(session.store_folder(), kTooLarge);
    report::print_error(
        "note: {} {} in the store; {}\n", part_text(done.there, done.all),
        done.there == 1 || done.all == 1 ? "is" : "are",
        done.has_rounds
            ? "more may follow: when all tasks have ended, start the array again"
            : "with the others there, too, the same command without --shard writes the result");
    return done.has_rounds ? kStartAgain : kDone;
  } catch (...) {  // whatever the reason, simulated units are kept
    if (session.store() != nullptr) say_what_is_kept(*session.store());
    throw;
  }
}

}  // namespace

int in_session(const Invocation& invocation, const SimulationSettings& settings,
               const std::function<int(Session&)>& work) {
  check_jobs(settings.launch, settings.jobs_given);
  if (settings.shard && !settings.reuse) {
    throw UsageError("--shard cannot be combined with --no-reuse: it leaves its work in the store");
  }
  Interruption interruption;
  const auto executor = make_executor(settings.launch, settings.jobs, interruption.flag());
  const bool leads = executor->is_owner();
  if (leads && settings.timeout) interruption.limit(*settings.timeout);
  if (settings.max_memory) interruption.limit_memory(*settings.max_memory);
  // Ranks that have been asked to stop may be gone: then no rank waits for them, the process simply
  // ends, and mpirun ends the others.
  const auto finish = [&] {
    if (interruption.flag()->load()) return;
    try {
      executor->finish();
    } catch (const Interrupted&) {  // interrupted just now, when the work is done
    }
  };
  int status = kDone;
  try {
    executor->agree(fmt::format("{} {} {} {}", RETRYSIM_VERSION, execution::kSourcesOfResults,
                                invocation.command, fmt::join(invocation.arguments, "\n")));
    if (leads) {
      status = lead(settings, interruption, *executor, work);
    } else {
      serve(*executor, interruption.flag());
    }
    finish();
  } catch (const Interrupted&) {
    if (interruption.limit_hit()) throw_limit_exceeded(interruption);
    if (leads) throw;
    return kInterrupted;
  } catch (...) {
    finish();
    // Errors of another rank are reported by that rank alone.
    if (leads || interruption.limit_hit()) throw;
  }
  return leads ? status : kDone;
}

// --- Output --------------------------------------------------------------------------------------

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
  } else if (result.document != nullptr) {
    result.document->write_text(out, report::output_columns(),
                                fmt::format("\nResult files: {}\n", result.folder.string()));
  }
  out.flush();
}

}  // namespace

void print_result(const SimulationSettings& settings, const ShownResult& result,
                  std::string_view before) {
  if (settings.quiet) return;
  try {
    show(settings, result, before);
  } catch (const report::OutputClosed&) {  // the files are written; the reader has seen enough
  }
}

}  // namespace retrysim::cli
