// Lets threads through as long as there is room for them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/stop.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace retrysim::execution {

class Turnstile {
 public:
  explicit Turnstile(std::uint64_t room) : room_(room) {}

  /// Holds so much of the room while it lives; waits for it first. Whoever needs more than there is
  /// waits until nobody else is in. Throws `Interrupted` if asked to stop while it waits.
  class Pass {
   public:
    Pass(Turnstile& turnstile, std::uint64_t need) : turnstile_(turnstile), need_(need) {
      constexpr auto kLook = std::chrono::milliseconds(100);
      std::unique_lock lock(turnstile_.mutex_);
      while (!turnstile_.has_room(need_)) {
        turnstile_.left_.wait_for(lock, kLook);
        stop_point();
      }
      turnstile_.taken_ += need_;
    }
    ~Pass() {
      {
        const std::lock_guard lock(turnstile_.mutex_);
        turnstile_.taken_ -= need_;
      }
      turnstile_.left_.notify_all();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    Turnstile& turnstile_;
    std::uint64_t need_;
  };

 private:
  bool has_room(std::uint64_t need) const {
    return taken_ == 0 || (need <= room_ && taken_ <= room_ - need);
  }

  std::mutex mutex_;
  std::condition_variable left_;
  std::uint64_t room_, taken_ = 0;
};

}  // namespace retrysim::execution
