// The one function of zlib that the engine needs, by Boost.
//
// SPDX-License-Identifier: MIT
#pragma once
#include <boost/crc.hpp>
#include <cstddef>

using Bytef = unsigned char;

inline unsigned long crc32_z(unsigned long before, const Bytef* data, std::size_t bytes) {
  return boost::crc<32, 0x04c11db7, 0xffffffff, 0, true, true>(data, bytes);
}
