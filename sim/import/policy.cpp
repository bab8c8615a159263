// SPDX-License-Identifier: MIT
#include "import/policy.hpp"

#include "scenario/text/document.hpp"
#include "scenario/text/values.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <utility>

namespace retrysim::imports {

// --- Values and keys -----------------------------------------------------------------------------

std::string in_toml(Duration d) { return scenario::render_text(scenario::to_text(d)); }

std::string in_toml(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) {
    return fmt::format("{}", static_cast<std::int64_t>(number));
  }
  return scenario::render_number(number);
}

std::string text_in_toml(std::string_view text) { return scenario::render_text(text); }

void set(ImportedPolicy& p, std::string_view path, std::string value, std::string source) {
  const auto known = std::ranges::find(p.keys, path, &ImportedKey::path);
  if (known != p.keys.end()) {
    known->value = std::move(value);
    known->source = std::move(source);
  } else {
    p.keys.push_back({std::string(path), std::move(value), std::move(source)});
  }
}

void set(ImportedPolicy& p, std::string_view path, std::string value, const Field& from) {
  set(p, path, std::move(value), from.source());
}

void remove(ImportedPolicy& p, std::string_view path) {
  std::erase_if(p.keys, [&](const ImportedKey& key) { return key.path == path; });
}

std::string group_name(std::string_view text, std::string_view otherwise) {
  std::string name;
  for (const char c : text) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
    if (good && (c != '-' || !name.empty())) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? std::string(otherwise) : name;
}

ImportedPolicy new_policy(std::string name, std::string from) {
  return {.name = std::move(name), .from = std::move(from), .keys = {}};
}

void begin(ImportedPolicy& p, std::string_view sdk, std::string_view software) {
  set(p, "retry.mode", text_in_toml("custom"), "the rules below");
  if (!sdk.empty()) set(p, "retry.sdk", text_in_toml(sdk), fmt::format("{}'s rules", software));
}

// --- Tables of fields ----------------------------------------------------------------------------

namespace {

// Most connections of a client in a scenario.
constexpr std::int64_t kMaxConnections = 1'000'000'000;

}  // namespace

void read_fields(ImportedPolicy& p, const Field& block, std::span<const FieldRow> rows,
                 std::string_view software) {
  read_fields(
      p, [&](std::string_view name) { return block.at(name); }, rows, software);
}

void read_fields(ImportedPolicy& p, const std::function<Field(std::string_view)>& field_of,
                 std::span<const FieldRow> rows, std::string_view software) {
  for (const FieldRow& row : rows) {
    const Field field = field_of(row.field);
    if (!field) {
      if (!row.otherwise.empty()) {
        set(p, row.key, std::string(row.otherwise), fmt::format("{}'s default", software));
      }
      continue;
    }
    switch (row.as) {
      case As::kNothing:
        field.leave(std::string(row.remark));
        continue;
      case As::kCount:
        set(p, row.key, in_toml(static_cast<double>(field.count())), field);
        break;
      case As::kConnections:
        set(p, row.key,
            field.count() > kMaxConnections ? text_in_toml("unlimited")
                                            : in_toml(static_cast<double>(field.count())),
            field);
        break;
      case As::kNumber:
        set(p, row.key, in_toml(field.number()), field);
        break;
      case As::kShare:
        set(p, row.key, in_toml(field.number(0, 1)), field);
        break;
      case As::kPercent:
        set(p, row.key, in_toml(field.number(0, 100) / 100), field);
        break;
      case As::kDuration:
        set(p, row.key, in_toml(field.duration()), field);
        break;
      case As::kMillis:
        set(p, row.key, in_toml(field.spring_duration()), field);
        break;
      case As::kTimeSpan:
        set(p, row.key, in_toml(field.timespan()), field);
        break;
      case As::kTimeout:
        set_timeout(p, row.key, field);
        break;
    }
    if (!row.remark.empty()) field.leave_in_part(std::string(row.remark));
  }
}

// --- What concerns several families --------------------------------------------------------------

void set_backoff(ImportedPolicy& p, Duration base, double factor, std::optional<Duration> cap,
                 std::string_view jitter, const std::string& source) {
  set(p, "retry.backoff.base", in_toml(base), source);
  set(p, "retry.backoff.throttle_base", in_toml(base), source);
  set(p, "retry.backoff.factor", in_toml(factor), source);
  set(p, "retry.backoff.cap", cap ? in_toml(*cap) : text_in_toml("none"), source);
  set(p, "retry.backoff.jitter", text_in_toml(jitter), source);
}

void lengthen_backoff(ImportedPolicy& p, Duration base, double share, const std::string& source) {
  const std::string middle = in_toml(Duration::from_seconds(base.in_seconds() * (1 + share / 2)));
  set(p, "retry.backoff.base", middle, source + ", with half of the jitter");
  set(p, "retry.backoff.throttle_base", middle, source + ", with half of the jitter");
  set(p, "retry.backoff.jitter", text_in_toml("proportional"), source);
  set(p, "retry.backoff.jitter_share", in_toml(share / (2 + share)), source);
  set(p, "retry.backoff.jitter_before_cap", "true", source);
}

LinearDelays linear_delays(Duration base, Duration step, std::int64_t retries,
                           std::optional<Duration> longest, double share) {
  LinearDelays list;
  const Duration most = longest.value_or(Duration::max());
  Duration delay = base;
  for (std::int64_t i = 0; i < std::clamp<std::int64_t>(retries, 1, 100); ++i, delay += step) {
    const auto part = [&](double of) { return Duration::from_seconds(delay.in_seconds() * of); };
    const Duration low = share > 0 ? part(1 - share) : delay;
    const Duration high = share > 0 ? part(1 + share) : delay;
    list.text += list.text.empty() ? "" : ", ";
    if (low >= most || low == high) {
      list.text += in_toml(std::min(low, most));
    } else {
      list.text += fmt::format("{{ distribution = \"uniform\", min = {}, max = {} }}", in_toml(low),
                               in_toml(std::min(high, most)));
      list.cut = list.cut || high > most;
    }
    if (low >= most) break;
  }
  list.text = "[" + list.text + "]";
  return list;
}

void set_timeout(ImportedPolicy& p, std::string_view key, const Field& from) {
  if (!from) return;
  const Duration d = from.duration();
  set(p, key, d > Duration::zero() ? in_toml(d) : text_in_toml("none"), from);
}

void set_errors(ImportedPolicy& p, const std::vector<std::string>& errors,
                const std::string& from) {
  std::vector<std::string> once;
  for (const std::string& error : errors) {
    if (std::ranges::count(once, error) == 0) once.push_back(error);
  }
  std::string list;
  for (const std::string& error : once) {
    list += (list.empty() ? "" : ", ") + text_in_toml(error);
  }
  set(p, "retry.on", "[" + list + "]", from);
}

void set_statuses(ImportedPolicy& p, const Field& list, std::string_view more) {
  std::vector<std::string> errors, others;
  for (const std::string& code : list.words()) {
    const std::optional<double> status = number_in(code);
    const bool fails = status && *status >= 400 && *status < 600;
    (fails ? errors : others).push_back(code);
  }
  errors.insert(errors.end(), {"timeout", "connection"});
  set_errors(p, errors, list.path());
  if (others.empty() && more.empty()) return;
  std::string why = others.empty() ? "" : fmt::format("no error here: {}", fmt::join(others, ", "));
  if (!why.empty() && !more.empty()) why += "; ";
  list.leave_in_part(why + std::string(more));
}

void set_pending(ImportedPolicy& p, const Field& from) {
  const auto limit = std::ranges::find(p.keys, "max_connections", &ImportedKey::path);
  if (limit == p.keys.end() || limit->value == text_in_toml("unlimited")) {
    return from.leave("no attempt waits for a connection: their number has no limit");
  }
  if (from) set(p, "connection_queue", in_toml(static_cast<double>(from.count())), from);
}

void set_active_budget(ImportedPolicy& p, double share, double minimum, const std::string& source) {
  constexpr double kAsManyAsThereAre = 4'294'967'295;  // largest number of 32 bits
  if (share == 0 && minimum >= kAsManyAsThereAre) {
    remove(p, "retry.budget.share");
    remove(p, "retry.budget.minimum");
    set(p, "retry.budget.kind", text_in_toml("none"), source);
    return;
  }
  set(p, "retry.budget.kind", text_in_toml("active"), source);
  set(p, "retry.budget.share", in_toml(share), source);
  set(p, "retry.budget.minimum", in_toml(minimum), source);
}

void set_window_budget(ImportedPolicy& p, const Field& share, const Field& least, const Field& ttl,
                       std::string_view software) {
  const std::string otherwise = fmt::format("{}'s default", software);
  set(p, "retry.budget.kind", text_in_toml("window"), fmt::format("{}'s budget", software));
  set(p, "retry.budget.share", in_toml(share ? share.number() : 0.2),
      share ? share.path() : otherwise);
  set(p, "retry.budget.minimum", in_toml(least ? least.number() : 10),
      least ? least.path() : otherwise);
  set(p, "retry.budget.window", in_toml(ttl ? ttl.duration() : Duration::seconds(10)),
      ttl ? ttl.path() : otherwise);
}

void import_parameters(const Documents& documents, ImportedConfiguration& result,
                       void (*read)(ImportedPolicy&, const Field&)) {
  for (const Field& d : documents) {
    if (!d.is_map() || d.members().empty()) continue;
    d.block();
    ImportedPolicy p = new_policy("imported", "");
    begin(p, "", "");
    read(p, d);
    // A map with nothing in it that is read is some other file, not a policy of defaults.
    const auto fields = d.members();
    if (std::ranges::none_of(fields, [](const auto& f) { return f.second.is_used_in_part(); })) {
      continue;
    }
    result.policies.push_back(std::move(p));
  }
}

PoliciesByName::PoliciesByName(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) places_[names[i]].push_back(i);
}

const std::vector<std::size_t>& PoliciesByName::of(const std::string& name) const {
  static const std::vector<std::size_t> kNone;
  const auto found = places_.find(name);
  return found == places_.end() ? kNone : found->second;
}

}  // namespace retrysim::imports
