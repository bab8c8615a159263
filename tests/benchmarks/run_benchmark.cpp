// Simulates one replication of a scenario file and prints how many events it took and the CPU time
// of the event loop: the simulator's side of the comparison with the hand-written reference loop.
// "Event" is counted as the reference loop counts: arrivals, completions, timeouts that fired or
// were cancelled, and backoffs that ended.
//
//   run_benchmark SCENARIO [PATH=VALUE ...]
//
// SPDX-License-Identifier: MIT
#include <retrysim/scenario_file.hpp>
#include <retrysim/simulation.hpp>

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
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
  std::uint64_t events = 0, requests = 0;
  DurationMoments latency;
  for (const ClientResult& c : result.clients) {
    std::uint64_t retries = 0;
    for (const ClientBin& b : c.bins) {
      // Every attempt ends its timeout: it fires or it is cancelled. Every retry ends a backoff.
      events += b.flow.requests + b.flow.attempts + b.flow.retries;
      retries += b.flow.retries;
      requests += b.flow.requests;
    }
    latency.merge(c.latency_ok_m);
  }
  for (const ServiceResult& s : result.services) {
    for (const ServiceFlow& b : s.bins) events += b.completions - b.rejected;
  }
  std::printf("events=%llu requests=%llu cpu_s=%.6f ns_per_event=%.2f mean_ms=%.4f\n",
              static_cast<unsigned long long>(events), static_cast<unsigned long long>(requests),
              cpu_s, cpu_s * 1e9 / static_cast<double>(events),
              static_cast<double>(latency.sum_ns) / static_cast<double>(latency.count) * 1e-6);
  return 0;
}
