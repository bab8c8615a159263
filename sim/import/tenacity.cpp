// Tenacity: stop_after_attempt, stop_after_delay, wait_fixed, wait_exponential,
// wait_random_exponential, wait_exponential_jitter.
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace retrysim::imports {

namespace {

constexpr FieldRow kTenacityLeftOut[] = {
    left_out("wait_random", "write retry.delays with a uniform distribution"),
    left_out("wait_chain", "write retry.delays: the last delay goes on"),
    left_out("stop_before_delay",
             "no retry begins that a wait would make too late: write a deadline"),
    left_out("retry", "is code"),
    left_out("reraise", "is code"),
    left_out("before", "is code"),
    left_out("after", "is code"),
    left_out("before_sleep", "is code")};

void read_tenacity(ImportedPolicy& p, const Field& f) {
  const Field stop = f["stop_after_attempt"], delay = f["stop_after_delay"];
  set(p, "retry.max_attempts",
      stop ? in_toml(static_cast<double>(stop.count())) : text_in_toml("unlimited"),
      stop ? stop.path() : "Tenacity's default");
  if (delay) set(p, "deadline", in_toml(delay.duration()), delay);
  set_backoff(p, Duration::zero(), 1, std::nullopt, "none", "Tenacity's default");
  if (const Field w = f["wait_fixed"]; w)
    set_backoff(p, w.duration(), 1, std::nullopt, "none", w.path());
  const auto exponential = [&](const Field& w, std::string_view jitter, std::string_view first) {
    if (w.map().members().empty()) w.use();
    const Field multiplier = w[first], most = w["max"], base = w["exp_base"];
    set_backoff(p, multiplier ? multiplier.duration() : Duration::seconds(1),
                base ? base.number(1, 1e6) : 2,
                most ? std::optional(most.duration()) : std::nullopt, jitter, w.path());
    w["min"].leave("delays have no least length");
  };
  if (const Field w = f["wait_exponential"]; w) exponential(w, "none", "multiplier");
  if (const Field w = f["wait_random_exponential"]; w) exponential(w, "full", "multiplier");
  if (const Field w = f["wait_exponential_jitter"]; w) {
    exponential(w, "none", "initial");
    const Field jitter = w["jitter"];
    const Duration width = jitter ? jitter.duration() : Duration::seconds(1);
    if (width > Duration::zero()) {
      const std::string from = jitter ? jitter.path() : "Tenacity's default";
      set(p, "retry.backoff.jitter", text_in_toml("plus-width"), from);
      set(p, "retry.backoff.jitter_width", in_toml(width), from);
      set(p, "retry.backoff.jitter_before_cap", "true", "the cap limits the sum");
    }
  }
  if (const Field w = f["wait_incrementing"]; w) {
    const Field start = w.map()["start"], step = w["increment"], most = w["max"];
    constexpr std::int64_t kWithoutEnd = 100;
    std::erase_if(p.keys,
                  [](const ImportedKey& key) { return key.path.starts_with("retry.backoff."); });
    set(p, "retry.delays",
        linear_delays(start ? start.duration() : Duration::zero(),
                      step ? step.duration() : Duration::seconds(100),
                      stop ? stop.count() - 1 : kWithoutEnd,
                      most ? std::optional(most.duration()) : std::nullopt)
            .text,
        w);
    if (w.members().empty()) w.use();
  }
  read_fields(p, f, kTenacityLeftOut);
}

}  // namespace

void import_tenacity(const Documents& documents, Reading&, ImportedConfiguration& result) {
  import_parameters(documents, result, read_tenacity);
}

}  // namespace retrysim::imports
