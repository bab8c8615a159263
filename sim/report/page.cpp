// SPDX-License-Identifier: MIT
#include "report/page.hpp"

#include "report/page_data.hpp"
#include "report/page_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace retrysim::report {
namespace {

namespace fs = std::filesystem;

/// What the series of all results together may take.
constexpr std::size_t kMostSeriesBytes = 4'000'000;
/// Of a result that is no sweep.
constexpr std::size_t kMostBytesOfRun = 1'800'000;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

unsigned digit(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); }

/// The Base64 text of the SHA-256 that is written in hexadecimal digits, as policies name it.
std::string base64_of_sha256(std::string_view hexadecimal) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  // Three digits are two characters; the last of the 64 digits stands alone.
  for (std::size_t i = 0; i < hexadecimal.size(); i += 3) {
    unsigned bits = 0;
    for (std::size_t k = i; k < i + 3; ++k) {
      bits = bits << 4 | (k < hexadecimal.size() ? digit(hexadecimal[k]) : 0);
    }
    out += kAlphabet[bits >> 6];
    if (i + 1 < hexadecimal.size()) out += kAlphabet[bits & 63];
  }
  return out + "=";
}

/// Nothing comes from anywhere: only the style and the script of this page are in force.
std::string policy() {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; "
      "form-action 'none'",
      base64_of_sha256(page_script_sha256()), base64_of_sha256(page_style_sha256()));
}

std::string data_element(std::string_view id, std::string_view json) {
  return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, json);
}

}  // namespace

std::string html_page(std::span<const fs::path> folders) {
  const std::size_t share = kMostSeriesBytes / folders.size();
  std::vector<PageResult> results;
  std::string title;
  for (const fs::path& folder : folders) {
    std::error_code error;
    const bool sweep = fs::exists(folder / "points.csv", error);
    results.push_back(read_page_result(folder, sweep ? share : std::min(share, kMostBytesOfRun)));
    title += (title.empty() ? "" : ", ") + results.back().title;
  }
  std::string page = kPageHead;
  page += "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy());
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
  page += fmt::format("<meta name=\"generator\" content=\"retrysim {}\">\n", RETRYSIM_VERSION);
  page += fmt::format("<title>{} - retrysim</title>\n", escaped(title));
  page += fmt::format("<style>{}</style>\n</head>\n<body>\n", page_style());
  page +=
      "<main id=\"page\"></main>\n<noscript>This page draws its contents with JavaScript, "
      "which is switched off.</noscript>\n";
  for (std::size_t i = 0; i < results.size(); ++i) {
    page += data_element(fmt::format("result-{}", i), results[i].metadata);
    page += data_element(fmt::format("series-{}", i), results[i].series);
  }
  page += fmt::format("<script>{}</script>\n</body>\n</html>\n", page_script());
  return page;
}

}  // namespace retrysim::report
