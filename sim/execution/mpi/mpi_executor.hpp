// The ranks of an MPI job as an executor. They have a folder of their own: only the program needs
// MPI, not the library.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run.hpp>

#include "execution/executor.hpp"

#include <atomic>
#include <memory>

namespace retrysim::execution {

/// Starts MPI. Rank 0 is the owner: it hands out batches of units, and computes, too; each rank
/// with one thread. Waiting ranks sleep. Call `finish` at the end; after `Interrupted`, when ranks
/// may be lost, do not: the process then simply ends, and mpirun ends the others. `stop` may be
/// null. To be called once in a process. Throws RequestError if MPI cannot be loaded.
std::unique_ptr<Executor> make_mpi_executor(const std::atomic<bool>* stop);

}  // namespace retrysim::execution
