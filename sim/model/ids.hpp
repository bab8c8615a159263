// Numbers of requests, attempts, clients, groups and services: a type each, so that mixing them up
// does not compile. An id is made from a number on purpose only; it turns into one by itself, where
// a part knows ids only as positions in its arrays.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retrysim::model {

template <class Tag, class Number>
class Id {
 public:
  /// That of none.
  constexpr Id() = default;
  constexpr explicit Id(std::integral auto number) : number_(static_cast<Number>(number)) {}

  constexpr operator Number() const { return number_; }
  /// Whether it is that of one.
  constexpr bool exists() const { return number_ != Id().number_; }

  friend constexpr bool operator==(Id a, Id b) { return a.number_ == b.number_; }
  template <class OtherTag, class OtherNumber>
  requires(!std::same_as<Tag, OtherTag>) friend bool operator==(Id,
                                                                Id<OtherTag, OtherNumber>) = delete;

 private:
  Number number_ = static_cast<Number>(~Number{0});
};

using RequestId = Id<struct RequestTag, std::uint32_t>;
using AttemptId = Id<struct AttemptTag, std::uint32_t>;
using ClientId = Id<struct ClientTag, std::uint32_t>;  ///< within its group
using GroupId = Id<struct GroupTag, std::uint16_t>;
using ServiceId = Id<struct ServiceTag, std::uint16_t>;
using InstanceId = Id<struct InstanceTag, std::uint16_t>;  ///< among those of all services

/// An array, or a pool, whose elements are found by ids of one type.
template <class IdType, class Base>
class IndexedBy : public Base {
 public:
  using Base::Base;

  decltype(auto) operator[](IdType id) { return Base::operator[](id); }
  decltype(auto) operator[](IdType id) const { return Base::operator[](id); }
  /// Room for the element `id` and some more.
  void reach(IdType id) {
    if (id >= this->size()) this->resize(2 * std::size_t{id} + 64);
  }
  // An id of another type, or a bare number, finds nothing.
  template <class Other>
  void operator[](Other) const = delete;
};

template <class T>
using ByRequest = IndexedBy<RequestId, std::vector<T>>;
template <class T>
using ByAttempt = IndexedBy<AttemptId, std::vector<T>>;
template <class T>
using ByClient = IndexedBy<ClientId, std::vector<T>>;
template <class T>
using ByGroup = IndexedBy<GroupId, std::vector<T>>;
template <class T>
using ByService = IndexedBy<ServiceId, std::vector<T>>;

/// Ids that follow each other, for a loop over them: 0 to `count` - 1, or `first` to `end` - 1.
template <class IdType>
class Ids {
 public:
  explicit Ids(std::size_t count) : end_(count) {}
  Ids(std::size_t first, std::size_t end) : first_(first), end_(end) {}

  std::size_t size() const { return end_ - first_; }

  class Iterator {
   public:
    explicit Iterator(std::size_t at) : at_(at) {}
    IdType operator*() const { return IdType(at_); }
    Iterator& operator++() { return ++at_, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    std::size_t at_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }

 private:
  std::size_t first_ = 0, end_;
};

}  // namespace retrysim::model
