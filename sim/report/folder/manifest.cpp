// SPDX-License-Identifier: MIT
#include "report/folder/manifest.hpp"

#include "kernel/stop.hpp"
#include "report/document/json.hpp"
#include "scenario/keys/keys.hpp"
#include "scenario/text/text.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace retrysim::report {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kSeal = "crc32_of_this_file";
constexpr std::string_view kNoDigits = "00000000";
constexpr std::size_t kDeepest = 64;

/// The position of the seal's digits in the text of a result.json; npos if there is no seal.
std::size_t place_of_seal(std::string_view text) {
  const std::string head = fmt::format("\"{}\": \"", kSeal);
  const std::size_t at = text.rfind(head);
  const bool fits =
      at != std::string_view::npos && at + head.size() + kNoDigits.size() <= text.size();
  return fits ? at + head.size() : std::string_view::npos;
}

std::string digits(std::uint32_t crc) { return fmt::format("{:08x}", crc); }

/// The checksum that a result.json states of itself, and the one that it has.
struct Seal {
  explicit Seal(std::string_view text) {
    const std::size_t at = place_of_seal(text);
    if (at == std::string_view::npos) {
      found = digits(crc32(text));
      return;
    }
    stated = text.substr(at, kNoDigits.size());
    found = digits(
        crc32(text.substr(at + kNoDigits.size()), crc32(kNoDigits, crc32(text.substr(0, at)))));
  }
  /// Whether the text is as it was written.
  bool fits() const { return !stated.empty() && stated == found; }

  std::string stated;  ///< eight digits; empty without a seal
  std::string found;   ///< of the text with zeros in place of what it states
};

/// The first line break from `from` on behind which a line starts with `start`; npos if none does.
std::size_t find_line(std::string_view text, std::string_view start, std::size_t from) {
  StopCounter<1 << 14> stop;
  std::size_t at = text.find('\n', from);
  while (at != std::string_view::npos && !text.substr(at + 1).starts_with(start)) {
    stop.count();
    at = text.find('\n', at + 1);
  }
  return at;
}

/// Removes the members of the outermost object that are in `skip` from a text as JsonText writes
/// it, unless they are at its end. There each begins on a line of its own, indented by two blanks,
/// and all that is inside is indented by more. The parser would take most of its time for them.
void cut_out(std::string& text, std::span<const std::string_view> skip) {
  for (const std::string_view name : skip) {
    const std::size_t begin = find_line(text, fmt::format("  \"{}\": ", name), 0);
    if (begin == std::string::npos) continue;
    const std::size_t end = find_line(text, "  \"", begin + 1);
    if (end != std::string::npos) text.erase(begin, end - begin);
  }
}

/// Builds a value from the events of the JSON library's parser. The library's own builder looks
/// through all members of an object for each new one, which takes minutes for the keys of a large
/// scenario. Members keep the order of the text; of two with the same name, the first one is found.
class Builder : public nlohmann::json_sax<Json> {
 public:
  /// Members of the outermost object that are in `skip` are left out.
  explicit Builder(std::span<const std::string_view> skip) : skip_(skip) {}

  bool too_deep() const { return too_deep_; }
  Json take() { return std::move(root_); }

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
  bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
  bool string(string_t& value) override { return scalar(std::move(value)); }
  bool binary(binary_t& value) override { return scalar(std::move(value)); }
  bool start_object(std::size_t) override { return begin(Json::object()); }
  bool start_array(std::size_t) override { return begin(Json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    skipping_ = skipped_ == 0 && open_.size() == 1 && std::ranges::find(skip_, name) != skip_.end();
    name_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  Json* add(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    append_member(parent, std::move(name_), std::move(value));
    return &parent.back();
  }

  bool scalar(Json value) {
    stop_.count();
    const bool left_out = skipped_ > 0 || std::exchange(skipping_, false);
    if (!left_out) add(std::move(value));
    return true;
  }

  bool begin(Json container) {
    stop_.count();
    too_deep_ = too_deep_ || open_.size() + skipped_ > kDeepest;
    if (too_deep_) return false;
    if (skipped_ > 0 || std::exchange(skipping_, false)) {
      ++skipped_;
    } else {
      open_.push_back(add(std::move(container)));
    }
    return true;
  }

  bool end() {
    if (skipped_ > 0) {
      --skipped_;
    } else {
      open_.pop_back();
    }
    return true;
  }

  std::span<const std::string_view> skip_;
  Json root_;
  std::vector<Json*> open_;  // the containers that are open; none of them moves while it is here
  std::string name_;         // name of the next member
  bool skipping_ = false;    // the next value is left out
  std::size_t skipped_ = 0;  // open containers that are left out
  bool too_deep_ = false;
  StopCounter<1024> stop_;
};

Json parse(const fs::path& file, const std::string& text, std::span<const std::string_view> skip) {
  Builder builder(skip);
  const bool whole = Json::sax_parse(text, &builder);
  if (builder.too_deep()) throw DamagedResult(file, "is damaged: its JSON is nested too deeply");
  if (!whole) throw DamagedResult(file, "is damaged: it is not JSON");
  Json json = builder.take();
  if (!json.is_object()) throw DamagedResult(file, "is damaged: it is not a JSON object");
  return json;
}

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  constexpr std::size_t kPortion = std::size_t{1} << 20;
  unsigned long crc = before;
  while (!bytes.empty()) {
    stop_point();
    const std::string_view portion = bytes.substr(0, kPortion);
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(portion.data()), portion.size());
    bytes.remove_prefix(portion.size());
  }
  return static_cast<std::uint32_t>(crc);
}

std::string sealed(const Json& json, const ResultIdentity& answers,
                   const std::vector<FileRecord>& files) {
  JsonText document;
  document.begin_object().members(json);
  return sealed(std::move(document), answers, files);
}

std::string sealed(JsonText document, const ResultIdentity& answers,
                   const std::vector<FileRecord>& files) {
  if (!answers.command.empty()) {
    document.key("command").text(answers.command).key("options").json(answers.options);
  }
  Json names = Json::array();
  Json checksums = Json::object();
  for (const FileRecord& file : files) {
    if (file.name == kResultJson) continue;
    names.push_back(file.name);
    checksums[file.name] = {{"bytes", file.bytes}, {"crc32", digits(file.crc32)}};
  }
  names.push_back(kResultJson);
  document.key("files").json(names).key("checksums").json(checksums);
  document.key(kSeal).text(kNoDigits).end_object();
  std::string text = document.take() + "\n";
  text.replace(place_of_seal(text), kNoDigits.size(), digits(crc32(text)));
  return text;
}

DamagedResult::DamagedResult(const fs::path& file, std::string_view what)
    : std::runtime_error(fmt::format("{}: {}", file.string(), what)) {}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

std::string content_of(const fs::path& file) {
  std::error_code code;
  const fs::file_status status = fs::status(file, code);
  // Only regular files are read: nobody knows when a pipe ends.
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw DamagedResult(file, fs::is_directory(status) ? "cannot be read" : "is not a file");
  }
  std::ifstream in(file, std::ios::binary);
  std::array<char, 1 << 15> block;
  std::string text;
  while (in.read(block.data(), block.size()), in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.is_open() || in.bad()) {
    throw DamagedResult(file, fs::exists(status) ? "cannot be read" : "is missing");
  }
  return text;
}

Json read_json(const fs::path& file, std::span<const std::string_view> skip) {
  std::string text = content_of(file);
  const bool is_as_written = Seal(text).fits();
  return is_as_written ? json_in(file, std::move(text), skip) : parse(file, text, skip);
}

Json json_in(const fs::path& file, const std::string& text) { return parse(file, text, {}); }

Json json_in(const fs::path& file, std::string text, std::span<const std::string_view> skip) {
  cut_out(text, skip);
  return parse(file, text, skip);
}

namespace {

/// The parts of a value that is freed, counted.
class FreedParts {
 public:
  void free(Json& json) {
    if (json.is_structured()) {
      for (Json& part : json) free(part);
    }
    json = nullptr;
    // glibc joins small pieces that are free when a large one is asked for: all of them at once,
    // unless that happens now and then.
    constexpr std::size_t kTogether = 4096;
    if (++count_ % kTogether == 0) {
      stop_point();
      large_.clear();
      large_.shrink_to_fit();
      large_.reserve(kTogether);
    }
  }

 private:
  std::size_t count_ = 0;
  std::string large_;
};

}  // namespace

void take_apart(Json& json) { FreedParts().free(json); }

void read_members(const fs::path& file, const std::function<void()>& read) {
  try {
    read();
  } catch (const Json::exception& e) {
    std::string_view what = e.what();  // such as "[json.exception.type_error.302] type must be ..."
    const std::size_t end = what.find("] ");
    if (end != std::string_view::npos) what.remove_prefix(end + 2);
    throw DamagedResult(file, fmt::format("is damaged: {}", what));
  }
}

Json read_sealed(const fs::path& folder) {
  const fs::path file = folder / kResultJson;
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw DamagedResult(folder, fs::is_regular_file(folder, error)
                                    ? "this is a file; expected the folder of a result"
                                    : "is not a result folder: it has no result.json");
  }
  const std::string text = content_of(file);
  Json json = parse(file, text, {});
  const auto program = json.find("program");
  if (program == json.end() || *program != "retrysim") {
    throw DamagedResult(file, "is not a result of retrysim");
  }
  if (!json.contains(kSeal)) {
    if (!json.contains("checksums")) return json;  // versions without a seal
    throw DamagedResult(file, fmt::format("is damaged: {} is missing", kSeal));
  }
  const Seal seal(text);
  if (!seal.fits()) {
    throw DamagedResult(file,
                        fmt::format("is damaged: its CRC-32 is {}, but it states {}", seal.found,
                                    seal.stated.empty() ? "nothing" : seal.stated));
  }
  return json;
}

std::vector<FileRecord> file_records(const Json& json, const fs::path& path) {
  std::vector<FileRecord> records;
  read_members(path, [&] {
    if (!json.contains("checksums")) return;
    for (const auto& [name, record] : json.at("checksums").items()) {
      FileRecord& r = records.emplace_back();
      r.name = name;
      record.at("bytes").get_to(r.bytes);
      const auto text = record.at("crc32").get<std::string>();
      r.crc32 = static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 16));
      if (!is_plain_name(name) || digits(r.crc32) != text) {
        throw DamagedResult(path, "is damaged: checksums");
      }
    }
  });
  return records;
}

std::string fault_of(const fs::path& folder, const FileRecord& record) {
  std::error_code error;
  const fs::file_status status = fs::status(folder / record.name, error);
  if (status.type() == fs::file_type::not_found) return "is missing";
  if (status.type() != fs::file_type::regular) return "is not a file";
  std::ifstream in(folder / record.name, std::ios::binary);
  if (!in) return "cannot be read: " + std::generic_category().message(errno);
  std::array<char, 1 << 16> block;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  while (in.read(block.data(), block.size()), in.gcount() > 0) {
    const auto got = static_cast<std::size_t>(in.gcount());
    crc = crc32({block.data(), got}, crc);
    bytes += got;
  }
  if (in.bad()) return "cannot be read to the end";
  if (bytes != record.bytes) {
    return fmt::format("is damaged: it has {} bytes instead of {}", bytes, record.bytes);
  }
  if (crc != record.crc32) {
    return fmt::format("is damaged: its CRC-32 is {}, but result.json states {}", digits(crc),
                       digits(record.crc32));
  }
  return {};
}

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Keys = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kReplications = "replications";
constexpr std::size_t kMaxDifferences = 3;

/// Whether a key changes a number of a result; the name has been looked at before.
bool matters(std::string_view key) {
  return scenario::changes_a_run(key) &&
         !key.ends_with(".retry.from_environment");  // the effect of this key is in other keys
}

/// Finds keys by name.
class KeyIndex {
 public:
  explicit KeyIndex(const Keys& keys) {
    for (const auto& [name, value] : keys) index_.emplace(name, &value);
  }
  /// The value of a key; null if there is none.
  const std::string* find(std::string_view name) const {
    const auto at = index_.find(name);
    return at == index_.end() ? nullptr : at->second;
  }

 private:
  std::map<std::string_view, const std::string*> index_;
};

/// Keeps only the keys that `other` has with the same value.
void keep_common(Keys& keys, const Keys& other) {
  const KeyIndex others(other);
  std::erase_if(keys, [&](const auto& key) {
    const std::string* value = others.find(key.first);
    return value == nullptr || !scenario::same_value(*value, key.second);
  });
}

Keys keys_in(const Json& object) {
  Keys keys;
  for (const auto& [path, value] : object.items())
    keys.emplace_back(path, value.get<std::string>());
  return keys;
}

/// The keys of a variant in result.json. A warm-up that the program found counts as "auto", as
/// requested.
Keys keys_of_variant(const Json& variant) {
  Keys keys = keys_in(variant.at("keys"));
  if (variant.contains("warmup") && variant.at("warmup").is_object()) {
    for (auto& [path, value] : keys) {
      if (path == "warmup") value = "\"auto\"";
    }
  }
  return keys;
}

std::optional<std::uint64_t> whole_number(const std::string* text) {
  std::uint64_t value = 0;
  if (text == nullptr) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && end == text->data() + text->size() ? std::optional(value)
                                                                    : std::nullopt;
}

/// Whether a result would replace one with more replications.
bool fewer_replications(const ResultIdentity& earlier, const ResultIdentity& now) {
  const auto before = whole_number(KeyIndex(earlier.keys).find(kReplications));
  const auto after = whole_number(KeyIndex(now.keys).find(kReplications));
  return before && after && *after < *before;
}

class Differences {
 public:
  Differences(const ResultIdentity& earlier, const ResultIdentity& now)
      : earlier_(earlier), now_(now), same_command_(earlier.command == now.command) {
    if (!same_command_) {
      add(fmt::format("the command (there {}, now {})",
                      earlier.command.empty() ? "an unknown one" : earlier.command, now.command));
    }
    const bool same_options = !same_command_ || earlier.options == now.options;
    if (!same_options) compare_options();
    compare_keys(same_command_ && same_options && earlier.version == now.version);
    for (const FileRecord& file : now.files) {
      for (const FileRecord& other : earlier.files) {
        if (file.name == other.name && file != other) add("the contents of " + file.name);
      }
    }
  }

  std::string text() const {
    if (count_ > kMaxDifferences) {
      return fmt::format("{} and {} more", text_, count_ - kMaxDifferences);
    }
    return text_;
  }

 private:
  void add(const std::string& what) {
    if (++count_ > kMaxDifferences) return;
    text_ += (text_.empty() ? "" : ", ") + what;
  }

  void compare_options() {
    const auto all = [](const ResultIdentity& identity) {
      return identity.options.empty() ? "nothing"
                                      : fmt::format("{}", fmt::join(identity.options, " "));
    };
    add(fmt::format("what was asked for (there {}; now {})", all(earlier_), all(now_)));
  }

  /// Compares the keys of both sides. `all_of_them`: a key that only one side has is a difference,
  /// too.
  void compare_keys(bool all_of_them) {
    const auto or_unset = [](const std::string& value) { return value.empty() ? "unset" : value; };
    for (const KeyDifference& d : key_differences(earlier_, now_)) {
      if (!matters(d.path) || d.path == kReplications) continue;
      if (!all_of_them && (d.earlier.empty() || d.now.empty())) continue;
      add(fmt::format("{} (there {}, now {})", d.path, or_unset(d.earlier), or_unset(d.now)));
    }
    if (same_command_ && fewer_replications(earlier_, now_)) {
      add(fmt::format("replications (there {}, now fewer: {})",
                      *KeyIndex(earlier_.keys).find(kReplications),
                      *KeyIndex(now_.keys).find(kReplications)));
    }
  }

  const ResultIdentity& earlier_;
  const ResultIdentity& now_;
  bool same_command_;
  std::size_t count_ = 0;
  std::string text_;
};

}  // namespace

ResultIdentity identity_of(const std::vector<const LoadedScenario*>& variants, std::string command,
                           std::vector<std::string> options) {
  ResultIdentity identity(variants.front()->scenario.name);
  identity.version = RETRYSIM_VERSION;
  identity.command = std::move(command);
  identity.options = std::move(options);
  std::vector<fs::path> inputs;
  for (const LoadedScenario* variant : variants) {
    Keys keys;
    for (const ResolvedKey& key : variant->keys) keys.emplace_back(key.path, key.toml);
    if (variant == variants.front()) {
      identity.keys = std::move(keys);
    } else {
      keep_common(identity.keys, keys);
    }
    inputs.insert(inputs.end(), variant->input_files.begin(), variant->input_files.end());
    if (!variant->file.empty()) identity.reads.push_back(variant->file);
  }
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  identity.reads.insert(identity.reads.end(), inputs.begin(), inputs.end());
  std::sort(identity.reads.begin(), identity.reads.end());
  identity.reads.erase(std::unique(identity.reads.begin(), identity.reads.end()),
                       identity.reads.end());
  for (const fs::path& input : inputs) {
    std::error_code error;
    if (!fs::is_regular_file(input, error)) continue;  // a pipe can be read only once
    std::string ignored;
    auto content = scenario::read_whole_file(input, ~std::uintmax_t{0}, ignored);
    if (!content) continue;
    identity.files.push_back({input.filename().string(), content->size(), crc32(*content)});
    identity.inputs[input] = std::make_shared<const std::string>(*std::move(content));
  }
  return identity;
}

ResultIdentity identity_of(const LoadedScenario& base, const std::vector<fs::path>& further_reads,
                           std::string command, std::vector<std::string> options) {
  ResultIdentity identity = identity_of({&base}, std::move(command), std::move(options));
  identity.reads.insert(identity.reads.end(), further_reads.begin(), further_reads.end());
  return identity;
}

ResultIdentity identity_of(const Json& json, const fs::path& path) {
  ResultIdentity identity("");
  read_members(path, [&] {
    identity.scenario = json.at("scenario");
    identity.version = json.value("version", "");
    identity.files = file_records(json, path);
    if (json.contains("keys")) {
      identity.keys = keys_in(json.at("keys"));
    } else if (json.contains("variants") && !json.at("variants").empty()) {
      identity.keys = keys_of_variant(json.at("variants").at(0));
      for (const Json& variant : json.at("variants")) {
        keep_common(identity.keys, keys_of_variant(variant));
      }
    }
    identity.command = json.value("command", "");
    if (json.contains("options")) json.at("options").get_to(identity.options);
  });
  return identity;
}

std::vector<KeyDifference> key_differences(const ResultIdentity& earlier,
                                           const ResultIdentity& now) {
  const KeyIndex before(earlier.keys), after(now.keys);
  std::vector<KeyDifference> differences;
  for (const auto& [path, value] : now.keys) {
    const std::string* other = before.find(path);
    if (other != nullptr && scenario::same_value(*other, value)) continue;
    differences.push_back({path, other == nullptr ? "" : *other, value});
  }
  for (const auto& [path, value] : earlier.keys) {
    if (after.find(path) == nullptr) differences.push_back({path, value, ""});
  }
  return differences;
}

std::string difference(const ResultIdentity& earlier, const ResultIdentity& now) {
  if (now.command.empty()) return {};
  return Differences(earlier, now).text();
}

}  // namespace retrysim::report
