// The manual pages, in the macros of man(7), written from the table of commands and their help.
//
// SPDX-License-Identifier: MIT
#include "cli/manual.hpp"

#include "cli/list.hpp"
#include "report/folder/output.hpp"
#include "scenario/keys/keys.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace retrysim::cli {

/// One manual page. Texts are plain; `code` between backquotes becomes bold.
class RoffPage {
 public:
  /// `section` is the part of the manual: 1 for commands, 5 for file formats, 7 for the rest.
  RoffPage(std::string_view name, int section, std::string_view purpose);

  void heading(std::string_view title);
  void subheading(std::string_view title);
  void paragraph(std::string_view text);
  /// Lines that are kept as they are, such as commands to type.
  void example(std::string_view lines);
  /// A term, what follows it (may be empty) in italics, and below it what it means.
  void item(std::string_view term, std::string_view argument, std::string_view meaning);
  /// A further paragraph on the last item.
  void continued_item(std::string_view text);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The text so that roff prints it as it is.
std::string roff_escaped(std::string_view text);

namespace {

/// Upper case, as titles of manual pages have it.
std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

/// The words with one blank between two, as on one line.
std::string on_one_line(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!result.empty() && result.back() != ' ')) result += blank ? ' ' : c;
  }
  return result;
}

/// Escaped, with what stands between two backquotes in bold.
std::string with_bold_code(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t open = text.find('`');
    const std::size_t close = open == text.npos ? text.npos : text.find('`', open + 1);
    if (close == text.npos) break;
    result += roff_escaped(text.substr(0, open));
    result += fmt::format("\\fB{}\\fR", roff_escaped(text.substr(open + 1, close - open - 1)));
    text.remove_prefix(close + 1);
  }
  return result + roff_escaped(text);
}

/// A line of text: one that began with a dot or a quote would be a request.
std::string line_of(std::string_view text) {
  std::string line = with_bold_code(on_one_line(text));
  if (line.starts_with('.')) line.insert(0, "\\&");
  return line + "\n";
}

}  // namespace

std::string roff_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  return result;
}

RoffPage::RoffPage(std::string_view name, int section, std::string_view purpose)
    : text_(fmt::format(".TH {} {} \"\" \"retrysim {}\" \"retrysim\"\n", roff_escaped(upper(name)),
                        section, RETRYSIM_VERSION)) {
  heading("NAME");
  text_ += fmt::format("{} \\- {}\n", roff_escaped(name), roff_escaped(on_one_line(purpose)));
}

void RoffPage::heading(std::string_view title) {
  text_ += fmt::format(".SH \"{}\"\n", roff_escaped(title));
}

void RoffPage::subheading(std::string_view title) {
  text_ += fmt::format(".SS \"{}\"\n", roff_escaped(title));
}

void RoffPage::paragraph(std::string_view text) { text_ += ".PP\n" + line_of(text); }

void RoffPage::example(std::string_view lines) {
  text_ += ".PP\n.RS 4\n.nf\n";
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    std::string line = roff_escaped(lines.substr(0, end));
    if (line.starts_with('.')) line.insert(0, "\\&");
    text_ += line + "\n";
    lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
  }
  text_ += ".fi\n.RE\n";
}

void RoffPage::item(std::string_view term, std::string_view argument, std::string_view meaning) {
  text_ += fmt::format(".TP\n\\fB{}\\fR", roff_escaped(term));
  if (!argument.empty()) text_ += fmt::format(" \\fI{}\\fR", roff_escaped(argument));
  text_ += "\n" + line_of(meaning);
}

void RoffPage::continued_item(std::string_view text) { text_ += ".IP\n" + line_of(text); }

// --- The pages -----------------------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

/// A page of the manual and the name of its file.
struct ManualPage {
  std::string file, text;
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

/// Paragraphs of help as sections of a page. Lines that are indented are kept as they are; a
/// paragraph on exit statuses or an example gets a heading of its own.
class HelpText {
 public:
  explicit HelpText(RoffPage& page) : page_(page) {}

  void add(std::string_view text) {
    for (std::string_view line : lines_of(text)) {
      if (line.starts_with(' ')) {
        end_paragraph();
        line.remove_prefix(std::min(line.find_first_not_of(' '), std::size_t{2}));
        example_.append(line).append("\n");
        continue;
      }
      end_example();
      if (line.empty()) {
        end_paragraph();
      } else if (constexpr std::string_view kExample = "Example: "; line.starts_with(kExample)) {
        end_paragraph();
        page_.heading("EXAMPLE");
        example_ = std::string(line.substr(kExample.size())) + "\n";
      } else {
        paragraph_ += (paragraph_.empty() ? "" : " ") + std::string(line);
      }
    }
    end_example();
    end_paragraph();
  }

 private:
  void end_paragraph() {
    if (paragraph_.empty()) return;
    if (paragraph_.starts_with("Exit status")) page_.heading("EXIT STATUS");
    page_.paragraph(std::exchange(paragraph_, {}));
  }

  void end_example() {
    if (!example_.empty()) page_.example(std::exchange(example_, {}));
  }

  RoffPage& page_;
  std::string paragraph_, example_;
};

/// "Usage: retrysim run ..." and the lines below it, without the first word.
std::string synopsis_of(std::string_view& usage) {
  std::string synopsis;
  const std::size_t end = std::min(usage.find("\n\n"), usage.size());
  for (std::string_view line : lines_of(usage.substr(0, end))) {
    constexpr std::string_view kUsage = "Usage:";
    if (line.starts_with(kUsage)) line.remove_prefix(kUsage.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    synopsis.append(line).append("\n");
  }
  usage.remove_prefix(end);
  return synopsis;
}

std::string page_name(const Command& command) { return fmt::format("retrysim-{}", command.name); }

ManualPage page_of(const Command& command) {
  const CommandHelp help = help_of(command);
  RoffPage page(page_name(command), 1, command.purpose);
  std::string_view usage = help.usage;
  page.heading("SYNOPSIS");
  page.example(synopsis_of(usage));
  page.heading("DESCRIPTION");
  HelpText(page).add(usage);
  page.heading("OPTIONS");
  for (const OptionText& option : help.options) {
    page.item("--" + option.name, option.value, option.help);
  }
  page.heading("SEE ALSO");
  page.paragraph("`retrysim`(1), `retrysim-scenario`(5), `retrysim-metrics`(7)");
  return {page_name(command) + ".1", page.text()};
}

ManualPage overview(const Program& program) {
  RoffPage page("retrysim", 1, "simulate client retries against an overloaded service");
  page.heading("SYNOPSIS");
  page.example("retrysim COMMAND [options]");
  page.heading("DESCRIPTION");
  HelpText(page).add(program.introduction);
  page.paragraph(
      "A scenario file describes clients with their retry rules, a service with its queue and "
      "servers, and faults. The commands simulate it, compare variants of it, or predict what "
      "will become of it. The same scenario and seed give the same result files to the last "
      "byte.");
  page.heading("COMMANDS");
  std::string others;
  for (const Command& command : program.commands) {
    page.item(command.name, command.arguments, command.purpose);
    others += fmt::format("`{}`(1), ", page_name(command));
  }
  page.heading("HELP");
  HelpText(page).add(program.closing);
  page.heading("FILES");
  page.item("/usr/share/retrysim/scenarios", "",
            "scenarios to start from, where retrysim was installed as a Debian package");
  page.item(
      "results/NAME, results/NAME-COMMAND", "",
      "where the results of a scenario go after `run`, and after other commands, unless --out "
      "names a folder; earlier results that differ are kept as results/NAME.1, ...");
  page.heading("SEE ALSO");
  page.paragraph(others + "`retrysim-scenario`(5), `retrysim-metrics`(7), `retrysim-plot`(1)");
  return {"retrysim.1", page.text()};
}

constexpr std::string_view kExampleScenario =
    "name = \"short-outage\"\n"
    "duration = \"60s\"\n"
    "\n"
    "[service.api]\n"
    "servers = 10\n"
    "service_time = { distribution = \"exponential\", mean = \"50ms\" }\n"
    "queue.capacity = 200\n"
    "\n"
    "[client.web]\n"
    "count = 100\n"
    "arrivals = { process = \"poisson\", total_rate = 120 }\n"
    "attempt_timeout = \"500ms\"\n"
    "retry = { mode = \"standard\" }\n"
    "\n"
    "[fault.outage]\n"
    "service = \"api\"\n"
    "start = \"20s\"\n"
    "duration = \"5s\"\n"
    "capacity = 0\n";

/// A row as "type, unit s, >= 0; default: 1; applies if ...".
std::string facts_of(const std::vector<std::string>& columns, const std::vector<std::string>& row) {
  std::string text;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i].empty() || columns[i] == "meaning") continue;
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {}", columns[i], row[i]);
  }
  return text;
}

void add_items(RoffPage& page, const Listing& listing, std::size_t first, std::size_t last) {
  const auto meaning = std::find(listing.columns.begin(), listing.columns.end(), "meaning");
  for (std::size_t i = first; i < last; ++i) {
    const auto& row = listing.rows[i];
    page.item(row[0], "", row[static_cast<std::size_t>(meaning - listing.columns.begin())]);
    page.continued_item(facts_of(listing.columns, row));
  }
}

ManualPage scenario_page() {
  RoffPage page("retrysim-scenario", 5, "scenario files of retrysim");
  page.heading("DESCRIPTION");
  page.paragraph(
      "A scenario is a TOML file. It names services, groups of clients that call them, faults and "
      "surges, each in a table of its own such as [client.web]. `retrysim check` validates a "
      "scenario and prints it with every default filled in. `--set` changes a key on the command "
      "line; there a * stands for any one name.");
  page.paragraph(
      "Durations are texts with a unit (ns, us, ms, s, min or h), such as \"250ms\", or numbers "
      "of seconds. Where a distribution is accepted, so is a duration, which is then constant.");
  page.heading("EXAMPLE");
  page.example(kExampleScenario);
  page.heading("KEYS");
  const Listing keys = listing_of("keys");
  std::size_t first = 0;
  for (const scenario::KeyScope& scope : scenario::key_scopes()) {
    page.subheading(scope.pattern.empty() ? "The scenario" : fmt::format("[{}]", scope.pattern));
    add_items(page, keys, first, first + scope.keys.size());
    first += scope.keys.size();
  }
  page.heading("DISTRIBUTIONS");
  page.paragraph("Written as { distribution = \"NAME\", PARAMETER = VALUE, ... }.");
  const Listing distributions = listing_of("distributions");
  add_items(page, distributions, 0, distributions.rows.size());
  page.heading("SEE ALSO");
  page.paragraph("`retrysim`(1), `retrysim-check`(1), `retrysim-list`(1)");
  return {"retrysim-scenario.5", page.text()};
}

ManualPage metrics_page() {
  RoffPage page("retrysim-metrics", 7, "metrics that retrysim reports");
  page.heading("DESCRIPTION");
  page.paragraph(
      "The metrics of summary.csv and result.json, which `retrysim compare --metrics` accepts and "
      "`retrysim sweep` writes for each point. Each is of client groups, of services or of the "
      "whole run.");
  page.heading("METRICS");
  const Listing metrics = listing_of("metrics");
  add_items(page, metrics, 0, metrics.rows.size());
  page.heading("SEE ALSO");
  page.paragraph("`retrysim`(1), `retrysim-list`(1)");
  return {"retrysim-metrics.7", page.text()};
}

void write_page(const fs::path& folder, const ManualPage& page) {
  report::OutputFile(folder / page.file, {{}, "", true, {}}).write(page.text);
}

}  // namespace

int write_manual(const Program& program, const Arguments& arguments) {
  if (arguments.size() != 1) throw UsageError("expected one folder: retrysim write-manual DIR");
  const fs::path folder = arguments.front();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw report::OutputError(folder, error.message());
  write_page(folder, overview(program));
  for (const Command& command : program.commands) write_page(folder, page_of(command));
  write_page(folder, scenario_page());
  write_page(folder, metrics_page());
  return kDone;
}

}  // namespace retrysim::cli
