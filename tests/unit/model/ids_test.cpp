// What must not compile: one kind of id where another is meant, or a bare number for either.
//
// SPDX-License-Identifier: MIT
#include "model/run/request.hpp"

#include <catch2/catch.hpp>

#include <concepts>
#include <type_traits>
#include <vector>

namespace retrysim::model {
namespace {

template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};

template <class Array, class IdType>
concept Indexable = requires(Array array, IdType id) {
  array[id];
};

static_assert(!std::is_constructible_v<AttemptId, RequestId>);
static_assert(!std::is_assignable_v<AttemptId&, RequestId>);
static_assert(!std::is_constructible_v<GroupId, ServiceId>);
static_assert(!std::is_constructible_v<ClientId, GroupId>);
static_assert(!std::is_convertible_v<std::uint32_t, RequestId>);
static_assert(!Comparable<RequestId, AttemptId> && Comparable<RequestId, RequestId>);
static_assert(!Comparable<GroupId, ServiceId>);
static_assert(!Indexable<ByRequest<int>&, AttemptId> && Indexable<ByRequest<int>&, RequestId>);
static_assert(!Indexable<const ByGroup<int>&, ServiceId>);
static_assert(!Indexable<ByGroup<int>&, std::size_t>);
static_assert(sizeof(RequestId) == 4 && sizeof(GroupId) == 2);
static_assert(std::is_trivially_copyable_v<RequestId>);

TEST_CASE("an id is that of none until it is made from a number", "[ids]") {
  CHECK_FALSE(AttemptId().exists());
  CHECK_FALSE(GroupId().exists());
  CHECK(AttemptId(0).exists());
  CHECK(AttemptId(7) == AttemptId(7));
  CHECK(AttemptId(7) != AttemptId(8));
  CHECK(std::uint32_t{AttemptId(7)} == 7);
}

TEST_CASE("an array by ids grows to reach the largest", "[ids]") {
  ByRequest<int> array;
  array.reach(RequestId(100));
  REQUIRE(array.size() > 100);
  array[RequestId(100)] = 5;
  array.reach(RequestId(50));
  CHECK(array[RequestId(100)] == 5);
}

TEST_CASE("ids can be visited in order", "[ids]") {
  std::vector<GroupId> visited;
  for (const GroupId id : Ids<GroupId>(3)) visited.push_back(id);
  CHECK(visited == std::vector<GroupId>{GroupId(0), GroupId(1), GroupId(2)});
  for (const GroupId id : Ids<GroupId>(0)) CHECK_FALSE(id.exists());
}

}  // namespace
}  // namespace retrysim::model
