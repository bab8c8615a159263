// SPDX-License-Identifier: MIT
#include "fit/log.hpp"

#include <retrysim/simulation.hpp>

#include "fit/coarse.hpp"
#include "scenario/text/csv_inputs.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

namespace retrysim::fit {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kBadLinesShown = 10;
constexpr std::size_t kRoles = 7;
constexpr double kMostCounted = 1e12;
constexpr std::size_t kDeepestJson = 64;
/// Bytes of a name of a member or a service, which is kept until the end.
constexpr std::size_t kLongestName = 256;

// --- Lines of files that may be packed.

constexpr std::size_t kBuffer = std::size_t{1} << 17;

/// The bytes of a file, unpacked if it is of gzip. zlib's own reader could not be stopped while it
/// waits for a pipe.
class LogFile {
 public:
  struct Failure {
    std::string why;
  };

  explicit LogFile(const std::string& file) : pieces_(open(file)), piece_(kBuffer) {}
  ~LogFile() {
    if (is_packed_) ::inflateEnd(&unpacking_);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  bool is_open() const { return pieces_->is_open(); }

  /// The next ones; 0 at the end. Throws Failure, Interrupted.
  std::size_t read(std::span<char> to) {
    if (!begun_) begin();
    if (is_packed_) return unpack(to);
    if (rest_.empty() && !fill()) return 0;
    const std::size_t size = std::min(to.size(), rest_.size());
    std::copy_n(rest_.begin(), size, to.begin());
    rest_ = rest_.subspan(size);
    return size;
  }

 private:
  static std::unique_ptr<scenario::InputFile> open(const std::string& file) {
    return file == "-" ? std::make_unique<scenario::InputFile>(0)
                       : std::make_unique<scenario::InputFile>(std::filesystem::path(file));
  }

  void begin() {
    constexpr char kMagic[] = {'\x1f', '\x8b'};
    begun_ = true;
    std::size_t size = 0;
    while (size < std::size(kMagic)) {
      const std::size_t got = read_piece(std::span(piece_).subspan(size));
      if (got == 0) break;
      size += got;
    }
    rest_ = std::span(piece_).first(size);
    if (size < std::size(kMagic) ||
        !std::equal(std::begin(kMagic), std::end(kMagic), rest_.begin()))
      return;
    constexpr int kLargestWindow = 15, kGzip = 16;
    if (::inflateInit2(&unpacking_, kLargestWindow + kGzip) != Z_OK) throw std::bad_alloc();
    is_packed_ = true;
  }

  std::size_t read_piece(std::span<char> to) const {
    const std::ptrdiff_t got = pieces_->read(to);
    if (got < 0) throw Failure{std::strerror(errno)};
    return static_cast<std::size_t>(got);
  }

  bool fill() {
    rest_ = std::span(piece_).first(read_piece(piece_));
    return !rest_.empty();
  }

  std::size_t unpack(std::span<char> to) {
    while (!at_end_) {
      if (rest_.empty() && !fill()) {
        if (!between_members_) throw Failure{"the packed file ends early"};
        break;
      }
      if (between_members_) {
        if (rest_.front() != '\x1f') break;  // what comes behind is none of it
        if (::inflateReset(&unpacking_) != Z_OK) throw std::bad_alloc();
        between_members_ = false;
      }
      unpacking_.next_in = reinterpret_cast<Bytef*>(rest_.data());
      unpacking_.avail_in = static_cast<uInt>(rest_.size());
      unpacking_.next_out = reinterpret_cast<Bytef*>(to.data());
      unpacking_.avail_out = static_cast<uInt>(to.size());
      const int code = ::inflate(&unpacking_, Z_NO_FLUSH);
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        throw Failure{unpacking_.msg == nullptr ? "it is damaged" : unpacking_.msg};
      }
      rest_ = rest_.last(unpacking_.avail_in);
      between_members_ = code == Z_STREAM_END;
      if (const std::size_t size = to.size() - unpacking_.avail_out; size > 0) return size;
    }
    at_end_ = true;
    return 0;
  }

  std::unique_ptr<scenario::InputFile> pieces_;
  std::vector<char> piece_;
  std::span<char> rest_;  // of the piece
  z_stream unpacking_ = {};
  bool begun_ = false, is_packed_ = false, between_members_ = false, at_end_ = false;
};

class LineReader {
 public:
  explicit LineReader(const std::string& file)
      : name_(file == "-" ? "standard input" : file), file_(file) {
    if (!file_.is_open() && errno == ENOMEM) throw std::bad_alloc();
    if (!file_.is_open()) {
      throw BadLog(fmt::format("{}: cannot be read: {}", name_, std::strerror(errno)));
    }
    buffer_.resize(kBuffer);
  }

  const std::string& name() const { return name_; }
  std::uint64_t number() const { return number_; }

  /// The next line, without its end; nothing at the end of the file. It lives until the next call.
  std::optional<std::string_view> next() {
    while (true) {
      const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
      const std::size_t length = rest.find('\n');
      if (length != std::string_view::npos || (at_end_ && !rest.empty())) {
        std::string_view line = rest.substr(0, length);
        begin_ += std::min(rest.size(), line.size() + 1);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        ++number_;
        return line;
      }
      if (at_end_) return std::nullopt;
      refill();
    }
  }

 private:
  void refill() {
    stop_point();
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
    if (end_ == buffer_.size()) {
      if (buffer_.size() >= kLongestLine) {
        throw BadLog(
            fmt::format("{}:{}: a line has more than {} bytes", name_, number_ + 1, kLongestLine));
      }
      buffer_.resize(2 * buffer_.size());
    }
    std::size_t got = 0;
    try {
      got = file_.read(std::span(buffer_).subspan(end_));
    } catch (const LogFile::Failure& f) {
      throw BadLog(fmt::format("{}:{}: cannot be read: {}", name_, number_ + 1, f.why));
    }
    at_end_ = got == 0;
    end_ += got;
  }

  std::string name_;
  LogFile file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t number_ = 0;
  bool at_end_ = false;
};

// --- Fields of a line.

using Fields = std::vector<std::string_view>;
using Names = std::set<std::string, std::less<>>;

/// Of comma-separated values. A quoted field that contains quotes keeps them doubled: no field that
/// is read here may have any. False if a quote is never closed.
bool split_csv(std::string_view line, Fields& fields) {
  fields.clear();
  while (true) {
    if (!line.empty() && line.front() == '"') {
      std::size_t end = 1;
      while (true) {
        end = line.find('"', end);
        if (end == std::string_view::npos) return false;
        if (end + 1 < line.size() && line[end + 1] == '"') {
          end += 2;
          continue;
        }
        break;
      }
      fields.push_back(line.substr(1, end - 1));
      line.remove_prefix(end + 1);
      if (line.empty()) return true;
      if (line.front() != ',') return false;
      line.remove_prefix(1);
      continue;
    }
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return true;
    line.remove_prefix(comma + 1);
  }
}

/// Of fields with blanks between them; quotes and brackets hold a field together, a backslash takes
/// the next character as it is. False if one is never closed.
bool split_blanks(std::string_view line, Fields& fields) {
  fields.clear();
  std::size_t at = 0;
  while (true) {
    at = line.find_first_not_of(' ', at);
    if (at == std::string_view::npos) return true;
    const char close = line[at] == '"' ? '"' : line[at] == '[' ? ']' : ' ';
    std::size_t end = close == ' ' ? at : at + 1;
    const std::size_t begin = end;
    while (end < line.size() && line[end] != close) end += line[end] == '\\' ? 2 : 1;
    if (end >= line.size() && close != ' ') return false;
    end = std::min(end, line.size());
    fields.push_back(line.substr(begin, end - begin));
    at = std::min(line.size(), close == ' ' ? end : end + 1);
  }
}

// --- Values.

/// A decimal number in units of `unit_ns`, a power of ten, in nanoseconds: exactly, further
/// decimals are cut off. Nothing if it is none, or does not fit.
std::optional<std::int64_t> parse_decimal(std::string_view text, std::int64_t unit_ns) {
  if (text.starts_with('-')) return std::nullopt;
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  const auto [point, error] = std::from_chars(text.data(), end, whole);
  if (error != std::errc()) return std::nullopt;
  if (whole > std::numeric_limits<std::int64_t>::max() / unit_ns - 1) return std::nullopt;
  std::int64_t ns = whole * unit_ns;
  if (point == end) return ns;
  if (*point != '.' || point + 1 == end) return std::nullopt;
  for (const char* p = point + 1; p != end; ++p) {
    if (*p < '0' || *p > '9') return std::nullopt;
    unit_ns /= 10;
    ns += (*p - '0') * unit_ns;
  }
  return ns;
}

/// Of a number that may have an exponent.
std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_epoch(std::string_view text) {
  // The next unit begins where the one before would be in the year 5138.
  constexpr double kSeconds = 1e11, kMilliseconds = 1e14, kMicroseconds = 1e17, kLatest = 9e18;
  const std::optional<double> value = parse_number(text);
  if (!value) return std::nullopt;
  const std::int64_t unit_ns = *value < kSeconds        ? kSecond
                               : *value < kMilliseconds ? 1'000'000
                               : *value < kMicroseconds ? 1'000
                                                        : 1;
  if (*value * static_cast<double>(unit_ns) > kLatest) return std::nullopt;
  if (const auto exact = parse_decimal(text, unit_ns)) return exact;
  return std::llround(*value * static_cast<double>(unit_ns));
}

// "10/Oct/2000:13:55:36 -0700"
std::optional<std::int64_t> parse_common_log_time(std::string_view text) {
  constexpr std::string_view kShape = "00/Aaa/0000:00:00:00 +0000";
  if (text.size() != kShape.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], s = kShape[i];
    const bool digit = c >= '0' && c <= '9';
    if (s == '0' ? !digit : s == '+' ? c != '+' && c != '-' : s != 'A' && s != 'a' && c != s) {
      return std::nullopt;
    }
  }
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = 0;
    for (const char c : text.substr(at, size)) value = 10 * value + (c - '0');
    return value;
  };
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t month = kMonths.find(text.substr(3, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(number(7, 4)),
                                         std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
                                         std::chrono::day(static_cast<unsigned>(number(0, 2))));
  const int hour = number(12, 2), minute = number(15, 2), second = number(18, 2);
  // 64-bit nanoseconds reach from 1678 to 2261.
  if (!date.ok() || number(7, 4) < 1678 || number(7, 4) > 2261) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const int offset_minutes = number(22, 2) * 60 + number(24, 2);
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  std::int64_t seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
  seconds += (text[21] == '-' ? 60 : -60) * std::int64_t{offset_minutes};
  return seconds * kSecond;
}

std::uint64_t hash_of(std::string_view text) {
  if (text.empty() || text == "-") return 0;
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15u;
  return h == 0 ? 1 : h ^ h >> 29;
}

/// What is wrong with a line.
struct Unreadable {
  std::string why;
};

/// Of a text that may be JSON: whether its brackets are nested so deeply that reading them would
/// take more of the stack than there may be.
bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if ((c == '[' || c == '{') && ++depth > kDeepestJson) return true;
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return false;
}

/// Throws Unreadable.
nlohmann::json json_object(std::string_view text) {
  if (is_too_deep(text)) {
    throw Unreadable{fmt::format("its JSON is nested more than {} deep", kDeepestJson)};
  }
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) throw Unreadable{"not a JSON object"};
  return json;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  return scenario::printable_line(text.size() > kMost ? std::string(text.substr(0, kMost)) + "..."
                                                      : std::string(text));
}

// --- What a line says, in any format.

struct Line {
  std::string_view time, duration, status, request, service, client, path;
  bool has_service = false;
};

struct Form {
  LogFormat format = LogFormat::kAuto;
  bool time_is_start = false;
  double unit_s = 1;
  bool has_duration = true;
  std::optional<std::size_t> count;  // CSV: the column with numbers of requests
  std::array<std::optional<std::size_t>, kRoles> places;  // CSV
  std::array<std::string, kRoles> names;                  // CSV and JSON; empty: there is none

  const std::string& name(Role role) const { return names[static_cast<std::size_t>(role)]; }
};

constexpr std::array<std::string_view, kRoles> kUsualNames = {
    "time|timestamp|ts|start_time|@timestamp|msec|time_iso8601|time_local|date",
    "duration|request_time|duration_ms|latency|latency_ms|response_time|response_time_ms|duration_"
    "s|"
    "elapsed|elapsed_ms|time_taken|duration_us",
    "status|response_code|status_code|code|http_status",
    "request|request_id|x_request_id|x-request-id|requestid|trace_id",
    "service|upstream_cluster",
    "client|client_ip|remote_addr|downstream_remote_address|x_forwarded_for",
    "path|uri|request_uri|url",
};

double unit_of_name(std::string_view name) {
  const auto ends_with = [name](std::string_view end) { return name.ends_with(end); };
  if (ends_with("_ms") || name == "ms") return 1e-3;
  if (ends_with("_us") || name == "us") return 1e-6;
  if (ends_with("_ns") || name == "ns") return 1e-9;
  return 1;
}

class Parser {
 public:
  Parser(const LogOptions& options, Log& log) : options_(options), log_(log) {}

  /// The first line of a file. True if it is a header.
  bool begin_file(std::string_view line, const LineReader& where) {
    form_ = Form{};
    members_.clear();
    file_ = where.name();
    first_line_ = where.number();
    first_row_ = log_.rows.size();
    form_.format = options_.format == LogFormat::kAuto ? format_of(line) : options_.format;
    log_.format = retrysim::name(form_.format);
    switch (form_.format) {
      case LogFormat::kApache:
        form_.time_is_start = true;
        form_.unit_s = 1e-6;
        break;
      case LogFormat::kEnvoy:
        form_.time_is_start = true;
        form_.unit_s = 1e-3;
        break;
      case LogFormat::kCsv:
        read_header(line, where);
        break;
      case LogFormat::kJson:
        try {
          (void)json_object(line);
        } catch (const Unreadable& bad) {
          throw BadLog(fmt::format("{}:{}: {}", where.name(), where.number(), bad.why));
        }
        form_.has_duration = false;
        break;
      default:
        break;
    }
    apply_options();
    return form_.format == LogFormat::kCsv;
  }

  /// After the last line of a file.
  void end_file(const LineReader& where) const {
    if (form_.format == LogFormat::kJson) check_columns(where.name(), known_members());
  }

  /// Throws Unreadable.
  void add(std::string_view text) {
    const Line line = parts_of(text);
    const auto time = parse_log_time(line.time);
    if (!time) throw Unreadable{fmt::format("\"{}\" is not a time", shown(line.time))};
    if (line.has_service && !is_of_service(line.service)) return;
    if (form_.count) {
      need(*form_.count + 1);
      const std::optional<double> value = parse_number(fields_[*form_.count]);
      if (!value || *value > kMostCounted) {
        throw Unreadable{fmt::format("\"{}\" is not a count", shown(fields_[*form_.count]))};
      }
      log_.counts.push_back({*time, *value});
      return;
    }
    std::int64_t duration = 0;
    if (form_.has_duration) {
      const auto read = duration_of(line.duration);
      if (!read) throw Unreadable{fmt::format("\"{}\" is not a duration", shown(line.duration))};
      duration = *read;
    }
    Observation row = Observation::of(form_.time_is_start ? *time : *time - duration, duration,
                                      status_of(line.status));
    row.has_duration = form_.has_duration;
    row.request = hash_of(line.request) & ~Observation::kKeyBit;
    log_.has_requests |= row.request != 0;
    const std::uint64_t client = hash_of(line.client), path = hash_of(line.path);
    if (row.request == 0 && client != 0 && path != 0) {
      row.request = (client * 0x9e3779b97f4a7c15u ^ path) | Observation::kKeyBit;
      log_.has_keys = true;
    }
    log_.has_statuses |= row.status != 0;
    log_.times_are_starts = form_.time_is_start;
    while (*time % log_.time_resolution_ns != 0) log_.time_resolution_ns /= 1000;
    log_.rows.push_back(row);
  }

  bool has_duration() const { return form_.has_duration; }
  const Names& services() const { return services_; }

 private:
  static LogFormat format_of(std::string_view line) {
    if (line.starts_with('{')) return LogFormat::kJson;
    if (line.starts_with('[')) return LogFormat::kEnvoy;
    for (const std::string_view type : {"http ", "https ", "h2 ", "grpcs ", "ws ", "wss "}) {
      if (line.starts_with(type)) return LogFormat::kAlb;
    }
    if (line.find(" [") != std::string_view::npos && line.find('"') != std::string_view::npos) {
      return LogFormat::kNginx;
    }
    return LogFormat::kCsv;
  }

  void apply_options() {
    if (options_.duration_unit_s) form_.unit_s = *options_.duration_unit_s;
    if (options_.time_is_start) form_.time_is_start = *options_.time_is_start;
  }

  /// That there are those that the user has named, and a time.
  void check_columns(const std::string& place, const std::vector<std::string_view>& names) const {
    for (const auto& [role, wanted] : options_.columns) {
      if (!form_.name(role).empty()) continue;
      throw BadLog(fmt::format("{}: there is no column \"{}\"; {}", place, shown(wanted),
                               scenario::suggestion(wanted, names, "columns are")));
    }
    if (form_.name(Role::kTime).empty()) {
      throw BadLog(
          fmt::format("{}: no column is called time; name it with --column time=NAME", place));
    }
  }

  // The columns that the roles have in `names`. One that is chosen stays.
  void choose(const std::vector<std::string_view>& names) {
    for (std::size_t role = 0; role < kRoles; ++role) {
      if (!form_.names[role].empty()) continue;
      const auto wanted = options_.columns.find(static_cast<Role>(role));
      if (wanted != options_.columns.end()) {
        take(role, names, wanted->second);
        continue;
      }
      std::string_view usual = kUsualNames[role];
      while (!usual.empty() && form_.names[role].empty()) {
        const std::string_view name = usual.substr(0, usual.find('|'));
        usual.remove_prefix(std::min(usual.size(), name.size() + 1));
        take(role, names, name);
      }
    }
    const std::string& duration = form_.name(Role::kDuration);
    form_.has_duration = !duration.empty();
    form_.time_is_start = form_.name(Role::kTime) == "start_time";
    form_.unit_s = unit_of_name(duration);
    // Envoy's operators, as its users name them.
    if (form_.time_is_start && form_.name(Role::kStatus) == "response_code" &&
        duration == "duration") {
      form_.unit_s = 1e-3;
    }
    apply_options();
  }

  void take(std::size_t role, const std::vector<std::string_view>& names, std::string_view name) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end()) return;
    form_.names[role] = name;
    form_.places[role] = static_cast<std::size_t>(at - names.begin());
  }

  void read_header(std::string_view line, const LineReader& where) {
    if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    if (!split_csv(line, fields_)) {
      throw BadLog(fmt::format("{}:{}: a quote is not closed", where.name(), where.number()));
    }
    choose(fields_);
    check_columns(fmt::format("{}:{}", where.name(), where.number()), fields_);
    const auto has = [&](Role role) { return !form_.name(role).empty(); };
    if (form_.has_duration || has(Role::kStatus) || has(Role::kRequest) || has(Role::kPath)) return;
    for (const std::string_view name : {"value", "count", "requests", "request_count"}) {
      const auto at = std::ranges::find(fields_, name);
      if (at == fields_.end()) continue;
      form_.count = static_cast<std::size_t>(at - fields_.begin());
      return;
    }
  }

  std::vector<std::string_view> known_members() const { return {members_.begin(), members_.end()}; }

  // Many loggers leave out what is null: a member may first come in a later line.
  void learn_members() {
    constexpr std::size_t kMost = 10'000;
    bool more = false;
    for (auto member = json_.begin(); member != json_.end(); ++member) {
      if (member.key().size() > kLongestName) {
        throw Unreadable{fmt::format("a member's name has more than {} bytes", kLongestName)};
      }
      if (members_.size() == kMost || members_.contains(member.key())) continue;
      members_.insert(member.key());
      more = true;
    }
    if (!more) return;
    const Form before = form_;
    choose(known_members());
    if (log_.rows.size() > first_row_) read_again(before);
  }

  // What the lines of the file that came before a member was known are, now that it is.
  void read_again(const Form& before) {
    const std::size_t count = log_.rows.size() - first_row_;
    if (before.name(Role::kService).empty() && !form_.name(Role::kService).empty()) {
      services_.insert("");
      if (!options_.service.empty()) {
        log_.other_services += count;
        log_.rows.resize(first_row_);
        return;
      }
    }
    if (form_.has_duration && !before.has_duration) {
      log_.bad_lines += count;
      log_.rows.resize(first_row_);
      if (log_.first_bad.size() < kBadLinesShown) {
        log_.first_bad.push_back(
            {file_, first_line_, fmt::format("it has no \"{}\"", form_.name(Role::kDuration))});
      }
      return;
    }
    if (form_.unit_s == before.unit_s) return;
    for (std::size_t i = first_row_; i < log_.rows.size(); ++i) {
      const auto ns = static_cast<double>(log_.rows[i].duration_ns);
      const auto longest = static_cast<double>(Observation::kLongestNs);
      const double read = std::min(ns * form_.unit_s / before.unit_s, longest);
      log_.rows[i].duration_ns = std::llround(read) & Observation::kLongestNs;
    }
  }

  Line parts_of(std::string_view text) {
    if (form_.format == LogFormat::kJson) return parts_of_json(text);
    const bool csv = form_.format == LogFormat::kCsv;
    if (!(csv ? split_csv(text, fields_) : split_blanks(text, fields_))) {
      throw Unreadable{"a quote or bracket is not closed"};
    }
    if (csv) return parts_of_csv();
    // Where the fields are that are read, and how many there must be.
    constexpr std::size_t kCombined = 9;
    switch (form_.format) {
      case LogFormat::kEnvoy: {
        constexpr std::size_t kTime = 0, kStatus = 2, kDuration = 6, kRequest = 10;
        need(kDuration + 1);
        return {fields_[kTime],
                fields_[kDuration],
                fields_[kStatus],
                fields_.size() > kRequest ? fields_[kRequest] : "",
                "",
                "",
                "",
                false};
      }
      case LogFormat::kAlb:
        return parts_of_alb();
      default: {
        constexpr std::size_t kClient = 0, kTime = 3, kPath = 4, kStatus = 5;
        need(kCombined + 1);
        std::string_view duration = fields_.back();
        if (duration.starts_with('(') && duration.ends_with(')')) {
          duration = duration.substr(1, duration.size() - 2);
        }
        return {fields_[kTime], duration, fields_[kStatus], "", "", fields_[kClient],
                fields_[kPath], false};
      }
    }
  }

  void need(std::size_t count) const {
    if (fields_.size() >= count) return;
    throw Unreadable{fmt::format("it has {} fields instead of {}", fields_.size(), count)};
  }

  Line parts_of_csv() const {
    std::array<std::string_view, kRoles> parts;
    for (std::size_t role = 0; role < kRoles; ++role) {
      if (!form_.places[role]) continue;
      need(*form_.places[role] + 1);
      parts[role] = fields_[*form_.places[role]];
    }
    return {parts[0], parts[1], parts[2], parts[3],
            parts[4], parts[5], parts[6], form_.places[4].has_value()};
  }

  Line parts_of_json(std::string_view text) {
    json_ = json_object(text);
    learn_members();
    std::array<std::string_view, kRoles> parts;
    for (std::size_t role = 0; role < kRoles; ++role) {
      const auto member = form_.names[role].empty() ? json_.end() : json_.find(form_.names[role]);
      if (member == json_.end() || member->is_null()) continue;
      if (member->is_string()) {
        parts[role] = member->get_ref<const std::string&>();
      } else {
        texts_[role] = member->dump();
        parts[role] = texts_[role];
      }
    }
    return {parts[0], parts[1], parts[2], parts[3],
            parts[4], parts[5], parts[6], !form_.names[4].empty()};
  }

  // The three times of a request that reached no target are -1: then it took from its creation on.
  Line parts_of_alb() {
    constexpr std::size_t kTime = 1, kFirst = 5, kStatus = 8, kTrace = 17, kCreated = 21;
    need(kStatus + 1);
    std::int64_t sum = 0;
    bool known = true;
    for (std::size_t i = kFirst; i < kFirst + 3; ++i) {
      if (fields_[i] == "-1") {
        known = false;
        continue;
      }
      const auto part = parse_decimal(fields_[i], kSecond);
      if (!part || *part > Observation::kLongestNs) {
        throw Unreadable{fmt::format("\"{}\" is not a duration", shown(fields_[i]))};
      }
      sum += *part;
    }
    if (!known) {
      const auto end = parse_log_time(fields_[kTime]);
      const auto begin =
          fields_.size() > kCreated ? parse_log_time(fields_[kCreated]) : std::nullopt;
      sum = end && begin && *begin <= *end ? *end - *begin : 0;
    }
    texts_[0] = fmt::format("{}.{:09}", sum / kSecond, sum % kSecond);
    return {fields_[kTime],
            texts_[0],
            fields_[kStatus],
            fields_.size() > kTrace ? fields_[kTrace] : "",
            "",
            "",
            "",
            false};
  }

  std::optional<std::int64_t> duration_of(std::string_view text) const {
    const auto unit_ns = static_cast<std::int64_t>(std::llround(form_.unit_s * 1e9));
    if (const auto exact = parse_decimal(text, unit_ns)) {
      return *exact > Observation::kLongestNs ? std::nullopt : exact;
    }
    const std::optional<double> value = parse_number(text);
    if (!value || *value * form_.unit_s * 1e9 > static_cast<double>(Observation::kLongestNs)) {
      return std::nullopt;
    }
    return std::llround(*value * form_.unit_s * 1e9);
  }

  static std::int16_t status_of(std::string_view text) {
    constexpr int kLargest = 999;
    int status = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
    if (text.empty() || text == "-") return 0;
    if (error != std::errc() || end != text.data() + text.size() || status < 0 ||
        status > kLargest) {
      throw Unreadable{fmt::format("\"{}\" is not a status", shown(text))};
    }
    return static_cast<std::int16_t>(status);
  }

  bool is_of_service(std::string_view service) {
    constexpr std::size_t kMost = 50;
    if (service.size() > kLongestName) {
      throw Unreadable{fmt::format("the service's name has more than {} bytes", kLongestName)};
    }
    if (services_.size() < kMost && services_.find(service) == services_.end()) {
      services_.emplace(service);
    }
    if (options_.service.empty() || service == options_.service) return true;
    ++log_.other_services;
    return false;
  }

  const LogOptions& options_;
  Log& log_;
  Form form_;
  std::string file_;
  std::uint64_t first_line_ = 0;
  std::size_t first_row_ = 0;  // of the file
  Names members_;              // JSON: that lines of the file have
  Fields fields_;
  nlohmann::json json_;
  std::array<std::string, kRoles> texts_;
  Names services_;
};

void check_services(const LogOptions& options, const Names& services, const Log& log) {
  std::vector<std::string_view> names(services.begin(), services.end());
  const bool some_have_none = std::erase(names, "") > 0 && !names.empty();
  if (options.service.empty() && services.size() > 1) {
    throw BadLog(fmt::format(
        "{}; choose one with --service: {}",
        some_have_none ? "some lines of the log name no service" : "the log has several services",
        shown(fmt::format("{}", fmt::join(names, ", ")))));
  }
  if (!options.service.empty() && log.rows.empty() && !services.empty()) {
    throw BadLog(fmt::format("the log has no lines of service \"{}\"; {}", shown(options.service),
                             names.empty()
                                 ? "no line names a service"
                                 : scenario::suggestion(options.service, names, "services are")));
  }
}

/// A log of many years has times in several units, or a line of another age. Sums and small
/// multiples of what is left are within 64-bit range.
void check_span(std::int64_t first_ns, std::int64_t last_ns) {
  constexpr double kYear = 365.25 * 86400e9, kMost = 10;
  const double years = static_cast<double>(last_ns - first_ns) / kYear;
  if (years <= kMost) return;
  throw BadLog(
      fmt::format("the log spans {:.0f} years, more than {:.0f}; are some of its times wrong, "
                  "or in another unit?",
                  years, kMost));
}

}  // namespace

std::optional<std::int64_t> parse_log_time(std::string_view text) {
  if (text.empty()) return std::nullopt;
  constexpr std::size_t kDash = 4, kSlash = 2;
  const bool is_iso = text.size() > kDash && text[kDash] == '-';
  const bool is_common = text.size() > kSlash && text[kSlash] == '/';
  const std::optional<std::int64_t> time = is_iso      ? scenario::parse_timestamp(text)
                                           : is_common ? parse_common_log_time(text)
                                                       : parse_epoch(text);
  // Of times after 1970, differences are within 64-bit range, too.
  return time && *time >= 0 ? time : std::nullopt;
}

void StatusCounter::add(const Observation& row) {
  const auto status = static_cast<int>(row.status);
  auto at = std::ranges::lower_bound(counts_, status, {}, &StatusCount::status);
  if (at == counts_.end() || at->status != status) at = counts_.insert(at, {status, 0, 0});
  ++at->lines;
  const double duration_s = static_cast<double>(row.duration_ns) * 1e-9;
  at->mean_s += (duration_s - at->mean_s) / static_cast<double>(at->lines);
}

Log read_log(const std::vector<std::string>& files, const LogOptions& options) {
  Log log;
  Parser parser(options, log);
  for (const std::string& file : files) {
    LineReader reader(file);
    bool begun = false;
    while (const auto line = reader.next()) {
      if (line->find_first_not_of(" \t") == std::string_view::npos) continue;
      if (!begun) {
        begun = true;
        if (parser.begin_file(*line, reader)) continue;
      }
      ++log.lines;
      try {
        parser.add(*line);
      } catch (const Unreadable& bad) {
        ++log.bad_lines;
        if (log.first_bad.size() < kBadLinesShown) {
          log.first_bad.push_back({reader.name(), reader.number(), bad.why});
        }
      }
    }
    if (!begun) continue;
    parser.end_file(reader);
    log.has_durations &= parser.has_duration();
  }
  check_services(options, parser.services(), log);
  const double share =
      log.lines == 0 ? 0 : static_cast<double>(log.bad_lines) / static_cast<double>(log.lines);
  if (share > options.bad_lines) {
    std::string message =
        fmt::format("{} of {} lines cannot be read, more than {:.3g} %:", log.bad_lines, log.lines,
                    100 * options.bad_lines);
    for (const BadLine& bad : log.first_bad) {
      message += fmt::format("\n  {}:{}: {}", bad.file, bad.line, bad.why);
    }
    throw BadLog(message);
  }
  if (!log.counts.empty()) {
    if (!log.rows.empty()) {
      throw BadLog("some files are access logs, others have numbers of requests: fit one kind");
    }
    std::ranges::sort(log.counts, {}, &Count::time_ns);
    check_span(log.counts.front().time_ns, log.counts.back().time_ns);
    return log;
  }
  if (log.rows.empty()) throw BadLog("the log has no lines");
  log.is_coarse =
      log.has_durations && is_coarse(log.rows, log.time_resolution_ns, log.times_are_starts);
  if (log.is_coarse) spread_over_steps(log.rows, log.time_resolution_ns, log.times_are_starts);
  std::ranges::sort(log.rows, [](const Observation& a, const Observation& b) {
    return std::pair(a.start_ns, a.end_ns()) < std::pair(b.start_ns, b.end_ns());
  });
  check_span(log.rows.front().start_ns, log.rows.back().start_ns);
  return log;
}

}  // namespace retrysim::fit
