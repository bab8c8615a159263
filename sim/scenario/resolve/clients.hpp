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

/// These functions report what is wrong with a group, or note what has no effect.
void note_late_herd(Tables& t, const std::string& path, const ArrivalSpec& arrivals);
void check_quota(Tables& t, const KeyResolution& keys, const ClientSpec& spec);
void check_end_of_lost_requests(Tables& t, const KeyResolution& keys, const Member& member,
                                const ClientSpec& spec);
void note_idle_priority(Tables& t, const KeyResolution& keys, const ClientSpec& spec);
void note_idle_content(Tables& t, const KeyResolution& keys, const ClientSpec& spec);
/// Reports a price of attempts that depends on which of a group's services they go to.
void check_prices(Tables& t, const KeyResolution& keys, const ClientSpec& spec);

/// Checks all groups together: groups that name the same retryer have the same rules, and states
/// that are kept apart fit into memory.
void check_retryers(Tables& t);
/// Checks calls whose deadline is that of their caller, and calls of which only some are retried.
void check_calls(Tables& t);
/// Notes keys and operations that nothing is kept apart by, and states kept apart by keys that do
/// not exist.
void note_idle_keys(Tables& t);

// --- The SDK's own defaults ----------------------------------------------------------------------

/// Puts the SDK's own defaults where a group, or a service that calls another one, asks for them.
void apply_client_defaults(Tables& t, KeyResolution& keys, ClientSpec& spec);
/// Lets defaults of keys that are not written follow the SDK's pool; to be called before keys are
/// resolved.
void follow_pool_of_sdk(KeyResolution& keys);

// --- Arrivals ------------------------------------------------------------------------------------

/// A key that turned out not to apply once the CSV file was known, and why.
struct Withdrawn {
  std::string_view key;  ///< name of the key below the group, such as "arrivals.bucket"
  std::string reason;
};

/// Completes `client.arrivals`, whose other members are already filled in, and returns the keys
/// that do not apply. `path` is "client.web" and `place` where it is written. Gaps in traces are
/// added to `notes`.
std::vector<Withdrawn> resolve_arrivals(const ArrivalInputs& inputs, const std::string& path,
                                        Place place, ClientSpec& client, CsvFiles& files,
                                        std::vector<std::string>& notes);

}  // namespace retrysim::scenario
