// The keys of idempotency tokens, of reads before retries, and of waits that count as prompt.
//
// SPDX-License-Identifier: MIT
#include "loading.hpp"

using namespace retrysim;

namespace {

const std::string kTokens = "service.api.idempotency={window='1min'}";

std::string errors_after(const std::vector<std::string>& edits) { return errors_of(kSmall, edits); }

}  // namespace

TEST_CASE("tokens may be waited for, and may be stored late") {
  const auto rules = [](const std::vector<std::string>& edits) {
    std::vector<std::string> all{kTokens};
    all.insert(all.end(), edits.begin(), edits.end());
    return load(kSmall, all).scenario.services[0].idempotency;
  };
  CHECK(rules({}).in_progress == InProgress::kError);
  CHECK_FALSE(rules({}).has_write_delay());
  CHECK(rules({"service.api.idempotency.in_progress=wait"}).in_progress == InProgress::kWait);
  const IdempotencySpec late =
      rules({"service.api.idempotency.write_delay={distribution='gamma', mean='4ms', shape=2}"});
  CHECK(late.has_write_delay());
  CHECK(late.write_delay.mean_seconds() == 0.004);
  CHECK_THAT(errors_after({"service.api.idempotency.write_delay=1ms"}),
             Catch::Contains("service.api.idempotency.stored"));
  CHECK_THAT(
      errors_after({kTokens, "service.api.idempotency.in_progress=wait", "service.api.model=occ"}),
      Catch::Contains("in_progress = \"wait\" does not go with model = \"occ\""));
}

TEST_CASE("tokens may be stored before the effect, and belong to a content") {
  const auto rules = [](const std::vector<std::string>& edits) {
    return load(kSmall, edits).scenario.services[0].idempotency;
  };
  CHECK_FALSE(rules({kTokens}).keeps_without_effect());
  CHECK(rules({kTokens, "service.api.idempotency.stored=before-effect"}).keeps_without_effect());
  CHECK_THAT(errors_after({"service.api.idempotency.stored=before-effect"}),
             Catch::Contains("service.api.idempotency.window"));
  CHECK_THAT(errors_after({kTokens, "service.api.idempotency.stored=before-effect",
                           "service.api.idempotency.write_delay=1ms"}),
             Catch::Contains("it needs service.api.idempotency.stored = with-effect, not "
                             "before-effect"));
  const auto client = [](const std::vector<std::string>& edits) { return load(kSmall, edits); };
  const LoadedScenario by_content =
      client({"client.web.token_from=content", "client.web.token_reuse=0.2"});
  CHECK(by_content.scenario.clients[0].side_effects.token_from == TokenSource::kContent);
  CHECK(by_content.notes.empty());
  const LoadedScenario idle = client({"client.web.token_from=content"});
  REQUIRE(idle.notes.size() == 1);
  CHECK_THAT(idle.notes[0], Catch::Contains("client.web.token_from has no effect"));
  CHECK_THAT(errors_after({"client.web.idempotency_token=false", "client.web.token_from=content"}),
             Catch::Contains("client.web.token_from does not apply here"));
}

TEST_CASE("clients may ask before they repeat") {
  const ClientSpec plain = load(kSmall, {}).scenario.clients[0];
  CHECK_FALSE(plain.side_effects.reconciles);
  CHECK_FALSE(
      load(kSmall, {"client.web.reconcile_read=none"}).scenario.clients[0].side_effects.reconciles);
  const ClientSpec asks = load(kSmall, {"client.web.reconcile_read=2ms"}).scenario.clients[0];
  CHECK(asks.side_effects.reconciles);
  CHECK(asks.side_effects.reconcile_read.constant_value() == Duration::milliseconds(2));
  CHECK_THAT(errors_after({"client.web.reconcile_read=2ms", "service.api.model=occ"}),
             Catch::Contains("client.web.reconcile_read does not go with service.api.model"));
  CHECK_THAT(
      errors_after({"client.web.reconcile_read=2ms",
                    "client.web.retry={mode='custom', max_attempts=2, hedging={delay='1ms'}}"}),
      Catch::Contains("client.web.reconcile_read does not go with retry.hedging"));
}

TEST_CASE("a service may say which waits are prompt") {
  const auto limit = [](const std::vector<std::string>& edits) {
    return load(kSmall, edits).scenario.services[0].wait_within;
  };
  CHECK(limit({}) == Duration::max());
  CHECK(limit({"service.api.wait_within=200ms"}) == Duration::milliseconds(200));
  CHECK(limit({"service.api.wait_within=0"}) == Duration::zero());
  CHECK_FALSE(errors_after({"service.api.wait_within=-1"}).empty());
}
