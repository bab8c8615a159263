// Access logs: which request arrived when, how long it took and how it ended. Lines are read one
// after the other and forgotten; of each line only numbers are kept, 24 bytes in all, and 8 more
// while reading if it has a name beside client and path. Addresses, users, paths and headers are
// not kept; of a request's name, or of client and path together, a hash is. How lines are read in
// which format is in formats.hpp, what is around them in wrappers.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/words.hpp>

#include "fit/formats.hpp"
#include "fit/load_tests.hpp"
#include "fit/values.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::fit {

/// What a column or member means.
enum class Role : std::uint8_t { kTime, kDuration, kStatus, kRequest, kService, kClient, kPath };

}  // namespace retrysim::fit

template <>
inline constexpr std::string_view retrysim::kWords<retrysim::fit::Role> =
    "time|duration|status|request|service|client|path";
static_assert(retrysim::words_end_with(retrysim::fit::Role::kPath));

namespace retrysim::fit {

/// How messages call what one may say of a log: "columns", "duration_unit", "format", "service",
/// "service_time". A program has options for these.
using NameOfPart = std::string (*)(std::string_view part);

struct LogOptions {
  /// A word of format_words() (formats.hpp), or the description of a format.
  std::string format = "auto";
  /// CSV, W3C and JSON: names of columns that differ from the usual ones.
  std::map<Role, std::string> columns = {};
  std::optional<double> duration_unit_s =
      {};  ///< empty: the unit is that of the format, or follows from the column's name
  std::optional<bool> time_is_start =
      {};                    ///< otherwise that of the format, or of the column's name
  std::string service = {};  ///< only lines of this service; empty: all, if there is only one
  double bad_lines = 0.01;   ///< share of lines that may be unreadable
  NameOfPart part = [](std::string_view name) { return std::string(name); };
};

/// The status that nginx and most others log for a client that closed its connection before it had
/// an answer.
inline constexpr int kClientGaveUp = 499;
/// The status that an AWS load balancer logs for such a client.
inline constexpr int kClientGaveUpAlb = 460;

/// Whether a status means that the client did not wait for the answer.
inline bool says_gave_up(int status) {
  return status == kClientGaveUp || status == kClientGaveUpAlb;
}

/// Whether a status is a failure: 429, 500 and above, or that of a client that gave up.
inline bool is_error(int status) { return status >= 500 || status == 429 || says_gave_up(status); }

/// One line of a log, in 24 bytes.
struct Observation {
  std::int64_t start_ns = 0;  ///< when the request arrived, since 1970 or since the log's own zero
  std::int64_t duration_ns : 48 = 0;  ///< 0 if it has none
  std::int64_t status : 11 = 0;       ///< 0: not known
  /// Whether the line says how long the request took; without, `start_ns` is the line's time.
  bool has_duration : 1 = true;
  /// The client did not wait for the answer. The status is then 499 or 460, whatever else the line
  /// says: the duration is how long the client waited.
  bool gave_up : 1 = false;
  /// Hash of the request's name, or if it has none, or one that tells nothing, of client and path
  /// together; 0: neither is known.
  std::uint64_t request = 0;

  static constexpr std::int64_t kLongestNs = (std::int64_t{1} << 47) - 1;  ///< 39 hours

  /// Makes an observation; a duration above the longest is cut to it.
  static Observation of(std::int64_t start_ns, std::int64_t duration_ns, int status) {
    Observation row;
    row.start_ns = start_ns;
    row.duration_ns = std::min(duration_ns, kLongestNs) & kLongestNs;
    row.status = status & 0x3ff;
    row.gave_up = says_gave_up(status);
    return row;
  }
  /// Makes the observation of a line without a duration.
  static Observation without_duration(std::int64_t time_ns, int status) {
    Observation row = of(time_ns, 0, status);
    row.has_duration = false;
    return row;
  }
  bool has_status() const { return status != 0; }
  static constexpr std::uint64_t kKeyBit = std::uint64_t{1} << 63;
  /// Whether `request` is a hash of client and path rather than of a name.
  static bool is_key(std::uint64_t request) { return (request & kKeyBit) != 0; }
  std::int64_t end_ns() const { return start_ns + duration_ns; }
  bool failed() const { return is_error(static_cast<int>(status)); }
};
static_assert(sizeof(Observation) == 24);

/// The lines with one status.
struct StatusCount {
  int status = 0;
  std::size_t lines = 0;
  double mean_s = 0;  ///< mean duration of these lines
};

/// Counts lines by status.
class StatusCounter {
 public:
  void add(const Observation& row);
  /// The counts, in ascending order of the statuses.
  const std::vector<StatusCount>& counts() const { return counts_; }

 private:
  std::vector<StatusCount> counts_;
};

struct BadLine {
  std::string file;
  std::uint64_t line = 0;  ///< from 1
  std::string why;
};

/// A row of a monitoring export: how many requests there were in the bucket that begins at
/// `time_ns`, or at which rate they came (`Log::counted_in`).
struct Count {
  std::int64_t time_ns = 0;
  double requests = 0;
  std::uint32_t series = 0;  ///< of which host or the like, numbered in the order of the log
};

struct Log {
  std::vector<Observation> rows;  ///< in the order of their starts
  /// Request counts in the order of time. If there are any, there are no rows: the "log" is a
  /// monitoring export.
  std::vector<Count> counts;
  CountedIn counted_in = CountedIn::kNothing;  ///< of `counts`, if there are any
  /// Set if the lines are results of a load test, as its clients saw them.
  std::optional<LoadTest> load_test;
  std::string format;       ///< name of the format
  std::uint64_t lines = 0;  ///< lines with content, without headers
  std::uint64_t bad_lines = 0;
  std::uint64_t other_services = 0;  ///< lines of services that were not asked for
  std::uint64_t no_service = 0;      ///< lines of no service, where the others name one
  std::uint64_t other_lines = 0;    ///< lines that are not requests: messages, stack traces, events
  std::uint64_t health_checks = 0;  ///< requests of load balancers and the like, which are left out
  std::vector<BadLine> first_bad;   ///< at most ten
  std::vector<BadLine> first_other;  ///< at most three
  /// Sentences about how the log was read, where that is not obvious.
  std::vector<std::string> notes;
  bool has_durations = true, has_statuses = false, has_requests = false;
  bool has_keys = false;  ///< some lines without a name have client and path
  /// The largest of 1 s, 1 ms, 1 us, 1 ns of which all times are a multiple.
  std::int64_t time_resolution_ns = 1'000'000'000;
  HowRounded rounding = HowRounded::kUnknown;  ///< of durations, as far as the format says
  bool times_are_starts = false;  ///< times of the log are those of requests, not of answers
  /// The clock is too coarse for the durations (coarse.hpp): lines of the same time were spread
  /// over its step in their order.
  bool is_coarse = false;
  /// The clock is coarse and lines are not in the order in which they were written: several buffers
  /// wrote bunches of lines.
  bool is_disordered = false;
  /// The factor by which durations would have to be multiplied for the lines to be in order
  /// (laws.hpp); 1: none.
  double order_factor = 1;
  NameOfPart part = LogOptions{}.part;  ///< as in `LogOptions`

  /// A log with other rows and the same clock and settings, without what concerns the files.
  Log with(std::vector<Observation> other_rows) const;
};

/// Thrown if a log cannot be read, or not enough of it. The message has file and line.
class BadLog : public InputError {
 public:
  using InputError::InputError;
};

/// Reads files one after the other, packed with gzip or not; "-" is standard input. A CSV file with
/// a time and a column of numbers of requests (`counted_in`), but neither status nor names, has
/// counts; a duration in it is an average. Throws BadLog, also for rows that are samples of another
/// kind, and Interrupted if asked to stop.
Log read_log(const std::vector<std::string>& files, const LogOptions& options);

}  // namespace retrysim::fit
