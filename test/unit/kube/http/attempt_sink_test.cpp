// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reports of attempts, the source of the rest_client_* metrics, and 401 responses that are held back.
#include "core/kube/http/attempt_sink.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "test/unit/kube/noted_observer.hpp"
#include "test/unit/sync/fake_clock.hpp"

namespace sluice::kube {
namespace attempt_sink_test {

using namespace std::chrono_literals;

// Rejects a 410.
class PickySink final : public ResponseSink {
 public:
  explicit PickySink(test::NotedObserver& noted) : noted_(noted) {}
  lib::Status on_head(const ResponseHead& head) override {
    received += std::to_string(head.status);
    if (head.status == 410) return {lib::StatusCode::denied, "refused by the sink"};
    return {};
  }
  lib::Status on_body(std::string_view bytes) override {
    reported_before_body = noted_.take();
    received += " " + std::string(bytes);
    return {};
  }
  std::optional<std::chrono::milliseconds> patience() const override { return 7ms; }
  std::string received;
  std::string reported_before_body;

 private:
  test::NotedObserver& noted_;
};

class AttemptSinkTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(AttemptSinkTest);
  CPPUNIT_TEST(a_response_is_timed_to_its_end_and_a_watch_to_its_head);
  CPPUNIT_TEST(an_attempt_without_response_has_status_0);
  CPPUNIT_TEST(a_retry_is_reported_as_one);
  CPPUNIT_TEST(a_401_is_held_back_and_delivered);
  CPPUNIT_TEST(a_discarded_401_is_reported_without_its_body);
  CPPUNIT_TEST(a_401_that_is_neither_delivered_nor_discarded_has_status_0);
  CPPUNIT_TEST(only_a_401_is_held_back);
  CPPUNIT_TEST_SUITE_END();

  const std::string host_ = "api:443";
  test::FakeClock clock_;
  test::NotedObserver noted_;
  PickySink sink_{noted_};

  // An attempt with a response after a second, if at all, and a body that takes two more.
  std::string get(int status, const Request& request, bool hold = false) {
    {
      AttemptSink attempt(sink_, request, hold, host_, noted_, clock_);
      respond(attempt, status);
    }
    return noted_.take();
  }
  void respond(AttemptSink& attempt, int status) {
    clock_.advance(1s);
    if (status == 0 || !attempt.on_head({status, "application/json", std::nullopt}).ok()) return;
    clock_.advance(2s);
    CPPUNIT_ASSERT(attempt.on_body("{}").ok());
  }

  void a_response_is_timed_to_its_end_and_a_watch_to_its_head() {
    Request request;
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 200 3 sent 0 received 2\n"), get(200, request));
    CPPUNIT_ASSERT_EQUAL(std::string(), sink_.reported_before_body);
    request.watch = true;
    // A watch may last forever, so it is reported before its body.
    CPPUNIT_ASSERT_EQUAL(std::string(), get(200, request));
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 200 1\n"), sink_.reported_before_body);
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 410 1\n"), get(410, request));
    CPPUNIT_ASSERT_EQUAL(std::string("200 {}200 {}410"), sink_.received);
  }

  void an_attempt_without_response_has_status_0() {
    Request request;
    request.method = "POST";
    request.body = "12345";
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 POST 0 1 sent 5\n"), get(0, request));
  }

  void a_retry_is_reported_as_one() {
    Request request;
    request.again = true;
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 200 3 sent 0 received 2 again\n"), get(200, request));
  }

  void a_401_is_held_back_and_delivered() {
    for (const bool watch : {false, true}) {
      Request request;
      request.watch = watch;
      {
        AttemptSink attempt(sink_, request, true, host_, noted_, clock_);
        CPPUNIT_ASSERT(attempt.patience() == 7ms);
        respond(attempt, 401);
        CPPUNIT_ASSERT(attempt.answered() && attempt.refused() && !attempt.patience());
        CPPUNIT_ASSERT_EQUAL(std::string(), sink_.received + noted_.take());
        clock_.advance(4s);
        CPPUNIT_ASSERT(attempt.deliver().ok());
      }
      CPPUNIT_ASSERT_EQUAL(std::string("401 {}"), std::exchange(sink_.received, {}));
      CPPUNIT_ASSERT_EQUAL(std::string(watch ? "api:443 GET 401 7\n" : "api:443 GET 401 7 sent 0 received 2\n"),
                           sink_.reported_before_body + noted_.take());
    }
  }

  void a_discarded_401_is_reported_without_its_body() {
    for (const bool watch : {false, true}) {
      Request request;
      request.watch = watch;
      AttemptSink attempt(sink_, request, true, host_, noted_, clock_);
      respond(attempt, 401);
      clock_.advance(4s);
      attempt.discard();
      CPPUNIT_ASSERT_EQUAL(std::string(watch ? "api:443 GET 401 7\n" : "api:443 GET 401 7 sent 0 received 0\n"),
                           noted_.take());
    }
    CPPUNIT_ASSERT_EQUAL(std::string(), noted_.take() + sink_.received);
  }

  void a_401_that_is_neither_delivered_nor_discarded_has_status_0() {
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 0 3 sent 0\n"), get(401, {}, true));
  }

  void only_a_401_is_held_back() {
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 403 3 sent 0 received 2\n"), get(403, {}, true));
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 401 3 sent 0 received 2\n"), get(401, {}));
    CPPUNIT_ASSERT_EQUAL(std::string("403 {}401 {}"), sink_.received);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(AttemptSinkTest);

}  // namespace attempt_sink_test
}  // namespace sluice::kube
