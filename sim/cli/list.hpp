// The output of `retrysim list`, as tables of text, and the retry rules of a preset in a few words,
// as `list sdks` and sim/retry/presets.md show them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/retry_rules.hpp>
#include <retrysim/scenario.hpp>
#include <retrysim/sdk_upgrade.hpp>

#include "report/document/document.hpp"
#include "report/sdk_upgrade.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

/// The topics of which there are lists: "modes", "sdks", ...
std::vector<std::string_view> listing_topics();

// --- Retry rules in short ------------------------------------------------------------------------

/// The backoff in a few words, "50 ms / 1 s, x 2, cap 20 s, full": base (then that after
/// throttling, if it differs), growth, cap, jitter, and unusual rules.
std::string describe_backoff(const RetryRules& rules);

/// The retry quota in a few words, "500: 14 / 5 / 14, +1, last": capacity, prices (transient /
/// throttling / timeout), credit, refund, and unusual rules; also budgets and breakers. "-": none.
std::string describe_budget(const RetryRules& rules);
/// The releases of an SDK at which its rules changed; "-": none are known.
std::string describe_versions(std::string_view sdk);
/// A line for SDKs that are named without a version: the version from which on revision 2.1
/// applies. Empty if there is nothing to say.
std::string version_note(const LoadedScenario& loaded);

/// The error rules in a few words, "ruby, 429, timeouts: networking": the table of codes and
/// statuses, whether it has 429, and the errors that pay the timeout price.
std::string describe_errors(const RetryRules& rules);

/// The defaults of an SDK's client in a few words, "60 s / 15 s / unlimited": how long it waits for
/// an answer and for a connection, and how many connections it opens. "-": not known.
std::string describe_client(std::string_view sdk);

/// The send-rate limiter or client-side throttle in a few words, "cubic, before-send". "-": none.
std::string describe_send_rate(const RetryRules& rules);
/// The rule for suggested delays in a few words, "replace, at most 6h", with its own limit if there
/// is one.
std::string describe_retry_after(const RetryRules& rules);
/// The rules of one client in words, before and after an upgrade.
std::vector<report::RuleWords> rules_in_words(const SdkUpgrade& upgrade);

}  // namespace retrysim::cli
