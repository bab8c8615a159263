// urllib3, also of requests: the parameters of Retry.
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace retrysim::imports {

namespace {

/// The statuses that urllib3 retries beside the list if an answer suggests a delay.
std::string suggestions_of_urllib3(const std::vector<std::string>& listed) {
  std::vector<std::string> others;
  for (const char* code : {"413", "429", "503"}) {
    if (std::ranges::count(listed, code) == 0) others.emplace_back(code);
  }
  if (others.empty()) return "";
  return fmt::format("urllib3 also retries a {} that suggests a delay", fmt::join(others, " or "));
}

/// Reads the rules for suggested delays, which replace the backoff up to a limit of their own. If
/// that limit is zero, sleep_for_retry finds nothing to wait for, and the backoff stays.
void read_urllib3_suggestions(ImportedPolicy& p, const Field& respect, const Field& limit) {
  constexpr int kHours = 6;  // since urllib3 2.6.3
  const std::string respected = respect ? respect.path() : "urllib3's default";
  if (respect && !respect.flag()) {
    set(p, "retry.retry_after", text_in_toml("ignore"), respected);
    limit.leave("suggested delays are ignored");
    return;
  }
  const Duration longest = limit ? limit.duration() : Duration::seconds(kHours * 3600);
  if (longest == Duration::zero()) {
    set(p, "retry.retry_after", text_in_toml("ignore"), limit);
    return;
  }
  set(p, "retry.retry_after", text_in_toml("replace"), respected);
  set(p, "retry.retry_after_max", in_toml(longest), limit ? limit.path() : "urllib3's default");
}

constexpr std::string_view kIsOfRequests = "is about the requests, not about when to retry";
constexpr FieldRow kOfRequests[] = {left_out("allowed_methods", kIsOfRequests),
                                    left_out("method_whitelist", kIsOfRequests),
                                    left_out("raise_on_status", kIsOfRequests),
                                    left_out("raise_on_redirect", kIsOfRequests),
                                    left_out("history", kIsOfRequests),
                                    left_out("remove_headers_on_redirect", kIsOfRequests)};

// Reads urllib3.util.Retry of version 2: the first retry is made at once, then backoff_factor x 2,
// 4, ...
void read_urllib3(ImportedPolicy& p, const Field& f) {
  const Field total = f["total"], factor = f["backoff_factor"], most = f["backoff_max"],
              jitter = f["backoff_jitter"], respect = f["respect_retry_after_header"],
              statuses = f["status_forcelist"];
  // With total = None the other numbers limit the retries; total = False retries nothing.
  std::string retries = "10", origin = "urllib3's default";
  if (total.is_null()) {
    retries = text_in_toml("unlimited");
    origin = total.path();
    total.use();
    std::int64_t largest = -1;
    for (const char* name : {"connect", "read", "status", "other"}) {
      const Field number = f[name];
      if (!number || plain_name(number.text()) == "false") continue;
      if (number.count() <= largest) continue;
      largest = number.count();
      retries = in_toml(static_cast<double>(largest));
      origin = fmt::format("{}, as total is null", number.path());
    }
  } else if (total) {
    retries =
        plain_name(total.text()) == "false" ? "0" : in_toml(static_cast<double>(total.count()));
    origin = total.path();
  }
  set(p, "retry.max_retries", retries, origin);
  const double base = factor ? factor.number(0, 1e6) : 0;
  set_backoff(p, Duration::from_seconds(base), 2, most ? most.duration() : Duration::seconds(120),
              "none", factor ? factor.path() : "urllib3's default");
  if (most) set(p, "retry.backoff.cap", in_toml(most.duration()), most);
  set(p, "retry.backoff.immediate_retries", "1", "urllib3 makes the first retry at once");
  if (jitter && jitter.number() > 0) {
    set(p, "retry.backoff.jitter", text_in_toml("plus-width"), jitter);
    set(p, "retry.backoff.jitter_width", in_toml(Duration::from_seconds(jitter.number())), jitter);
    set(p, "retry.backoff.jitter_before_cap", "true", "the cap limits the sum");
  }
  read_urllib3_suggestions(p, respect, f["retry_after_max"]);
  const bool respects = !respect || respect.flag();
  if (statuses && !statuses.words().empty()) {
    set_statuses(p, statuses, respects ? suggestions_of_urllib3(statuses.words()) : "");
  } else if (respects) {
    set(p, "retry.classifier", text_in_toml("urllib3"),
        "without status_forcelist: 413, 429 and 503 that suggest a delay");
    statuses.use();
  } else {
    respect.leave_in_part(
        "500, 502, 503 and 504 are retried here; without status_forcelist, urllib3 retries no "
        "answer");
  }
  for (const char* name : {"connect", "read", "redirect", "status", "other"}) {
    const Field number = f[name];
    if (number && total.is_null()) {
      number.use();
      number.leave_in_part("one number of retries counts for all causes");
    }
    number.leave("one number of retries counts for all causes");
  }
  read_fields(p, f, kOfRequests);
}

}  // namespace

void import_urllib3(const Documents& documents, Reading&, ImportedConfiguration& result) {
  import_parameters(documents, result, read_urllib3);
}

}  // namespace retrysim::imports
