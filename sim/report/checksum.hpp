// The checksum that result.json has of each file.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace retrysim::report {

/// CRC-32 as in zip, gzip and PNG (`zlib.crc32` of Python), of `bytes` that follow those of
/// `before`.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

}  // namespace retrysim::report
