// Simulates one replication of a scenario file and prints how many events it took, the CPU time of
// the event loop and the most memory that the process had: the simulator's side of the comparison
// with the hand-written reference loop.
//
// An event is what the simulator counts as one: what it handles in a step of its own. These are
// arrivals of requests, completions, timeouts that fire, ends of backoffs and think times, and
// messages that arrive after a time on their way. As in the reference loop, a timeout that is
// cancelled is an event too, but there an attempt that is rejected at once has never had one. Where
// messages take no time, the count is that of the reference loop: three a request in a healthy
// system. Where they do, the two messages of an attempt make it five.
//
//   run_benchmark SCENARIO [PATH=VALUE ...]
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Not from getrusage, whose maximum begins with that of the process that started this one.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib / 1024;
  }
  return 0;
}

std::uint64_t count_events(const retrysim::Scenario& scenario, const retrysim::RunResult& result) {
  std::uint64_t events = result.events;
  bool has_timeouts = false;
  for (std::size_t i = 0; i < result.clients.size(); ++i) {
    if (!scenario.clients[i].timeouts.has_attempt) continue;
    has_timeouts = true;
    for (const retrysim::ClientBin& b : result.clients[i].bins) {
      events += b.flow.attempts - b.flow.timeouts;  // cancelled
    }
  }
  const retrysim::Distribution& on_the_way = scenario.network.latency;
  const bool answers_at_once =
      on_the_way.is_constant() && on_the_way.constant_value() == retrysim::Duration::zero();
  if (!has_timeouts || !answers_at_once) return events;
  for (const retrysim::ServiceResult& s : result.services) {
    for (const retrysim::ServiceFlow& b : s.bins) events -= b.rejected;
  }
  return events;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace retrysim;
  if (argc < 2) {
    std::fputs("usage: run_benchmark SCENARIO [PATH=VALUE ...]\n", stderr);
    return 2;
  }
  const LoadResult loaded =
      load_scenario_file(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  for (const Diagnostic& d : loaded.errors) std::fprintf(stderr, "%s\n", to_string(d).c_str());
  if (!loaded.loaded) return 3;
  const double start = cpu_seconds();
  const RunResult result = simulate(loaded.loaded->scenario, 0);
  const double cpu_s = cpu_seconds() - start;
  const std::uint64_t events = count_events(loaded.loaded->scenario, result);
  std::uint64_t requests = 0, attempts = 0;
  DurationMoments latency;
  for (const ClientResult& c : result.clients) {
    for (const ClientBin& b : c.bins) {
      requests += b.flow.requests;
      attempts += b.flow.attempts;
    }
    latency.merge(c.latency_ok_m);
  }
  const auto successes = static_cast<double>(std::max<std::uint64_t>(latency.count, 1));
  std::printf(
      "events=%llu requests=%llu attempts=%llu cpu_s=%.6f ns_per_event=%.2f mean_ms=%.4f "
      "peak_mib=%.1f\n",
      static_cast<unsigned long long>(events), static_cast<unsigned long long>(requests),
      static_cast<unsigned long long>(attempts), cpu_s, cpu_s * 1e9 / static_cast<double>(events),
      static_cast<double>(latency.sum_ns) / successes * 1e-6, peak_mib());
  return 0;
}
