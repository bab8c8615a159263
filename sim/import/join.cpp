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
#include <span>
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
  std::size_t table = 0;  // of a key: number of names in its header
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
    piece.table = table.size();
    const Path key = path_of(plain.substr(0, equals));
    piece.path.insert(piece.path.end(), key.begin(), key.end());
    open = std::max(0, open_brackets(plain.substr(equals + 1)));
  }
  return pieces;
}

/// What stands in front of the keys of a client group in a table with so many names.
std::string in_front(const std::string& client, std::size_t table) {
  return fmt::format("{}{}.", table == 0 ? "client." : "", scenario::render_name(client));
}

/// The keys of a client group that is an inline table on one line, each on a line of its own; the
/// piece itself if it is none.
std::vector<Piece> keys_of(Piece piece, const std::string& client) {
  const std::string& line = piece.lines.front();
  const std::size_t begin = line.find('{', scenario::find_equals(line));
  if (piece.is_header || piece.table > 1 || piece.path != Path{"client", client} ||
      piece.lines.size() > 1 || begin == std::string::npos) {
    return {std::move(piece)};
  }
  std::vector<Piece> keys;
  const auto add = [&](std::string_view pair) {
    const std::string_view plain = scenario::trimmed(pair);
    const std::size_t equals = scenario::find_equals(plain);
    if (equals == std::string_view::npos) return;
    Piece& key = keys.emplace_back();
    key.lines.push_back(in_front(client, piece.table) + std::string(plain));
    key.table = piece.table;
    key.path = piece.path;
    const Path names = path_of(plain.substr(0, equals));
    key.path.insert(key.path.end(), names.begin(), names.end());
  };
  std::size_t first = begin + 1, end = first;
  char quote = 0;
  for (int open = 1; end < line.size(); ++end) {
    const char c = line[end];
    if (quote == '"' && c == '\\') {
      ++end;
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote != 0) {
      continue;
    } else if (c == '{' || c == '[') {
      ++open;
    } else if ((c == '}' || c == ']') && --open == 0) {
      break;
    } else if (c == ',' && open == 1) {
      add(std::string_view(line).substr(first, end - first));
      first = end + 1;
    }
  }
  if (end >= line.size()) return {std::move(piece)};
  add(std::string_view(line).substr(first, end - first));
  if (!keys.empty()) keys.back().lines.back() += line.substr(end + 1);
  return keys;
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
  constexpr std::string_view kWholes[] = {"retry", "breaker", "bulkhead", "send_rate"};
  // Most kinds say nothing of connections, which then are the user's own.
  constexpr std::string_view kConnections[] = {"max_connections", "connection_wait",
                                               "connection_queue"};
  const auto is_in = [](const std::string& name, std::span<const std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  const bool has_connections = std::ranges::any_of(
      policy.keys, [&](const ImportedKey& key) { return is_in(key.path, kConnections); });
  const auto is_replaced = [&](const Path& path) {
    if (path.size() < 3 || !imports::starts_with(path, group)) return false;
    return is_in(path[2], kWholes) || (has_connections && is_in(path[2], kConnections)) ||
           std::ranges::any_of(policy.keys,
                               [&](const ImportedKey& key) { return path[2] == key.path; });
  };
  std::vector<Piece> pieces, all = imports::pieces_of(scenario_text);
  const auto keep = [&](Piece piece) {
    if (!piece.path.empty() && is_replaced(piece.path)) {  // also replaces the comments above it
      while (!pieces.empty() && pieces.back().is_comment) pieces.pop_back();
      while (piece.is_header && !pieces.empty() && pieces.back().is_blank) pieces.pop_back();
      return;
    }
    pieces.push_back(std::move(piece));
  };
  for (Piece& piece : all) {
    for (Piece& key : imports::keys_of(std::move(piece), client)) keep(std::move(key));
  }
  while (!pieces.empty() && pieces.back().is_blank) pieces.pop_back();
  const std::string name = scenario::render_name(client);
  const auto shown = [](const std::string& text) { return scenario::printable_line(text); };
  const std::string heading =
      shown(fmt::format("Retries of {}{}.", from, policy.from.empty() ? "" : ", " + policy.from));
  // The keys are put behind the last key of [client.NAME] itself; of a group without it, behind its
  // last key with dots, in the same spelling, because TOML has no header for it then; else into a
  // new table.
  std::size_t behind = pieces.size();
  bool has_header = false, has_dots = false;
  std::string dots;
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
  for (std::size_t i = 0; !has_header && i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.is_header || piece.table > 1 || !imports::starts_with(piece.path, group)) continue;
    has_dots = true;
    dots = imports::in_front(client, piece.table);
    behind = i + 1;
  }
  scenario::ScenarioWriter own({}), rules({});
  for (const ImportedKey& key : policy.keys) {
    const bool of_retry = key.path.starts_with(kRetry);
    (of_retry ? rules : own)
        .key(of_retry && !has_dots ? key.path.substr(kRetry.size()) : dots + key.path, key.value,
             shown(key.source));
  }
  std::string text;
  const auto add_policy = [&] {
    if (has_dots) {
      scenario::ScenarioWriter comment({});
      comment.comment(heading);
      text += own.text() + comment.text() + rules.text();
      return;
    }
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
