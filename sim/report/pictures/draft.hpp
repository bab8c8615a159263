// Parts of pictures of all kinds: rows of tables, numbers as texts, ticks, axes, looks and the
// names of varied keys.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/pictures/pictures.hpp"

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::report {

using PictureJson = nlohmann::ordered_json;

// --- Tables --------------------------------------------------------------------------------------

/// The rows of a table, or no rows without a table; cells of missing columns are empty.
class PictureRows {
 public:
  explicit PictureRows(const ResultTable* table = nullptr) : table_(table) {}

  std::size_t size() const { return table_ == nullptr ? 0 : table_->rows(); }
  bool has(std::string_view column) const { return find(column) != nullptr; }
  /// The column of that name; null if there is none.
  const Column* find(std::string_view column) const {
    return table_ == nullptr ? nullptr : table_->find(column);
  }
  std::string text(std::size_t row, std::string_view column) const;
  std::optional<double> number(std::size_t row, std::string_view column) const;
  /// The different values of a column, in the order of their first rows.
  std::vector<std::string> values(std::string_view column) const;
  /// The rows that have the texts in `where`, by column; of a list of texts, any. In ascending
  /// order. Asked for another text of the same columns, it does not go through all rows again.
  std::vector<std::size_t> having(const PictureJson& where) const;

 private:
  using Texts = std::vector<std::string>;
  const std::map<Texts, std::vector<std::size_t>>& by(const Texts& columns) const;

  const ResultTable* table_;
  mutable std::map<Texts, std::map<Texts, std::vector<std::size_t>>> rows_by_;
};

/// A result, from which pictures are concluded.
class PictureResult {
 public:
  PictureResult(const PictureJson& members, const PictureTables& tables)
      : json(members), tables_(tables) {}

  const PictureJson& json;
  /// The table in that file; empty if there is none.
  const PictureRows& table(const std::string& name) const;

 private:
  const PictureTables& tables_;
  mutable std::map<std::string, PictureRows> read_;
};

// --- Numbers as texts ----------------------------------------------------------------------------

/// A number with `significant` digits and thousands apart; without an exponent from 0.0001 to 1e9.
std::string picture_digits(double value, int significant = 3);
/// A time in the unit that suits it.
std::string picture_seconds(double value, int significant = 3);
/// A number with its unit; a share in percent.
std::string picture_quantity(double value, std::string_view unit, bool is_share = false,
                             int significant = 3);
/// A range in words, "91.8 to 96 %": the unit once, if both ends have the same.
std::string picture_range(double low, double high, std::string_view unit, bool is_share = false);
/// A number of things: "20 replications".
std::string counted(std::size_t count, std::string_view one);
/// The name of a unit along an axis: "per second". Empty if numbers need no unit.
std::string unit_words(std::string_view unit, bool is_share = false);
/// A metric's label as a title, "Mean latency", but "p99 latency".
std::string as_title(std::string label);
/// The number that a text is, with or without a unit of time; empty if it is none.
std::optional<double> number_in(std::string_view text);

// --- Axes ----------------------------------------------------------------------------------------

/// The quantity on a value axis.
struct AxisOf {
  std::string label, unit = "1";
  bool is_share = false;
};

/// A linear axis from `low` to `high`, with about `count` ticks.
PictureJson linear_axis(const AxisOf& what, double low, double high, std::size_t count = 5);
/// A logarithmic axis from `low` to `high`, both above 0.
PictureJson log_axis(const AxisOf& what, double low, double high);
/// A vertical axis from 0 to a little above `top`; for a share to 100 %. If `knee` is not 0, the
/// axis is logarithmic above it where a herd would flatten everything else.
PictureJson upright_axis(const AxisOf& what, double top, double knee = 0);
/// An axis for the time of a run.
PictureJson time_axis(double low, double high);
/// An axis with a place for each name, [key, text]; a series has the key in the column of this
/// axis.
PictureJson names_axis(std::string label, const std::vector<std::string>& keys,
                       const std::vector<std::string>& texts);
/// An axis for swept values, with ticks at these if they are few; logarithmic if their steps grow.
PictureJson swept_axis(const AxisOf& what, const std::vector<double>& values);
/// Whether steps grow, as those of a log-spaced range do.
bool is_geometric(std::span<const double> values);

// --- Looks ---------------------------------------------------------------------------------------

/// The colour and dashes of line number `i` of a picture. Colours are named as in looks.json.
PictureJson look_of(std::size_t i);
inline PictureJson limit_dash() { return {5, 4}; }

/// A series: its name, its look, and the place of its figures.
PictureJson series_json(std::string name, const PictureJson& look, PictureJson from);
/// The place of figures in a table: the columns along both axes, and those of the ends of
/// intervals.
PictureJson from_table(std::string_view file, PictureJson where, PictureJson x, PictureJson y,
                       std::string_view low = "", std::string_view high = "");

PictureJson panel_json(std::string id, std::string title, PictureJson x, PictureJson y);
/// A picture without panels, whose title begins with that of the result.
PictureJson picture_json(const PictureJson& result, std::string name, std::string_view title,
                         std::vector<std::string> text);

// --- Names of what is varied ---------------------------------------------------------------------

inline constexpr std::size_t kMaxLabel = 32;  ///< characters

std::string clipped(std::string text, std::size_t most = kMaxLabel);
/// A label for each of the values of a key, all different. Tables are labelled only by what tells
/// them apart.
std::vector<std::string> value_labels(const std::vector<std::string>& values);
/// Labels for the names of variants, without the keys that all names contain, and these keys.
struct VariantLabels {
  std::vector<std::string> labels, keys;
};
VariantLabels variant_labels(const std::vector<std::string>& names);

// --- Pictures by kind of result ------------------------------------------------------------------

void add_run_pictures(PictureJson& pictures, const PictureResult& result);
/// Adds the template for the pictures of every point of a sweep, made from the first point, with
/// `variant` null.
void add_point_pictures(PictureJson& pictures, const PictureResult& result,
                        const PictureJson& graph, const std::string& point);
void add_comparison_picture(PictureJson& pictures, const PictureResult& result);
void add_sweep_pictures(PictureJson& pictures, const PictureResult& result);
void add_tip_pictures(PictureJson& pictures, const PictureResult& result);
void add_choice_picture(PictureJson& pictures, const PictureResult& result);
void add_advice_picture(PictureJson& pictures, const PictureResult& result);
void add_map_picture(PictureJson& pictures, const PictureResult& result);
void add_fit_picture(PictureJson& pictures, const PictureResult& result);
void add_uncertain_picture(PictureJson& pictures, const PictureResult& result);
void add_uncertain_variants_picture(PictureJson& pictures, const PictureResult& result);
void add_size_picture(PictureJson& pictures, const PictureResult& result);
void add_frontier_picture(PictureJson& pictures, const PictureResult& result);
void add_risk_picture(PictureJson& pictures, const PictureResult& result);
void add_prediction_picture(PictureJson& pictures, const PictureResult& result);

}  // namespace retrysim::report
