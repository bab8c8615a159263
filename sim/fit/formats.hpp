// Formats of access logs as data: what the variables of each server mean (which variable is the
// time, of begin or end; which is the duration, in which unit), how a server's own description of
// its format becomes a reader of lines, and how the format of a log is recognized.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::fit {

/// What a value of a line is. The first seven are the roles that --column names (Role).
enum class LinePart : std::uint8_t {
  kTime,
  kDuration,
  kStatus,
  kRequest,  ///< identity of the request, which retries share
  kService,
  kClient,
  kPath,    ///< path, or request line
  kDate,    ///< the day, if it is separate from the time
  kBegan,   ///< when the request came, where kTime is when it was answered
  kFirst,   ///< parts of the duration, in seconds
  kSecond,  ///< part of the duration
  kThird,   ///< ditto
  kFlags,   ///< how the request ended
  kAgent,   ///< the program of the client
  kFilter,  ///< load tests: what the line is about
  kError,   ///< load tests: why there was no answer
  kUsers,   ///< load tests: how many there were
  kGrpc,    ///< the status of gRPC, which HTTP has as 200
  kNothing
};
inline constexpr std::size_t kLineParts = static_cast<std::size_t>(LinePart::kNothing);

/// Units that a duration may be in, as bits.
enum Units : std::uint8_t { kNoUnit = 0, kInS = 1, kInMs = 2, kInUs = 4, kInNs = 8 };
inline constexpr std::uint8_t kInAnyUnit = kInS | kInMs | kInUs | kInNs;

/// The vocabulary in which kFlags says that the client gave up.
enum class FlagWords : std::uint8_t { kNone, kEnvoy, kHaproxy, kApache, kNginx, kIis, kCloudFront };

/// How durations become whole steps, as far as that is known: cut off, so that they are half a step
/// too short on average, or evenly, such as to the next one.
enum class HowRounded : std::uint8_t { kUnknown, kCut, kEven };

/// What a variable, column or member means.
struct Meaning {
  LinePart part = LinePart::kNothing;
  std::uint8_t units = kNoUnit;  ///< possible units of a duration
  bool is_start = false;         ///< whether a time is that of the request rather than the answer
  /// Among several values with the same meaning, the one with the lowest rank is read.
  std::uint8_t rank = 0;
  FlagWords flags = FlagWords::kNone;
  bool multiple = false;                       ///< several values may stand there: "0.1, 0.2 : 0.3"
  HowRounded rounding = HowRounded::kUnknown;  ///< of a duration
};

using LineValues = std::array<std::string_view, kLineParts>;

/// Text with values in between. LineValues end where the text that follows them begins; a quote
/// that has a backslash before it does not end a value.
class Pattern {
 public:
  struct Piece {
    std::string before;  ///< the text in front of the value
    LinePart part = LinePart::kNothing;
    bool multiple = false;
  };
  std::vector<Piece> pieces;
  std::string end;           ///< the text behind the last value
  bool open_end = false;     ///< more may follow
  std::size_t required = 0;  ///< a line may end after this many values; 0: it must be whole

  /// Whether the line has this form; fills in `values`, which live as long as the line.
  bool match(std::string_view line, LineValues& values) const;
};

/// How a file is laid out.
enum class Shape : std::uint8_t {
  kPattern,
  kCsv,
  kJson,  ///< or logfmt, whose pairs are members
  kW3c
};

/// How the lines of a log are read.
struct Format {
  std::string word;  ///< name of the format
  Shape shape = Shape::kPattern;
  Pattern pattern;
  /// The meaning of each part that the format has; other parts are kNothing.
  std::array<Meaning, kLineParts> meanings;
  /// JSON: names of members, nested ones with dots. CSV and W3C: names of columns.
  std::array<std::string, kLineParts> names;
  /// CSV and W3C: indices of columns.
  std::array<std::size_t, kLineParts> places = {};
  /// If the duration turns out to be in milliseconds, the time is that of the answer (Tomcat, as
  /// opposed to Apache).
  bool end_if_ms = false;

  bool has(LinePart part) const { return meaning(part).part != LinePart::kNothing; }
  const Meaning& meaning(LinePart part) const { return meanings[static_cast<std::size_t>(part)]; }
  Meaning& meaning(LinePart part) { return meanings[static_cast<std::size_t>(part)]; }
  const std::string& name(LinePart part) const { return names[static_cast<std::size_t>(part)]; }
  /// Offers a meaning, which is taken unless the format has a better one; returns whether it is
  /// taken.
  bool offer(const Meaning& meaning);
};

/// The words that --log-format knows, separated by `|`; some are synonyms (see `plain_word`).
std::string_view format_words();

/// The format that a synonym stands for: "json" for "caddy".
std::string_view plain_word(std::string_view word);

/// Whether the value of --log-format is a description rather than a word.
bool is_description(std::string_view text);

/// Reads a server's own description of its format: nginx's log_format, Apache's LogFormat, Tomcat's
/// pattern, Envoy's format string or JSON format, HAProxy's log-format, gunicorn's
/// access_log_format. `tomcat:` and so on in front of it names the server, where `%` alone does not
/// tell it. If it cannot be read, returns empty, and `why_not` is the end of a sentence.
std::optional<Format> described_format(std::string_view text, std::string& why_not);

/// The format of lines that a known server writes: the one in which most of the lines make sense;
/// empty if none does. `word` is the value of --log-format: `auto`, or a name of some of these
/// formats. `matched` is the number of lines that make sense.
std::optional<Format> known_format(std::span<const std::string_view> lines, std::string_view word,
                                   std::size_t& matched);

/// The meaning of columns or members with usual names.
Meaning usual_meaning(std::string_view name);

/// In what a column of a monitoring export counts requests: in its interval, as a rate, or since
/// the start of a counter.
enum class CountedIn : std::uint8_t { kNothing, kInterval, kSecond, kMinute, kTotal };

/// What the name of a column of numbers of requests says: "requests", "rps".
CountedIn counted_in(std::string_view name);

/// Whether a column's name tells several series of an export apart: "instance", "pod".
bool is_of_series(std::string_view name);

/// Whether a column's name is that of a figure of many requests rather than of one: an average, a
/// quantile, a largest value.
bool is_of_many(std::string_view name);

/// The unit that the name of a column of durations contains; otherwise all units.
std::uint8_t duration_unit_of(std::string_view name);

/// The meaning of the fields of W3C's extended log format.
Meaning w3c_meaning(std::string_view field);

/// Whether the values can be what the format says: a time, a status, a duration.
bool make_sense(const Format& format, const LineValues& values);

/// A line of logfmt, `time=... status=200 msg="..."`: calls `pair` with each name and value, quotes
/// around values taken off. Words without `=` are skipped. Returns the number of pairs.
template <typename Pair>
std::size_t split_logfmt(std::string_view line, const Pair& pair) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == ' ') {
      ++at;
      continue;
    }
    const std::size_t stop = line.find_first_of(" =\"", at);
    if (stop == std::string_view::npos) break;
    if (line[stop] != '=' || stop == at) {
      at = stop + 1;
      continue;
    }
    const std::string_view name = line.substr(at, stop - at);
    at = stop + 1;
    std::size_t end = 0;
    if (at < line.size() && line[at] == '"') {
      end = ++at;
      while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
      if (end >= line.size()) break;
    } else {
      end = line.find(' ', at);
      if (end == std::string_view::npos) end = line.size();
    }
    pair(name, line.substr(at, end - at));
    ++count;
    at = end + 1;
  }
  return count;
}

/// Whether a line that does not fit the log's format is a request in another format: it has the
/// time of the common log format, or the status of a JSON object.
bool looks_like_request(std::string_view line);

/// Splits a line of comma-separated values. Quotes inside a quoted field stay doubled; fields that
/// matter have none. False if a quote is never closed.
bool split_csv(std::string_view line, std::vector<std::string_view>& fields);

/// Splits a line at blanks and tabs that are not inside quotes. False if a quote is never closed.
bool split_blanks(std::string_view line, std::vector<std::string_view>& fields);

}  // namespace retrysim::fit
