// tower: the parameters of TpsBudget::new (ttl, min_per_sec, retry_percent) and of
// ExponentialBackoffMaker::new (min, max, jitter).
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace retrysim::imports {

namespace {

void read_tower(ImportedPolicy& p, const Field& f) {
  set_window_budget(p, f["retry_percent"], f["min_per_sec"], f["ttl"], "tower");
  set(p, "retry.budget.of", text_in_toml("successes"), "tower's example of a policy");
  set(p, "retry.budget.slices", "11", "tower's rules");
  const Field attempts = f["attempts"], least = f["min"], most = f["max"], jitter = f["jitter"];
  if (attempts) {
    set(p, "retry.max_retries", in_toml(static_cast<double>(attempts.count())), attempts);
  } else {
    set(p, "retry.max_retries", text_in_toml("unlimited"), "the policy decides; give attempts");
  }
  const Duration base = least ? least.duration() : Duration::milliseconds(50);
  const std::string origin = least ? least.path() : "tower's default";
  set_backoff(p, base, 2, most ? std::optional(most.duration()) : std::nullopt, "none", origin);
  if (most) set(p, "retry.backoff.cap", in_toml(most.duration()), most);
  const double longer = jitter ? jitter.number(0, 100) : 0.99;
  if (longer > 0) {
    lengthen_backoff(p, base, longer,
                     origin + (jitter ? " and " + jitter.path() : " and jitter of 0.99"));
  } else {
    set(p, "retry.backoff.jitter", text_in_toml("none"), jitter);
  }
}

}  // namespace

void import_tower(const Documents& documents, Reading&, ImportedConfiguration& result) {
  import_parameters(documents, result, read_tower);
}

}  // namespace retrysim::imports
