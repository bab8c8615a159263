// The members of a plain struct, found by the compiler: code that goes through all members (bytes,
// hashes) needs no list of their names, so that none is forgotten.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

namespace retrysim::execution {

/// A struct without constructors or bases, each of whose members can be made from {}.
template <class T>
concept Plain = std::is_class_v<T> && std::is_aggregate_v<T>;

// RETRYSIM_BRACES_N: N pairs of braces; RETRYSIM_NAMES_N: N names. N goes beyond the members of any
// struct of a scenario.
// clang-format off

#define RETRYSIM_BRACES_1 {}
#define RETRYSIM_BRACES_2 RETRYSIM_BRACES_1, {}
#define RETRYSIM_BRACES_3 RETRYSIM_BRACES_2, {}
#define RETRYSIM_BRACES_4 RETRYSIM_BRACES_3, {}
#define RETRYSIM_BRACES_5 RETRYSIM_BRACES_4, {}
#define RETRYSIM_BRACES_6 RETRYSIM_BRACES_5, {}
#define RETRYSIM_BRACES_7 RETRYSIM_BRACES_6, {}
#define RETRYSIM_BRACES_8 RETRYSIM_BRACES_7, {}
#define RETRYSIM_BRACES_9 RETRYSIM_BRACES_8, {}
#define RETRYSIM_BRACES_10 RETRYSIM_BRACES_9, {}
#define RETRYSIM_BRACES_11 RETRYSIM_BRACES_10, {}
#define RETRYSIM_BRACES_12 RETRYSIM_BRACES_11, {}
#define RETRYSIM_BRACES_13 RETRYSIM_BRACES_12, {}
#define RETRYSIM_BRACES_14 RETRYSIM_BRACES_13, {}
#define RETRYSIM_BRACES_15 RETRYSIM_BRACES_14, {}
#define RETRYSIM_BRACES_16 RETRYSIM_BRACES_15, {}
#define RETRYSIM_BRACES_17 RETRYSIM_BRACES_16, {}
#define RETRYSIM_BRACES_18 RETRYSIM_BRACES_17, {}
#define RETRYSIM_BRACES_19 RETRYSIM_BRACES_18, {}
#define RETRYSIM_BRACES_20 RETRYSIM_BRACES_19, {}
#define RETRYSIM_BRACES_21 RETRYSIM_BRACES_20, {}
#define RETRYSIM_BRACES_22 RETRYSIM_BRACES_21, {}
#define RETRYSIM_BRACES_23 RETRYSIM_BRACES_22, {}
#define RETRYSIM_BRACES_24 RETRYSIM_BRACES_23, {}
#define RETRYSIM_BRACES_25 RETRYSIM_BRACES_24, {}
#define RETRYSIM_BRACES_26 RETRYSIM_BRACES_25, {}
#define RETRYSIM_BRACES_27 RETRYSIM_BRACES_26, {}
#define RETRYSIM_BRACES_28 RETRYSIM_BRACES_27, {}
#define RETRYSIM_NAMES_1 m1
#define RETRYSIM_NAMES_2 RETRYSIM_NAMES_1, m2
#define RETRYSIM_NAMES_3 RETRYSIM_NAMES_2, m3
#define RETRYSIM_NAMES_4 RETRYSIM_NAMES_3, m4
#define RETRYSIM_NAMES_5 RETRYSIM_NAMES_4, m5
#define RETRYSIM_NAMES_6 RETRYSIM_NAMES_5, m6
#define RETRYSIM_NAMES_7 RETRYSIM_NAMES_6, m7
#define RETRYSIM_NAMES_8 RETRYSIM_NAMES_7, m8
#define RETRYSIM_NAMES_9 RETRYSIM_NAMES_8, m9
#define RETRYSIM_NAMES_10 RETRYSIM_NAMES_9, m10
#define RETRYSIM_NAMES_11 RETRYSIM_NAMES_10, m11
#define RETRYSIM_NAMES_12 RETRYSIM_NAMES_11, m12
#define RETRYSIM_NAMES_13 RETRYSIM_NAMES_12, m13
#define RETRYSIM_NAMES_14 RETRYSIM_NAMES_13, m14
#define RETRYSIM_NAMES_15 RETRYSIM_NAMES_14, m15
#define RETRYSIM_NAMES_16 RETRYSIM_NAMES_15, m16
#define RETRYSIM_NAMES_17 RETRYSIM_NAMES_16, m17
#define RETRYSIM_NAMES_18 RETRYSIM_NAMES_17, m18
#define RETRYSIM_NAMES_19 RETRYSIM_NAMES_18, m19
#define RETRYSIM_NAMES_20 RETRYSIM_NAMES_19, m20
#define RETRYSIM_NAMES_21 RETRYSIM_NAMES_20, m21
#define RETRYSIM_NAMES_22 RETRYSIM_NAMES_21, m22
#define RETRYSIM_NAMES_23 RETRYSIM_NAMES_22, m23
#define RETRYSIM_NAMES_24 RETRYSIM_NAMES_23, m24
#define RETRYSIM_NAMES_25 RETRYSIM_NAMES_24, m25
#define RETRYSIM_NAMES_26 RETRYSIM_NAMES_25, m26
#define RETRYSIM_NAMES_27 RETRYSIM_NAMES_26, m27
#define RETRYSIM_NAMES_28 RETRYSIM_NAMES_27, m28
#define RETRYSIM_FOR_EACH_NUMBER(DO)                                                \
  DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) \
  DO(14) DO(15) DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23) DO(24)      \
  DO(25) DO(26) DO(27) DO(28)
// clang-format on

/// The number of members of a struct: the most pairs of braces that it can be made from.
template <Plain T>
constexpr std::size_t member_count() {
  std::size_t count = 0;
#define RETRYSIM_COUNT(n) \
  if constexpr (requires { T{RETRYSIM_BRACES_##n}; }) count = n;
  RETRYSIM_FOR_EACH_NUMBER(RETRYSIM_COUNT)
#undef RETRYSIM_COUNT
  static_assert(
      !requires {
        T{RETRYSIM_BRACES_28, {}};
      },
      "extend the lists of braces and names");
  return count;
}

/// Calls `visit` with all members of `value`, in their order.
template <class T, class Visit>
void with_members(T& value, const Visit& visit) {
  constexpr std::size_t kCount = member_count<std::remove_const_t<T>>();
  static_assert(kCount > 0);
#define RETRYSIM_VISIT(n)               \
  if constexpr (kCount == n) {          \
    auto& [RETRYSIM_NAMES_##n] = value; \
    visit(RETRYSIM_NAMES_##n);          \
  }
  RETRYSIM_FOR_EACH_NUMBER(RETRYSIM_VISIT)
#undef RETRYSIM_VISIT
}

}  // namespace retrysim::execution
