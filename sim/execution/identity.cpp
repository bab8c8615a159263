// SPDX-License-Identifier: MIT
#include "execution/identity.hpp"

#include "execution/archive.hpp"
#include "scenario/text/text.hpp"

#include <fmt/format.h>

namespace retrysim::execution {

// The id is FNV-1a. Results of earlier versions have such ids, so the hashed bytes must not change.
std::uint64_t id_of(const Identity& identity) {
  std::string bytes;
  const auto put_text = [&](const std::string& text) {
    put(bytes, std::uint64_t{text.size()});
    bytes += text;
  };
  put(bytes, std::uint64_t{identity.size()});
  for (const auto& [name, text] : identity) {
    put_text(name);
    put_text(text);
  }
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) {
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

}  // namespace retrysim::execution
