// SPDX-License-Identifier: MIT
#include "retry/decision.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <retrysim/random.hpp>

namespace retrysim {
namespace {

TEST_CASE("Draws on demand are the words of ordinary draws, in whatever way they are taken") {
  const RandomKey key(11, 3);
  for (std::uint64_t entity = 0; entity < 20; ++entity) {
    const DrawId id{entity, static_cast<std::uint32_t>(entity % 4), 5, Purpose::kBackoff};
    // So many are taken one by one before all the others are asked for.
    for (int singly = 0; singly < 4; ++singly) {
      Draws ordinary(key, id);
      DrawsOnDemand draws(key, id);
      for (int i = 0; i < singly; ++i) REQUIRE(draws.uniform() == ordinary.uniform());
      for (int i = 0; i < 5; ++i) REQUIRE(draws.all().next() == ordinary.next());
      REQUIRE(draws.uniform() == ordinary.uniform());
    }
  }
}

}  // namespace
}  // namespace retrysim
