// Stop points, at which long work checks whether it has been asked to stop. The starter of the work
// opens a `StopScope` with a flag that others may set; slow code calls `stop_point` now and then.
// So reading files, simulating and writing results all end in the same way, without passing the
// flag from function to function.
//
// SPDX-License-Identifier: MIT
#pragma once

namespace retrysim {

/// Throws `Interrupted` if a scope of this thread has been asked to stop. Costs a few nanoseconds:
/// call it at least every 100 ms or so of work, not for every item.
void stop_point();

/// Calls `stop_point` at every `Every`-th call: for loops over small items.
template <unsigned Every = 4096>
class StopCounter {
 public:
  void count() {
    if (++calls_ % Every == 0) [[unlikely]]
      stop_point();
  }

 private:
  unsigned calls_ = 0;
};

}  // namespace retrysim
