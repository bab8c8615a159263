// MPI's functions, from a library that is loaded when the first rank needs it: to link it would
// make every start of the program read it and a dozen libraries behind it.
//
// SPDX-License-Identifier: MIT
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace retrysim::execution {

/// What the executor calls, under MPI's names.
struct MpiLibrary {
  decltype(&MPI_Init_thread) init_thread;
  decltype(&MPI_Comm_rank) comm_rank;
  decltype(&MPI_Comm_size) comm_size;
  decltype(&MPI_Finalize) finalize;
  decltype(&MPI_Get_count) get_count;
  decltype(&MPI_Ibarrier) ibarrier;
  decltype(&MPI_Ibcast) ibcast;
  decltype(&MPI_Iprobe) iprobe;
  decltype(&MPI_Irecv) irecv;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Recv) recv;
  decltype(&MPI_Test) test;
  MPI_Comm world;
  MPI_Datatype byte;
};

/// Loads the library at the first call. Throws RequestError if it cannot be loaded.
const MpiLibrary& mpi();

}  // namespace retrysim::execution
