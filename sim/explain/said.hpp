// Sentences of verdicts: words, names, and figures with where each is counted. A sentence cannot be
// written without that: what a rule says is put together by `say`, whose words may have no digit
// and no word that claims something of all (`every`, `never`, `at once`), and whose figures are
// made from a value and its source.
//
//     say("{} of the requests made {} succeed", share(r.success_share(), success_of(c, r)), when)
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/run.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace retrysim::explain {

// --- Sources -------------------------------------------------------------------------------------

// Formulas are written as formulas: cells(...) / cells(...).

FigureSource operator+(FigureSource a, FigureSource b);
FigureSource operator-(FigureSource a, FigureSource b);
FigureSource operator*(FigureSource a, FigureSource b);
FigureSource operator/(FigureSource a, FigureSource b);
FigureSource power(FigureSource a, FigureSource b);
/// The quotient rounded down to a whole number; one that is below a whole number by no more than a
/// rounding error becomes that number.
FigureSource whole_part(FigureSource a, FigureSource b);
FigureSource operator<=(FigureSource a, FigureSource b);
FigureSource operator>=(FigureSource a, FigureSource b);
FigureSource operator==(FigureSource a, FigureSource b);
FigureSource number(double value);
/// A key of the scenario: "client.web.attempt_timeout".
FigureSource key(std::string path);
/// A key of the scenario with the value `text`.
FigureSource stated(std::string path, std::string text);
/// A figure that is in no file of the result: `why` says what it is counted from. tests/verdicts
/// lists the rules that have such figures.
FigureSource not_in_files(std::string_view why);

// --- Parts of a sentence -------------------------------------------------------------------------

namespace words {

consteval bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

consteval bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) {
      return true;
    }
  }
  return false;
}

/// Rejects words with a digit, or with a claim about all of something: `Figure` and `claim` are for
/// these.
consteval void check(std::string_view text) {
  for (const char c : text) {
    if (c >= '0' && c <= '9') throw "a figure has a source: use share, time, count, ...";
  }
  constexpr std::array<std::string_view, 13> kClaims = {
      "every",    "all",        "nobody",     "never",     "none",        "at once", "as before",
      "as often", "no request", "no attempt", "no answer", "no capacity", "no retry"};
  for (const std::string_view word : kClaims) {
    if (has_word(text, word)) throw "a claim about all has a condition: use claim";
  }
}

}  // namespace words

/// Fixed words of a sentence, known and checked at compile time.
class Words {
 public:
  consteval Words(const char* text) : text_(text) { words::check(text_); }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

/// A name that the scenario gives: of a service, a group, a fault, an answer.
struct Name {
  std::string text;
};

/// A figure or a claim in words, with its source.
class Figure {
 public:
  const SaidFigure& said() const { return said_; }

 private:
  explicit Figure(SaidFigure said) : said_(std::move(said)) {}
  SaidFigure said_;

  friend Figure share(double, FigureSource);
  friend Figure time(double, FigureSource);
  friend Figure roughly(double, FigureSource);
  friend Figure count(double, FigureSource, int);
  friend Figure whole(double, FigureSource);
  friend Figure times(double, FigureSource);
  friend Figure claim(std::string_view, FigureSource);
};

/// A time of at least 0 with three significant digits, `roughly` with two: "78 ms", "0.125 s", "8.5
/// minutes".
Figure time(double seconds, FigureSource source);
Figure roughly(double seconds, FigureSource source);
/// A share as a percentage; a share below 1 is never called 100 %, and a share above 0 never 0 %.
Figure share(double value, FigureSource source);
/// A number of things with three significant digits, or `digits`: "3120", "0.5".
Figure count(double number, FigureSource source, int digits = 3);
/// A number with all of its digits and no decimals.
Figure whole(double number, FigureSource source);
/// A multiple of something: "1.9 times".
Figure times(double ratio, FigureSource source);
/// Words that are true if the condition is: a formula that compares.
Figure claim(std::string_view words, FigureSource condition);

/// A sentence or a part of one.
class Sentence {
 public:
  Sentence() = default;
  Sentence(Words words) : text_(words.text()) {}
  Sentence(const Name& name) : text_(name.text) {}
  Sentence(const Figure& figure) : text_(figure.said().text), figures_{figure.said()} {}

  const std::string& text() const { return text_; }
  const std::vector<SaidFigure>& figures() const { return figures_; }
  bool empty() const { return text_.empty(); }

  Sentence& operator+=(const Sentence& o);
  friend Sentence operator+(Sentence a, const Sentence& b) { return std::move(a += b); }

 private:
  std::string text_;
  std::vector<SaidFigure> figures_;
};

/// Words with a "{}" for each part.
template <typename... Parts>
class Frame {
 public:
  consteval Frame(const char* text) : text_(text) {
    words::check(text_);
    std::size_t places = 0;
    for (std::size_t at = text_.find("{}"); at != text_.npos; at = text_.find("{}", at + 2)) {
      ++places;
    }
    if (places != sizeof...(Parts)) throw "as many {} as parts";
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

Sentence put_together(std::string_view frame, const Sentence* parts, std::size_t count);

template <typename... Parts>
Sentence say(std::type_identity_t<Frame<Parts...>> frame, const Parts&... parts) {
  const std::array<Sentence, sizeof...(Parts)> all = {Sentence(parts)...};
  return put_together(frame.text(), all.data(), all.size());
}

/// "a, b and c".
Sentence joined(const std::vector<Sentence>& parts, std::string_view between = ", ",
                std::string_view last = " and ");

/// A number and the things that it counts: "1 request is", "3 requests are".
Sentence counted(const Figure& number, Words one, Words many);

/// "1 attempt", "1.24 attempts".
Sentence attempts(double number, FigureSource source, int digits = 4);

}  // namespace retrysim::explain
