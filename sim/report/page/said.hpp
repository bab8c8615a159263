// The first sentences of a page on a result.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/pictures/pictures.hpp"

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace retrysim::report {

/// `sentences`, each with its `severity` ("good", "bad" or "info") and `text`; `who` names the
/// subject if there are several, and `minor` sentences explain the others. `headline` is the answer
/// in one sentence: one of these, or a severity and `fates`, each with a `text` and `who` it
/// happened to. Null for a run or a sweep, whose verdicts are in the member `answers`. `result` is
/// a result.json.
nlohmann::ordered_json said_of(const nlohmann::ordered_json& result, const PictureTables& tables);

/// The headline of a run or of a point of a sweep. `verdicts`: all verdicts of the run, each with
/// `client`, `severity`, `sentence` and perhaps `fate`; `told`: the client groups that are told
/// apart; `answer`: the run's member of `answers`. Null if there is nothing to say.
nlohmann::ordered_json headline_of_run(std::span<const nlohmann::ordered_json* const> verdicts,
                                       std::span<const std::string> told,
                                       const nlohmann::ordered_json& answer);

}  // namespace retrysim::report
