// What a page says first of a result.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/pictures/pictures.hpp"

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace retrysim::report {

/// `sentences`, each with its `severity` ("good", "bad" or "info") and `text`; `who` names what it
/// is about where there are several, and `minor` ones explain the others. `headline` is the answer
/// in one sentence: one of these, or a severity and `fates`, each a `text` and `who` it happened
/// to. Null of a run or a sweep, whose verdicts are in the member `answers`. `result` is a
/// result.json.
nlohmann::ordered_json said_of(const nlohmann::ordered_json& result, const PictureTables& tables);

/// The headline of a run or of a point of a sweep. `verdicts`: all of the run, each with `client`,
/// `severity`, `sentence` and perhaps `fate`; `told`: the client groups that are told apart;
/// `answer`: the run's member of `answers`. Null if nothing is said of it.
nlohmann::ordered_json headline_of_run(std::span<const nlohmann::ordered_json* const> verdicts,
                                       std::span<const std::string> told,
                                       const nlohmann::ordered_json& answer);

}  // namespace retrysim::report
