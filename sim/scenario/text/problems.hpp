// Places in a scenario's sources, and the list of mistakes found there. Every value of a scenario
// keeps its place, so that a mistake found late (a sum of probabilities, say) is still reported
// where the user wrote it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <compare>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

/// A position in one of the `Sources`. Ordered as errors are listed: scenario file, edits, inputs.
struct Place {
  int source = 0;  ///< index into Sources; 0 is the scenario file
  int line = 0;    ///< line number from 1; 0: the source as a whole
  int column = 0;  ///< column number from 1, in code points; 0: the line as a whole

  friend auto operator<=>(const Place&, const Place&) = default;
};

/// The texts that make up a scenario: the file, the edits, the CSV inputs.
class Sources {
 public:
  /// Adds a text and returns its index. `file` names it in messages.
  int add(std::string file, std::string text);

  const std::string& file(int source) const { return at(source).file; }
  const std::string& text(int source) const { return at(source).text; }
  /// The text of a line (from 1) without its line feed; empty if there is no such line.
  std::string_view line(int source, int line) const;

 private:
  struct Source {
    std::string file;
    std::string text;
  };
  const Source& at(int source) const { return sources_[static_cast<std::size_t>(source)]; }
  std::deque<Source> sources_;  // a deque: views into the texts stay valid
};

/// The names of edits among the sources, which no file has.
inline constexpr std::string_view kEditFile = "\x01set";
inline constexpr std::string_view kVaryFile = "\x01vary";

/// Whether `file` is not a file but an edit.
inline bool is_edit(std::string_view file) { return file == kEditFile || file == kVaryFile; }
/// The name of the part of a request that an edit is: "set", "vary".
inline std::string_view part_of_edit(std::string_view file) { return file.substr(1); }

/// Collects mistakes and keeps the first 20 by place, so that ten megabytes of nonsense cost no
/// more memory than a typing error.
class Problems {
 public:
  static constexpr std::size_t kMost = 20;

  explicit Problems(const Sources& sources) : sources_(&sources) {}
  /// Takes over the problems of `other`, whose sources `sources` begins with.
  Problems(const Problems& other, const Sources& sources)
      : sources_(&sources), found_(other.found_) {}
  Problems(const Problems&) = delete;
  Problems& operator=(const Problems&) = delete;

  void add(Place place, std::string message);
  /// Whether a mistake at `place` would be kept: lets callers skip building a costly message.
  bool wants(Place place) const;
  bool empty() const { return found_.empty(); }
  /// Whether what stands at `place` comes from the edits of a variant.
  bool is_varied(Place place) const { return sources_->file(place.source) == kVaryFile; }
  std::vector<Diagnostic> diagnostics() const;

 private:
  const Sources* sources_;
  std::multimap<Place, std::string> found_;
};

/// `text` in double quotes, cut if it is very long, with unprintable characters as escapes: fit for
/// a message.
std::string in_quotes(std::string_view text);

}  // namespace retrysim::scenario
