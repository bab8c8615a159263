// What the page of a search, a map, a prediction or a fit says first.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/pictures/pictures.hpp"

#include <nlohmann/json_fwd.hpp>

namespace retrysim::report {

/// `sentences`, each with its `severity` ("good", "bad" or "info") and `text`; `who` names what it
/// is about where there are several, and `minor` ones explain the others. `headline` is one such
/// sentence where the page does not begin with the first of them. Null of a run, a comparison or a
/// sweep, whose verdicts are in the member `answers`. `result` is a result.json.
nlohmann::ordered_json said_of(const nlohmann::ordered_json& result, const PictureTables& tables);

}  // namespace retrysim::report
