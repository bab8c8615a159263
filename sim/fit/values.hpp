// Times, durations and numbers as logs write them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace retrysim::fit {

/// Nanoseconds since 1970 of a time as logs write it: seconds, milliseconds, microseconds or
/// nanoseconds since 1970 (told by their size), ISO 8601 (with `.` or `,` before the fraction, `-`
/// or `/` in the date), or `10/Oct/2000:13:55:36.123 -0700`, where fraction and offset may be
/// missing and a blank may be in front of the hour. Empty if it is none of these, or not from 1970
/// to 2261, which 64-bit nanoseconds hold.
std::optional<std::int64_t> parse_log_time(std::string_view text);

/// A decimal number in units of `unit_ns`, a power of ten, in nanoseconds: exactly, further
/// decimals are cut off. Empty if it is not a number, negative, or does not fit.
std::optional<std::int64_t> parse_decimal(std::string_view text, std::int64_t unit_ns);

/// A number >= 0, which may have an exponent; empty if it is not one.
std::optional<double> parse_number(std::string_view text);

/// Nanoseconds of a duration that names its units: `13.49ms`, `1m2.5s`, `0.2 s`, `PT1M0.2S`. Empty
/// if it is not one, or longer than 39 hours.
std::optional<std::int64_t> parse_duration_with_units(std::string_view text);

/// The status of HTTP that a status of gRPC stands for (google/rpc/code.proto), OK for 200: by
/// number from 0 to 16, or by name in any spelling, `DEADLINE_EXCEEDED`, `DeadlineExceeded`,
/// `StatusCode.UNAVAILABLE`, `14 UNAVAILABLE`. Empty if it is none.
std::optional<int> status_of_grpc(std::string_view text);

/// A hash of a text; 0 for an empty text, or `-`.
std::uint64_t hash_of(std::string_view text);

/// The beginning of a text, printable, for messages.
std::string shown(std::string_view text);

}  // namespace retrysim::fit
