// SPDX-License-Identifier: MIT
#include "execution/mpi/mpi_library.hpp"

#include <retrysim/request_error.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

namespace retrysim::execution {
namespace {

[[noreturn]] void fail_to_load() {
  throw RequestError(fmt::format(
      "started as an MPI rank, but MPI cannot be loaded ({}); install it, or use --shard or --mpi "
      "off",
      ::dlerror()));
}

void* symbol(void* library, const char* name) {
  void* const found = ::dlsym(library, name);
  if (found == nullptr) fail_to_load();
  return found;
}

template <typename Function>
void find(Function& function, void* library, const char* name) {
  function = reinterpret_cast<Function>(symbol(library, name));
}

MpiLibrary load() {
  // MPI's own plug-ins look for its symbols in the whole program.
  void* const library = ::dlopen(RETRYSIM_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) fail_to_load();
  MpiLibrary loaded;
  find(loaded.init_thread, library, "MPI_Init_thread");
  find(loaded.comm_rank, library, "MPI_Comm_rank");
  find(loaded.comm_size, library, "MPI_Comm_size");
  find(loaded.finalize, library, "MPI_Finalize");
  find(loaded.get_count, library, "MPI_Get_count");
  find(loaded.ibarrier, library, "MPI_Ibarrier");
  find(loaded.ibcast, library, "MPI_Ibcast");
  find(loaded.iprobe, library, "MPI_Iprobe");
  find(loaded.irecv, library, "MPI_Irecv");
  find(loaded.isend, library, "MPI_Isend");
  find(loaded.recv, library, "MPI_Recv");
  find(loaded.test, library, "MPI_Test");
#ifdef OPEN_MPI  // whose handles are addresses; those of others are numbers
  loaded.world = static_cast<MPI_Comm>(symbol(library, "ompi_mpi_comm_world"));
  loaded.byte = static_cast<MPI_Datatype>(symbol(library, "ompi_mpi_byte"));
#else
  loaded.world = MPI_COMM_WORLD;
  loaded.byte = MPI_BYTE;
#endif
  return loaded;
}

}  // namespace

const MpiLibrary& mpi() {
  static const MpiLibrary library = load();
  return library;
}

}  // namespace retrysim::execution
