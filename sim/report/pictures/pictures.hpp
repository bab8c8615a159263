// The pictures of a result, concluded once: which pictures exist, the names, colours and order of
// their lines, the shaded stretches of time, and the axes. Both programs that draw, scripts/plot.py
// and the page, draw only this. The figures stay in the tables of the result: a series names its
// file, columns and filters.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "report/document/result_table.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace retrysim::report {

/// A table of a result by the name of its file; null if the result has no such table.
using PictureTables = std::function<const ResultTable*(std::string_view name)>;

/// Whether pictures are concluded from the table in this file.
bool is_for_pictures(std::string_view file);
/// Tables with `kMaxCells` cells or more are not drawn. Tables over time in a sweep are drawn for
/// the first point only, for which `kCellsOfFirstPoint` cells at the front are enough.
constexpr std::size_t kMaxCells = 1'000'000, kCellsOfFirstPoint = 250'000;
bool is_over_time(std::string_view file);

/// The member `pictures` of a result.json with the other members of `result`, as an array
/// (sim/report/README.md has its terms); empty if there is nothing to draw. Throws DamagedResult if
/// a table is damaged, and an exception of nlohmann::json if `result` lacks a member.
nlohmann::ordered_json pictures_of(const nlohmann::ordered_json& result,
                                   const PictureTables& tables);

/// The phases of maps and predictions, from good to bad, and their meanings.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kPhaseWords = {
    {{"safe", "comes back after any disturbance"},
     {"vulnerable", "would not recover from a large enough disturbance"},
     {"tipped", "stays down after the faults and surges of the scenario"},
     {"overloaded", "short of capacity without any disturbance, but most requests succeed"},
     {"dead", "down without any disturbance"}}};

/// The words for a key on an axis or beside a slider, with its unit if the numbers there need one:
/// "offered load, requests/s". A key without words is named by its path.
std::string key_words(std::string_view path, std::string_view unit = "");
/// The words for a key in a sentence: "the number of servers", with the service or client if there
/// are several.
std::string said_key(const Scenario& scenario, const std::string& path);

/// Appends `points` to each series of the pictures that is not over time: the rows of its table as
/// [x, y, low, high], the places of names as numbers.
void add_points(nlohmann::ordered_json& pictures, const PictureTables& tables);

}  // namespace retrysim::report
