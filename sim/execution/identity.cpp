// SPDX-License-Identifier: MIT
#include "execution/identity.hpp"

#include "execution/byte_order.hpp"
#include "scenario/whole_file.hpp"

#include <fmt/format.h>

namespace retrysim::execution {

std::string encode(const Identity& identity) {
  std::string bytes;
  put(bytes, static_cast<std::uint64_t>(identity.size()));
  for (const auto& [name, text] : identity) {
    put_text(bytes, name);
    put_text(bytes, text);
  }
  return bytes;
}

// FNV-1a.
std::uint64_t id_of(const Identity& identity) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : encode(identity)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

std::string describe_files(const std::vector<std::filesystem::path>& files) {
  std::string all;
  for (const std::filesystem::path& file : files) {
    std::string ignored;
    const std::string content =
        scenario::read_whole_file(file, ~std::uintmax_t{0}, ignored).value_or("");
    all += fmt::format("{} {:016x} {}\n", file.filename().string(), id_of({{"", content}}),
                       content.size());
  }
  return all;
}

void agree_on(const LoadedScenario& loaded, Executor& executor) {
  if (executor.is_alone()) return;
  const std::string inputs = describe_files(loaded.input_files);
  executor.agree(fmt::format("{:016x}", id_of({{"", to_toml(loaded, false)}, {"", inputs}})));
}

}  // namespace retrysim::execution
