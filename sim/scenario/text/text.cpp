// UTF-8 and what a terminal may show, edit distances and suggestions, and reading files that may be
// pipes.
//
// SPDX-License-Identifier: MIT
#include "scenario/text/text.hpp"

#include <retrysim/retry_rules.hpp>

#include "kernel/stop.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <system_error>
#include <utility>
#include <vector>

namespace retrysim::scenario {

namespace {

std::uint32_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

/// Whether a decoded character of `size` bytes is valid: no overlong form, no surrogate, and not
/// beyond Unicode.
bool is_valid(std::uint32_t c, std::size_t size) {
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  return c >= kSmallest[size] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
}

bool is_control(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0)          // C0, DEL, C1
         || c == 0x61C || c == 0x200E || c == 0x200F  // marks of direction
         || (c >= 0x2028 && c <= 0x202E)              // line separators, embeddings and overrides
         || (c >= 0x2066 && c <= 0x2069)              // isolates
         || c == 0xFEFF;                              // byte order mark
}

std::string escape(std::string_view character) {
  if (character == "\t") return "\\t";
  if (character == "\r") return "\\r";
  if (character == "\n") return "\\n";
  if (character.size() == 1) return fmt::format("\\x{:02X}", byte_at(character, 0));
  return fmt::format("\\u{:04X}", code_point(character));
}

std::string escaped(std::string_view text, bool keep_line_feeds) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    if (is_printable(character) || (keep_line_feeds && character == "\n")) {
      result += character;
    } else {
      result += escape(character);
    }
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace

bool is_character(std::string_view character) {
  return character.size() > 1 || byte_at(character, 0) < 0x80;
}

std::uint32_t code_point(std::string_view character) {
  if (character.size() == 1) return byte_at(character, 0);
  std::uint32_t value = byte_at(character, 0) & (0x7Fu >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) {
    value = value << 6 | (byte_at(character, i) & 0x3F);
  }
  return value;
}

std::string_view first_character(std::string_view text) {
  const std::uint32_t lead = byte_at(text, 0);
  const std::size_t size = lead < 0x80              ? 1
                           : (lead & 0xE0u) == 0xC0 ? 2
                           : (lead & 0xF0u) == 0xE0 ? 3
                           : (lead & 0xF8u) == 0xF0 ? 4
                                                    : 1;
  if (size == 1 || size > text.size()) return text.substr(0, 1);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_at(text, i) & 0xC0u) != 0x80) return text.substr(0, 1);
  }
  const std::string_view character = text.substr(0, size);
  return is_valid(code_point(character), size) ? character : text.substr(0, 1);
}

bool is_printable(std::string_view character) {
  return is_character(character) && !is_control(code_point(character));
}

std::string printable(std::string_view text) { return escaped(text, true); }

std::string printable_line(std::string_view text) { return escaped(text, false); }

std::size_t columns_of(std::string_view text) {
  const std::string shown = printable(text);
  return static_cast<std::size_t>(std::count_if(shown.begin(), shown.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// --- Suggestions ---------------------------------------------------------------------------------

// Edit distance with swaps of neighbours (optimal string alignment), three rows of the table at a
// time.

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known) {
  constexpr std::size_t kLongest = 64;  // nothing known is longer, so nothing longer is near
  if (name.size() > kLongest) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    // Some of the word must be left, or "x" would be near to every short name.
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string result;
  for (const std::string_view word : words) {
    if (!result.empty()) result += ", ";
    result += word;
  }
  return result;
}

namespace {

/// The digits with commas between thousands, if there are at least five before the point.
std::string with_commas(std::string digits) {
  const std::size_t end = std::min(digits.find('.'), digits.size());
  if (end < 5) return digits;
  for (std::size_t at = end; at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// `number` with so many decimals at most, without zeros at the end.
std::string in_decimals(double number, int decimals) {
  std::string text = fmt::format("{:.{}f}", number, decimals);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

constexpr double kMaxSaid = 1e15, kLeastSaid = 1e-9;

/// The text for a number that cannot be written out; empty if it can.
std::string not_said(double number) {
  if (std::isnan(number)) return "an unknown number";
  return number > kMaxSaid ? fmt::format("more than {:.0f} trillion", kMaxSaid / 1e12) : "";
}

/// Digits before the point: 4 of 1234, 0 of 0.5, -1 of 0.05.
int digits_before_point(double number) {
  return static_cast<int>(std::floor(std::log10(number))) + 1;
}

}  // namespace

std::string grouped(std::size_t number) { return with_commas(std::to_string(number)); }

std::string said_decimals(double number, int decimals) {
  const std::string text = in_decimals(std::abs(number), decimals);
  return (number < 0 && text != "0" ? "-" : "") + with_commas(text);
}

std::string said_number(double number, int digits) {
  if (number < 0) return -number < kLeastSaid ? "0" : "-" + said_number(-number, digits);
  if (number == 0) return "0";
  if (std::string text = not_said(number); !text.empty()) return text;
  if (number < kLeastSaid) return "less than " + in_decimals(kLeastSaid, 9);
  const double unit = std::pow(10, digits_before_point(number) - digits);
  if (unit >= 1) number = std::round(number / unit) * unit;
  struct Word {
    double of;
    std::string_view name;
  };
  constexpr Word kWords[] = {{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}};
  for (const Word& word : kWords) {
    if (number >= word.of) return said_number(number / word.of, digits).append(word.name);
  }
  return with_commas(in_decimals(number, std::max(0, digits - digits_before_point(number))));
}

std::string to_copy(double number, int digits) {
  if (!std::isfinite(number) || number == 0) return fmt::format("{}", number);
  const int before_point = digits_before_point(std::abs(number));
  const double unit = std::pow(10, before_point - digits);
  if (unit >= 1) number = std::round(number / unit) * unit;
  return in_decimals(number, std::max(0, digits - before_point));
}

std::string said_count(double number, int digits) {
  return number <= 0 ? "0" : said_number(number, digits);
}

std::string said_whole(double number) {
  const std::string text = not_said(number);
  return text.empty() ? with_commas(fmt::format("{:.0f}", std::max(number, 0.0))) : text;
}

std::string said_time(double seconds, int digits) {
  if (std::isnan(seconds)) return "an unknown time";
  if (seconds <= 0) return "0 s";
  if (seconds < 1e-3) return said_count(seconds * 1e6, digits) + " µs";
  if (seconds < 0.0995) return fmt::format("{:.{}g} ms", seconds * 1e3, digits);
  if (seconds < 99.5) return fmt::format("{:.{}g} s", seconds, digits);
  if (seconds < 119.5) return fmt::format("{:.0f} s", seconds);
  const double minutes = seconds / 60;
  if (minutes < 9.95) return fmt::format("{} minutes", said_number(minutes, 2));
  if (minutes < 119.5) return fmt::format("{:.0f} minutes", minutes);
  constexpr double kHour = 3'600, kDay = 24 * kHour, kYear = 365.25 * kDay;
  if (seconds < 4 * kDay) return said_count(seconds / kHour, 3) + " hours";
  if (seconds < 2 * kYear) return said_count(seconds / kDay, 3) + " days";
  return said_count(seconds / kYear, 3) + " years";
}

std::string said_one_in(double probability, int digits) {
  if (!(probability > 0)) return "0";
  if (1 / probability > kMaxSaid) return "less than 1 in " + said_count(kMaxSaid);
  return "1 in " + said_count(1 / probability, digits);
}

std::string said_share(double share) {
  if (std::isnan(share)) return "an unknown share";
  const double percent = 100 * share;
  if (percent <= 0) return "0 %";
  if (percent < 0.01) return "less than 0.01 %";
  if (percent >= 100) return "100 %";
  if (percent > 99.99) return "more than 99.99 %";
  if (percent > 99) return fmt::format("{} %", said_number(percent, 4));
  return percent < 9.95 ? fmt::format("{} %", said_number(percent, 2))
                        : fmt::format("{:.0f} %", percent);
}

std::string said_times(double ratio) {
  if (ratio >= 0.95 && ratio < 1.05) {
    const std::string text = fmt::format("{:.2f} times", ratio);
    return text == "1.00 times" ? "1.0 times" : text;
  }
  return (ratio < 9.95 ? said_count(ratio, 2) : said_whole(ratio)) + " times";
}

std::string said_things(std::string_view number, std::string_view noun) {
  if (number == "1") return fmt::format("1 {}", noun);
  const bool is_y = noun.ends_with("y") && !noun.ends_with("ay") && !noun.ends_with("ey");
  if (is_y) return fmt::format("{} {}ies", number, noun.substr(0, noun.size() - 1));
  return fmt::format("{} {}s", number, noun);
}

std::string said_things(std::size_t number, std::string_view noun) {
  return said_things(grouped(number), noun);
}

std::string said_part(std::size_t part, std::size_t all, std::string_view noun) {
  return fmt::format("{} of {}", grouped(part), said_things(all, noun));
}

std::string joined_first(const std::vector<std::string_view>& words) {
  // A long list (thousands of client groups, say) is no help.
  constexpr std::size_t kMost = 10;
  if (words.size() <= kMost) return joined(words);
  return joined({words.begin(), words.begin() + kMost}) + ", ... and " +
         grouped(words.size() - kMost) + " more";
}

std::string suggestion(std::string_view name, const std::vector<std::string_view>& known,
                       std::string_view prefix) {
  const std::string_view near = nearest(name, known);
  if (!near.empty()) return "did you mean \"" + std::string(near) + "\"?";
  return std::string(prefix) + ": " + joined_first(known);
}

std::string suggested(std::string_view message) {
  constexpr std::string_view kBefore = "did you mean \"", kAfter = "\"?";
  const std::size_t begin = message.find(kBefore);
  if (begin == std::string_view::npos) return {};
  message.remove_prefix(begin + kBefore.size());
  const std::size_t end = message.find(kAfter);
  return std::string(end == std::string_view::npos ? std::string_view() : message.substr(0, end));
}

std::string_view predecessor(std::string_view sdk) {
  sdk = canonical_sdk(sdk);
  if (sdk == "js-v3") return "js-v2";
  if (sdk == "java-v2") return "java-v1";
  if (sdk == "go-v2") return "go-v1";
  return {};
}

std::string presets_for(std::string_view api) {
  std::string list, last;
  for (const Preset& preset : presets()) {
    if (preset.api != api) continue;
    std::string kind(preset.mode);
    if (!preset.revision.empty()) kind.append(" ").append(preset.revision);
    const bool same = kind == last;
    if (!same) list += (list.empty() ? "" : "; ") + kind;
    if (!preset.sdk.empty()) list.append(same ? ", " : ": ").append(preset.sdk);
    last = kind;
  }
  return list;
}

// --- Files ---------------------------------------------------------------------------------------

// A pipe is opened without waiting for its writer and then checked every tenth of a second: unlike
// a read that a signal interrupts, that cannot miss a signal that comes just before.

InputFile::InputFile(const std::filesystem::path& path)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)), closes_(true) {}

InputFile::InputFile(int descriptor) : descriptor_(descriptor), closes_(false) {}

InputFile::~InputFile() {
  if (closes_ && is_open()) ::close(descriptor_);
}

std::ptrdiff_t InputFile::read(std::span<char> bytes) const {
  constexpr int kLookMs = 100;
  while (true) {
    stop_point();
    pollfd ready{descriptor_, POLLIN, 0};
    // A pipe without a writer is not ready until one has come, and gone.
    const int n = ::poll(&ready, 1, kLookMs);
    if (n < 0 && errno != EINTR) return -1;
    if (n <= 0) continue;
    const ssize_t got = ::read(descriptor_, bytes.data(), bytes.size());
    if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
  }
}

std::optional<std::string> read_whole_file(const std::filesystem::path& path,
                                           std::uintmax_t most_bytes, std::string& error) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    error = "is a folder; expected a file";
    return std::nullopt;
  }
  const auto unreadable = [&] {
    error = "cannot be read: " + std::generic_category().message(errno);
    return std::nullopt;
  };
  const InputFile file(path);
  if (!file.is_open()) return unreadable();
  std::string text;
  std::vector<char> chunk(std::size_t{1} << 16);
  while (true) {
    const std::ptrdiff_t got = file.read(chunk);
    if (got < 0) return unreadable();
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > most_bytes) {
      error = "is larger than " + std::to_string(most_bytes >> 20) + " MiB";
      return std::nullopt;
    }
  }
}

}  // namespace retrysim::scenario
