// Adding up results field by field, through the lists of fields in run_result.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run_result.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>

namespace retrysim::stats {

/// Whether `T` has a list of its fields.
template <typename T>
concept HasFields = requires(T& of) {
  fields([](auto&...) {}, of);
};

/// Adds the numbers of `from` to those of `into`, field by field, down to the last struct, array
/// and histogram. Vectors, which are series in time or by client, are left as they are. Fields that
/// do not add up (means, maxima) have to be corrected by the caller afterwards.
template <HasFields T>
void add_fields(T& into, const T& from);

/// One field of `add_fields`.
template <typename T>
void add_field(T& into, const T& from) {
  if constexpr (requires { into.merge(from); }) {
    into.merge(from);
  } else if constexpr (HasFields<T>) {
    add_fields(into, from);
  } else if constexpr (std::same_as<T, bool>) {
    into = into || from;
  } else if constexpr (requires { into += from; }) {
    into += from;
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    for (std::size_t i = 0; i < into.size(); ++i) add_field(into[i], from[i]);
  } else {
    static_assert(
        requires { into.push_back(from[0]); }, "say how such fields add up");
  }
}

template <HasFields T>
void add_fields(T& into, const T& from) {
  const auto add_all = [&](auto&... sums) {
    fields([&](const auto&... terms) { (add_field(sums, terms), ...); }, from);
  };
  fields(add_all, into);
}

}  // namespace retrysim::stats
