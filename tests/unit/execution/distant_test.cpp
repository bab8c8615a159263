// What a unit throws far away comes back as what it was.
//
// SPDX-License-Identifier: MIT
#include "execution/distant.hpp"

#include <retrysim/error.hpp>

#include <catch2/catch.hpp>

#include <new>
#include <stdexcept>
#include <string>

namespace retrysim::execution {
namespace {

/// Throws what `work` has thrown, after it has been bytes.
template <typename Exception>
void travel(const Exception& thrown) {
  Task task;
  task.make_work = [&] { return [&](std::size_t) -> std::string { throw thrown; }; };
  const std::string bytes = pack(BatchWorker(task, nullptr).compute({.first = 7, .count = 1}));
  BatchResult result;
  unpack(bytes, result);
  REQUIRE(result.failure);
  CHECK(result.failure->unit == 7);
  result.failure->raise();
}

TEST_CASE("Distant units: a mistake in the request is one to the owner, too") {
  const RequestError thrown("fault.x is left to chance: " + RequestError::part("set") + " a=1");
  try {
    travel(thrown);
    FAIL("nothing was thrown");
  } catch (const RequestError& e) {
    CHECK(std::string(e.what()) == thrown.what());
    CHECK(e.text([](const std::string& part) { return "--" + part; }) ==
          "fault.x is left to chance: --set a=1");
  }
}

TEST_CASE("Distant units: limits, interruptions and defects stay what they are") {
  try {
    travel(LimitExceeded("too many", LimitKind::kEvents));
    FAIL("nothing was thrown");
  } catch (const LimitExceeded& e) {
    CHECK(e.kind() == LimitKind::kEvents);
    CHECK(std::string(e.what()) == "too many");
  }
  CHECK_THROWS_AS(travel(Interrupted()), Interrupted);
  CHECK_THROWS_AS(travel(InvariantViolated("no")), InvariantViolated);
  CHECK_THROWS_AS(travel(std::bad_alloc()), std::bad_alloc);
  CHECK_THROWS_WITH(travel(std::logic_error("else")), "else");
}

}  // namespace
}  // namespace retrysim::execution
