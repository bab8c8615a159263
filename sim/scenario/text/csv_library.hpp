// fast-cpp-csv-parser, as this project uses it.
//
// SPDX-License-Identifier: MIT
#pragma once

#define CSV_IO_NO_THREAD  // the texts are in memory: a reader thread would gain nothing
#include <limits>         // libfccp/csv.h forgets it

// The library's messages cut long file names on purpose, which GCC takes for a mistake once it is
// inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-truncation"
#endif
#include <libfccp/csv.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
