// Simulates one replication of a scenario file and prints how many events it took, the CPU time of
// the event loop and the most memory that the process had: the simulator's side of the comparison
// with the hand-written reference loop. "Event" is counted as the reference loop counts: arrivals,
// completions, timeouts that fired or were cancelled, and backoffs that ended.
//
//   run_benchmark SCENARIO [PATH=VALUE ...]
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario_file.hpp>
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
  std::uint64_t events = 0, requests = 0, attempts = 0;
  DurationMoments latency;
  for (const ClientResult& c : result.clients) {
    std::uint64_t retries = 0;
    for (const ClientBin& b : c.bins) {
      // Every attempt ends its timeout: it fires or it is cancelled. Every retry ends a backoff.
      events += b.flow.requests + b.flow.attempts + b.flow.retries;
      retries += b.flow.retries;
      requests += b.flow.requests;
      attempts += b.flow.attempts;
    }
    latency.merge(c.latency_ok_m);
  }
  for (const ServiceResult& s : result.services) {
    for (const ServiceFlow& b : s.bins) events += b.completions - b.rejected;
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
