// Laws that the durations of any log obey: a unit that was read wrongly, or a column that is no
// duration, breaks one of them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/log.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace retrysim::fit {

/// The factor (a thousand, a million, or the inverse of one) by which durations would have to be
/// multiplied so that the lines are in the order in which they were written; 1 if they are already,
/// or no factor achieves it. Tells only logs with times of requests: there the duration says when
/// the line was written, unless lines were sorted by these times. `rows` are in the order of the
/// file.
double factor_by_order(std::span<const Observation> rows, std::int64_t resolution_ns,
                       bool times_are_starts);

/// The law that the durations of the log break, and what would mend it, as sentences; empty if they
/// break none.
///
/// * Order: lines with times of requests are written when these end. And where lines with times of
///   answers are alike in the order of these, they are in that of their beginnings.
/// * Span: no request lasts longer than the log (one in a hundred may have begun before it).
/// * Little's law: the mean number under way while the log lasts is rate times mean duration, as
///   long as few requests reach beyond either end (a fifth).
/// * Resolution: a duration has at least a microsecond, and at least half of them are no zeros.
std::optional<std::string> broken_law(const Log& log);

}  // namespace retrysim::fit
