// The exact values that simulations are held against: theory_cases.csv, one quantity of one system
// a row. Rows of the same case come from the same simulation.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::validation {

/// The parameters of a case: "lam=0.8;mu=1". Time is in units of the mean service time.
class Parameters {
 public:
  Parameters() = default;
  /// `separator` stands between the parameters. Throws std::runtime_error on anything else.
  explicit Parameters(std::string_view text, char separator = ';');

  /// Both throw std::runtime_error with the parameter's name if it is missing or no number.
  const std::string& text(std::string_view name) const;
  double number(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// How close a simulated value has to come; `judge` in agreement.hpp is the rule itself.
enum class Closeness : std::uint8_t {
  kInterval,   ///< within the interval across replications: the theory is exact
  kExact,      ///< equal in every replication: nothing is left to chance
  kAnalytic,   ///< the value of a function, to 1e-9
  kWithin,     ///< a limit or a fluid: within a stated share of it
  kAtLeast,    ///< a lower bound
  kReference,  ///< the mean of another program's runs, with a stated standard error
};

struct TheoryRow {
  std::string quantity;
  double exact = 0;
  double precision = 0;  ///< the widest half-width that decides, relative to the exact value
  bool slow = false;     ///< needs more events than every build should spend
  /// Shorter runs do not count, however narrow their interval: under heavy tails it is too narrow
  /// as long as the rare large values are missing.
  double least_requests = 0;
  Closeness closeness = Closeness::kInterval;
  double share = 0;            ///< kWithin: of the exact value
  double reference_error = 0;  ///< kReference: standard error of the value

  /// Whether the interval's width relative to the exact value matters. Not for what is rare, of
  /// which no run sees enough.
  bool is_relative() const;
};

struct TheoryCase {
  std::string id;
  std::string model;
  std::string parameters_text;
  Parameters parameters;
  std::vector<TheoryRow> rows;  ///< at least one
};

/// All cases in the order of the file, which is at `path`. Throws std::runtime_error if a cell is
/// wrong or the rows of a case disagree about what it is.
std::vector<TheoryCase> read_theory_cases(const std::string& path);

/// The cases with only their quick rows; without those that have none.
std::vector<TheoryCase> quick_rows(std::vector<TheoryCase> cases);

}  // namespace retrysim::validation
