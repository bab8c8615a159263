// AWS: the shared config file (INI) and the environment's variables.
//
// AWS SDKs and Tools Reference Guide, "Retry behavior".
//
// SPDX-License-Identifier: MIT
#include "import/families.hpp"
#include "import/policy.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

namespace retrysim::imports {

namespace {

bool is_blank(std::string_view line) { return scenario::trimmed(line).empty(); }

/// What a mode of defaults has for a connection; the modes but legacy retry as standard does.
struct DefaultsMode {
  std::string_view name, connect_timeout;
};
constexpr DefaultsMode kDefaultsModes[] = {{"legacy", ""},          {"standard", "3100ms"},
                                           {"in-region", "1100ms"}, {"cross-region", "3100ms"},
                                           {"mobile", "30s"},       {"auto", ""}};

/// One setting of the file. `place` names it.
struct AwsSetting {
  std::string value, place;
};

/// What one profile, or the environment, says of retries.
struct AwsProfile {
  std::optional<AwsSetting> mode, attempts, new_retries, defaults;

  bool says_something() const { return mode || attempts || new_retries || defaults; }
};

void add_aws_policy(const AwsProfile& profile, const std::string& section, Reading& reading,
                    ImportedConfiguration& result) {
  if (!profile.says_something()) return;
  ImportedPolicy p;
  p.name = group_name(section);
  p.from = section;
  const bool is_new = profile.new_retries && profile.new_retries->value == "true";
  const bool has_defaults = profile.defaults && profile.defaults->value != "legacy";
  std::string mode = "legacy", source = "most SDKs' default until November 2026";
  if (profile.mode) {
    mode = profile.mode->value;
    source = profile.mode->place;
  } else if (has_defaults || is_new) {
    mode = "standard";
    source = has_defaults ? profile.defaults->place : profile.new_retries->place;
  } else if (profile.defaults) {
    source = profile.defaults->place;
  }
  set(p, "retry.mode", text_in_toml(mode), source);
  if (const auto& attempts = profile.attempts) {
    set(p, "retry.max_attempts", attempts->value, attempts->place);
  }
  if (const auto& revision = profile.new_retries) {
    if (mode == "legacy") {
      reading.remarks.push_back({revision->place, "mode legacy has no revisions"});
    } else {
      set(p, "retry.revision", text_in_toml(is_new ? "2.1" : "2.0"), revision->place);
    }
  }
  if (has_defaults) {
    const auto* const found =
        std::ranges::find(kDefaultsModes, profile.defaults->value, &DefaultsMode::name);
    std::string why = "the time for TLS has no counterpart";
    if (found->connect_timeout.empty()) {
      why = "the SDK chooses timeouts by where it runs: write connect_timeout";
    } else {
      set(p, "connect_timeout", text_in_toml(found->connect_timeout), profile.defaults->place);
    }
    reading.remarks.push_back({profile.defaults->place + " in part", std::move(why)});
  }
  result.policies.push_back(std::move(p));
}

/// Why a setting that is not used was left out.
std::string_view why_not_for_aws(std::string_view name) {
  if (name.find("metadataservice") != std::string_view::npos)
    return "is about requests for credentials";
  if (name.find("timeout") != std::string_view::npos)
    return "the SDKs take timeouts of requests from code, not from here";
  return "is not about retries";
}

}  // namespace

void import_aws(const std::string& text, Reading& reading, ImportedConfiguration& result) {
  AwsProfile profile;
  std::string section;
  bool of_a_profile = true;  // sections such as [services mine] are none
  std::string above;         // a line that is indented belongs to this setting
  std::size_t number = 0;
  std::string_view rest = text;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  const auto say = [&](std::optional<AwsSetting>& setting, AwsSetting value) {
    if (setting) reading.remarks.push_back({setting->place, "a later line takes its place"});
    setting = std::move(value);
  };
  while (!rest.empty()) {
    ++number;
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view whole = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::string_view line = scenario::trimmed(whole);
    if (is_blank(line) || line.front() == '#' || line.front() == ';') continue;
    for (std::size_t i = 1; i < line.size(); ++i) {  // a comment behind a value
      const bool starts = (line[i] == '#' || line[i] == ';') && is_blank(line.substr(i - 1, 1));
      if (starts) line = scenario::trimmed(line.substr(0, i));
    }
    if (line.front() == '[' && line.back() == ']') {
      add_aws_policy(profile, section, reading, result);
      profile = {};
      section = scenario::trimmed(line.substr(1, line.size() - 2));
      of_a_profile = !section.starts_with("services ") && !section.starts_with("sso-session ");
      if (section.starts_with("profile ")) section = scenario::trimmed(section.substr(8));
      above.clear();
      continue;
    }
    const bool indented = whole.front() == ' ' || whole.front() == '\t';
    if (line.starts_with("export ")) line = scenario::trimmed(line.substr(7));
    const std::size_t equals = line.find('=');
    const auto fail = [&](const std::string& what) {
      throw BadConfiguration({.file = reading.file,
                              .line = static_cast<int>(number),
                              .message = what,
                              .source_line = {}});
    };
    const bool nested = indented && !above.empty() && !line.starts_with("AWS_");
    if (equals == std::string_view::npos) {
      if (nested) continue;  // the value above goes on
      fail("expected NAME = VALUE");
    }
    const std::string field(scenario::trimmed(line.substr(0, equals)));
    std::string name = plain_name(field);
    std::erase(name, '.');  // aws.retryMode, a property of the JVM
    std::string value(scenario::trimmed(line.substr(equals + 1)));
    if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') &&
        value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
    }
    const std::string place = section.empty() ? field : fmt::format("[{}] {}", section, field);
    const auto in_lower_case = [&] {
      std::string lower;
      for (const char c : value)
        lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      return lower;
    };
    const auto one_of = [&](const std::vector<std::string_view>& words) {
      std::string lower = in_lower_case();
      if (std::ranges::count(words, lower) == 0) {
        fail(fmt::format("{} = {} is wrong; expected one of {}", field,
                         scenario::printable_line(value), fmt::join(words, ", ")));
      }
      return AwsSetting{std::move(lower), place};
    };
    if (!nested) above = place;
    if (name.starts_with("aws")) name.erase(0, 3);
    const bool about_retries = name == "retrymode" || name == "maxattempts" ||
                               name == "newretries2026" || name == "defaultsmode";
    if (nested) {
      if (about_retries)
        reading.remarks.push_back({above + "." + field, "is indented, and so not of the profile"});
    } else if (about_retries && !of_a_profile) {
      reading.remarks.push_back({place, "SDKs read it from profiles only"});
    } else if (name == "retrymode") {
      say(profile.mode, one_of({"legacy", "standard", "adaptive"}));
    } else if (name == "maxattempts") {
      const auto attempts = number_in(value);
      if (!attempts || *attempts < 1 || *attempts > 4e9 || *attempts != std::floor(*attempts)) {
        fail(fmt::format("{} = {} is wrong; expected a whole number from 1", field,
                         scenario::printable_line(value)));
      }
      say(profile.attempts, {in_toml(*attempts), place});
    } else if (name == "newretries2026") {
      say(profile.new_retries, {in_lower_case(), place});  // any word but true is none to SDKs
    } else if (name == "defaultsmode") {
      say(profile.defaults,
          one_of({"legacy", "standard", "in-region", "cross-region", "mobile", "auto"}));
    } else {
      reading.remarks.push_back({place, std::string(why_not_for_aws(name))});
    }
  }
  add_aws_policy(profile, section, reading, result);
}

}  // namespace retrysim::imports
