// SPDX-License-Identifier: MIT
#include "cli/free_memory.hpp"

#include <sys/resource.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace retrysim::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kNoGroupLimit = std::uint64_t{1} << 62;

/// The number in a file that holds nothing else. Nothing for "max", or without the file.
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

/// The number behind `name` in a file of lines such as "MemAvailable:  123 kB".
std::optional<std::uint64_t> named_number_in(const fs::path& file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t value = 0;
    if (words >> word && word == name && words >> value) return value;
  }
  return std::nullopt;
}

std::uint64_t left(std::optional<std::uint64_t> limit, std::uint64_t used) {
  if (!limit) return kNoLimit;
  return *limit > used ? *limit - used : 0;
}

/// What a control group and all around it leave. Pages of files that are only kept for their next
/// reader count as used there, but would be given back.
std::uint64_t left_in_group(const fs::path& mount, fs::path group, bool version_2) {
  const char* limit_name = version_2 ? "memory.max" : "memory.limit_in_bytes";
  const char* used_name = version_2 ? "memory.current" : "memory.usage_in_bytes";
  const char* cache_name = version_2 ? "inactive_file" : "total_inactive_file";
  std::uint64_t least = kNoLimit;
  for (group = group.relative_path();; group = group.parent_path()) {
    const fs::path folder = mount / group;
    // Most groups have no limit: there is "max", or a number beyond all memory.
    const std::optional<std::uint64_t> limit = number_in(folder / limit_name);
    if (limit && *limit < kNoGroupLimit) {
      const std::uint64_t used = number_in(folder / used_name).value_or(0);
      const std::uint64_t cache = named_number_in(folder / "memory.stat", cache_name).value_or(0);
      least = std::min(least, left(limit, used - std::min(used, cache)));
    }
    if (group.empty()) return least;
  }
}

std::uint64_t left_in_groups(const fs::path& root) {
  std::uint64_t least = kNoLimit;
  std::ifstream in(root / "proc/self/cgroup");
  // "0::/path" of version 2, "4:cpu,memory:/path" of version 1.
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, left_in_group(root / "sys/fs/cgroup", group, true));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, left_in_group(root / "sys/fs/cgroup/memory", group, false));
    }
  }
  return least;
}

std::uint64_t left_of_address_space(const fs::path& root) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  const auto used = named_number_in(root / "proc/self/status", "VmSize:");
  return left(limit.rlim_cur, used.value_or(0) * 1024);
}

}  // namespace

void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kLargestTakenApart = 32 << 20, kLargestKept = 256 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestTakenApart);
  mallopt(M_TRIM_THRESHOLD, kLargestKept);
#endif
}

std::uint64_t free_memory(const fs::path& root) {
  std::uint64_t least = std::min(left_in_groups(root), left_of_address_space(root));
  if (const auto kib = named_number_in(root / "proc/meminfo", "MemAvailable:")) {
    least = std::min(least, *kib * 1024);
  }
  return least;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  constexpr std::string_view kPrefixes = "KMGT";
  double factor = 1;
  if (!text.empty() && text != "B") {
    const std::size_t power = kPrefixes.find(text.front() == 'k' ? 'K' : text.front());
    if (power == std::string_view::npos) return std::nullopt;
    text.remove_prefix(1);
    if (text != "" && text != "iB" && text != "B") return std::nullopt;
    const double base = text == "B" ? 1000 : 1024;
    for (std::size_t i = 0; i <= power; ++i) factor *= base;
  }
  const double bytes = value * factor;
  constexpr double kMost = 9e18;
  if (!(bytes >= 1) || bytes > kMost) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace retrysim::cli
