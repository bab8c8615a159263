// How a policy is put together: keys with their sources, tables of fields, and what concerns
// several families, such as backoffs and lists of statuses.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/import.hpp>
#include <retrysim/time.hpp>

#include "import/reading.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::imports {

// --- Values and keys -----------------------------------------------------------------------------

std::string in_toml(Duration d);
std::string in_toml(double number);
std::string text_in_toml(std::string_view text);

/// Gives the key a value, in place of one that it has.
void set(ImportedPolicy& p, std::string_view path, std::string value, std::string source);
void set(ImportedPolicy& p, std::string_view path, std::string value, const Field& from);
void remove(ImportedPolicy& p, std::string_view path);

/// A name for a client group: what cannot stand in one becomes "-".
std::string group_name(std::string_view text, std::string_view otherwise = "imported");

/// A policy of that name, with its rules: `sdk` is the preset to start from, if there is one.
ImportedPolicy new_policy(std::string name, std::string from);
void begin(ImportedPolicy& p, std::string_view sdk, std::string_view software);

// --- Tables of fields ----------------------------------------------------------------------------

/// What a field's text becomes.
enum class As : std::uint8_t {
  kNothing,      ///< the field has no counterpart: the row's remark says why
  kCount,        ///< a whole number
  kConnections,  ///< the same; more than a scenario may have are "unlimited"
  kNumber,       ///< a number from zero
  kShare,        ///< a number from 0 to 1
  kPercent,      ///< a share, as a number from 0 to 100
  kDuration,     ///< a length of time; bare numbers are seconds
  kMillis,       ///< the same; bare numbers are milliseconds
  kTimeout,      ///< the same as kDuration; zero is "none"
};

/// One field of a configuration: its name, or a path of names, the key it becomes, and what to say
/// of it. Where it is absent, and `otherwise` is not empty, the key has that value, as TOML.
struct FieldRow {
  std::string_view field;
  std::string_view key = "";
  As as = As::kNothing;
  std::string_view remark = "";     ///< if a key is made of it: what it says besides
  std::string_view otherwise = "";  ///< the default
};

/// A row of a field that has no counterpart.
constexpr FieldRow left_out(std::string_view field, std::string_view why) {
  return {field, "", As::kNothing, why};
}

/// Reads the fields of `block` in the order of the rows. `software` has the defaults.
void read_fields(ImportedPolicy& p, const Field& block, std::span<const FieldRow> rows,
                 std::string_view software = "");
/// The same where fields are not all in one block: `field_of` finds them by their names.
void read_fields(ImportedPolicy& p, const std::function<Field(std::string_view)>& field_of,
                 std::span<const FieldRow> rows, std::string_view software = "");

// --- What concerns several families --------------------------------------------------------------

/// What is retried in a simulation, which a file may ask to be otherwise.
inline constexpr std::string_view kRetriedHere =
    "connection errors, timeouts, 500, 502, 503 and 504 are retried here, and throttling codes";
inline constexpr std::string_view kOfInstances =
    "a rule of the service's instances: see service.*.ejection in the list of keys";

void set_backoff(ImportedPolicy& p, Duration base, double factor, std::optional<Duration> cap,
                 std::string_view jitter, const std::string& source);

/// Lengthens each delay v by up to `share` of it. That is what proportional jitter makes of the
/// middle; the cap comes last.
void lengthen_backoff(ImportedPolicy& p, Duration base, double share, const std::string& source);

/// Delays of base, base + step, base + 2 step, ... for `retries` retries, each drawn from a part
/// `share` of it below to as much above; the last one goes on.
struct LinearDelays {
  std::string text;
  bool cut = false;  ///< the limit cuts a draw, which the list does not show as it is
};
LinearDelays linear_delays(Duration base, Duration step, std::int64_t retries,
                           std::optional<Duration> longest, double share = 0);

/// A timeout of which zero means that there is none.
void set_timeout(ImportedPolicy& p, std::string_view key, const Field& from);

/// What is retried: these errors, as `retry.on` has them, and no others. Each once, in this order.
void set_errors(ImportedPolicy& p, const std::vector<std::string>& errors, const std::string& from);

/// The statuses of a list are retried, and broken connections and timeouts. `more` is a sentence on
/// what differs.
void set_statuses(ImportedPolicy& p, const Field& list, std::string_view more = "");

/// At most so many attempts wait for a connection, of a policy that limits these.
void set_pending(ImportedPolicy& p, const Field& from);

/// At most so many retries under way, or a share of the requests under way if that is more.
void set_active_budget(ImportedPolicy& p, double share, double minimum, const std::string& source);

/// Retries as a share of requests in a window, as Finagle, Linkerd and tower have it.
void set_window_budget(ImportedPolicy& p, const Field& share, const Field& least, const Field& ttl,
                       std::string_view software);

/// A policy from each document that is a map of the parameters of a constructor.
void import_parameters(const Documents& documents, ImportedConfiguration& result,
                       void (*read)(ImportedPolicy&, const Field&));

/// Policies of a file by what they send to, in their order.
class PoliciesByName {
 public:
  explicit PoliciesByName(const std::vector<std::string>& names);
  const std::vector<std::size_t>& of(const std::string& name) const;

 private:
  std::map<std::string, std::vector<std::size_t>> places_;
};

}  // namespace retrysim::imports
