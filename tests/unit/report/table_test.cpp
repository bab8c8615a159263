// Tables of results: what a column keeps, missing values, and that batches make the same file.
//
// SPDX-License-Identifier: MIT
#include <retrysim/table.hpp>

#include <catch2/catch.hpp>

#include "report/document/table_builder.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace retrysim;
using namespace retrysim::report;

namespace {

constexpr double kWithoutEnd = std::numeric_limits<double>::infinity();

std::vector<ColumnInfo> sample_columns() {
  return {text_column("client"),
          real_column("mean_s", "s"),
          integer_column("count", "requests"),
          {"down", "", ColumnType::kTruth}};
}

Table sample_table() {
  TableBuilder b(sample_columns());
  b.text("web").real(0.5).integer(3).truth(true).end_row();
  b.text("").real(std::nullopt).missing().missing().end_row();
  b.text("batch").real(kWithoutEnd).integer(0).truth(false).end_row();
  b.text("web").real(-0.0).integer(7).truth(true).end_row();
  return b.finish();
}

}  // namespace

TEST_CASE("columns of a table have types, units and values", "[table]") {
  const Table t = sample_table();
  REQUIRE(t.rows() == 4);
  REQUIRE(t.columns().size() == 4);
  CHECK(t.columns()[1].unit() == "s");
  CHECK(t["mean_s"].reals()[0] == 0.5);
  CHECK(t["mean_s"].reals()[2] == kWithoutEnd);
  CHECK(t["count"].integers()[3] == 7);
  CHECK(t["count"].number(3) == 7);
  CHECK(t["client"].text(3) == "web");
  CHECK(t["client"].categories() == 2);
  CHECK(t["client"].codes()[3] == t["client"].codes()[0]);
  CHECK(t["down"].truth(0));
  CHECK_FALSE(t["down"].truth(2));
}

TEST_CASE("a missing value is NaN, 0 or empty, and its bit is not set", "[table]") {
  const Table t = sample_table();
  for (const Column& c : t.columns()) {
    CAPTURE(c.name());
    CHECK(c.missing() == 1);
    CHECK_FALSE(c.has(1));
    REQUIRE(c.validity().size() == 1);
    CHECK(c.validity()[0] == 0b1101);
  }
  CHECK(std::isnan(t["mean_s"].reals()[1]));
  CHECK(t["count"].integers()[1] == 0);
  CHECK(std::isnan(t["count"].number(1)));
  CHECK(t["client"].text(1).empty());
  TableBuilder all({real_column("x", "1")});
  for (int i = 0; i < 9; ++i) all.real(i).end_row();
  CHECK(all.finish()["x"].validity().empty());
}

TEST_CASE("categories lie one behind the other, as Arrow has texts", "[table]") {
  const Table t = sample_table();
  const Column& client = t["client"];
  CHECK(client.category_bytes() == "webbatch");
  const std::vector<std::int32_t> offsets(client.category_offsets().begin(),
                                          client.category_offsets().end());
  CHECK(offsets == std::vector<std::int32_t>{0, 3, 8});
  CHECK(client.category(1) == "batch");
}

TEST_CASE("bits go on after the first byte", "[table]") {
  TableBuilder b({{"odd", "", ColumnType::kTruth}, real_column("x", "1")});
  for (int i = 0; i < 20; ++i) {
    b.truth(i % 2 == 1);
    i == 17 ? b.missing() : b.real(i);
    b.end_row();
  }
  const Table t = b.finish();
  CHECK(t["odd"].truths().size() == 3);
  CHECK(t["odd"].truth(19));
  CHECK_FALSE(t["odd"].truth(18));
  CHECK(t["x"].has(16));
  CHECK_FALSE(t["x"].has(17));
  CHECK(t["x"].has(18));
}

TEST_CASE("a table as CSV", "[table]") {
  CHECK(to_csv(sample_table()) ==
        "client,mean_s,count,down\n"
        "web,0.5,3,true\n"
        ",,,\n"
        "batch,,0,false\n"
        "web,0,7,true\n");
}

TEST_CASE("batches make the same file as the whole table", "[table]") {
  // More rows than a batch, texts that come back in turns and in another order, and rare gaps.
  const TableSource source{"sample", sample_columns(), [](TableBuilder& b) {
                             for (std::uint64_t i = 0; i < 5000; ++i) {
                               b.text(i % 7 == 0 ? "=odd, one" : "c" + std::to_string(i * i % 11));
                               i % 1000 == 999 ? b.missing() : b.real(0.1 * static_cast<double>(i));
                               b.integer(i).truth(i % 3 == 0).end_row();
                             }
                           }};
  StringSink sink;
  write_csv(sink, source);
  CHECK(sink.text() == to_csv(table_of(source)));
}

TEST_CASE("numbers of six digits are rounded", "[table]") {
  TableBuilder b({real_column("x", "1")});
  for (const double x : {1.23456789, 123456789.0, 1.23456789e-7, 0.1, -2.0000001}) {
    b.six_digits(x).end_row();
  }
  b.six_digits(kWithoutEnd).end_row();
  CHECK(to_csv(b.finish()) == "x\n1.23457\n123457000\n1.23457e-07\n0.1\n-2\n\n");
}

TEST_CASE("columns that are not there, and cells of another type, are mistakes", "[table]") {
  const Table t = sample_table();
  CHECK(t.find("nothing") == nullptr);
  CHECK_THROWS_WITH(t["nothing"],
                    "there is no column nothing; columns are client, mean_s, count, down");
  CHECK_THROWS_AS(t["client"].reals(), std::logic_error);
  CHECK_THROWS_AS(t["mean_s"].text(0), std::logic_error);
  TableBuilder b(sample_columns());
  CHECK_THROWS_WITH(b.real(1), "a cell of column client is real, not text");
  b.text("web");
  CHECK_THROWS_WITH(b.end_row(), "a row ends before column mean_s");
  b.real(1).integer(1).truth(true);
  CHECK_THROWS_WITH(b.real(1), "a row has more than the 4 cells of its columns");
}

TEST_CASE("units follow from the names of columns", "[table]") {
  CHECK(unit_of_column("goodput") == "1/s");
  CHECK(unit_of_column("goodput_ci_low") == "1/s");
  CHECK(unit_of_column("duration_s") == "s");
  CHECK(unit_of_column("tipped_share") == "1");
  CHECK(unit_of_column("fruit").empty());
}
