// Paired comparisons: variants against one baseline, replication by replication. Both sides of a
// pair ran on common random numbers, so chance that affects both sides cancels in the difference.
//
// Replication k gives the difference d_k = variant_k - baseline_k. Over n pairs
//   interval    mean(d) -+ t(n-1, 1 - alpha / 2m) s_d / sqrt(n): Bonferroni's width, so that the
//               intervals of all m variants hold together with probability 1 - alpha
//   test        Student's t of mean(d) = 0, p values adjusted by Holm's step-down over the m
//               variants: the family is the variants of one metric of one client. Any interval that
//               excludes zero is significant by Holm, too; Holm may find a little more.
//   relative    mean(variant) / mean(baseline) - 1 with Fieller's interval of that width, which
//               leaves zero out exactly if the interval of the difference does
// Values that are 0 or 1 (did it recover?) have McNemar's exact test instead: of the pairs that
// disagree, half should go each way. Their interval is Tango's, of all differences of proportions
// that the score test does not reject; it holds for few pairs and at the edges, where Student's has
// no width. The score test rejects a little more than the exact one, so where the latter does not
// reject the interval is widened to zero, and never contradicts the test.
//
// Sources: Law, Simulation Modeling and Analysis, 10.2 and 11.2; Holm 1979; Fieller 1954; McNemar
// 1947; Tango 1998, Statistics in Medicine 17, 891-908.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace retrysim::stats {

/// The values of one number by replication; empty where it does not exist.
using Series = std::vector<std::optional<double>>;

enum class PairedTest {
  kStudent,
  kMcNemar,  ///< values are 0 or 1
};

/// Compares each of `variants` with `baseline`. The variants are one family with error probability
/// `error`, whose size m is the number of variants with at least two pairs. Series may differ in
/// length; what is missing at the end does not exist.
std::vector<PairedDifference> paired_differences(std::span<const Series> variants,
                                                 const Series& baseline,
                                                 PairedTest test = PairedTest::kStudent,
                                                 double error = kFamilyError);

/// Ends the intervals where the metric ends, which does not change their coverage: no share rises
/// or falls by more than 100 points, and what is never negative falls by 100 % at most.
void respect_range(PairedDifference& difference, MetricRange range);

/// Ends the interval of a share where the variant would be below 0 or above 1: a share rises by no
/// more than what the baseline leaves, by the baseline's own interval of the same `error`. Where
/// the end moves, the variant is next to 0 or 1, so that the two intervals miss in the same cases.
/// Does nothing for other ranges.
void respect_baseline(PairedDifference& difference, MetricRange range, const Series& variant,
                      const Series& baseline, double error);

/// Differences of a metric, within its range and with the test that fits its values: McNemar's for
/// those that are 0 or 1.
std::vector<PairedDifference> metric_differences(const MetricInfo& metric,
                                                 std::span<const Series> variants,
                                                 const Series& baseline,
                                                 double error = kFamilyError);

/// Holm's adjusted p values: that of the i-th smallest of m is the largest of (m - j + 1) p_(j)
/// over j <= i, at most 1. Values that do not exist belong to no family and stay empty.
std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p_values);

/// McNemar's exact two-sided p value for `b` pairs that disagree one way and `c` the other way:
/// twice the smaller tail of the binomial distribution with share 1/2, at most 1.
double mcnemar_p_value(std::size_t b, std::size_t c);

/// Tango's score interval for the difference of two proportions that were observed on the same
/// `pairs` pairs, at least one: `up` times only the first was true, `down` times only the second.
/// It misses the difference with probability `error` on average; near the edges it may be 2
/// `error`.
Interval tango_interval(std::size_t up, std::size_t down, std::size_t pairs, double error);

/// Two-sided p value of Student's t, and the quantile at 1 - `error` / 2. Both are rounded (to 6
/// significant digits, and to 10 decimals), so that files do not depend on the machine's
/// mathematical library.
double student_p_value(double t, std::size_t degrees_of_freedom);
double student_quantile(std::size_t degrees_of_freedom, double error);

}  // namespace retrysim::stats
