// Draws of which nearly always the first word is all that is needed, and often not even that.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>

#include <cstdint>
#include <optional>

namespace retrysim {

/// The same words as `Draws(key, id)`, none of which is computed before it is needed.
class DrawsOnDemand {
 public:
  DrawsOnDemand(const RandomKey& key, DrawId id) : key_(key), id_(id) {}

  /// Uniform on [0, 1).
  double uniform() {
    if (one_is_taken_ || draws_) [[unlikely]]
      return all().uniform();
    one_is_taken_ = true;
    return static_cast<double>(first_word(key_, id_) >> 11) * 0x1p-53;
  }
  /// The draws, from the next word on.
  Draws& all() {
    if (!draws_) {
      draws_.emplace(key_, id_);
      if (one_is_taken_) draws_->next();
    }
    return *draws_;
  }

 private:
  // Not compiled into what calls it: the multiplications want all registers for themselves.
  [[gnu::noinline]] static std::uint64_t first_word(const RandomKey& key, DrawId id) {
    return Draws::first_word(key, id);
  }

  const RandomKey& key_;
  const DrawId id_;
  bool one_is_taken_ = false;
  std::optional<Draws> draws_;
};

}  // namespace retrysim
