// Building a policy: keys with their sources, tables of fields, and parts for several families,
// such as backoffs and lists of statuses.
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

/// Sets the value of a key, and its source; replaces an earlier value. `path` is below the client
/// group: "retry.max_attempts".
void set(ImportedPolicy& p, std::string_view path, std::string value, std::string source);
void set(ImportedPolicy& p, std::string_view path, std::string value, const Field& from);
void remove(ImportedPolicy& p, std::string_view path);

/// A name for a client group: characters that are not allowed become "-". `otherwise` if none is
/// left.
std::string group_name(std::string_view text, std::string_view otherwise = "imported");

/// `new_policy` makes a policy of that name; `begin` sets the rules to start from: the preset
/// `sdk`, if it is not empty.
ImportedPolicy new_policy(std::string name, std::string from);
void begin(ImportedPolicy& p, std::string_view sdk, std::string_view software);

// --- Tables of fields ----------------------------------------------------------------------------

/// The kind of value that a field's text becomes.
enum class As : std::uint8_t {
  kNothing,      ///< the field has no counterpart: the row's remark says why
  kCount,        ///< a whole number
  kConnections,  ///< a whole number; more than a scenario may have becomes "unlimited"
  kNumber,       ///< a number from zero
  kShare,        ///< a number from 0 to 1
  kPercent,      ///< a share, as a number from 0 to 100
  kDuration,     ///< a length of time; bare numbers are seconds
  kMillis,       ///< a length of time as Spring reads it; bare numbers are milliseconds
  kTimeSpan,     ///< a length of time as .NET reads it
  kTimeout,      ///< as kDuration, but zero becomes "none"
};

/// A field of a configuration: its name, or a path of names, the key that it becomes, and a remark.
/// If the field is absent and `otherwise` is not empty, the key gets that value, as TOML.
struct FieldRow {
  std::string_view field;
  std::string_view key = "";
  As as = As::kNothing;
  std::string_view remark = "";  ///< beside a key: what the field also does; else why it has none
  std::string_view otherwise = "";  ///< the default, as TOML
};

/// A row for a field without a counterpart.
constexpr FieldRow left_out(std::string_view field, std::string_view why) {
  return {field, "", As::kNothing, why};
}

/// Reads the fields of `block` in the order of the rows. `software` is named as the source of
/// defaults.
void read_fields(ImportedPolicy& p, const Field& block, std::span<const FieldRow> rows,
                 std::string_view software = "");
/// As above, for fields that are not all in one block: `field_of` finds them by their names.
void read_fields(ImportedPolicy& p, const std::function<Field(std::string_view)>& field_of,
                 std::span<const FieldRow> rows, std::string_view software = "");

// --- What concerns several families --------------------------------------------------------------

/// A remark on the errors that a simulation retries, for files that ask for others.
inline constexpr std::string_view kRetriedHere =
    "connection errors, timeouts, 500, 502, 503 and 504 are retried here, and throttling codes";
inline constexpr std::string_view kOfInstances =
    "a rule of the service's instances: see service.*.ejection in the list of keys";

void set_backoff(ImportedPolicy& p, Duration base, double factor, std::optional<Duration> cap,
                 std::string_view jitter, const std::string& source);

/// Sets a backoff that lengthens each delay v by up to `share` of it: proportional jitter around
/// the middle of that range. The cap is applied last.
void lengthen_backoff(ImportedPolicy& p, Duration base, double share, const std::string& source);

/// A list of delays base, base + step, base + 2 step, ... for `retries` retries, each drawn from
/// `share` of it below to `share` above; the last one is used for all further retries.
struct LinearDelays {
  std::string text;
  bool cut = false;  ///< the limit cuts off a draw, which the list cannot show
};
LinearDelays linear_delays(Duration base, Duration step, std::int64_t retries,
                           std::optional<Duration> longest, double share = 0);

/// Sets a timeout; zero means that there is none.
void set_timeout(ImportedPolicy& p, std::string_view key, const Field& from);

/// Sets the retried errors: exactly these, in the form of `retry.on`, each once, in this order.
void set_errors(ImportedPolicy& p, const std::vector<std::string>& errors, const std::string& from);

/// Sets the retried errors: the statuses of a list, broken connections and timeouts. `more` is a
/// sentence on what differs.
void set_statuses(ImportedPolicy& p, const Field& list, std::string_view more = "");

/// Sets the most attempts that wait for a connection, for a policy that limits connections.
void set_pending(ImportedPolicy& p, const Field& from);

/// Sets a budget of at most `minimum` retries under way, or `share` of the requests under way if
/// that is more.
void set_active_budget(ImportedPolicy& p, double share, double minimum, const std::string& source);

/// Sets a budget of retries as a share of requests in a window, as in Finagle, Linkerd and tower.
void set_window_budget(ImportedPolicy& p, const Field& share, const Field& least, const Field& ttl,
                       std::string_view software);

/// Adds a policy for each document that is a map of the parameters of a constructor.
void import_parameters(const Documents& documents, ImportedConfiguration& result,
                       void (*read)(ImportedPolicy&, const Field&));

/// The policies of a file by their targets, in the order of the file.
class PoliciesByName {
 public:
  explicit PoliciesByName(const std::vector<std::string>& names);
  const std::vector<std::size_t>& of(const std::string& name) const;

 private:
  std::map<std::string, std::vector<std::size_t>> places_;
};

}  // namespace retrysim::imports
