// SPDX-License-Identifier: MIT
#include "cli/completion.hpp"

#include <retrysim/metrics.hpp>

#include "cli/key_completion.hpp"
#include "cli/listing.hpp"
#include "report/terminal.hpp"
#include "scenario/keys.hpp"
#include "scenario/values.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace retrysim::cli {
namespace {

/// What is written before the last of the values that commas separate.
std::string_view before_last_comma(std::string_view text) {
  const std::size_t comma = text.rfind(',');
  return comma == text.npos ? std::string_view() : text.substr(0, comma + 1);
}

/// The candidates for one word.
class Candidates {
 public:
  /// `word` is what is there; `before` is put before each candidate.
  Candidates(std::string_view word, std::string_view before) : word_(word), before_(before) {}

  void add(std::string_view candidate) {
    if (candidate.starts_with(word_)) text_ += fmt::format("{}{}\n", before_, candidate);
  }
  void add_all(const std::vector<std::string>& candidates) {
    for (const std::string& candidate : candidates) add(candidate);
  }
  void directive(std::string_view what) { text_ += fmt::format(":{}\n", what); }

  const std::string& text() const { return text_; }
  std::string_view word() const { return word_; }

 private:
  std::string_view word_, before_;
  std::string text_;
};

/// The key of [client.NAME.retry] that an option of `strategy` stands for: of MODE it is
/// `retry.mode`. Null if there is none.
const scenario::KeyInfo* retry_key(std::string kind) {
  for (char& c : kind) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return scenario::find_key("client.*.retry." + kind);
}

/// The first of the words that is a scenario file by its name.
std::string scenario_among(const Arguments& words) {
  const auto found = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.ends_with(".toml") && !word.starts_with('-');
  });
  return found == words.end() ? "" : *found;
}

/// The clients of the scenario if `what` is "client", its services if it is "service", ...
std::vector<std::string> names_in_scenario(const std::string& scenario, const std::string& what) {
  std::vector<std::string> names;
  for (const std::string& path : KeyCompletion{scenario, "", false}.candidates(what + ".")) {
    // "client.web."
    const std::string name = path.substr(what.size() + 1, path.size() - what.size() - 2);
    if (path.ends_with('.') && name != "*") names.push_back(name);
  }
  return names;
}

/// Candidates for the value of an option. What they are follows from the name of the value in the
/// description of the option, such as PATH=VALUE, DIR or table|csv|json.
void add_values(const boost::program_options::option_description& option, const Arguments& words,
                Candidates& candidates) {
  const std::string kind = value_name(option);
  if (kind.starts_with("PATH")) {
    const KeyCompletion keys{scenario_among(words), "", kind.find("LO:HI") != kind.npos};
    candidates.add_all(keys.candidates(candidates.word()));
    candidates.directive("open");
  } else if (kind.starts_with("KEY")) {
    candidates.add_all(KeyCompletion{"", "client.*.retry.", false}.candidates(candidates.word()));
    candidates.directive("open");
  } else if (kind.starts_with("METRIC")) {
    const bool several = kind != "METRIC";
    const std::string_view before = several ? before_last_comma(candidates.word()) : "";
    for (const std::string_view name : metric_names()) {
      candidates.add(fmt::format("{}{}", before, name));
    }
    if (several) candidates.directive("open");
  } else if (kind == "NAME") {
    candidates.add_all(names_in_scenario(scenario_among(words), option.long_name()));
  } else if (kind.find('|') != kind.npos) {
    for (const std::string_view word : scenario::split_words(kind)) candidates.add(word);
  } else if (kind == "DIR") {
    candidates.directive("folders");
  } else if (kind == "FILE") {
    candidates.directive("files");
  } else if (const auto* key = retry_key(kind); key != nullptr) {
    candidates.add_all(values_of(*key));
  }
}

void add_words(const std::string& positional, Candidates& candidates) {
  if (positional == "scenario") candidates.directive("files toml");
  if (positional == "folder") candidates.directive("folders");
  if (positional == "what") {
    for (const std::string_view topic : listing_topics()) candidates.add(topic);
  }
}

/// What may follow the name of a command; `words` begin after it.
std::string complete_command(const CommandHelp& help, const Arguments& words) {
  const auto option_named = [&](std::string_view name) {
    const auto found =
        std::find_if(help.options.begin(), help.options.end(),
                     [&](const auto& option) { return name == "--" + option->long_name(); });
    return found == help.options.end() ? nullptr : found->get();
  };
  const std::string& word = words.back();
  if (words.size() > 1) {
    if (const auto* before = option_named(words[words.size() - 2]);
        before && takes_value(*before)) {
      Candidates candidates(word, "");
      add_values(*before, words, candidates);
      return candidates.text();
    }
  }
  if (const std::size_t equals = word.find('='); word.starts_with("--") && equals != word.npos) {
    const std::string_view name = std::string_view(word).substr(0, equals);
    const auto* option = option_named(name);
    if (option == nullptr || !takes_value(*option)) return "";
    Candidates candidates(std::string_view(word).substr(equals + 1),
                          std::string_view(word).substr(0, equals + 1));
    add_values(*option, words, candidates);
    return candidates.text();
  }
  Candidates candidates(word, "");
  if (word.starts_with('-')) {
    for (const auto& option : help.options) candidates.add("--" + option->long_name());
  } else {
    add_words(help.positional, candidates);
  }
  return candidates.text();
}

}  // namespace

int complete(const Program& program, const Arguments& words) {
  if (words.empty()) return kDone;
  const bool asks_for_help = words.size() == 2 && words.front() == "help";
  if (words.size() == 1 || asks_for_help) {
    Candidates candidates(words.back(), "");
    for (const Command& command : program.commands) candidates.add(command.name);
    if (!asks_for_help) candidates.add_all({"help", "--help", "--version"});
    report::print(candidates.text());
    return kDone;
  }
  for (const Command& command : program.commands) {
    if (command.name != words.front()) continue;
    report::print(complete_command(help_of(command), {words.begin() + 1, words.end()}));
  }
  return kDone;
}

}  // namespace retrysim::cli
