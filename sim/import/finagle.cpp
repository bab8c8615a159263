// Finagle: the parameters of RetryBudget.apply, of the functions of Backoff and of MethodBuilder.
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace retrysim::imports {

namespace {

// Reads the parameters of Finagle's functions of Backoff. Backoff.scala: the first delay is `start`
// itself; equal jitter doubles from there, as it does here.
void read_finagle_backoff(ImportedPolicy& p, const Field& f, std::int64_t retries) {
  const Field start = f["start"], cap = f["maximum"], kind = f["backoff"],
              multiplier = f["multiplier"], offset = f["offset"];
  const std::string word = kind ? plain_name(kind.text()) : "exponentialjittered";
  const Duration first = start.duration();
  const std::optional<Duration> most = cap ? std::optional(cap.duration()) : std::nullopt;
  const std::string origin = paths({kind, start});
  const auto grows = [&](std::string_view jitter) {
    set_backoff(p, first, 2, most, jitter, origin);
    if (most) set(p, "retry.backoff.cap", in_toml(*most), cap);
  };
  if (word == "const" || word == "constant") {
    set_backoff(p, first, 1, std::nullopt, "none", origin);
    cap.leave("a constant delay has no maximum");
  } else if (word == "linear") {
    if (!offset) kind.fail("a linear backoff needs offset");
    set(p, "retry.delays", linear_delays(first, offset.duration(), retries, most).text,
        paths({kind, start, offset, cap}));
  } else if (word == "exponential") {
    grows("none");
    if (multiplier) set(p, "retry.backoff.factor", in_toml(multiplier.number(1, 1e6)), multiplier);
  } else {
    const auto jittered = [&](std::string_view jitter, std::string_view difference) {
      grows(jitter);
      set(p, "retry.backoff.jitter", text_in_toml(jitter),
          kind ? kind.path() : "taken for exponentialJittered, as backoff is missing");
      kind.leave_in_part(
          fmt::format("Finagle's first delay is {} itself, and {}", start.path(), difference));
    };
    if (word == "equaljittered") {
      jittered("equal", "at its maximum it spreads no longer");
    } else if (word == "decorrelatedjittered") {
      jittered("decorrelated", "no delay is shorter than the one before it");
    } else if (word == "exponentialjittered") {
      jittered("full",
               "from the third on it draws up to 4, 8, ... times the delay drawn before; at its "
               "maximum it spreads no longer");
    } else {
      kind.fail(
          "expected constant, linear, exponential, exponentialJittered, equalJittered or "
          "decorrelatedJittered");
    }
  }
  if (word != "exponential") multiplier.leave("only an exponential backoff has it");
  if (word != "linear") offset.leave("only a linear backoff has it");
}

void read_finagle(ImportedPolicy& p, const Field& f) {
  set(p, "retry.sdk", text_in_toml("finagle"), "Finagle's rules");
  set_window_budget(p, f["percent_can_retry"], f["min_retries_per_sec"], f["ttl"], "Finagle");
  set(p, "retry.budget.of", text_in_toml("successes"), "Finagle's rules");
  std::int64_t retries = 20;  // Finagle's limit on the retries of one request
  if (const Field most = f["max_tries"]; most) {
    set(p, "retry.max_attempts", in_toml(static_cast<double>(most.count())), most);
    retries = most.count() - 1;
    f["max_retries"].leave("maxTries takes its place");
  } else if (const Field again = f["max_retries"]; again) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(again.count())), again);
    retries = again.count();
  }
  if (f["start"]) {
    read_finagle_backoff(p, f, retries);
  } else {
    for (const char* name : {"backoff", "maximum", "multiplier", "offset"})
      f[name].leave("a backoff needs start");
  }
  if (const Field each = f["timeout_per_request"]; each) {
    set_timeout(p, "attempt_timeout", each);
    f["request_timeout"].leave("timeoutPerRequest takes its place");
  } else {
    set_timeout(p, "attempt_timeout", f["request_timeout"]);
  }
  set_timeout(p, "deadline", f["timeout_total"]);
  f["max_extra_load"].leave(
      "backups are sent at a percentile of the latencies: write retry.hedging.delay");
  f["retry_for_classifier"].leave(fmt::format("is code; {}", kRetriedHere));
}

}  // namespace

void import_finagle(const Documents& documents, Reading&, ImportedConfiguration& result) {
  import_parameters(documents, result, read_finagle);
}

}  // namespace retrysim::imports
