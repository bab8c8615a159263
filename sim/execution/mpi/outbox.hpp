// Messages that a rank sends without waiting for them to arrive.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "execution/mpi/mpi_library.hpp"

#include <list>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::execution {

/// Messages on their way, whose bytes must stay until they are gone.
class Outbox {
 public:
  void send(std::string bytes, int to, int tag) {
    std::erase_if(waiting_, [](Message& m) {
      int done = 0;
      mpi().test(&m.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
    Message& m = waiting_.emplace_back();
    m.bytes = std::move(bytes);
    mpi().isend(m.bytes.data(), static_cast<int>(m.bytes.size()), mpi().byte, to, tag, mpi().world,
                &m.request);
  }

  /// The requests that are still open.
  std::vector<MPI_Request*> open() {
    std::vector<MPI_Request*> requests;
    for (Message& m : waiting_) requests.push_back(&m.request);
    return requests;
  }

 private:
  struct Message {
    std::string bytes;
    MPI_Request request;
  };
  std::list<Message> waiting_;
};

}  // namespace retrysim::execution
