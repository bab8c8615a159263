// What `retrysim list` prints, as tables of text, and the retry rules of a preset in short, as
// `list sdks` and sim/retry/README.md show them.
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

/// "modes", "sdks", ...: what there are lists of.
std::vector<std::string_view> listing_topics();

// --- Retry rules in short ------------------------------------------------------------------------

/// "50 ms / 1 s, x 2, cap 20 s, full": base (after throttling, where it differs), growth, cap,
/// jitter, and what else is unusual.
std::string describe_backoff(const RetryRules& rules);

/// "500: 14 / 5 / 14, +1, last": capacity, prices (transient / throttling / timeout), credit,
/// refund, and what else is unusual; budgets and breakers. "-": none.
std::string describe_budget(const RetryRules& rules);
/// The releases of an SDK at which its rules changed; "-": none are known.
std::string describe_versions(std::string_view sdk);
/// For SDKs that are named without their version: from which on revision 2.1 applies. One line, or
/// empty.
std::string version_note(const LoadedScenario& loaded);

/// "ruby, 429, timeouts: networking": table of codes and statuses, whether it has 429, and which
/// errors pay the timeout price.
std::string describe_errors(const RetryRules& rules);

/// "60 s / 15 s / unlimited": how long the SDK's client waits for an answer and for a connection,
/// and how many of those it opens, by default. "-": not known.
std::string describe_client(std::string_view sdk);

/// "cubic, before-send": the send-rate limiter or client-side throttle. "-": none.
std::string describe_send_rate(const RetryRules& rules);
/// "replace, at most 6h": the rule for suggested delays, with its own limit if there is one.
std::string describe_retry_after(const RetryRules& rules);
/// The rules of one client in words, before and after an upgrade.
std::vector<report::RuleWords> rules_in_words(const SdkUpgrade& upgrade);

}  // namespace retrysim::cli
