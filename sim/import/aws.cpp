// AWS: the shared config file (INI) and the environment's variables.
//
// AWS SDKs and Tools Reference Guide, "Retry behavior".
//
// SPDX-License-Identifier: MIT

#include "import/families.hpp"
#include "import/policy.hpp"
#include "import/tree.hpp"
#include "kernel/stop.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retrysim::imports {

namespace {

bool is_blank(std::string_view line) { return scenario::trimmed(line).empty(); }

/// The connect timeout of a mode of defaults; all modes but legacy retry as standard does.
struct DefaultsMode {
  std::string_view name, connect_timeout;
};
constexpr DefaultsMode kDefaultsModes[] = {{"legacy", ""},          {"standard", "3100ms"},
                                           {"in-region", "1100ms"}, {"cross-region", "3100ms"},
                                           {"mobile", "30s"},       {"auto", ""}};

/// A setting of the file, and the name of its place.
struct AwsSetting {
  std::string value, place;
};

/// The settings for retries of one profile, or of the environment.
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

constexpr std::string_view kUnrelated = "is not about retries";

/// The reason why an unused setting was left out.
std::string_view why_not_for_aws(std::string_view name) {
  if (name.find("metadataservice") != std::string_view::npos)
    return "is about requests for credentials";
  if (name.find("timeout") != std::string_view::npos)
    return "the SDKs take timeouts of requests from code, not from here";
  return kUnrelated;
}

/// The words of a line of shell; a quoted part belongs to its word.
std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  for (const char c : line) {
    if (quote == 0 && word.empty() && c == '#') break;  // a comment
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == ';')) {
      if (!word.empty()) words.push_back(std::exchange(word, {}));
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::string in_lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// Reads the lines of a file, one after the other.
class AwsReader {
 public:
  AwsReader(Reading& reading, ImportedConfiguration& result) : reading_(reading), result_(result) {}

  void read(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    while (!text.empty()) {
      stop_point();
      ++number_;
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      read_line(line);
    }
    end_section();
    leave_plain_default();
  }

  /// Whether a variable of the environment is about retries.
  static bool is_about_retries_of_aws(std::string_view name) {
    return name.starts_with("AWS_") && is_about_retries(plain(name));
  }

  /// Reads the variables of a container, which are a client of their own; `name` is empty if there
  /// is only one.
  void read_container(const std::string& name,
                      const std::vector<std::pair<std::string, Field>>& variables) {
    section_ = name;
    for (const auto& [variable, value] : variables) {
      const std::string place = value.place();
      number_ = std::atoi(place.c_str());
      // A name alone takes the value of where Compose runs.
      if (is_about_retries_of_aws(variable) && (!value.is_text() || value.plain() == variable)) {
        fail(fmt::format("{} is filled in elsewhere; put its value here", variable));
      }
      if (variable.starts_with("AWS_") && value.is_text()) {
        place_ = name.empty() ? variable : fmt::format("{}: {}", name, variable);
        read_variable(variable, value_of(variable, value));
      }
    }
    place_.clear();
    end_section();
  }

 private:
  /// The value of a variable: behind `=`, where both are one text.
  static std::string value_of(const std::string& variable, const Field& value) {
    const std::string text(value.plain());
    return text.starts_with(variable + "=") ? text.substr(variable.size() + 1) : text;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw BadConfiguration(
        {.file = reading_.file, .line = number_, .message = what, .source_line = {}});
  }

  void end_section() {
    add_aws_policy(profile_, section_, reading_, result_);
    profile_ = {};
  }

  /// Drops the policy of [default] if there is a [profile default], beside which it does not count.
  void leave_plain_default() {
    if (!plain_default_ || !prefixed_default_) return;
    std::vector<ImportedPolicy>& policies = result_.policies;
    if (*plain_default_ >= policies.size() || policies[*plain_default_].from != "default") return;
    // [profile default] says nothing about retries.
    if (*plain_default_ == *prefixed_default_) return;
    policies.erase(policies.begin() + static_cast<std::ptrdiff_t>(*plain_default_));
    reading_.remarks.push_back({"[default]", "[profile default] takes its place"});
  }

  /// Reads `[profile NAME]`, with or without a comment behind it; false for other lines.
  bool read_section(std::string_view line) {
    const std::size_t end = line.find(']');
    if (line.front() != '[' || end == std::string_view::npos) return false;
    const std::string_view behind = scenario::trimmed(line.substr(end + 1));
    if (!behind.empty() && behind.front() != '#' && behind.front() != ';') return false;
    end_section();
    has_sections_ = true;
    section_ = scenario::trimmed(line.substr(1, end - 1));
    of_a_profile_ = !section_.starts_with("services ") && !section_.starts_with("sso-session ");
    const bool has_prefix = section_.starts_with("profile ");
    if (has_prefix) section_ = scenario::trimmed(section_.substr(8));
    if (section_ == "default")
      (has_prefix ? prefixed_default_ : plain_default_) = result_.policies.size();
    above_.clear();
    if (!behind.empty() && line[end + 1] != ' ' && line[end + 1] != '\t') {
      reading_.leave_in_part(fmt::format("[{}]", section_),
                             "SDKs for JavaScript take the comment for a part of the line, and so "
                             "its settings for those of the profile above");
    }
    return true;
  }

  void read_line(std::string_view whole) {
    std::string_view line = scenario::trimmed(whole);
    if (is_blank(line) || line.front() == '#' || line.front() == ';') return;
    if (read_section(line)) return;
    const bool indented = whole.front() == ' ' || whole.front() == '\t';
    // Lines of a script are read only for their variables.
    if (!has_sections_ && (line.find("AWS_") != std::string_view::npos ||
                           (!variable_.empty() && line.starts_with("value:")))) {
      read_variables(line);
      return;
    }
    variable_.clear();
    bool has_comment = false;
    for (std::size_t i = 1; i < line.size() && !has_comment; ++i) {
      has_comment = (line[i] == '#' || line[i] == ';') && is_blank(line.substr(i - 1, 1));
      if (has_comment) line = scenario::trimmed(line.substr(0, i));
    }
    const std::size_t equals = line.find('=');
    const std::string field(scenario::trimmed(line.substr(0, equals)));
    const bool is_name =
        equals != std::string_view::npos && field.find_first_of(" \t\"'$(") == std::string::npos;
    const bool nested = indented && !above_.empty();
    if (!is_name) {
      if (nested) return;  // the line continues the value above
      if (!has_sections_) {
        reading_.remarks.push_back({fmt::format("line {}", number_), "is no setting", true});
        return;
      }
      fail("expected NAME = VALUE");
    }
    std::string value(scenario::trimmed(line.substr(equals + 1)));
    if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') &&
        value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
    }
    const std::string place = section_.empty() ? field : fmt::format("[{}] {}", section_, field);
    if (!nested) {
      above_ = place;
      read_setting(field, value, place, has_comment);
    } else if (is_about_retries(plain(field))) {
      reading_.remarks.push_back({above_ + "." + field, "is indented, and so not of the profile"});
    }
  }

  /// Reads variables from words such as AWS_MAX_ATTEMPTS=5, behind `export`, in front of a command,
  /// in a Dockerfile; or from the name of a variable in YAML: `AWS_MAX_ATTEMPTS: "5"`, `- name:
  /// AWS_MAX_ATTEMPTS`.
  void read_variables(std::string_view line) {
    bool any = false;
    const std::vector<std::string> words = shell_words(line);
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string_view word = words[i];
      const auto next = [&] { return i + 1 < words.size() ? without_marks(words[i + 1]) : ""; };
      if (const std::string name(without_marks(word)); word.ends_with(':') && name == "name") {
        variable_ = next();
        any = true;
      } else if (name == "value" && word.ends_with(':') && !variable_.empty()) {
        read_variable(std::exchange(variable_, {}), std::string(next()));
        any = true;
      } else if (name.starts_with("AWS_") && word.ends_with(':') && !next().empty()) {
        read_variable(name, std::string(next()));
        any = true;
      }
      const std::size_t equals = word.find('=');
      if (!word.starts_with("AWS_") || equals == std::string_view::npos) continue;
      any = true;
      read_variable(std::string(word.substr(0, equals)), std::string(word.substr(equals + 1)));
    }
    if (!any) {
      reading_.remarks.push_back({fmt::format("line {}", number_), "is no setting", true});
    }
  }

  /// A word of YAML without brackets, commas and colons around it.
  static std::string_view without_marks(std::string_view word) {
    constexpr std::string_view kMarks = "{}[],:";
    const std::size_t begin = word.find_first_not_of(kMarks);
    if (begin == std::string_view::npos) return "";
    return word.substr(begin, word.find_last_not_of(kMarks) + 1 - begin);
  }

  void read_variable(const std::string& name, std::string value) {
    if (value.starts_with("${") && value.ends_with('}')) {  // ${NAME:-default}
      const std::size_t dash = value.find(":-");
      if (dash != std::string::npos) value = value.substr(dash + 2, value.size() - dash - 3);
    }
    if (is_about_retries(plain(name)) && value.starts_with('$')) {
      fail(fmt::format("{} = {} is filled in elsewhere; put its value here", name,
                       scenario::printable_line(value)));
    }
    read_setting(name, value, place_.empty() ? name : place_, false);
  }

  /// A name without aws, _ and dots: AWS_RETRY_MODE, aws.retryMode and retry_mode are the same.
  static std::string plain(std::string_view field) {
    std::string name = plain_name(field);
    std::erase(name, '.');
    if (name.starts_with("aws")) name.erase(0, 3);
    return name;
  }
  static bool is_about_retries(const std::string& name) {
    return name == "retrymode" || name == "maxattempts" || name == "newretries2026" ||
           name == "defaultsmode";
  }

  AwsSetting one_of(const std::string& field, const std::string& value, const std::string& place,
                    const std::vector<std::string_view>& words) const {
    std::string lower = in_lower_case(value);
    if (std::ranges::count(words, lower) == 0) {
      fail(fmt::format("{} = {} is wrong; expected one of {}", field,
                       scenario::printable_line(value), fmt::join(words, ", ")));
    }
    return {std::move(lower), place};
  }

  void say(std::optional<AwsSetting>& setting, AwsSetting value) {
    if (setting) reading_.remarks.push_back({setting->place, "a later line takes its place"});
    setting = std::move(value);
  }

  void read_setting(const std::string& field, const std::string& value, const std::string& place,
                    bool has_comment) {
    const std::string name = plain(field);
    if (is_about_retries(name) && !of_a_profile_) {
      reading_.remarks.push_back({place, "SDKs read it from profiles only"});
    } else if (name == "retrymode") {
      say(profile_.mode, one_of(field, value, place, {"legacy", "standard", "adaptive"}));
    } else if (name == "maxattempts") {
      const auto attempts = number_in(value);
      if (!attempts || *attempts < 1 || *attempts > 4e9 || *attempts != std::floor(*attempts)) {
        fail(fmt::format("{} = {} is wrong; expected a whole number from 1", field,
                         scenario::printable_line(value)));
      }
      say(profile_.attempts, {in_toml(*attempts), place});
    } else if (name == "newretries2026") {
      say(profile_.new_retries, {in_lower_case(value), place});  // any word but "true" means no
    } else if (name == "defaultsmode") {
      say(profile_.defaults,
          one_of(field, value, place,
                 {"legacy", "standard", "in-region", "cross-region", "mobile", "auto"}));
    } else {
      const std::string_view why = why_not_for_aws(name);
      reading_.remarks.push_back({place, std::string(why), why == kUnrelated});
      return;
    }
    if (has_comment) {
      reading_.leave_in_part(place,
                             "botocore and the AWS CLI take the comment for a part of the value, "
                             "and refuse it");
    }
  }

  Reading& reading_;
  ImportedConfiguration& result_;
  AwsProfile profile_;
  std::string section_;
  std::optional<std::size_t> plain_default_, prefixed_default_;  // places of their policies
  bool of_a_profile_ = true;  // false in sections such as [services mine]
  bool has_sections_ = false;
  std::string place_;     // of a variable in a container; empty: the variable's name
  std::string variable_;  // variable of `name: AWS_...`, whose value follows
  std::string above_;     // setting to which indented lines belong
  int number_ = 0;
};

/// A container of Compose, Kubernetes or ECS, or a function of Lambda, with the variables that it
/// is given.
struct Container {
  std::string name;
  std::vector<std::pair<std::string, Field>> variables;
};

/// The first of these members that a map has.
Field first_of(const Field& map, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const Field field = map.named(name)) return field;
  }
  return map.named(*names.begin());
}

/// The variables of a container or function: a map or list of Compose, a list of names and values,
/// or a map in `Variables`. A variable whose value comes from elsewhere has a field without a text.
std::vector<std::pair<std::string, Field>> variables_in(const Field& container) {
  std::vector<std::pair<std::string, Field>> all;
  for (const char* list : {"environment", "env", "Environment"}) {
    const Field given = container.named(list);
    const Field inside = given.is_map() ? given.named("Variables") : given;
    const Field environment = inside.is_map() ? inside : given;
    for (auto& member : environment.members()) all.push_back(std::move(member));
    for (const Field& item : environment.items()) {
      if (item.is_map()) {
        const Field value = first_of(item, {"value", "Value"});
        all.emplace_back(std::string(first_of(item, {"name", "Name"}).plain()),
                         value ? value : item);
      } else {
        const std::string_view text = item.plain();
        all.emplace_back(std::string(text.substr(0, text.find('='))), item);
      }
    }
  }
  return all;
}

bool are_about_retries(const std::vector<std::pair<std::string, Field>>& variables) {
  return std::ranges::any_of(
      variables, [](const auto& v) { return AwsReader::is_about_retries_of_aws(v.first); });
}

/// The functions of a file of the Serverless Framework, or of SAM, if it gives variables to all of
/// them: each with these, unless it has its own.
std::vector<Container> functions_in(const Field& whole) {
  const Field provider = whole.named("provider");
  const bool is_sam = !provider;
  const Field globals = is_sam ? whole.at("Globals.Function") : provider;
  const auto shared = variables_in(globals);
  if (!are_about_retries(shared)) return {};
  std::vector<Container> functions;
  for (const auto& [name, resource] : whole.named(is_sam ? "Resources" : "functions").members()) {
    if (is_sam && resource.named("Type").plain() != "AWS::Serverless::Function") continue;
    Container function{name, variables_in(is_sam ? resource.named("Properties") : resource)};
    for (const auto& variable : shared) {
      const bool is_own = std::ranges::any_of(
          function.variables, [&](const auto& own) { return own.first == variable.first; });
      if (!is_own) function.variables.push_back(variable);
    }
    functions.push_back(std::move(function));
  }
  return functions;
}

/// The containers and functions whose variables are about retries; none of a text that is no such
/// file.
std::vector<Container> containers_in(const Tree& tree, Reading& reading) {
  std::vector<Container> containers, templates;
  for (const Value* document : tree.documents) {
    const Field whole(document, "", reading);
    if (!whole.is_map() && !whole.is_list()) continue;
    if (std::vector<Container> functions = functions_in(whole); !functions.empty()) {
      std::ranges::move(functions, std::back_inserter(containers));
      continue;
    }
    const std::string_view object = whole.at("metadata.name").plain();
    each_map(whole, [&](const Field& map) {
      std::vector<std::pair<std::string, Field>> variables = variables_in(map);
      if (!are_about_retries(variables)) return;
      std::string name(first_of(map, {"name", "Name"}).plain());
      std::string_view path = map.path();
      constexpr std::string_view kProperties = ".Properties";  // of a resource
      if (path.ends_with(kProperties)) path.remove_suffix(kProperties.size());
      if (name.empty()) name = path.substr(path.rfind('.') + 1);
      if (!object.empty() && object != name) name = fmt::format("{}-{}", object, name);
      // Compose reads extension fields only where they are merged into a service.
      const bool is_template = path.starts_with("x-");
      (is_template ? templates : containers).push_back({name, std::move(variables)});
    });
  }
  return containers.empty() ? templates : containers;
}

}  // namespace

void import_aws(const std::string& text, Reading& reading, ImportedConfiguration& result) {
  AwsReader reader(reading, result);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  if (has("AWS_") && (has("nvironment") || has("env"))) {
    std::optional<Tree> tree;
    try {
      tree = read_yaml(reading.file, text);
    } catch (const BadConfiguration&) {  // a script, or a template
    }
    const std::vector<Container> containers =
        tree ? containers_in(*tree, reading) : std::vector<Container>();
    if (containers.size() == 1) {
      reader.read_container("", containers.front().variables);
      reading.remarks.push_back({"what is no variable of AWS", std::string(kUnrelated), true});
      return;
    }
    if (containers.size() > 1) {
      for (const Container& c : containers) reader.read_container(c.name, c.variables);
      reading.remarks.push_back({"what is no variable of AWS", std::string(kUnrelated), true});
      return;
    }
  }
  reader.read(text);
}

}  // namespace retrysim::imports
