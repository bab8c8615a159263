// Distributions in a scenario: one table of their forms, from which reading, messages and the list
// for users come.
//
// SPDX-License-Identifier: MIT
#include "scenario/suggestions.hpp"
#include "scenario/values.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace retrysim::scenario {
namespace {

enum class ParameterKind : std::uint8_t { kDuration, kNumber, kFile };

struct Parameter {
  std::string_view name;
  ParameterKind kind;
};

constexpr Parameter kParameters[] = {
    {"mean", ParameterKind::kDuration},  {"min", ParameterKind::kDuration},
    {"max", ParameterKind::kDuration},   {"mean1", ParameterKind::kDuration},
    {"mean2", ParameterKind::kDuration}, {"sd", ParameterKind::kDuration},
    {"cv", ParameterKind::kNumber},      {"p", ParameterKind::kNumber},
    {"shape", ParameterKind::kNumber},   {"scale", ParameterKind::kDuration},
    {"file", ParameterKind::kFile},
};

// Arguments in the order of the form's parameters; lengths of time in seconds.
struct Arguments {
  std::vector<double> numbers;
  WeightedValues table;
};

struct Form {
  DistributionForm about;
  Distribution (*make)(const Arguments& a);
};

// Phases of an Erlang distribution are counted; its maker takes an int.
int whole_shape(double shape) {
  constexpr double kMost = 1'000'000;
  if (!(shape >= 1 && shape <= kMost) || shape != static_cast<double>(static_cast<int>(shape))) {
    throw std::invalid_argument("shape must be a whole number from 1 to 1000000");
  }
  return static_cast<int>(shape);
}

const Form kForms[] = {
    {{"constant", "mean", "always the same"},
     [](const Arguments& a) {
       return Distribution::constant(Duration::from_seconds(a.numbers[0]));
     }},
    {{"exponential", "mean", "memoryless"},
     [](const Arguments& a) { return Distribution::exponential(a.numbers[0]); }},
    {{"uniform", "min max", "equally likely between min and max"},
     [](const Arguments& a) { return Distribution::uniform(a.numbers[0], a.numbers[1]); }},
    {{"erlang", "mean shape", "sum of `shape` exponential phases"},
     [](const Arguments& a) {
       return Distribution::erlang(a.numbers[0], whole_shape(a.numbers[1]));
     }},
    {{"gamma", "mean shape", "cv = 1 / sqrt(shape); more variable than exponential for shape < 1"},
     [](const Arguments& a) { return Distribution::gamma(a.numbers[0], a.numbers[1]); }},
    {{"gamma", "shape scale", "the same with mean shape x scale; scale is a duration"},
     [](const Arguments& a) { return Distribution::gamma_scaled(a.numbers[0], a.numbers[1]); }},
    {{"hyperexponential", "mean cv", "two exponential branches with balanced means; cv >= 1"},
     [](const Arguments& a) {
       return Distribution::hyperexponential_cv(a.numbers[0], a.numbers[1]);
     }},
    {{"hyperexponential", "p mean1 mean2", "exponential with mean1 (probability p) or mean2"},
     [](const Arguments& a) {
       return Distribution::hyperexponential(a.numbers[0], a.numbers[1], a.numbers[2]);
     }},
    {{"lognormal", "mean cv", "logarithm normally distributed; cv = standard deviation / mean"},
     [](const Arguments& a) { return Distribution::lognormal(a.numbers[0], a.numbers[1]); }},
    {{"normal", "mean sd", "normal, folded at 0; sd is a duration"},
     [](const Arguments& a) { return Distribution::normal(a.numbers[0], a.numbers[1]); }},
    {{"pareto", "mean shape", "power-law tail; shape > 1"},
     [](const Arguments& a) { return Distribution::pareto(a.numbers[0], a.numbers[1]); }},
    {{"weibull", "mean shape", "heavier tail than exponential for shape < 1, lighter for > 1"},
     [](const Arguments& a) { return Distribution::weibull(a.numbers[0], a.numbers[1]); }},
    {{"empirical", "file", "values of a CSV file (columns value_s,weight) by weight"},
     [](const Arguments& a) { return Distribution::empirical(a.table.values_s, a.table.weights); }},
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find(' ', from), text.size());
    words.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return words;
}

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class DistributionReader {
 public:
  DistributionReader(const std::string& path, const Node& table, CsvFiles& files)
      : path_(path), table_(table), files_(files), problems_(files.problems()) {}

  std::optional<Distribution> read() {
    if (!choose_form()) return std::nullopt;
    Arguments arguments;
    bool good = true;
    for (const std::string_view name : words_of(form_->about.parameters)) {
      const Member* member = table_.find(name);
      if (member == nullptr) {
        problems_.add(table_.place, path_ + "." + std::string(name) + " is missing; " +
                                        std::string(form_->about.name) + " needs " +
                                        joined(words_of(form_->about.parameters)));
        good = false;
      } else if (!read_parameter(name, member->value, arguments)) {
        good = false;
      }
    }
    if (!good) return std::nullopt;
    try {
      return form_->make(arguments);
    } catch (const std::invalid_argument& e) {
      problems_.add(table_.place, path_ + ": " + std::string(form_->about.name) + ": " + e.what());
      return std::nullopt;
    }
  }

 private:
  // Finds the form whose parameters are those given; reports names that none has.
  bool choose_form() {
    const Member* kind = table_.find("distribution");
    if (kind == nullptr) {
      problems_.add(table_.place, path_ + ".distribution is missing; expected one of " + names());
      return false;
    }
    const std::string name = kind->value.is_text() ? kind->value.text : render(kind->value);
    std::vector<std::string_view> parameters;
    for (const Form& form : kForms) {
      if (form.about.name != name) continue;
      if (form_ == nullptr || (fits(form) && !fits(*form_))) form_ = &form;
      for (const std::string_view p : words_of(form.about.parameters)) parameters.push_back(p);
    }
    if (form_ == nullptr) {
      std::vector<std::string_view> known;
      for (const Form& form : kForms) known.push_back(form.about.name);
      const std::string_view near = nearest(name, known);
      std::string message =
          path_ + ".distribution = " + in_quotes(name) + " is unknown; expected one of " + names();
      if (!near.empty()) message += "; did you mean \"" + std::string(near) + "\"?";
      problems_.add(kind->value.place, std::move(message));
      return false;
    }
    return only_known(parameters);
  }

  bool only_known(const std::vector<std::string_view>& parameters) {
    bool good = true;
    for (const Member& member : table_.members) {
      if (member.name == "distribution") continue;
      if (fits(*form_) ? contains(words_of(form_->about.parameters), member.name)
                       : contains(parameters, member.name)) {
        continue;
      }
      good = false;
      problems_.add(member.place, path_ + ": " + std::string(form_->about.name) +
                                      " has no parameter " + in_quotes(member.name) + "; " +
                                      suggestion(member.name, parameters, "its parameters are"));
    }
    if (good && !fits(*form_)) {
      problems_.add(table_.place, path_ + ": parameters of different forms; " +
                                      std::string(form_->about.name) + " takes " + forms());
      good = false;
    }
    return good;
  }

  // Whether every member given is a parameter of the form.
  bool fits(const Form& form) const {
    const auto parameters = words_of(form.about.parameters);
    return std::all_of(table_.members.begin(), table_.members.end(), [&](const Member& m) {
      return m.name == "distribution" || contains(parameters, m.name);
    });
  }

  bool read_parameter(std::string_view name, const Node& node, Arguments& arguments) {
    const auto* parameter = std::find_if(std::begin(kParameters), std::end(kParameters),
                                         [&](const Parameter& p) { return p.name == name; });
    ValueRules rules;
    switch (parameter->kind) {
      case ParameterKind::kDuration:
        rules.kind = ValueKind::kDuration;
        break;
      case ParameterKind::kNumber:
        rules.kind = ValueKind::kNumber;
        break;
      case ParameterKind::kFile:
        rules.kind = ValueKind::kFile;
        break;
    }
    const std::string path = path_ + "." + std::string(name);
    const auto value = read_value(rules, path, node, files_);
    if (!value) return false;
    if (rules.kind != ValueKind::kFile) {
      arguments.numbers.push_back(value->number);
      return true;
    }
    const CsvFile* file = files_.open(value->text, node.place);
    if (file == nullptr) return false;
    auto table = read_weighted_values(*file, files_);
    if (table) arguments.table = *std::move(table);
    return table.has_value();
  }

  static std::string names() {
    std::vector<std::string_view> result;
    for (const Form& form : kForms) {
      if (!contains(result, form.about.name)) result.push_back(form.about.name);
    }
    return joined(result);
  }

  std::string forms() const {
    std::string result;
    for (const Form& form : kForms) {
      if (form.about.name != form_->about.name) continue;
      result += (result.empty() ? "" : " or ") + joined(words_of(form.about.parameters));
    }
    return result;
  }

  const std::string& path_;
  const Node& table_;
  CsvFiles& files_;
  Problems& problems_;
  const Form* form_ = nullptr;
};

}  // namespace

const std::vector<DistributionForm>& distribution_forms() {
  static const std::vector<DistributionForm> forms = [] {
    std::vector<DistributionForm> result;
    for (const Form& form : kForms) result.push_back(form.about);
    return result;
  }();
  return forms;
}

std::vector<std::string_view> distribution_member_names() {
  std::vector<std::string_view> result{"distribution"};
  for (const Parameter& parameter : kParameters) result.push_back(parameter.name);
  return result;
}

bool is_duration_parameter(std::string_view name) {
  return std::ranges::any_of(kParameters, [&](const Parameter& p) {
    return p.name == name && p.kind == ParameterKind::kDuration;
  });
}

std::optional<Distribution> read_distribution(const std::string& path, const Node& node,
                                              CsvFiles& files) {
  if (node.is_table()) return DistributionReader(path, node, files).read();
  ValueRules rules;
  rules.kind = ValueKind::kDuration;
  const auto value = read_value(rules, path, node, files);
  if (!value) return std::nullopt;
  return Distribution::constant(value->duration);
}

}  // namespace retrysim::scenario
