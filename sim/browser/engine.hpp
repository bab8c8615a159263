// The engine as a page asks it: one JSON text in, one JSON text out. No file is read, no thread
// begun, nothing kept between two requests.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace retrysim::browser {

/// Answers a request, an object:
///
///     {"ask": "run", "toml": TEXT, "edits": ["PATH=VALUE", ...], "files": {NAME: TEXT, ...},
///      "max_events": N}
///
/// `toml` is the text of a scenario, `edits` are as --set takes them, `files` the CSV inputs that
/// it names, and `max_events` bounds the events of all replications together. All but `ask` and
/// `toml` may be missing. The answer is an object with one of these:
///
///     "result"   what `retrysim report` would embed of the folder of `retrysim run`; with it come
///                "series", "fingerprint" (as `run --fingerprint` prints it), "events" and "notes"
///     "errors"   the mistakes in the scenario, each with "file", "line", "column", "message",
///                "source_line" and "caret", as in `Diagnostic`
///     "failure"  why there is no result, in words: a limit, a request that cannot be understood
///
/// With "ask": "files" it runs as well, and instead of a result there are the "files" that
/// `retrysim run` would write beside result.json: an object of names and texts.
///
/// With "ask": "compare" the result is that of `retrysim compare`, with "vary": texts as --vary
/// takes them.
///
/// With "ask": "describe" nothing runs, and instead of a result there are "keys": of every key that
/// applies its "path", "toml" (the value), "origin", "meaning", "words_of_key" (what it is called),
/// the "kind" of its values and, where it has them, "words", "min", "max" and "others" (further
/// words beside numbers). The words of `retry.sdk` are the SDKs that have rules in the mode.
///
/// With "ask": "offers" nothing runs either. "offers" is a list of lists of further edits, each of
/// which a page would like to offer; the answer has "refusals": for each null, or why the scenario
/// cannot be edited so.
///
/// "changes" may name what was changed in the scenario before it became `toml`, as `result.json`
/// has it: [{"key": PATH, "value": TEXT}, ...]. Titles then say so.
std::string answer(std::string_view request);

}  // namespace retrysim::browser
