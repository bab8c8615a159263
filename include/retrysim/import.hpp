// Scenarios from what there is already: `fit_log` makes one of access logs, `import_configuration`
// client groups of the retry configurations of other software.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/scenario.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim {

class Tables;

// --- Access logs ---------------------------------------------------------------------------------

// A scenario that runs is fitted to the log: when requests arrive, how long they are served, how
// many servers there are, how many fail, and which stretches were incidents. Notes say what
// the log does not tell.
//
//     const FittedLog fitted = fit_log({"access.log.gz"});
//     const Run r = run(fitted.scenario);

struct FitOptions {
  std::string name = "fitted";  ///< of the scenario: letters, digits, _ and -
  /// "auto": told from the first lines; else the name of a format, or with $ or % its description
  /// (sim/fit/README.md).
  std::string format = "auto";
  /// CSV, W3C and JSON: the column or member for time, duration, status, request, service, client
  /// or path, where its name is not a usual one.
  std::map<std::string, std::string> columns = {};
  std::optional<double> duration_unit_s = {};  ///< above 0; empty: told by format and names
  std::optional<bool> time_is_start =
      {};                         ///< of a request; false: its end; empty: told by the format
  std::string service = {};       ///< only its lines; empty: all, if there is only one service
  double allow_bad_lines = 0.01;  ///< share of lines that may be unreadable, 0 to 1
};

struct FittedLog {
  LoadedScenario scenario;
  /// scenario.toml and the CSV files that it names, each with its content.
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> notes;  ///< what to be careful about, as sentences
  std::string why_untested;        ///< why there is no backtest; empty: there is one

  struct Details;  ///< estimates and backtest, for the tables
  std::shared_ptr<const Details> details;
};

/// Reads logs, one after the other ("-" is standard input; packed with gzip or not), and fits a
/// scenario to all of them. A fit of the first half is simulated and compared with the second.
/// Throws an InputError, with the place in its message, if they cannot be read or have too little;
/// and `Interrupted` (see `StopScope`).
FittedLog fit_log(const std::vector<std::filesystem::path>& logs, const FitOptions& options = {});

/// The tables fit (each figure with its interval), laws, durations, incidents if there are any, and
/// backtest if there is one.
Tables tables(const FittedLog& fitted);

// --- Configurations ------------------------------------------------------------------------------

// Retry configurations of other software (proxies, gateways, libraries) as client groups of a
// scenario: text in, keys and remarks out. What cannot be translated is named with the reason, so
// that nothing is lost in silence.

/// What can be imported.
struct ImportKind {
  std::string_view name;   ///< "envoy"
  std::string_view reads;  ///< "routes and clusters, or one retry policy"
};
std::span<const ImportKind> import_kinds();

/// A key with the field that its value comes from.
struct ImportedKey {
  std::string path;    ///< below the client group: "retry.max_retries"
  std::string value;   ///< as TOML
  std::string source;  ///< "retry_policy.num_retries", "Envoy's default"
};

/// The retry policy of one route, method or instance.
struct ImportedPolicy {
  std::string name;  ///< a name for the client group, such as "api_service"; never empty
  std::string from;  ///< where it stands in the file; empty: the file is one policy
  std::vector<ImportedKey> keys;
};

/// A field that no key was made of, or not all that it says, and why.
struct ImportRemark {
  std::string field;  ///< its path in the file
  std::string why;
  bool is_unrelated = false;  ///< it is not about retries
};

struct ImportedConfiguration {
  std::vector<ImportedPolicy> policies;  ///< at least one, in the order of the file
  std::vector<ImportRemark> remarks;     ///< every field that no key was made of
};

/// The text is not such a configuration, or a value in it makes no sense. `what()` begins with the
/// place: "envoy.yaml:12:5: error: ...".
class BadConfiguration : public InputError {
 public:
  using InputError::InputError;
  const Diagnostic& diagnostic() const { return diagnostics().front(); }
};

/// Translates `text`; `kind` is the name of one of the kinds, and `file` names the text in
/// messages. The keys can be loaded: they are in range and go together. Takes a time in proportion
/// to the text's length, and is a stop point. Throws BadConfiguration; std::invalid_argument if
/// there is no such kind.
ImportedConfiguration import_configuration(std::string_view kind, const std::string& text,
                                           const std::string& file);

/// The kind of `text`, told from names in it; `file` names it. Throws BadConfiguration if it cannot
/// be told, or if a value makes no sense.
std::string_view import_kind_of(const std::string& text, const std::string& file);

/// How `to_toml` writes.
struct ImportText {
  std::string heading;           ///< a comment in front of it all
  bool lists_unrelated = false;  ///< name fields that are not about retries, too; else count them
  std::string how_to_list = "";  ///< behind their number: how to see them
  std::string closing = "";      ///< a comment at the end
};

/// The policies as TOML tables of a scenario, each line with its source as a comment; below them,
/// as comments, the remarks.
std::string to_toml(const ImportedConfiguration& imported, const ImportText& how);

/// The text of a scenario with this policy in client group `client`, in place of what the group
/// says of the same keys, and of retries, breaker, bulkhead and send rate, in whatever spelling,
/// also where the policy is silent; likewise of connections where it says anything of them.
/// Everything else stays as it is written. The group need not be there. `from` names the
/// configuration in a comment.
std::string with_policy(const std::string& scenario, const std::string& client,
                        const ImportedPolicy& policy, const std::string& from);

}  // namespace retrysim
