// The validation itself: it must refuse what is wrong. Everything here is deterministic.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>
#include <retrysim/random.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "agreement.hpp"
#include "model_families.hpp"
#include "result_table.hpp"
#include "series_statistics.hpp"
#include "temporary_folder.hpp"
#include "theory_cases.hpp"

namespace retrysim::validation {
namespace {

Estimate with_interval(double mean, double half_width) {
  Estimate e;
  e.count = 20;
  e.mean = mean;
  e.stddev = half_width / student_t_95(19) * std::sqrt(20.0);
  e.ci_low = mean - half_width;
  e.ci_high = mean + half_width;
  return e;
}

/// A row whose exact value is 1.
RowResult row_of_one(const Estimate& simulated) {
  RowResult r;
  r.row.exact = 1;
  r.row.precision = 0.02;
  r.simulated = simulated;
  return r;
}

TheoryCase mm1_with(double wrong_by) {
  const double factor = 1 + wrong_by;
  return {"mm1",
          "mm1",
          "lam=0.5;mu=1",
          Parameters("lam=0.5;mu=1"),
          {{"util", 0.5 * factor, 0.02, false, 0},
           {"L", 1 * factor, 0.02, false, 0},
           {"Wq", 1 * factor, 0.02, false, 0},
           {"T_p99", 9.21034037198 * factor, 0.02, false, 0}}};
}

TheoryRow row_with(double exact, double precision) {
  TheoryRow row;
  row.exact = exact;
  row.precision = precision;
  return row;
}

TheoryRow row_with(Closeness closeness, double exact, double share = 0) {
  TheoryRow row = row_with(exact, 0.02);
  row.closeness = closeness;
  row.share = share;
  return row;
}

TEST_CASE("A difference of up to three half-widths agrees", "[harness]") {
  const TheoryRow row = row_with(1, 0.02);
  CHECK(judge(row, with_interval(1.0299, 0.01)) == Verdict::kAgrees);
  CHECK(judge(row, with_interval(0.9701, 0.01)) == Verdict::kAgrees);
  CHECK(judge(row, with_interval(1.0301, 0.01)) == Verdict::kDisagrees);
  CHECK(judge(row, with_interval(0.9699, 0.01)) == Verdict::kDisagrees);
}

TEST_CASE("An interval wider than the precision decides nothing", "[harness]") {
  CHECK(judge(row_with(2, 0.02), with_interval(2, 0.0399)) == Verdict::kAgrees);
  CHECK(judge(row_with(2, 0.02), with_interval(2, 0.0401)) == Verdict::kInconclusive);
  CHECK(judge(row_with(2, 0.05), with_interval(2, 0.0401)) == Verdict::kAgrees);
  Estimate single;
  single.count = 1;
  single.mean = 2;
  CHECK(judge(row_with(2, 0.02), single) == Verdict::kInconclusive);
}

TEST_CASE("Another program's mean has an error of its own", "[harness]") {
  TheoryRow row = row_with(Closeness::kReference, 100);
  row.reference_error = 0.4;
  const auto verdict_at = [&](double mean) {
    Estimate simulated = with_interval(mean, 0.6);
    simulated.stddev = 0.3 * std::sqrt(static_cast<double>(simulated.count));
    return judge(row, simulated);
  };
  CHECK(verdict_at(101.49) == Verdict::kAgrees);  // three times 0.5, from 0.3 and 0.4
  CHECK(verdict_at(98.51) == Verdict::kAgrees);
  CHECK(verdict_at(101.51) == Verdict::kDisagrees);
  row.precision = 0.001;
  CHECK(verdict_at(100) == Verdict::kInconclusive);
}

TEST_CASE("Rare things are judged absolutely", "[harness]") {
  CHECK(judge(row_with(1e-11, 0.02), with_interval(0, 0)) == Verdict::kAgrees);
  CHECK(judge(row_with(1e-11, 0.02), with_interval(0.9e-6, 0)) == Verdict::kAgrees);
  CHECK(judge(row_with(1e-11, 0.02), with_interval(1.1e-6, 0)) == Verdict::kDisagrees);
  CHECK(judge(row_with(9e-4, 0.02), with_interval(8e-4, 0.4e-4)) == Verdict::kAgrees);
  CHECK(judge(row_with(9e-4, 0.02), with_interval(8e-4, 0.3e-4)) == Verdict::kDisagrees);
}

TEST_CASE("What is exact must be equal, in every replication", "[harness]") {
  const TheoryRow whole = row_with(Closeness::kExact, 51);
  CHECK(judge(whole, with_interval(51, 0)) == Verdict::kAgrees);
  CHECK(judge(whole, with_interval(51 + 1e-9, 0)) == Verdict::kDisagrees);
  CHECK(judge(whole, with_interval(51, 0.1)) == Verdict::kDisagrees);
  CHECK(judge(row_with(Closeness::kExact, 0), with_interval(0, 0)) == Verdict::kAgrees);
  const TheoryRow function = row_with(Closeness::kAnalytic, 4);
  CHECK(judge(function, with_interval(4 + 3.9e-9, 0)) == Verdict::kAgrees);
  CHECK(judge(function, with_interval(4 + 4.1e-9, 0)) == Verdict::kDisagrees);
}

TEST_CASE("Limits and fluids are met to their share, bounds kept", "[harness]") {
  const TheoryRow fluid = row_with(Closeness::kWithin, 10, 0.05);
  CHECK(judge(fluid, with_interval(10.49, 0.1)) == Verdict::kAgrees);
  CHECK(judge(fluid, with_interval(9.49, 0.1)) == Verdict::kDisagrees);
  CHECK(judge(fluid, with_interval(10, 0.21)) == Verdict::kInconclusive);
  const TheoryRow bound = row_with(Closeness::kAtLeast, 10);
  CHECK(judge(bound, with_interval(20, 1)) == Verdict::kAgrees);
  CHECK(judge(bound, with_interval(9.8, 0.1)) == Verdict::kAgrees);
  CHECK(judge(bound, with_interval(9.6, 0.1)) == Verdict::kDisagrees);
}

TEST_CASE("z is the difference in standard errors", "[harness]") {
  RowResult r = row_of_one(with_interval(1.02, 0.01));
  CHECK(r.z() == Approx(2 * student_t_95(19)));
  CHECK(r.half_width() == Approx(0.01));
  r.simulated = with_interval(1, 0);
  CHECK(r.z() == 0);
}

TEST_CASE("The root mean square of z takes one row a case, in turns", "[harness]") {
  const auto row = [](double z) {
    return row_of_one(with_interval(1 + z * 0.001 / student_t_95(19), 0.001));
  };
  const CaseResult first{mm1_with(0), 1e6, {row(1), row(100)}};
  const CaseResult second{mm1_with(0), 1e6, {row(100), row(-2)}};
  CHECK(rms_z({first, second}) == Approx(std::sqrt((1.0 + 4.0) / 2)));

  // A bound, or a rare thing of which nothing was seen, has no z that means anything.
  CaseResult third{mm1_with(0), 1e6, {row(100), row(100), row(3)}};
  third.rows[0].row.closeness = Closeness::kAtLeast;
  third.rows[1].row.exact = 1e-4;
  CHECK(rms_z({third}) == Approx(3));
  third.rows.pop_back();
  CHECK(rms_z({third}) == 1);
}

TEST_CASE("Exact values that are wrong by 5 % are noticed, right ones accepted", "[harness]") {
  const double wrong_by = GENERATE(-0.05, 0.0, 0.05);
  RunLimits limits;
  limits.jobs = 2;
  const CaseResult result = validate(mm1_with(wrong_by), limits);
  REQUIRE(result.rows.size() == 4);
  for (const RowResult& r : result.rows) {
    INFO(table_rows({result.theory, result.requests, {r}}));
    CHECK(r.verdict == (wrong_by == 0 ? Verdict::kAgrees : Verdict::kDisagrees));
    CHECK(r.would_notice(0.05) == (wrong_by == 0));
  }
}

TEST_CASE("Runs are as long as it takes to be precise, up to the limit", "[harness]") {
  RunLimits limits;
  limits.first_requests = 40'000;
  const CaseResult enough = validate(mm1_with(0), limits);
  CHECK(enough.requests == length_of_run(mm1_with(0), limits));
  CHECK(enough.requests > limits.first_requests);
  for (const RowResult& r : enough.rows) CHECK(r.half_width() <= 0.013 * r.row.exact);

  TheoryCase coarse = mm1_with(0);
  for (TheoryRow& r : coarse.rows) r.precision = 0.05;
  CHECK(length_of_run(coarse, limits) < enough.requests / 3);
  for (TheoryRow& r : coarse.rows) r.slow = true;  // aims at 4.5 % instead of 2.5 %
  CHECK(length_of_run(coarse, limits) < enough.requests / 9);

  // A heavy tail asks for more than its interval shows.
  coarse.rows[1].least_requests = 2e6;
  CHECK(length_of_run(coarse, limits) == 2e6);

  limits.most_requests = 60'000;
  CHECK(length_of_run(coarse, limits) == 60'000);
  const CaseResult cut = validate(mm1_with(0), limits);
  CHECK(cut.requests == 60'000);
  CHECK(cut.rows[3].verdict == Verdict::kInconclusive);
}

TEST_CASE("A case is a scenario file of its own seed", "[harness]") {
  const TheoryCase c{"P013",
                     "mmck",
                     "lam=1.2;mu=1;c=1;K=10",
                     Parameters("lam=1.2;mu=1;c=1;K=10"),
                     {{"P_block", 0.19, 0.02, false, 0}}};
  CHECK(seed_of_case("P013", 0) != seed_of_case("P014", 0));
  CHECK(seed_of_case("P013", 0) != seed_of_case("P013", 1));
  const std::string text = scenario_text(c, RunLimits(), 1e6);
  CHECK(text.find("\nseed = " + std::to_string(seed_of_case("P013", 0)) + "\n") !=
        std::string::npos);
  // 120 requests a second; 10 places, of which one is the server.
  CHECK(text.find("total_rate = 120 ") != std::string::npos);
  CHECK(text.find("queue.capacity = 9\n") != std::string::npos);
}

TEST_CASE("Every row of the file has a model that knows its quantity", "[harness]") {
  const auto cases = read_theory_cases(RETRYSIM_TEST_DATA "/theory_cases.csv");
  CHECK(cases.size() >= 90);
  std::size_t slow = 0;
  for (const TheoryCase& c : cases) {
    INFO(c.id);
    for (const TheoryRow& r : c.rows) {
      INFO(r.quantity);
      CHECK_NOTHROW(find_quantity(find_family(c.model), r.quantity));
      CHECK((r.precision == 0.02 || r.precision == 0.05));
      slow += r.slow;
    }
  }
  CHECK(slow > 0);
  for (const TheoryCase& c : quick_rows(cases)) {
    REQUIRE_FALSE(c.rows.empty());
    for (const TheoryRow& r : c.rows) CHECK_FALSE(r.slow);
  }
}

TEST_CASE("Mistakes in the file of cases are reported", "[harness]") {
  const test::TemporaryFolder folder;
  const auto message_of = [&](const std::string& rows) -> std::string {
    const std::string head = "case,model,params,quantity,value,precision,run,least_requests,rule\n";
    try {
      read_theory_cases(folder.write("cases.csv", head + rows).string());
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  };
  using Catch::EndsWith;
  CHECK(message_of("A,mm1,lam=1,L,2,0.02,quick,0,interval\n").empty());
  CHECK_THAT(message_of("A,mm1,lam=1,L,,0.02,quick,0,interval\n"),
             EndsWith("case A, L: column value is no number: ''"));
  CHECK_THAT(message_of("A,mm1,lam=1,L,2,0.02,often,0,interval\n"),
             EndsWith("column run is neither quick nor slow: 'often'"));
  CHECK_THAT(message_of("A,mm1,lam=1,L,2,0.02,quick,,interval\n"),
             EndsWith("column least_requests is no number: ''"));
  CHECK_THAT(message_of("A,mm1,lam=1,L,2,0.02,quick,0,roughly\n"),
             EndsWith("column rule is unknown: 'roughly'"));
  CHECK_THAT(message_of("A,mm1,lam=1,L,2,0.02,quick,0,within\n"),
             EndsWith("column rule is unknown: 'within'"));
  CHECK_THAT(message_of("A,mm1,lam=1,L,2,0.02,quick,0,within x\n"),
             EndsWith("column rule is no number: 'x'"));
  CHECK_THAT(message_of("A,mm1,lam,L,2,0.02,quick,0,interval\n"), EndsWith("no name=value: 'lam'"));
  CHECK_THAT(message_of("A,mm1,lam=1;lam=2,L,2,0.02,quick,0,interval\n"),
             EndsWith("parameter lam is given twice"));
  CHECK_THAT(
      message_of("A,mm1,lam=1,L,2,0.02,quick,0,interval\nA,mm1,lam=2,W,2,0.02,quick,0,interval\n"),
      EndsWith("rows of a case differ in model or params"));
  CHECK_THAT(message_of("A,mm1,x=1,L,2,1,quick,0,interval\nA,mm1,x=1,L,3,1,quick,0,exact\n"),
             EndsWith("case A, L: the case has this quantity already"));
  CHECK_THAT(message_of("A,mm1,x=1,L,2,1,quick,0,interval\nB,mm1,x=1,L,2,1,quick,0,interval\nA,mm1,"
                        "x=1,W,2,1,quick,0,interval\n"),
             EndsWith("the rows of a case stand together"));
}

TEST_CASE("Unknown models, quantities and distributions are refused", "[harness]") {
  CHECK_THROWS_WITH(find_family("mm2"), "unknown model: 'mm2'");
  CHECK_THROWS_WITH(find_quantity(find_family("mm1"), "V"), "model mm1 has no quantity 'V'");
  CHECK_THROWS_WITH(find_family("mm1").system(Parameters("mu=1")), "parameter lam is missing");
  CHECK_THROWS_WITH(find_family("mg1_fifo").system(Parameters("lam=1;service=gauss(mean=1)")),
                    "unknown distribution: 'gauss(mean=1)'");
}

TEST_CASE("A scenario that the loader refuses is an error, not a result", "[harness]") {
  TheoryCase c = mm1_with(0);
  c.parameters = Parameters("lam=0.5;mu=-1");
  CHECK_THROWS_AS(validate(c, RunLimits()), std::runtime_error);
}

TEST_CASE("Series statistics of series that are known", "[harness]") {
  CHECK(batch_means(std::vector<double>{1, 3, 5, 7, 100}, 2) == std::vector<double>{2, 6});
  // Variance 1/4 around the mean 1/2 with n - 1, over the mean.
  CHECK(index_of_dispersion(std::vector<double>{0, 1, 0, 1}) == Approx(1.0 / 3 / 0.5));
  // Around the mean 1/2: +, -, +, - apart by one, and equal apart by two; 3 and 2 pairs of 4.
  CHECK(autocorrelation(std::vector<double>{0, 1, 0, 1}, 1) == Approx(-0.75));
  CHECK(autocorrelation(std::vector<double>{0, 1, 0, 1}, 2) == Approx(0.5));
  // The mean of +1, -1, +1, ... does not vary: covariances cancel more than the variance.
  std::vector<double> alternating(1000);
  for (std::size_t i = 0; i < alternating.size(); ++i) alternating[i] = i % 2 == 0 ? 1 : -1;
  CHECK(asymptotic_variance(alternating) == Approx(-1).epsilon(0.01));
}

// 200,000 short series of x_i = e_i + e_(i-1) / 2 with independent standard normal e_i, of which
// n Var(mean) tends to (3/2)^2. The standard error of their mean is about 0.005 (measured), so the
// chance of a false alarm is below 1e-4; without the term for the edges the result would be 1.25,
// without the correction by 3/n 19 % too small.
TEST_CASE("The asymptotic variance includes covariances and has no bias", "[harness]") {
  constexpr int kSeries = 200'000;
  const RandomKey key(1, 0);
  double sum = 0;
  for (std::uint64_t s = 0; s < kSeries; ++s) {
    Draws draws(key, {.entity = s});
    std::vector<double> values(16);
    double before = unit_normal(draws);
    for (double& x : values) {
      const double now = unit_normal(draws);
      x = now + before / 2;
      before = now;
    }
    sum += asymptotic_variance(values);
  }
  CHECK(sum / kSeries == Approx(2.25).margin(0.02));
}

}  // namespace
}  // namespace retrysim::validation
