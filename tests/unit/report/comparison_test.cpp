// Comparisons: which rows there are, and what tables, files and sentences say about them.
//
// SPDX-License-Identifier: MIT
#include "report/comparison.hpp"

#include "report/document/text.hpp"
#include "report/folder/output.hpp"
#include "sample_result.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <deque>
#include <string>
#include <vector>

using namespace retrysim;
using namespace retrysim::report;

namespace {

/// Variants of the sample, each with its numbers of retries by replication.
class Variants {
 public:
  void add(const std::string& name, const std::vector<std::uint64_t>& retries) {
    ComparedVariant variant{name, sample_scenario(), {}, MetricValues(0, 1, {}), nullptr};
    for (std::size_t r = 0; r < retries.size(); ++r) {
      variant.runs.push_back(sample_run(static_cast<std::uint32_t>(r), retries[r]));
    }
    variant.values = MetricValues(variant.loaded.scenario, variant.runs);
    variants_.push_back(std::move(variant));
  }

  ComparisonReport compared(const std::vector<std::string_view>& names) {
    std::vector<const MetricInfo*> metrics;
    for (const std::string_view name : names) metrics.push_back(find_metric(name));
    found_ = compare_runs(variants_, metrics);
    sets_.clear();
    for (ComparedVariant& variant : found_.variants) sets_.push_back(result_set_of(variant));
    evaluations_.clear();
    evaluations_.reserve(sets_.size());
    for (const ResultSet& set : sets_) evaluations_.emplace_back(set);
    return {found_, evaluations_, true, {}};
  }

 private:
  std::vector<ComparedVariant> variants_;
  Comparison found_;
  std::deque<ResultSet> sets_;  // evaluations keep references
  std::vector<Evaluation> evaluations_;
};

std::string csv_of(const ComparisonReport& comparison) {
  StringSink sink;
  comparison_document(comparison).write_file(sink, "compare.csv");
  return sink.text();
}

/// Without the line breaks inside of sentences.
std::string on_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) {
    text.replace(at, 3, " ");
  }
  return text;
}

std::string table_of(const ComparisonReport& comparison) {
  StringSink sink;
  comparison_document(comparison).write_text(sink, kNarrowColumns);
  return sink.text();
}

}  // namespace

TEST_CASE("every headline metric exists and every name of a variant can be spoken") {
  for (const MetricInfo* metric : headline_metrics()) REQUIRE(metric != nullptr);
  CHECK(spoken_name("jitter=full") == "full jitter");
  CHECK(spoken_name("jitter=none") == "no jitter");
  CHECK(spoken_name("mode=standard") == "standard mode");
  CHECK(spoken_name("mode=none") == "mode=none");
  CHECK(spoken_name("max_attempts=5") == "max_attempts=5");
  CHECK(spoken_name("from_environment=true") == "from_environment=true");
  CHECK(spoken_name("jitter=full count=5") == "jitter=full count=5");
  CHECK(spoken_name("retryer=app") == "sharing one retryer (app)");
  CHECK(spoken_name("retryer=none") == "no shared retryer");
}

TEST_CASE("shares have as many digits as tell them apart, and from none and all") {
  CHECK(telling_percent(0.9996, 0.5) == "99.96 %");
  CHECK(telling_percent(1, 0.5) == "100 %");
  CHECK(telling_percent(0, 0.5) == "0 %");
  CHECK(telling_percent(0.4784, 0.99) == "47.8 %");
  CHECK(telling_percent(0.7401, 0.7412) == "74.01 %");
  CHECK(telling_percent(0.7412, 0.7401) == "74.12 %");
  CHECK(telling_percent(0.00012, 0.3) == "0.012 %");
}

TEST_CASE("rows of a comparison by variant, client and metric") {
  Variants variants;
  variants.add("x=a", {2, 4, 3});
  variants.add("x=b", {3, 6, 4});
  variants.add("x=c", {2, 4, 3});
  const ComparisonReport c = variants.compared({"retries", "recovery_s"});
  CHECK(c.found.clients == std::vector<std::string>{"web", "a \"b\", c", "all"});
  REQUIRE(c.found.rows.size() == 6);  // no trigger: there is no recovery time
  const ComparisonRow* row = c.found.find(1, "web", *find_metric("retries"));
  REQUIRE(row != nullptr);
  CHECK(row->difference.difference == Approx(4.0 / 3));
  CHECK(row->difference.pairs == 3);
  CHECK(c.found.find(2, "web", *find_metric("retries"))->difference.identical);
  CHECK(c.found.find(1, "a \"b\", c", *find_metric("retries"))->difference.identical);
  CHECK(c.found.find(1, "nobody", *find_metric("retries")) == nullptr);
  CHECK(c.found.find(3, "web", *find_metric("retries")) == nullptr);
}

TEST_CASE("compare.csv") {
  Variants variants;
  variants.add("x=a", {2, 4, 3});
  variants.add("x=b", {4, 6, 5});
  const std::string csv = csv_of(variants.compared({"retries"}));
  CHECK(csv.substr(0, csv.find('\n')) ==
        "scenario,variant,baseline,client,metric,unit,mean,baseline_mean,difference,ci_low,"
        "ci_high,relative_difference,relative_ci_low,relative_ci_high,p_value,p_holm,significant,"
        "correlation,variance_reduction,pairs");
  // Two retries more in each replication: certain, and perfectly correlated.
  CHECK(csv.find("\nsample,x=b,x=a,web,retries,attempts,5,3,2,2,2,0.666666666666666") !=
        std::string::npos);
  CHECK(csv.find(",0,0,yes,1,,3\n") != std::string::npos);
  // The other group never retries: nothing is relative to zero.
  CHECK(
      csv.find("\nsample,x=b,x=a,\"a \"\"b\"\", c\",retries,attempts,0,0,0,0,0,,,,1,1,no,,,3\n") !=
      std::string::npos);
}

TEST_CASE("the JSON of a comparison has the rows of compare.csv") {
  Variants variants;
  variants.add("x=a", {2, 4, 3});
  variants.add("x=b", {3, 6, 4});
  ComparisonReport c = variants.compared({"retries", "amplification"});
  c.vary = {"client.*.x=a,b"};
  StringSink sink;
  comparison_document(c).write_json(sink, "", {});
  const auto json = nlohmann::json::parse(sink.text()).at("comparison");
  CHECK(json["baseline"] == "x=a");
  CHECK(json["vary"][0] == "client.*.x=a,b");
  REQUIRE(json["rows"].size() == c.found.rows.size());
  CHECK(json["rows"][0]["metric"] == "retries");
  CHECK(json["rows"][0]["pairs"] == 3);
  CHECK(json["rows"][0]["difference"].get<double>() == c.found.rows[0].difference.difference);
}

TEST_CASE("replications that a variant lacks are missing pairs, and said to be") {
  Variants variants;
  variants.add("x=a", {2, 4, 3, 5});
  variants.add("x=b", {3, 6, 4});
  const ComparisonReport c = variants.compared({"retries"});
  CHECK(c.found.rows[0].difference.pairs == 3);
  CHECK(c.found.rows[0].difference.only_baseline == 1);
  const std::string table = table_of(c);
  CHECK(table.find("[3 pairs]") != std::string::npos);
  CHECK(table.find("note: retries of web (b), ") != std::string::npos);
  CHECK(on_one_line(table).find("compared only over replications") != std::string::npos);
}

TEST_CASE("sentences say what is better at what price") {
  Variants variants;
  variants.add("jitter=equal", {2, 4, 3, 3, 4, 2, 3, 4, 2, 3});
  variants.add("jitter=full", {4, 5, 5, 5, 6, 4, 5, 6, 4, 5});
  variants.add("jitter=none", {2, 4, 3, 3, 4, 2, 3, 4, 2, 3});
  const ComparisonReport c = variants.compared({"amplification", "success_rate", "latency_mean"});
  const std::vector<std::string> found = sentences(c);
  REQUIRE(found.size() == 6);
  CHECK(found[0].starts_with(
      "web: full jitter has 14.6 % more attempts per request than equal (95 % CI "));
  CHECK(found[0].ends_with(" Same success rate and mean latency."));
  CHECK(found[4].starts_with(
      "full jitter has 5.76 % more attempts per request than equal (95 % CI "));
  CHECK(found[5] ==
        "no jitter makes no difference to success rate, attempts per request and mean latency.");
}

TEST_CASE("sentences say plainly where nothing is significant") {
  Variants variants;
  variants.add("n=1", {2, 9, 3, 3, 4, 2, 3, 4, 2, 3});
  variants.add("n=2", {4, 2, 5, 5, 1, 4, 5, 2, 4, 5});
  const std::vector<std::string> found = sentences(variants.compared({"amplification"}));
  CHECK(found.back() == "n=2 does not differ significantly from n=1 in attempts per request.");
}

TEST_CASE("many combinations of keys have effects by key instead of sentences by variant") {
  // a adds 10 retries, b=y adds 4 and b=z takes 6 away, and both together add 8 more.
  Variants variants;
  for (const int a : {1, 2}) {
    for (const char b : {'x', 'y', 'z'}) {
      std::vector<std::uint64_t> retries;
      for (const int base : {100, 120, 110, 130, 90, 105}) {
        const int more = (a == 2 ? 10 : 0) +
                         (b == 'y'   ? 4
                          : b == 'z' ? -6
                                     : 0) +
                         (a == 2 && b == 'z' ? 8 : 0);
        retries.push_back(static_cast<std::uint64_t>(base + more));
      }
      variants.add(fmt::format("a={} b={}", a, b), retries);
    }
  }
  const ComparisonReport c = variants.compared({"retries"});
  REQUIRE(c.found.effects.size() == 3);
  const auto check = [&](std::size_t i, const char* key, const char* value, const char* base,
                         double mean, double least, double most, std::size_t combinations) {
    const KeyEffect& e = c.found.effects[i];
    CHECK(e.key == key);
    CHECK(e.value == value);
    CHECK(e.base_value == base);
    CHECK(e.difference.difference == Approx(mean));
    CHECK(e.least == Approx(least));
    CHECK(e.most == Approx(most));
    CHECK(e.combinations == combinations);
  };
  check(0, "a", "2", "1", (10 + 10 + 18) / 3.0, 10, 18, 3);
  check(1, "b", "y", "x", 4, 4, 4, 2);
  check(2, "b", "z", "x", -2, -6, 2, 2);
  const std::vector<std::string> found = sentences(c);
  REQUIRE(found.size() == 3);
  CHECK(found[0].starts_with("a=2 has "));
  CHECK(found[0].find(" % more retries than a=1") != std::string::npos);
  CHECK(found[2].starts_with("z b "));
  // A single key, or names of another form, have none.
  Variants single;
  for (const char* name : {"n=1", "n=2", "n=3", "n=4", "n=5"}) single.add(name, {1, 2, 3});
  CHECK(single.compared({"retries"}).found.effects.empty());
}

TEST_CASE("whoever asks for a metric gets a sentence about it") {
  Variants variants;
  variants.add("n=1", {2, 4, 3, 3, 4, 2, 3, 4, 2, 3});
  variants.add("n=2", {4, 5, 5, 5, 6, 4, 5, 6, 4, 5});
  const std::vector<std::string> found = sentences(variants.compared({"retries", "goodput"}));
  CHECK(found.back().starts_with("n=2 has 63 % more retries than n=1 (95 % CI "));
  CHECK(found.back().ends_with(" Same goodput."));
}

TEST_CASE("a table of one replication has differences and says what is missing") {
  Variants variants;
  variants.add("n=1", {2});
  variants.add("n=2", {4});
  const std::string table = table_of(variants.compared({"amplification"}));
  CHECK(table.find("one replication: there are no intervals") != std::string::npos);
  CHECK(table.find("+16.7 %") == std::string::npos);  // without an interval in the metric's unit
  CHECK(table.find("+0.2") != std::string::npos);
  CHECK(table.find('*') == std::string::npos);
}

TEST_CASE("a single variant has nothing to be compared with") {
  Variants variants;
  variants.add("base", {2, 3});
  const ComparisonReport c = variants.compared({"amplification"});
  CHECK(c.found.rows.empty());
  CHECK(table_of(c).find("nothing to compare") != std::string::npos);
}

TEST_CASE("a negative correlation is said to widen the interval") {
  Variants variants;
  variants.add("n=1", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  variants.add("n=2", {10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  ComparisonReport c = variants.compared({"amplification"});
  CHECK(table_of(c).find("correlation") == std::string::npos);
  c.show_variance = true;
  const std::string table = table_of(c);
  CHECK(table.find("0.50 x (-1.00)") != std::string::npos);
  CHECK(table.find("amplification (2): negative correlation") != std::string::npos);
}

TEST_CASE("from twice as much on, differences are factors") {
  Variants variants;
  variants.add("n=1", {2, 4, 3, 3, 4, 2, 3, 4, 2, 3});
  variants.add("n=2", {20, 41, 30, 31, 40, 20, 30, 41, 20, 30});
  const ComparisonReport c = variants.compared({"retries"});
  CHECK(sentences(c).back().starts_with("n=2 has 10.1"));
  CHECK(sentences(c).back().find(" times the retries of n=1 (95 % CI ") != std::string::npos);
  CHECK(table_of(c).find("  10.1") != std::string::npos);
  CHECK(table_of(c).find("+10.1") == std::string::npos);
}

TEST_CASE("differences too small to matter are no main clause and have no star") {
  Variants variants;
  std::vector<std::uint64_t> many, a_few_more;
  for (std::uint64_t r = 0; r < 10; ++r) {
    many.push_back(1000 + r);
    a_few_more.push_back(1004 + r);
  }
  variants.add("n=1", many);
  variants.add("n=2", a_few_more);
  const ComparisonReport c = variants.compared({"retries"});
  REQUIRE(c.found.find(1, "web", *find_metric("retries"))->difference.significant);
  CHECK(sentences(c).back() == "n=2 is practically the same as n=1 in retries.");
  const std::string table = table_of(c);
  CHECK(table.find(" ~\n") != std::string::npos);
  CHECK(table.find(" *\n") == std::string::npos);
}

TEST_CASE("layers come in the order of calls") {
  Scenario s;
  s.services.resize(3);
  s.clients.resize(4);
  for (const std::size_t c : {0u, 1u, 2u, 3u}) s.clients[c].name = "group " + std::to_string(c);
  s.clients[0].service = 2;  // what service 1 calls
  s.calls.push_back({.caller = 1, .client = 0});
  s.clients[1].service = 0;  // people
  s.clients[2].service = 1;  // what service 0 calls
  s.calls.push_back({.caller = 0, .client = 2});
  for (const CallSpec& call : s.calls) {
    s.clients[call.client].arrivals.process = ArrivalProcess::kCalls;
  }
  s.clients[3].service = 2;  // other people
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (const Layer& layer : call_order(s)) order.emplace_back(layer.group, layer.depth);
  CHECK(order == std::vector<std::pair<std::size_t, std::size_t>>{{1, 0}, {2, 1}, {0, 2}, {3, 0}});
}

TEST_CASE("sentences come before the tables") {
  Variants variants;
  variants.add("n=1", {2, 4, 3, 3, 4, 2, 3, 4, 2, 3});
  variants.add("n=2", {4, 5, 5, 5, 6, 4, 5, 6, 4, 5});
  const std::string table = table_of(variants.compared({"amplification"}));
  CHECK(table.find("more attempts per request than") < table.find("all clients"));
}

TEST_CASE("lines of the table fit the terminal") {
  Variants variants;
  std::uint64_t retries = 1;
  for (const char* name : {"jitter=none", "jitter=full", "jitter=equal", "jitter=decorrelated"}) {
    variants.add(name, {++retries, 3, 4, 2});
  }
  const ComparisonReport c = variants.compared({"amplification", "success_rate"});
  for (const std::size_t columns : {80u, 120u}) {
    StringSink sink;
    comparison_document(c).write_text(sink, columns);
    std::size_t longest = 0;
    for (std::size_t from = 0; from < sink.text().size();) {
      const std::size_t end = sink.text().find('\n', from);
      longest = std::max(longest, columns_of(sink.text().substr(from, end - from)));
      from = end + 1;
    }
    CHECK(longest <= columns);
    CHECK(longest > columns - 30);
  }
}
