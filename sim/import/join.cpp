// Puts a policy into an existing scenario: its lines replace those for the same keys, and all that
// are about retries and the limits of a client. Everything else stays as written, including
// comments.
//
// SPDX-License-Identifier: MIT
#include <retrysim/import.hpp>
#include <retrysim/scenario.hpp>

#include "scenario/text/document.hpp"
#include "scenario/text/scenario_writer.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim {

namespace imports {

namespace {

using Path = std::vector<std::string>;

/// A line of a TOML file, or several if a value continues below.
struct Piece {
  std::vector<std::string> lines;
  Path path;  // path of a header, or of a key with its header; empty: neither
  bool is_header = false, is_comment = false, is_blank = false;
};

/// The number of brackets that a line leaves open, without brackets in texts and comments.
int open_brackets(std::string_view line) {
  int open = 0;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      break;
    } else if (c == '[' || c == '{') {
      ++open;
    } else if (c == ']' || c == '}') {
      --open;
    }
  }
  return open;
}

/// The parts of a name with dots, which TOML lets stand between blanks; empty if it is none.
Path path_of(std::string_view name) {
  std::string tight;
  char quote = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (quote == 0 && (c == ' ' || c == '\t')) continue;
    tight += c;
    if (quote == '"' && c == '\\' && i + 1 < name.size()) {
      tight += name[++i];
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    }
  }
  return scenario::split_path(tight).value_or(Path{});
}

std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  Path table;
  int open = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (open > 0) {
      pieces.back().lines.emplace_back(line);
      open += open_brackets(line);
      continue;
    }
    Piece& piece = pieces.emplace_back();
    piece.lines.emplace_back(line);
    const std::string_view plain = scenario::trimmed(line);
    piece.is_blank = plain.empty();
    piece.is_comment = plain.starts_with('#');
    if (piece.is_blank || piece.is_comment) continue;
    if (plain.front() == '[') {
      table = path_of(plain.substr(1, plain.find(']') - 1));
      piece.path = table;
      piece.is_header = true;
      continue;
    }
    const std::size_t equals = scenario::find_equals(plain);
    if (equals == std::string_view::npos) continue;
    piece.path = table;
    const Path key = path_of(plain.substr(0, equals));
    piece.path.insert(piece.path.end(), key.begin(), key.end());
    open = std::max(0, open_brackets(plain.substr(equals + 1)));
  }
  return pieces;
}

bool starts_with(const Path& path, const Path& start) {
  return path.size() >= start.size() && std::equal(start.begin(), start.end(), path.begin());
}

}  // namespace

}  // namespace imports

std::string with_policy(const std::string& scenario_text, const std::string& client,
                        const ImportedPolicy& policy, const std::string& from) {
  using imports::Path;
  using imports::Piece;
  const Path group = {"client", client};
  constexpr std::string_view kRetry = "retry.";
  // What is below one of these names makes one rule, of which nothing may be left behind: a number
  // of the old breaker would be one of the new breaker's.
  constexpr std::string_view kWholes[] = {"retry",           "breaker",         "bulkhead",
                                          "send_rate",       "max_connections", "connection_wait",
                                          "connection_queue"};
  const auto is_replaced = [&](const Path& path) {
    if (path.size() < 3 || !imports::starts_with(path, group)) return false;
    return std::ranges::find(kWholes, path[2]) != std::end(kWholes) ||
           std::ranges::any_of(policy.keys,
                               [&](const ImportedKey& key) { return path[2] == key.path; });
  };
  std::vector<Piece> pieces, all = imports::pieces_of(scenario_text);
  for (Piece& piece : all) {
    if (!piece.path.empty() && is_replaced(piece.path)) {  // also replaces the comments above it
      while (!pieces.empty() && pieces.back().is_comment) pieces.pop_back();
      while (piece.is_header && !pieces.empty() && pieces.back().is_blank) pieces.pop_back();
      continue;
    }
    pieces.push_back(std::move(piece));
  }
  while (!pieces.empty() && pieces.back().is_blank) pieces.pop_back();
  scenario::ScenarioWriter own({}), rules({});
  const auto shown = [](const std::string& text) { return scenario::printable_line(text); };
  for (const ImportedKey& key : policy.keys) {
    const bool of_retry = key.path.starts_with(kRetry);
    (of_retry ? rules : own)
        .key(of_retry ? key.path.substr(kRetry.size()) : key.path, key.value, shown(key.source));
  }
  const std::string name = scenario::render_name(client);
  const std::string heading =
      shown(fmt::format("Retries of {}{}.", from, policy.from.empty() ? "" : ", " + policy.from));
  // The keys are put behind the last key of [client.NAME] itself, or into a new table.
  std::size_t behind = pieces.size();
  bool has_header = false;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!has_header && pieces[i].is_header && pieces[i].path == group) {
      has_header = true;
      behind = i + 1;
    } else if (has_header && pieces[i].is_header) {
      break;
    } else if (has_header && !pieces[i].path.empty()) {
      behind = i + 1;
    }
  }
  std::string text;
  const auto add_policy = [&] {
    if (!has_header) text += fmt::format("\n[client.{}]\n", name);
    text += own.text();
    scenario::ScenarioWriter header({});
    header.table(fmt::format("client.{}.retry", name));
    header.comment(heading);
    text += header.text() + rules.text();
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i == behind) {
      add_policy();
      if (pieces[i].is_header) text += "\n";
    }
    for (const std::string& line : pieces[i].lines) text += line + "\n";
  }
  if (behind == pieces.size()) add_policy();
  return text;
}

}  // namespace retrysim
