// Kubernetes client-go: the parameters of wait.Backoff, as retry.OnError has them.
//
// apimachinery pkg/util/wait/backoff.go: each delay is the one before times the factor, lengthened
// by up to the jitter; where the next one would pass the cap, no attempt follows.
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <algorithm>
#include <utility>

namespace retrysim::imports {

namespace {

void read_client_go(ImportedPolicy& p, const Field& f) {
  const Field steps = f["steps"], first = f["duration"], growth = f["factor"], spread = f["jitter"],
              cap = f["cap"];
  if (!steps && !first && !growth && !spread && !cap) return;  // some other file
  if (!steps) steps.fail("expected steps, duration, factor, jitter and cap");
  std::int64_t attempts = std::max<std::int64_t>(1, steps.count());
  const Duration base = first ? first.duration(1e-9) : Duration::zero();
  const double factor = growth ? growth.number(0, 1e6) : 0;
  std::string origin = steps.path();
  if (cap && cap.duration(1e-9) > Duration::zero() && factor > 1) {
    std::int64_t until = 1;  // number of attempts until the cap ends them
    for (double delay = base.in_seconds(); until < attempts && delay > 0; ++until) {
      delay *= factor;
      if (delay > cap.duration(1e-9).in_seconds()) break;
    }
    if (until < attempts) {
      attempts = until;
      origin = paths({steps, cap});
    }
    cap.leave_in_part("when the next delay would pass it, no attempt follows");
  }
  set(p, "retry.max_attempts", in_toml(static_cast<double>(attempts)), origin);
  set_backoff(p, base, factor > 0 ? factor : 1,
              cap && cap.duration(1e-9) > Duration::zero() ? std::optional(cap.duration(1e-9))
                                                           : std::nullopt,
              "none", first ? first.path() : "client-go's default");
  if (spread && spread.number(0, 100) > 0) {
    lengthen_backoff(p, base, spread.number(0, 100), paths({first, spread}));
  }
}

}  // namespace

void import_client_go(const Documents& documents, Reading&, ImportedConfiguration& result) {
  import_parameters(documents, result, read_client_go);
}

}  // namespace retrysim::imports
