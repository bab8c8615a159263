// SPDX-License-Identifier: MIT
#include "cli/launch.hpp"

#ifdef RETRYSIM_MPI
#include "execution/mpi/mpi_executor.hpp"
#endif

#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace retrysim::cli {
namespace {

/// A number in the environment; -1 if there is none.
long number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' ? value : -1;
}

/// Open MPI's mpirun; MPICH's and Intel's, and srun for them; srun --mpi=pmix.
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

// Their environment says so: MPI is neither needed nor started to find out.
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

void check_jobs(Launch launch, const std::optional<std::string>& jobs) {
  if (!jobs || *jobs == "1" || launch == Launch::kOff) return;
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
