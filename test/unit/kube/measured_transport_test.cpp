// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reports of requests, the source of the rest_client_* metrics.
#include "core/kube/http/measured_transport.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <sstream>

#include "core/kube/http/request_budget.hpp"
#include "test/unit/sync/fake_clock.hpp"

namespace sluice::kube {
namespace measured_transport_test {

using namespace std::chrono_literals;

// Responds after a second, if at all, with a body that takes two more. With `repeats` it repeats each request, because
// the first response was 401.
class SlowTransport final : public Transport {
 public:
  SlowTransport(test::FakeClock& clock, int status, bool repeats = false)
      : clock_(clock), status_(status), repeats_(repeats) {}
  lib::Status send(const Request&, ResponseSink& sink) override {
    if (repeats_) {
      clock_.advance(4s);
      sink.on_repeat(401);
    }
    clock_.advance(1s);
    if (status_ == 0) return {lib::StatusCode::unavailable, "no connection"};
    if (auto status = sink.on_head({status_, "application/json", std::nullopt}); !status.ok()) return status;
    clock_.advance(2s);
    return sink.on_body("{}");
  }
  void stop() override {}
  std::string server() const override { return "https://api"; }

 private:
  test::FakeClock& clock_;
  const int status_;
  const bool repeats_;
};

class Noted final : public RequestObserver {
 public:
  void answered(const AnsweredRequest& request) override {
    const auto bytes = [this](const char* name, const std::optional<std::uint64_t>& count) {
      if (count) text << name << *count;
    };
    text << request.host << " " << request.method << " " << request.status << " " << request.seconds;
    bytes(" sent ", request.request_bytes);
    bytes(" received ", request.answer_bytes);
    text << (request.again ? " again" : "") << "\n";
  }
  void pool_used(PoolUse) override {}
  void pools_kept(int) override {}
  void waited(std::string_view host, std::string_view method, double seconds) override {
    text << host << " " << method << " waited " << seconds << "\n";
  }
  std::ostringstream text;
};

class PickySink final : public ResponseSink {
 public:
  explicit PickySink(const Noted& noted) : noted_(noted) {}
  lib::Status on_head(const ResponseHead& head) override {
    if (head.status != 200) return {lib::StatusCode::denied, "refused by the sink"};
    return {};
  }
  lib::Status on_body(std::string_view bytes) override {
    reported_before_body = static_cast<std::size_t>(noted_.text.str().find('\n') != std::string::npos);
    body += bytes;
    return {};
  }
  std::string body;
  std::size_t reported_before_body = 0;

 private:
  const Noted& noted_;
};

class MeasuredTransportTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(MeasuredTransportTest);
  CPPUNIT_TEST(a_response_is_timed_to_its_end_and_a_watch_to_its_head);
  CPPUNIT_TEST(a_request_without_response_has_status_0);
  CPPUNIT_TEST(a_repeated_request_is_reported_twice);
  CPPUNIT_TEST(waiting_for_the_rate_limit_is_reported);
  CPPUNIT_TEST_SUITE_END();

  test::FakeClock clock_;
  Noted noted_;

  std::string get(int status, const Request& request, bool repeats = false) {
    MeasuredTransport transport(std::make_unique<SlowTransport>(clock_, status, repeats), "api:443", noted_, clock_);
    PickySink sink(noted_);
    const auto outcome = transport.send(request, sink);
    CPPUNIT_ASSERT_EQUAL(status == 200, outcome.ok());
    CPPUNIT_ASSERT_EQUAL(std::string(status == 200 ? "{}" : ""), sink.body);
    // A watch may last forever, so it is reported before its body.
    if (status == 200 && !repeats)
      CPPUNIT_ASSERT_EQUAL(request.watch ? std::size_t(1) : std::size_t(0), sink.reported_before_body);
    return noted_.text.str();
  }

  void a_response_is_timed_to_its_end_and_a_watch_to_its_head() {
    Request request;
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 200 3 sent 0 received 2\n"), get(200, request));
    noted_.text.str("");
    request.watch = true;
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 200 1\n"), get(200, request));
    noted_.text.str("");
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 410 1\n"), get(410, request));
  }

  void a_request_without_response_has_status_0() {
    Request request;
    request.method = "POST";
    request.body = "12345";
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 POST 0 1 sent 5\n"), get(0, request));
  }

  void a_repeated_request_is_reported_twice() {
    Request request;
    CPPUNIT_ASSERT_EQUAL(
        std::string("api:443 GET 401 4 sent 0 received 0\napi:443 GET 200 3 sent 0 received 2 again\n"),
        get(200, request, true));
    noted_.text.str("");
    request.again = true;
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 200 3 sent 0 received 2 again\n"), get(200, request));
    noted_.text.str("");
    request.watch = true;
    request.again = false;
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET 401 4\napi:443 GET 410 1 again\n"), get(410, request, true));
  }

  void waiting_for_the_rate_limit_is_reported() {
    RequestBudget budget(std::make_unique<SlowTransport>(clock_, 200),
                         {.qps = 5, .burst = 10, .observer = &noted_, .host = "api:443"}, clock_);
    PickySink sink(noted_);
    CPPUNIT_ASSERT(budget.send({}, sink).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("api:443 GET waited 0\n"), noted_.text.str());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(MeasuredTransportTest);

}  // namespace measured_transport_test
}  // namespace sluice::kube
