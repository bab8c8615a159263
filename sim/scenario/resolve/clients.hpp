// Steps of resolving a client group: checks of its keys against each other and the rest of the
// scenario, the SDK's own defaults, and arrival processes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/keys/keys.hpp"
#include "scenario/resolve/tables.hpp"
#include "scenario/text/csv_inputs.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::scenario {

// --- Checks --------------------------------------------------------------------------------------

/// Each reports what is wrong with a group, or notes what has no effect.
void note_late_herd(Tables& t, const std::string& path, const ArrivalSpec& arrivals);
void check_quota(Tables& t, const KeyResolution& keys, const ClientSpec& spec);
void check_end_of_lost_requests(Tables& t, const KeyResolution& keys, const Member& member,
                                const ClientSpec& spec);
void note_idle_priority(Tables& t, const KeyResolution& keys, const ClientSpec& spec);
void note_idle_content(Tables& t, const KeyResolution& keys, const ClientSpec& spec);
/// The price of an attempt must not depend on which of a group's services it goes to.
void check_prices(Tables& t, const KeyResolution& keys, const ClientSpec& spec);

/// For all groups together: the rules of groups that name the same retryer, and the memory of
/// states that are kept apart.
void check_retryers(Tables& t);
/// Calls whose deadline is that of their caller, or of which only some are retried.
void check_calls(Tables& t);
/// Keys and operations that nothing is kept apart by, and the reverse.
void note_idle_keys(Tables& t);

// --- The SDK's own defaults ----------------------------------------------------------------------

/// Puts the SDK's own defaults where a group, or a service that calls another one, asks for them.
void apply_client_defaults(Tables& t, KeyResolution& keys, ClientSpec& spec);
/// The same for keys that are not written, before they are resolved.
void follow_pool_of_sdk(KeyResolution& keys);

// --- Arrivals ------------------------------------------------------------------------------------

/// A key that turned out not to apply once the CSV file was known, and why.
struct Withdrawn {
  std::string_view key;  ///< "arrivals.bucket"
  std::string reason;
};

/// Completes `client.arrivals`, whose other members are filled in. `path` is "client.web" and
/// `place` where that is written. Gaps in traces are told in `notes`.
std::vector<Withdrawn> resolve_arrivals(const ArrivalInputs& inputs, const std::string& path,
                                        Place place, ClientSpec& client, CsvFiles& files,
                                        std::vector<std::string>& notes);

}  // namespace retrysim::scenario
