// The observer of one replication: the simulation tells it what happens, and it counts; it decides
// nothing. Each client group (client_recorder.hpp) and each service (service_recorder.hpp) has a
// recorder of its own; this one knows when bins, window and phases begin and end. Time is cut into
// segments at the edges of time-series bins and of the window. At the end of a segment the counters
// are added to the row of the bin and, inside the window, to the totals.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>
#include <retrysim/simulation.hpp>
#include <retrysim/time.hpp>

#include "kernel/memory.hpp"
#include "kernel/stop.hpp"
#include "measure/record/client_recorder.hpp"
#include "measure/record/levels.hpp"
#include "measure/record/phase_log.hpp"
#include "measure/record/service_recorder.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::stats {

class Recorder {
 public:
  /// The scenario must outlive the recorder.
  Recorder(const Scenario& scenario, std::uint32_t replication);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Bytes of what is kept for each bin and each client, during the run and in its result.
  struct Memory {
    std::uint64_t bins = 0, clients = 0;
  };
  static Memory memory(const Scenario& scenario);

  /// Must be called before anything that happens at `now`.
  void advance(Time now) {
    if (now >= next_boundary_) cross_boundaries(now);
  }

  /// The recorders of one group and of one service; the references stay valid.
  ClientRecorder& client(std::size_t group) { return clients_[group]; }
  const ClientRecorder& client(std::size_t group) const { return clients_[group]; }
  ServiceRecorder& service(std::size_t service) { return services_[service]; }

  /// Ends the run, whose last event was at `end`. Requests that are still open must have been
  /// reported to `ended` as unfinished.
  RunResult finish(Time end);

 private:
  template <class Take>
  static void take_memory(const Scenario& scenario, std::vector<ClientRecorder>& clients,
                          std::vector<ServiceRecorder>& services, std::vector<ClientBin>& all_bins,
                          Take& of_bins, Take& of_clients);

  bool is_inner(std::size_t group) const { return scenario_.clients[group].makes_calls(); }
  void cross_boundaries(Time now);
  [[gnu::noinline]] void close_bins(Time now);
  void cross_edges(Time now);
  void fold_segment(Time end);
  void close_bin();
  bool has_counts() const;
  void enter_count_bin(Time now);
  void begin_window();
  void end_window();
  void cut_phases(Time now);
  void choose_boundary();

  const Scenario& scenario_;
  const RunSpan span_;
  std::vector<ClientRecorder> clients_;
  std::vector<ServiceRecorder> services_;
  std::vector<ClientBin> all_bins_;
  // Latencies of all groups in the bin being closed, if `users_` is above 1.
  BinTotals all_latency_;
  std::size_t users_ = 0;  // client groups that are not calls of a service
  PhaseLog phases_;
  // The next edge of any kind, the next edge other than a count bin's, and the last ends of
  // segment, bin and count bin.
  Time next_boundary_, next_edge_, segment_start_, bin_end_, count_bin_end_;
  std::size_t count_bin_ = 0;
  std::uint32_t replication_;
  StopCounter<512> stop_;  // any number of bins may end between two events
};

}  // namespace retrysim::stats
