// SPDX-License-Identifier: MIT
#include "theory_cases.hpp"

#include "scenario/text/csv_library.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace retrysim::validation {
namespace {

// The CSV library's own conversion turns an empty cell into 0 and does not round correctly.
double to_number(std::string_view text, std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::runtime_error(std::string(what) + " is no number: '" + std::string(text) + "'");
  }
  return value;
}

bool is_slow(const std::string& run) {
  if (run != "quick" && run != "slow") {
    throw std::runtime_error("column run is neither quick nor slow: '" + run + "'");
  }
  return run == "slow";
}

/// "interval", "exact", "analytic", "at least", "within SHARE" or "reference STANDARD_ERROR".
void set_closeness(TheoryRow& row, std::string_view rule) {
  constexpr std::string_view kWithin = "within ", kReference = "reference ";
  if (rule == "interval") {
    row.closeness = Closeness::kInterval;
  } else if (rule == "exact") {
    row.closeness = Closeness::kExact;
  } else if (rule == "analytic") {
    row.closeness = Closeness::kAnalytic;
  } else if (rule == "at least") {
    row.closeness = Closeness::kAtLeast;
  } else if (rule.starts_with(kWithin)) {
    row.closeness = Closeness::kWithin;
    row.share = to_number(rule.substr(kWithin.size()), "column rule");
  } else if (rule.starts_with(kReference)) {
    row.closeness = Closeness::kReference;
    row.reference_error = to_number(rule.substr(kReference.size()), "column rule");
  } else {
    throw std::runtime_error("column rule is unknown: '" + std::string(rule) + "'");
  }
}

}  // namespace

bool TheoryRow::is_relative() const {
  constexpr double kRare = 1e-3;
  switch (closeness) {
    case Closeness::kInterval:
    case Closeness::kWithin:
    case Closeness::kReference:
      return std::abs(exact) >= kRare;
    case Closeness::kExact:
    case Closeness::kAnalytic:
    case Closeness::kAtLeast:
      break;
  }
  return false;
}

Parameters::Parameters(std::string_view text, char separator) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view item = text.substr(0, end);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw std::runtime_error("no name=value: '" + std::string(item) + "'");
    }
    const auto [place, is_new] =
        values_.emplace(std::string(item.substr(0, equals)), std::string(item.substr(equals + 1)));
    if (!is_new) throw std::runtime_error("parameter " + place->first + " is given twice");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

const std::string& Parameters::text(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    throw std::runtime_error("parameter " + std::string(name) + " is missing");
  }
  return found->second;
}

double Parameters::number(std::string_view name) const {
  return to_number(text(name), "parameter " + std::string(name));
}

std::vector<TheoryCase> read_theory_cases(const std::string& path) {
  io::CSVReader<9, io::trim_chars<' '>, io::double_quote_escape<',', '"'>> reader(path);
  reader.read_header(io::ignore_no_column, "case", "model", "params", "quantity", "value",
                     "precision", "run", "least_requests", "rule");
  std::vector<TheoryCase> cases;
  std::string id, model, params, quantity, value, precision, run, least, rule;
  while (reader.read_row(id, model, params, quantity, value, precision, run, least, rule)) {
    try {
      if (cases.empty() || cases.back().id != id) {
        if (std::any_of(cases.begin(), cases.end(),
                        [&](const TheoryCase& c) { return c.id == id; })) {
          throw std::runtime_error("the rows of a case stand together");
        }
        cases.push_back({id, model, params, Parameters(params), {}});
      }
      TheoryCase& owner = cases.back();
      if (owner.model != model || owner.parameters_text != params) {
        throw std::runtime_error("rows of a case differ in model or params");
      }
      if (std::any_of(owner.rows.begin(), owner.rows.end(),
                      [&](const TheoryRow& r) { return r.quantity == quantity; })) {
        throw std::runtime_error("the case has this quantity already");
      }
      TheoryRow row;
      row.quantity = quantity;
      row.exact = to_number(value, "column value");
      row.precision = to_number(precision, "column precision");
      row.slow = is_slow(run);
      row.least_requests = to_number(least, "column least_requests");
      set_closeness(row, rule);
      owner.rows.push_back(std::move(row));
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(path + ": case " + id + ", " + quantity + ": " + e.what());
    }
  }
  return cases;
}

std::vector<TheoryCase> quick_rows(std::vector<TheoryCase> cases) {
  for (TheoryCase& c : cases) std::erase_if(c.rows, [](const TheoryRow& r) { return r.slow; });
  std::erase_if(cases, [](const TheoryCase& c) { return c.rows.empty(); });
  return cases;
}

}  // namespace retrysim::validation
