// Whether a command works alone or as one of the ranks of an MPI job.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/executor.hpp>

#include "cli/commands.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace retrysim::cli {

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

}  // namespace retrysim::cli
