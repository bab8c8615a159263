// What is thrown for mistakes in inputs and requests.
//
// SPDX-License-Identifier: MIT
#include <retrysim/error.hpp>

#include "scenario/text/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <utility>

namespace retrysim {

namespace {

std::string what_of(const std::vector<Diagnostic>& diagnostics) {
  if (diagnostics.empty()) throw std::logic_error("an InputError without a mistake");
  const Diagnostic& first = diagnostics.front();
  return first.file.empty() ? first.message : to_string(first);
}

/// A diagnostic from a message; messages about logs begin with their place, "access.log:12: ".
Diagnostic diagnostic_of(const std::string& message) {
  Diagnostic d;
  d.message = message;
  d.nearest = scenario::suggested(message);
  const std::size_t end = message.find(": ");
  const std::size_t colon = end == std::string::npos ? end : message.rfind(':', end - 1);
  if (colon == std::string::npos || colon == 0) return d;
  const char* const last = message.data() + end;
  int line = 0;
  const auto [rest, error] = std::from_chars(message.data() + colon + 1, last, line);
  if (error != std::errc() || rest != last) return d;
  d.file = message.substr(0, colon);
  d.line = line;
  d.message = message.substr(end + 2);
  return d;
}

/// The message of a RequestError with the names that `call` gives.
std::string named(const std::string& text, char mark,
                  const std::function<std::string(const std::string&)>& call) {
  std::string result;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t begin = std::min(text.find(mark, from), text.size());
    const std::size_t end = std::min(text.find(mark, begin + 1), text.size());
    result += text.substr(from, begin - from);
    if (begin < text.size()) result += call(text.substr(begin + 1, end - begin - 1));
    from = std::max(begin, end) + 1;
  }
  return result;
}

/// A diagnostic of a mistake in a request, without a file; its key is the part that is named first.
Diagnostic diagnostic_of_request(const std::string& text, char mark) {
  Diagnostic d;
  d.message = named(text, mark, [&](const std::string& part) {
    if (d.key.empty()) d.key = part;
    return part;
  });
  return d;
}

}  // namespace

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(what_of(diagnostics)), diagnostics_(std::move(diagnostics)) {
  for (Diagnostic& d : diagnostics_) {
    if (d.nearest.empty()) d.nearest = scenario::suggested(d.message);
  }
}

InputError::InputError(std::string message)
    : std::runtime_error(message), diagnostics_{diagnostic_of(message)} {}

RequestError::RequestError(const std::string& text)
    : InputError(diagnostic_of_request(text, *kMark)), text_(text) {}

RequestError::RequestError(const Diagnostic& mistake) : InputError(mistake) {
  Diagnostic marked = mistake;
  if (marked.in_request) marked.file = part(marked.file);
  text_ = to_string(marked);
}

std::string RequestError::text(const std::function<std::string(const std::string&)>& call) const {
  return named(text_, *kMark, call);
}

}  // namespace retrysim
