// SPDX-License-Identifier: MIT
#include "import/reading.hpp"

#include "kernel/stop.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <system_error>

namespace retrysim::imports {

// --- Texts ---------------------------------------------------------------------------------------

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_' && c != '-')
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

std::string_view plain_text(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = plain_text(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1},
                           {"m", 60},    {"min", 60},  {"h", 3600},  {"d", 86400}};

/// The seconds in "1m30s", "0.25s", "500 ms": numbers with units, added up. Empty for other texts.
std::optional<double> seconds_with_units(std::string_view text) {
  double sum = 0;
  bool some = false;
  while (!text.empty()) {
    const std::size_t digits = text.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) return {};
    const auto value = number_in(text.substr(0, digits));
    text.remove_prefix(digits);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::size_t end = std::min(text.find_first_of("0123456789. "), text.size());
    const auto unit = std::ranges::find(kUnits, text.substr(0, end), &Unit::name);
    if (!value || unit == std::end(kUnits)) return {};
    sum += *value * unit->seconds;
    some = true;
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return some ? std::optional(sum) : std::nullopt;
}

/// The seconds in a duration of ISO 8601, "PT1M0.5S"; empty for other texts.
std::optional<double> iso_seconds(std::string_view text) {
  if (!text.starts_with("PT")) return {};
  std::string lower;
  for (const char c : text.substr(2))
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return seconds_with_units(lower);
}

/// The seconds in a TimeSpan of .NET: [D.]HH:MM[:SS[.FFFFFFF]], hours below 24, minutes and seconds
/// below 60. Empty for other texts.
std::optional<double> timespan_seconds(std::string_view text) {
  const auto whole = [](std::string_view digits, double below) -> std::optional<double> {
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return {};
    }
    const auto value = number_in(digits);
    return value && *value < below ? value : std::nullopt;
  };
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (parts.size() < 2 || parts.size() > 3) return {};
  std::optional<double> days = 0;
  if (const std::size_t dot = parts[0].find('.'); dot != std::string_view::npos) {
    constexpr double kMaxDays = 1e7;
    days = whole(parts[0].substr(0, dot), kMaxDays);
    parts[0].remove_prefix(dot + 1);
  }
  std::optional<double> fraction = 0;
  if (const std::size_t dot = parts.back().find('.'); dot != std::string_view::npos) {
    const std::string_view decimals = parts.back().substr(dot + 1);
    constexpr std::size_t kMaxDecimals = 7;
    if (parts.size() != 3 || decimals.size() > kMaxDecimals || !whole(decimals, 1e7)) return {};
    fraction = number_in(parts.back().substr(dot));
    if (!fraction) fraction = number_in("0" + std::string(parts.back().substr(dot)));
    parts.back() = parts.back().substr(0, dot);
  }
  const auto hours = whole(parts[0], 24), minutes = whole(parts[1], 60);
  const auto seconds = parts.size() == 3 ? whole(parts[2], 60) : std::optional<double>(0);
  if (!days || !hours || !minutes || !seconds || !fraction) return {};
  return *days * 86400 + *hours * 3600 + *minutes * 60 + *seconds + *fraction;
}

}  // namespace

std::optional<double> seconds_in(std::string_view text, double bare_unit) {
  if (const auto bare = number_in(text)) return *bare * bare_unit;
  if (const auto seconds = seconds_with_units(text)) return seconds;
  if (const auto seconds = iso_seconds(text)) return seconds;
  return timespan_seconds(text);
}

std::optional<double> timespan_in(std::string_view text) {
  if (text == "0") return 0;
  return timespan_seconds(text);
}

std::optional<double> spring_seconds_in(std::string_view text) {
  // java.time.Duration.parse: days are of 24 hours.
  if (text.starts_with('P') || text.starts_with('p')) {
    std::string upper;
    for (const char c : text)
      upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string_view rest = std::string_view(upper).substr(1);
    double days = 0;
    if (const std::size_t end = rest.find('D'); end != std::string_view::npos) {
      const auto value = number_in(rest.substr(0, end));
      if (!value || *value != std::floor(*value)) return {};
      days = *value;
      rest.remove_prefix(end + 1);
      if (rest.empty()) return days * 86400;
    }
    const auto seconds = iso_seconds("P" + std::string(rest));
    return seconds ? std::optional(days * 86400 + *seconds) : std::nullopt;
  }
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = number_in(text.substr(0, digits));
  if (digits == 0 || !value) return {};
  std::string unit;
  for (const char c : text.substr(digits))
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.empty()) return *value * 1e-3;
  for (const std::string_view known : {"ns", "us", "ms", "s", "m", "h", "d"}) {
    if (unit == known) return *value * std::ranges::find(kUnits, known, &Unit::name)->seconds;
  }
  return {};
}

// --- The record ----------------------------------------------------------------------------------

void Reading::count_match() {
  constexpr std::size_t kMaxMatches = 200'000;
  if (++matches <= kMaxMatches) return;
  throw BadConfiguration(
      {.file = file,
       .message = fmt::format("its policies and the rules for them make more than {} pairs; import "
                              "it in parts",
                              kMaxMatches),
       .source_line = {}});
}

void Reading::leave(const std::string& path, std::string why) {
  if (used.try_emplace(path).second) remarks.push_back({path, std::move(why)});
}

void Reading::leave_in_part(const std::string& path, std::string why) {
  remarks.push_back({path + " in part", std::move(why)});
}

// --- Fields --------------------------------------------------------------------------------------

/// The members of a map by their plain names.
struct Field::Index {
  struct Entry {
    const Value::Member* member;
    const Value::Member* other;  // a member of the same name in another spelling
  };
  std::map<std::string, Entry> entries;
};

const Field& Field::map() const {
  if (*this && !is_map()) fail("expected fields with names");
  reading_->opened.insert(path_);
  return *this;
}

const Field& Field::list() const {
  if (*this && !is_list()) fail("expected a list");
  return *this;
}

const Field::Index& Field::index() const {
  if (!by_name_) {
    auto index = std::make_shared<Index>();
    for (const Value::Member& member : value_->members) {
      const auto [entry, is_new] =
          index->entries.try_emplace(plain_name(member.name), Index::Entry{&member, nullptr});
      if (!is_new) entry->second.other = &member;
    }
    by_name_ = std::move(index);
  }
  return *by_name_;
}

Field Field::operator[](std::string_view name) const {
  if (is_map()) {
    const auto found = index().entries.find(plain_name(name));
    if (found != index().entries.end()) {
      const auto [member, other] = found->second;
      if (other != nullptr) {
        Field(other->value, below(other->name), *reading_)
            .fail(fmt::format("it is given twice, also as {}; leave one of them", member->name));
      }
      return {member->value, below(member->name), *reading_};
    }
  }
  return {nullptr, below(name), *reading_};
}

Field Field::named(std::string_view name) const {
  if (!is_map()) return {nullptr, below(name), *reading_};
  return {value_->find(name), below(name), *reading_};
}

Field Field::at(std::string_view dotted_path) const {
  const std::size_t dot = dotted_path.find('.');
  if (dot == std::string_view::npos) return (*this)[dotted_path];
  return (*this)[dotted_path.substr(0, dot)].at(dotted_path.substr(dot + 1));
}

std::vector<std::pair<std::string, Field>> Field::members() const {
  std::vector<std::pair<std::string, Field>> all;
  if (!is_map()) return all;
  for (const Value::Member& member : value_->members) {
    all.emplace_back(member.name, Field(member.value, below(member.name), *reading_));
  }
  return all;
}

std::vector<Field> Field::items() const {
  std::vector<Field> all;
  if (!is_list()) return all;
  std::size_t i = 0;
  for (const Value::Member& item : value_->members) {
    all.push_back({item.value, fmt::format("{}[{}]", path_, i++), *reading_});
  }
  return all;
}

std::string Field::source() const {
  if (value_ == nullptr || value_->written.empty()) return path_;
  return fmt::format("{}, {}", path_, value_->written);
}

std::string Field::place() const {
  return value_ == nullptr ? "" : fmt::format("{}:{}", value_->line, value_->column);
}

std::string Field::text() const {
  if (!is_text()) fail("expected a text");
  use();
  return std::string(plain());
}

double Field::number(double least, double most) const {
  const std::string_view digits =
      plain().substr(plain().starts_with('-') || plain().starts_with('+') ? 1 : 0);
  if (digits.size() > 1 && digits.front() == '0' && value_->is_plain &&
      digits.find_first_not_of("0123456789_") == std::string_view::npos) {
    fail("a number that begins with 0 is octal to some readers of YAML; write it without");
  }
  const auto value = number_in(plain());
  if (!value || *value < least || *value > most) {
    fail(fmt::format("expected a number from {} to {}", least, most));
  }
  use();
  return *value;
}

std::int64_t Field::count() const {
  constexpr double kMost = 4'294'967'295;  // largest number of 32 bits
  const double value = number(0, kMost);
  if (value != std::floor(value)) fail("expected a whole number");
  return static_cast<std::int64_t>(value);
}

bool Field::flag() const {
  const std::string word = plain_name(text());
  const bool yes = word == "true" || word == "yes" || word == "on";
  if (!yes && word != "false" && word != "no" && word != "off") fail("expected true or false");
  return yes;
}

Duration Field::duration_of(std::optional<double> seconds, const std::string& expected) const {
  constexpr double kLongest = 9e8;
  if (!seconds || *seconds < 0 || *seconds > kLongest) fail(expected);
  use();
  return Duration::from_seconds(*seconds);
}

Duration Field::duration(double bare_unit) const {
  return duration_of(is_text() ? seconds_in(plain(), bare_unit) : std::nullopt,
                     "expected a duration such as 250ms");
}

Duration Field::spring_duration() const {
  return duration_of(is_text() ? spring_seconds_in(plain()) : std::nullopt,
                     "expected a duration as Spring reads it: a whole number, of ms or with a unit "
                     "such as 250ms, or PT0.25S");
}

Duration Field::timespan() const {
  const bool is_bare = is_text() && number_in(plain()).has_value();
  return duration_of(is_text() ? timespan_in(plain()) : std::nullopt,
                     is_bare ? "to .NET a number alone is days; write 00:00:02 for two seconds, "
                               "2.00:00:00 for two days"
                             : "expected a TimeSpan such as 00:00:02");
}

std::vector<std::string> Field::words() const {
  if (!is_list()) return split_list(text());
  std::vector<std::string> all;
  for (const Field& item : items()) all.push_back(item.text());
  use();
  return all;
}

const Field& Field::block() const {
  if (value_ != nullptr) reading_->blocks.insert(path_);
  return *this;
}

bool Field::is_listed() const { return !reading_->listed.insert(value_).second; }

bool Field::is_used_in_part() const {
  for (auto at = reading_->used.lower_bound(path_);
       at != reading_->used.end() && at->first.starts_with(path_); ++at) {
    const std::string_view rest = std::string_view(at->first).substr(path_.size());
    if (rest.empty() || rest.front() == '.' || rest.front() == '[') return true;
  }
  return reading_->opened.contains(path_);
}

void Field::leave(std::string why) const {
  if (*this) reading_->leave(path_, std::move(why));
}

void Field::leave_in_part(std::string why) const { reading_->leave_in_part(path_, std::move(why)); }

void Field::fail(const std::string& expected) const {
  const std::string value = is_text() ? fmt::format(" = \"{}\"", value_->text) : "";
  // These are placeholders, templates and variables of a shell. A template without quotes is a map
  // in a map.
  const bool is_template =
      is_text() ? value_->text.find("${") != std::string::npos ||
                      value_->text.find("{{") != std::string::npos
                : is_map() && value_->members.size() == 1 && value_->members.front().name == "?";
  if (is_template) {
    throw BadConfiguration(
        {.file = reading_->file,
         .line = value_->line,
         .column = value_->column,
         .message = fmt::format("{}{} is filled in elsewhere; put its value here",
                                scenario::printable_line(path_), scenario::printable_line(value)),
         .source_line = {}});
  }
  throw BadConfiguration({.file = reading_->file,
                          .line = value_ == nullptr ? 0 : value_->line,
                          .column = value_ == nullptr ? 0 : value_->column,
                          .message = fmt::format("{}{} is {}; {}", scenario::printable_line(path_),
                                                 scenario::printable_line(value),
                                                 value_ == nullptr ? "missing" : "wrong", expected),
                          .source_line = {}});
}

std::string Field::below(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

std::string paths(const std::vector<Field>& fields) {
  std::string all;
  for (const Field& f : fields) {
    if (f) all += (all.empty() ? "" : ", ") + f.path();
  }
  return all;
}

void each_map(const Field& field, const std::function<void(const Field&)>& visit) {
  stop_point();
  if (field.is_map()) visit(field);
  for (const auto& [name, member] : field.members()) each_map(member, visit);
  for (const Field& item : field.items()) each_map(item, visit);
}

// --- What has not been read ----------------------------------------------------------------------

namespace {

/// Whether a branch is not about retries, whatever the names in it.
bool is_of_something_else(std::string_view name) {
  constexpr std::string_view kNames[] = {"logging", "management",  "labels",  "match",
                                         "headers", "matchlabels", "metrics", "tracing"};
  return std::ranges::find(kNames, plain_name(name)) != std::end(kNames);
}

/// Whether the field, called `own`, or one in it has a name with "retry" or "retries" in it.
bool speaks_of_retries(std::string_view own, const Field& field) {
  stop_point();
  const std::string name = plain_name(own);
  if (is_of_something_else(own)) return false;
  if (name.find("retry") != std::string::npos || name.find("retries") != std::string::npos)
    return true;
  const std::vector<Field> items = field.items();
  return std::ranges::any_of(field.members(),
                             [](const auto& m) { return speaks_of_retries(m.first, m.second); }) ||
         std::ranges::any_of(items, [](const Field& item) { return speaks_of_retries("", item); });
}

void list_unused_in(std::string_view name, const Field& field, Reading& reading, bool in_block) {
  stop_point();
  const std::string& path = field.path();
  if (reading.used.contains(path)) return;
  in_block = in_block || reading.blocks.contains(path);
  const auto is_used_below = [&](char separator) {
    const std::string start = path + separator;
    const auto next = reading.used.lower_bound(start);
    return next != reading.used.end() && next->first.starts_with(start);
  };
  const bool touched =
      path.empty() ? !reading.used.empty() : is_used_below('.') || is_used_below('[');
  const bool is_read = (path.empty() || reading.opened.contains(path)) && !field.members().empty();
  if (!touched && !is_read) {
    const bool is_unrelated = !field.is_null() && !in_block && !speaks_of_retries(name, field);
    const char* why = field.is_null() ? "has no value"
                      : in_block      ? "has no counterpart here"
                      : is_unrelated  ? "is not about retries"
                                      : "may be about retries, but is not known here";
    if (!field.is_listed()) {
      reading.remarks.push_back({path.empty() ? "the file" : path, why, is_unrelated});
    }
    return;
  }
  for (const auto& [its_name, member] : field.members()) {
    list_unused_in(its_name, member, reading, in_block);
  }
  for (const Field& item : field.items()) list_unused_in(name, item, reading, in_block);
}

}  // namespace

void list_unused(const Field& field, Reading& reading) {
  list_unused_in("", field, reading, false);
}

}  // namespace retrysim::imports
