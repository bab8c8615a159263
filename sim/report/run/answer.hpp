// The answer of a run as everybody shows it: what is said of several client groups at once comes
// once. The text, result.json and the page have it from here.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace retrysim::report {

struct Evaluation;

/// A verdict, as far as it is shown.
struct Statement {
  std::string client;  ///< the group; "all": several together
  std::string severity, sentence;
};

/// A sentence, and the client groups of which it is said.
struct Saying {
  std::string severity, sentence;
  std::vector<std::string> clients;
};

/// What is said of the client groups whose answer is the same.
struct AnswerBlock {
  Saying answer;
  /// The causes of the most groups first. What only some groups of the block have names these.
  std::vector<Saying> causes;
};

struct Answer {
  std::vector<Saying> first;  ///< on all groups together
  std::vector<AnswerBlock> blocks;
  std::vector<Saying> common;  ///< causes of every group of several blocks
};

/// The statements by group: of each first its answer, then its causes. Blocks come in the order of
/// the groups; a group "all" beside others comes first and is no block.
Answer grouped(std::span<const Statement> statements);

/// The answer of a run, with the groups in the order of calls. A service's own calls are left out
/// unless they are in trouble.
Answer answer_of(const Evaluation& evaluation);

/// `{"first":[saying],"blocks":[{saying,"causes":[saying]}],"common":[saying]}` with sayings
/// `{"severity","sentence","clients":[name]}`.
nlohmann::ordered_json json_of(const Answer& answer);

}  // namespace retrysim::report
