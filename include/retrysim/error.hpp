// Mistakes in what the user gives: scenarios, edits, logs, configurations, requests. Functions that
// return a result say every mistake in it (`errors`); all others throw an `InputError`, of which
// there is one kind for programs to catch. Anything else that is thrown is no mistake of the user:
// work that ends early (`Interrupted`, `LimitExceeded`), a defect (`InvariantViolated`), and
// std::logic_error for a call that makes no sense.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace retrysim {

// --- Mistakes ------------------------------------------------------------------------------------

/// One mistake in an input: what is wrong, where, and what would be right.
struct Diagnostic {
  std::string file;         ///< path as given by the user; empty: in no file
  int line = 0;             ///< from 1; 0: no line
  int column = 0;           ///< from 1; 0: no column
  std::string message;      ///< "what is wrong; what would be right"
  std::string source_line;  ///< the line, if there is one; of a long one the part around the place
  int caret = 0;            ///< where in `source_line` the mistake is, from 1; 0: nowhere
  /// The key at that place, with its table ("client.web.retry.max_attempts"), or the part of the
  /// request ("trigger"); empty if there is none.
  std::string key = {};
  /// The known name that is nearest to a misspelt one; empty if none is near.
  std::string nearest = {};
  /// `file` is no file but a part of the request: "set" (an edit), "vary", "trigger".
  bool in_request = false;
};

/// `file:line:column: error: message`, then the source line and a caret below the place. No newline
/// at the end.
std::string to_string(const Diagnostic& diagnostic);

/// An input with at least one mistake. `what()` is `to_string` of the first one, or, if that is
/// in no file, its message alone.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  explicit InputError(Diagnostic diagnostic)
      : InputError(std::vector<Diagnostic>{std::move(diagnostic)}) {}
  /// The message may begin with its place, "access.log:12: ".
  explicit InputError(std::string message);

  /// All mistakes that were found, by place; at least one.
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

  // The first mistake.
  const std::string& message() const { return diagnostics_.front().message; }
  const std::string& file() const { return diagnostics_.front().file; }
  int line() const { return diagnostics_.front().line; }
  const std::string& key() const { return diagnostics_.front().key; }
  const std::string& nearest() const { return diagnostics_.front().nearest; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// Throws an InputError if there are mistakes.
inline void check(const std::vector<Diagnostic>& errors) {
  if (!errors.empty()) throw InputError(errors);
}

/// Either a plan, or at least one error.
template <class Plan>
struct Planned {
  std::optional<Plan> plan;
  std::vector<Diagnostic> errors;

  /// The plan; throws an InputError with all mistakes if there are any.
  Plan value() && {
    check(errors);
    return *std::move(plan);
  }
};

/// A request that no scenario could satisfy: a comparison of one variant, a trigger that takes no
/// numbers. The message says why ("trigger: ...").
class RequestError : public InputError {
 public:
  /// What users call a part of the request is up to the program: messages name it by `part`.
  explicit RequestError(const std::string& text);
  /// The scenario that is asked for has this mistake.
  explicit RequestError(const Diagnostic& mistake);

  static std::string part(const std::string& name) { return kMark + name + kMark; }
  /// The message with the name that `call` gives to each part: "--trigger", say.
  std::string text(const std::function<std::string(const std::string&)>& call) const;

 private:
  static constexpr const char* kMark = "\x01";

  std::string text_;
};

// --- Ending early --------------------------------------------------------------------------------

/// The work was asked to stop.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// While it lives, long work in this thread (reading files, fitting, simulating, writing results)
/// ends with `Interrupted` once `*stop` is true. Scopes nest: each one adds its flag to those of
/// the scopes around it. `stop` may be null.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>* stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  /// Whether this scope's flag, or that of one around it, is set.
  bool stopped() const;

 private:
  const std::atomic<bool>* stop_;
  const StopScope* outer_;
};

/// Which limit a run exceeded.
enum class LimitKind : std::uint8_t {
  kTime,     ///< wall-clock time
  kEvents,   ///< `max_events`; steps on the agenda count, too
  kInstant,  ///< ten million events at one instant of simulated time
  kMemory,   ///< `max_memory`
};

/// A limit was hit.
class LimitExceeded : public std::runtime_error {
 public:
  explicit LimitExceeded(const std::string& what, LimitKind kind = LimitKind::kTime)
      : std::runtime_error(what), kind_(kind) {}
  LimitKind kind() const { return kind_; }

 private:
  LimitKind kind_;
};

/// An invariant of the simulator does not hold: a defect of the program. The message gives seed,
/// replication and simulated time.
class InvariantViolated : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace retrysim
