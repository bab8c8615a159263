// SPDX-License-Identifier: MIT
#include "report/answer_text.hpp"

#include "report/display.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <vector>

namespace retrysim::report {
namespace {

using Names = std::vector<std::string>;

/// A cause, and the groups of a block that have it.
struct Cause {
  std::string sentence;
  Names clients;
};

/// Client groups of which the same is to be said, in the order of calls.
struct Block {
  const Verdict* answer;
  Names clients;
  std::vector<Cause> causes = {};
};

void add_cause(std::vector<Cause>& causes, const Verdict& v) {
  const auto found = std::find_if(causes.begin(), causes.end(),
                                  [&](const Cause& c) { return c.sentence == v.sentence; });
  if (found != causes.end()) {
    found->clients.push_back(v.client);
  } else {
    causes.push_back({v.sentence, {v.client}});
  }
}

/// The block of the groups with this answer.
Block& block_of(std::vector<Block>& blocks, const Verdict& answer) {
  const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const Block& b) {
    return b.answer->sentence == answer.sentence;
  });
  if (found != blocks.end()) return *found;
  return blocks.emplace_back(Block{&answer, {}});
}

/// What a service gets from those below it matters where something is wrong with it.
bool is_worth_saying(const ClientSpec& client, const std::vector<const Verdict*>& said) {
  return !said.empty() && !(client.caller.has_value() && said.size() == 1 &&
                            said.front()->severity == Severity::kGood);
}

std::vector<Block> blocks_of(const Evaluation& e) {
  std::vector<Block> blocks;
  for (const Layer& layer : call_order(e.scenario())) {
    const ClientSpec& client = e.scenario().clients[layer.group];
    std::vector<const Verdict*> said;  // the answer, then its causes
    for (const Verdict& v : e.verdicts) {
      if (v.client == client.name) said.push_back(&v);
    }
    if (!is_worth_saying(client, said)) continue;
    Block& block = block_of(blocks, *said.front());
    block.clients.push_back(client.name);
    for (const Verdict* cause : std::span(said).subspan(1)) add_cause(block.causes, *cause);
  }
  for (Block& block : blocks) {
    // What explains them all comes first, then what explains the most of them.
    std::stable_sort(block.causes.begin(), block.causes.end(), [](const Cause& a, const Cause& b) {
      return a.clients.size() > b.clients.size();
    });
  }
  return blocks;
}

bool is_for_all(const Block& block, const std::string& sentence) {
  return std::any_of(block.causes.begin(), block.causes.end(), [&](const Cause& c) {
    return c.sentence == sentence && c.clients.size() == block.clients.size();
  });
}

/// Takes out of several blocks what holds for every group of each.
std::vector<Cause> take_common_causes(std::vector<Block>& blocks) {
  std::vector<Cause> common;
  if (blocks.size() < 2) return common;
  for (const Cause& cause : blocks.front().causes) {
    const bool shared = std::all_of(blocks.begin(), blocks.end(),
                                    [&](const Block& b) { return is_for_all(b, cause.sentence); });
    if (shared) common.push_back(cause);
  }
  for (Block& block : blocks) {
    std::erase_if(block.causes, [&](const Cause& cause) {
      return std::any_of(common.begin(), common.end(),
                         [&](const Cause& c) { return c.sentence == cause.sentence; });
    });
  }
  return common;
}

}  // namespace

std::string answer_text(const Evaluation& e, std::size_t columns) {
  std::vector<Block> blocks = blocks_of(e);
  const std::vector<Cause> common = take_common_causes(blocks);
  std::string text;
  const auto add = [&](const std::string& who, const std::string& sentence) {
    text += wrapped(fmt::format("{}{}.", who, sentence), {columns, "  - ", "    "});
  };
  for (const Block& block : blocks) {
    const std::string names = fmt::format("{}", fmt::join(block.clients, ", "));
    text += wrapped(fmt::format("{}: {}.", names, block.answer->sentence), {columns, "", "  "});
    for (const Cause& cause : block.causes) {
      const bool is_all = cause.clients.size() == block.clients.size();
      add(is_all ? "" : fmt::format("{}: ", fmt::join(cause.clients, ", ")), cause.sentence);
    }
  }
  if (!common.empty()) text += "all of them:\n";
  for (const Cause& cause : common) add("", cause.sentence);
  return text;
}

}  // namespace retrysim::report
