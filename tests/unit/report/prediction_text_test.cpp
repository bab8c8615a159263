// Predictions for narrow and wide terminals.
//
// SPDX-License-Identifier: MIT
#include "report/prediction.hpp"

#include <catch2/catch.hpp>

using namespace retrysim;

namespace {

Figure figure(std::string part, std::string name, double value, std::string unit,
              std::string meaning, std::string ignores) {
  Figure f;
  f.part = std::move(part);
  f.subject = "service.api";
  f.name = std::move(name);
  f.value = value;
  f.unit = std::move(unit);
  f.meaning = std::move(meaning);
  f.ignores = std::move(ignores);
  return f;
}

std::string prediction_text(const Prediction& prediction, std::size_t columns) {
  report::StringSink sink;
  report::prediction_document(prediction).write_text(sink, columns);
  return sink.text();
}

}  // namespace

TEST_CASE("meanings stand beside the values, in as many lines as it takes") {
  Prediction p;
  p.figures = {figure("facts", "load", 0.7, "1", "work per capacity", ""),
               figure("facts", "wait", 0.0046667, "s", "mean wait while all is well", "retries"),
               figure("fluid", "d50", 1.1538, "s", "what the service does not survive", "chance")};
  CHECK(prediction_text(p, 52) ==
        "facts\n"
        "  service.api\n"
        "    load  0.7          work per capacity\n"
        "    wait  0.0046667 s  mean wait while all is well;\n"
        "                       leaves out retries\n"
        "\n"
        "fluid\n"
        "  service.api\n"
        "    d50  1.1538 s  what the service does not survive\n"
        "    leaves out: chance\n");
}

TEST_CASE("without room beside the values, meanings stand below them") {
  Prediction p;
  p.figures = {figure("facts", "utilization_at_last_attempt", 2.1, "1",
                      "the same if every request needed its last attempt", "")};
  CHECK(prediction_text(p, 60) ==
        "facts\n"
        "  service.api\n"
        "    utilization_at_last_attempt  2.1\n"
        "      the same if every request needed its last attempt\n");
}

TEST_CASE("what is not modelled is said with its place") {
  Prediction p;
  p.unmodelled = {{"hedging", {"client.web.retry", "client.app.retry"}, "loads: hedging", "waits"},
                  {"surges", {"client.web"}, "loads: surges", ""}};
  CHECK(prediction_text(p, 60) ==
        "\n"
        "not modelled\n"
        "  hedging (client.web.retry, client.app.retry): left out by\n"
        "    loads: hedging; no figure from waits\n"
        "  surges (client.web): left out by loads: surges\n");
}

TEST_CASE("remarks and warnings are broken into lines") {
  Prediction p;
  p.refusals = {
      {"chain", "service.api", "No collapse time for service.api: the queue has no bound"}};
  p.warnings = {{"service.api", "service.api.queue", "The queue has no bound.", "Give it one."}};
  CHECK(prediction_text(p, 40) ==
        "\n"
        "does not apply\n"
        "  No collapse time for service.api: the\n"
        "    queue has no bound\n"
        "\n"
        "warnings\n"
        "  service.api: The queue has no bound.\n"
        "    Give it one. (service.api.queue)\n");
}
