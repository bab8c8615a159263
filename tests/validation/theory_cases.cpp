// SPDX-License-Identifier: MIT
#include "theory_cases.hpp"

// The reader cuts file names at 255 characters on purpose, of which GCC warns when it inlines it.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-truncation"
#endif
#include <libfccp/csv.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <stdexcept>

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

}  // namespace

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
  io::CSVReader<8, io::trim_chars<' '>, io::double_quote_escape<',', '"'>> reader(path);
  reader.read_header(io::ignore_no_column, "case", "model", "params", "quantity", "value",
                     "precision", "run", "least_requests");
  std::vector<TheoryCase> cases;
  std::string id, model, params, quantity, value, precision, run, least;
  while (reader.read_row(id, model, params, quantity, value, precision, run, least)) {
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
      owner.rows.push_back({quantity, to_number(value, "column value"),
                            to_number(precision, "column precision"), is_slow(run),
                            to_number(least, "column least_requests")});
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
