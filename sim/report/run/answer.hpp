// The answer of a run, as the text, result.json and the page show it: a sentence that holds for
// several client groups comes once.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace retrysim::report {

struct Evaluation;

/// The shown part of a verdict.
struct Statement {
  std::string client;  ///< the group; "all": several groups together
  std::string severity, sentence;
};

/// A sentence, and the client groups for which it holds.
struct Saying {
  std::string severity, sentence;
  std::vector<std::string> clients;
};

/// The sentences on the client groups with the same answer.
struct AnswerBlock {
  Saying answer;
  /// The causes, those of the most groups first. A cause that only some groups of the block have
  /// names these.
  std::vector<Saying> causes;
};

struct Answer {
  std::vector<Saying> first;  ///< sentences on all groups together
  std::vector<AnswerBlock> blocks;
  std::vector<Saying> common;  ///< causes of every group of several blocks
};

/// The answer from statements, which have for each group first its answer, then its causes. Blocks
/// come in the order of the groups; a group "all" beside others comes first and is no block.
Answer grouped(std::span<const Statement> statements);

/// The answer of a run, with the groups in the order of calls. A service's own calls are left out
/// unless they are in trouble.
Answer answer_of(const Evaluation& evaluation);

/// The answer as JSON, `{"first":[saying],"blocks":[{saying,"causes":[saying]}],"common":[saying]}`
/// with sayings `{"severity","sentence","clients":[name]}`.
nlohmann::ordered_json json_of(const Answer& answer);

}  // namespace retrysim::report
