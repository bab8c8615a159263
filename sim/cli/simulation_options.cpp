// SPDX-License-Identifier: MIT
#include "cli/simulation_options.hpp"

#include "cli/free_memory.hpp"
#include "report/terminal.hpp"
#include "scenario/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <thread>

namespace retrysim::cli {

namespace po = boost::program_options;
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

void add_simulation_options(po::options_description& options, const SimulationHelp& help) {
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()  //
      ("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
       "change a key before the scenario is validated; '*' matches any one name: --set "
       "'client.*.retry.backoff.jitter=equal'. May be given several times")       //
      ("seed", text()->value_name("N"), "random seed; overrides the scenario's")  //
      ("replications", text()->value_name("N"),
       "number of independent replications; overrides the scenario's. For run with a precision: "
       "the least number")  //
      ("jobs", text()->value_name("N"),
       "number of threads, which does not affect the results; default: one per processor")  //
      ("mpi", text()->value_name("auto|on|off"),
       "share the work among MPI ranks: auto (the default: if started by mpirun), on "
       "or off")                                    //
      ("out", text()->value_name("DIR"), help.out)  //
      ("force", po::bool_switch(),
       "replace whatever result is in the folder. Without --force a result is replaced if it "
       "differs only in version, description or expectations, or has fewer replications; another "
       "one is refused with --out, and otherwise kept as results/NAME.1, results/NAME.2, ...")  //
      ("format", text()->value_name("table|csv|json"), help.format)                             //
      ("max-events", text()->value_name("N"),
       "give up after N events, counted over all replications (exit status 5). In a sweep and in "
       "choose the limit is for each replication; the other points of a sweep go on")  //
      ("max-memory", text()->value_name("SIZE"),
       "do not start what needs more memory than this, such as 4GiB, on each MPI rank (exit status "
       "5; the other points of a sweep go on). Default: the free memory of the machine")  //
      ("timeout", text()->value_name("D"),
       "give up after this much real time, including reading and writing, such as 10min or a "
       "number of seconds (exit status 5)")                          //
      ("quiet", po::bool_switch(), "no summary on standard output")  //
      ("no-progress", po::bool_switch(), "no progress bar, not even on a terminal");
}

std::optional<std::string> text_of(const po::variables_map& values, const std::string& name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<std::string>();
}

std::uint64_t whole_number(const std::string& option, const std::string& text, std::uint64_t min) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min) {
    throw UsageError(
        fmt::format("--{}: '{}' is not a whole number of at least {}", option, text, min));
  }
  return value;
}

Duration duration_above_zero(const std::string& option, const std::string& text) {
  // As in scenarios a bare number is seconds.
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

int read_jobs(const po::variables_map& values) {
  const auto jobs = text_of(values, "jobs");
  if (!jobs) return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return static_cast<int>(std::min<std::uint64_t>(1024, whole_number("jobs", *jobs, 1)));
}

std::optional<Duration> read_timeout(const po::variables_map& values) {
  const auto text = text_of(values, "timeout");
  if (!text) return std::nullopt;
  return duration_above_zero("timeout", *text);
}

SimulationSettings read_simulation_settings(const po::variables_map& values) {
  SimulationSettings s;
  s.edits = texts(values, "set");
  if (const auto seed = text_of(values, "seed")) {
    s.edits.push_back(fmt::format("seed={}", whole_number("seed", *seed, 0)));
  }
  if (const auto n = text_of(values, "replications")) {
    s.edits.push_back(fmt::format("replications={}", whole_number("replications", *n, 1)));
  }
  s.jobs = read_jobs(values);
  s.launch = read_launch(text_of(values, "mpi").value_or("auto"));
  check_jobs(s.launch, text_of(values, "jobs"));
  s.out = text_of(values, "out").value_or("");
  if (values.count("out") != 0 && s.out.empty()) throw UsageError("--out: name a folder");
  s.force = values["force"].as<bool>();
  s.quiet = values["quiet"].as<bool>();
  s.progress = !values["no-progress"].as<bool>();
  s.format = text_of(values, "format").value_or("table");
  if (s.format != "table" && s.format != "csv" && s.format != "json") {
    throw UsageError(fmt::format("--format: '{}' is none of table, csv, json", s.format));
  }
  if (const auto n = text_of(values, "max-events")) {
    s.max_events = whole_number("max-events", *n, 1);
  }
  s.timeout = read_timeout(values);
  if (const auto size = text_of(values, "max-memory")) {
    s.max_memory = parse_bytes(*size);
    if (!s.max_memory) {
      throw UsageError(fmt::format(
          "--max-memory: '{}' is not a size such as 512MiB, 4GiB or a number of bytes above 0",
          *size));
    }
  }
  return s;
}

void print_errors(const std::vector<Diagnostic>& errors) {
  for (const Diagnostic& d : errors) report::print_error("{}\n", to_string(d));
}

void print_notes(const LoadedScenario& loaded) {
  for (const std::string& note : distinct_notes(loaded)) report::print_error("note: {}\n", note);
}

}  // namespace retrysim::cli
