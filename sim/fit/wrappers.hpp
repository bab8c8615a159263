// What collectors of logs put around the lines of a program: Docker's json-file driver, the
// container runtimes of Kubernetes (CRI), compose and kubectl, syslog, and shippers that send
// lines as a member of a JSON object.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/members.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::fit {

/// A line without its wrapping. It lives until the next line.
struct Unwrapped {
  std::string_view line;
  std::string_view time;     ///< when the collector got the line, if it says so
  std::string_view service;  ///< whose line it is, if it says so: "web" of compose's "web-1 | "
  bool is_whole = true;      ///< false: part of a line that was too long
};

/// The layers around the lines of a log, from outside to inside.
class Wrapping {
 public:
  /// The layers of most of the lines. Those in JSON objects are taken off only if `is_known` says
  /// that what is inside is of a known format.
  static Wrapping of(std::span<const std::string_view> lines,
                     const std::function<bool(std::string_view)>& is_known);

  bool any() const { return !layers_.empty(); }
  /// The names of the layers, such as "docker"; empty without layers.
  std::string words() const;
  /// A line that lacks a layer is handed on as it is.
  Unwrapped unwrap(std::string_view line);

 private:
  enum class Layer : std::uint8_t { kDocker, kCri, kCompose, kTimes, kSyslog, kMessage };
  static bool take_off(Layer layer, Unwrapped& line, Members& members);

  std::vector<Layer> layers_;
  // Parsed members, one object for each layer in JSON; they may hold the texts of times and lines.
  std::vector<Members> members_;
};

}  // namespace retrysim::fit
