// SPDX-License-Identifier: MIT
#include "report/run/answer.hpp"

#include "kernel/stop.hpp"
#include "report/run/evaluation.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace retrysim::report {

namespace {

using Json = nlohmann::ordered_json;
using Sayings = std::vector<Saying>;

Saying* with_sentence(Sayings& remarks, const std::string& sentence) {
  const auto found = std::ranges::find(remarks, sentence, &Saying::sentence);
  return found == remarks.end() ? nullptr : &*found;
}

void add_said(Sayings& remarks, const Statement& said) {
  if (Saying* known = with_sentence(remarks, said.sentence)) {
    known->clients.push_back(said.client);
  } else {
    remarks.push_back({said.severity, said.sentence, {said.client}});
  }
}

void add_group(std::vector<AnswerBlock>& blocks, std::span<const Statement> of_group) {
  const Statement& answer = of_group.front();
  auto block = std::ranges::find_if(
      blocks, [&](const AnswerBlock& b) { return b.answer.sentence == answer.sentence; });
  if (block == blocks.end()) {
    blocks.push_back({{answer.severity, answer.sentence, {}}, {}});
    block = blocks.end() - 1;
  }
  block->answer.clients.push_back(answer.client);
  for (const Statement& cause : of_group.subspan(1)) add_said(block->causes, cause);
}

bool is_for_all(AnswerBlock& block, const std::string& sentence) {
  const Saying* cause = with_sentence(block.causes, sentence);
  return cause != nullptr && cause->clients.size() == block.answer.clients.size();
}

/// Takes out of several blocks the causes that hold for every group of each, and returns them.
Sayings take_common_causes(std::vector<AnswerBlock>& blocks) {
  Sayings common;
  if (blocks.size() < 2) return common;
  for (const Saying& cause : blocks.front().causes) {
    const bool shared =
        std::ranges::all_of(blocks, [&](AnswerBlock& b) { return is_for_all(b, cause.sentence); });
    if (shared) common.push_back({cause.severity, cause.sentence, {}});
  }
  for (Saying& cause : common) {
    for (AnswerBlock& block : blocks) {
      const Saying* own = with_sentence(block.causes, cause.sentence);
      cause.clients.insert(cause.clients.end(), own->clients.begin(), own->clients.end());
      std::erase_if(block.causes,
                    [&](const Saying& other) { return other.sentence == cause.sentence; });
    }
  }
  return common;
}

/// Whether statements on a client group are shown: those on a service's own calls only if something
/// is wrong.
bool is_worth_saying(const ClientSpec& client, std::span<const Statement> said) {
  return !said.empty() && !(client.makes_calls() && said.size() == 1 &&
                            said.front().severity == name(Severity::kGood));
}

Json json_of(const Saying& remark) {
  return {
      {"severity", remark.severity}, {"sentence", remark.sentence}, {"clients", remark.clients}};
}

Json json_of(const Sayings& remarks) {
  Json list = Json::array();
  for (const Saying& remark : remarks) list.push_back(json_of(remark));
  return list;
}

}  // namespace

Answer grouped(std::span<const Statement> statements) {
  const bool has_groups =
      std::ranges::any_of(statements, [](const Statement& s) { return s.client != "all"; });
  Answer answer;
  std::vector<std::pair<std::string, std::vector<Statement>>> by_client;
  for (const Statement& said : statements) {
    if (said.client == "all" && has_groups) {
      answer.first.push_back({said.severity, said.sentence, {}});
      continue;
    }
    const auto known = std::ranges::find_if(
        by_client, [&](const auto& group) { return group.first == said.client; });
    if (known == by_client.end()) {
      by_client.push_back({said.client, {said}});
    } else {
      known->second.push_back(said);
    }
  }
  for (const auto& [client, said] : by_client) add_group(answer.blocks, said);
  for (AnswerBlock& block : answer.blocks) {
    // A cause that explains all groups comes first, then those that explain most.
    std::ranges::stable_sort(block.causes, std::greater{},
                             [](const Saying& cause) { return cause.clients.size(); });
  }
  answer.common = take_common_causes(answer.blocks);
  return answer;
}

Answer answer_of(const Evaluation& e) {
  std::map<std::string_view, std::vector<Statement>> by_client;
  for (const Verdict& v : e.verdicts) {
    by_client[v.client].push_back({v.client, std::string(name(v.severity)), v.sentence});
  }
  std::vector<Statement> statements = by_client["all"];
  for (const Layer& layer : call_order(e.scenario())) {
    stop_point();
    const ClientSpec& client = e.scenario().clients[layer.group];
    const std::vector<Statement>& own = by_client[client.name];
    if (!is_worth_saying(client, own)) continue;
    statements.insert(statements.end(), own.begin(), own.end());
  }
  return grouped(statements);
}

Json json_of(const Answer& answer) {
  Json blocks = Json::array();
  for (const AnswerBlock& block : answer.blocks) {
    Json json = json_of(block.answer);
    json["causes"] = json_of(block.causes);
    blocks.push_back(std::move(json));
  }
  return {{"first", json_of(answer.first)},
          {"blocks", std::move(blocks)},
          {"common", json_of(answer.common)}};
}

}  // namespace retrysim::report
