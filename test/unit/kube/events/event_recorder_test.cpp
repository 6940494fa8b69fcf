// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The recorder with a server that accepts, rejects, is overloaded, or never responds.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>

#include "core/kube/events/event_recorder.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::kube {
namespace event_recorder_test {

using namespace std::chrono_literals;

// Responds to each request with the next status; the last one is repeated.
class Server final : public Transport {
 public:
  explicit Server(std::deque<int> statuses) : statuses_(std::move(statuses)) {}

  lib::Status send(const Request& request, ResponseSink& sink) override {
    std::unique_lock lock(mutex_);
    asked_.push_back(request.method + " " + request.path + (request.again ? " again" : ""));
    changed_.notify_all();
    const int status = statuses_.front();
    if (statuses_.size() > 1) statuses_.pop_front();
    if (status == kSilent) changed_.wait(lock, [this] { return stopped_; });
    if (held_) changed_.wait(lock, [this] { return stopped_ || !held_; });
    if (stopped_) return {lib::StatusCode::unavailable, "stopped", ECANCELED};
    if (status == 0) return lib::unavailable("connection refused");
    if (auto refused = sink.on_head({status, "application/json", retry_after}); !refused.ok()) return refused;
    return status < 400 ? lib::Status() : sink.on_body(R"({"kind":"Status","message":"because"})");
  }
  void stop() override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  std::string server() const override { return "https://api"; }

  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  void await(std::size_t requests) {
    std::unique_lock lock(mutex_);
    CPPUNIT_ASSERT(changed_.wait_for(lock, test::stretched(20s), [&] { return asked_.size() >= requests; }));
  }

  // No response before release().
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }

  static constexpr int kSilent = -1;
  std::optional<std::chrono::seconds> retry_after;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> statuses_;
  std::vector<std::string> asked_;
  bool stopped_ = false;
  bool held_ = false;
};

ClusterEvent event(const std::string& note) {
  return {ClusterEvent::Type::warning, "Reason", "Action", note, Regarding::service("shop", "cart")};
}

struct World {
  explicit World(std::deque<int> statuses, std::size_t queue = 100, int tries = 3)
      : server(std::move(statuses)),
        recorder({.node_name = "n",
                  .queue = queue,
                  .tries = tries,
                  .pause = 1ms,
                  .longest_pause = 2ms,
                  .qps = 1e6,
                  .burst = 1000},
                 clock) {}
  ~World() {
    server.stop();
    recorder.stop();
  }
  void await(const std::function<bool(const EventStatistics&)>& reached) {
    CPPUNIT_ASSERT(test::wait_until([&] { return reached(recorder.statistics()); }));
  }
  std::size_t lines(const std::string& word) const {
    const auto all = log.lines();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const std::string& line) {
      return line.starts_with("WARN") && line.find(word) != std::string::npos;
    }));
  }

  lib::SteadyClock clock;
  test::CapturedLog log;
  Server server;
  EventRecorder recorder;
};

constexpr const char* kEvents = "/apis/events.k8s.io/v1/namespaces/shop/events";

class ClusterEventRecorderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ClusterEventRecorderTest);
  CPPUNIT_TEST(events_recorded_before_start_are_written);
  CPPUNIT_TEST(a_repeat_becomes_a_series);
  CPPUNIT_TEST(an_overloaded_server_is_retried);
  CPPUNIT_TEST(a_retry_that_the_server_asked_for_is_marked);
  CPPUNIT_TEST(an_event_is_given_up_after_the_maximum_of_attempts);
  CPPUNIT_TEST(a_lost_response_is_not_a_failure);
  CPPUNIT_TEST(an_expired_series_is_created_again);
  CPPUNIT_TEST(a_rejected_event_is_logged_once_and_not_retried);
  CPPUNIT_TEST(a_full_queue_drops_the_oldest_event_and_logs_once);
  CPPUNIT_TEST(without_a_server_no_request_is_sent);
  CPPUNIT_TEST(a_new_transport_gets_later_events);
  CPPUNIT_TEST(a_new_transport_gets_queued_events);
  CPPUNIT_TEST(a_transport_can_be_removed_and_restored);
  CPPUNIT_TEST(drain_writes_queued_events);
  CPPUNIT_TEST(drain_does_not_wait_for_a_silent_server);
  CPPUNIT_TEST(drain_gives_up_after_the_first_failure);
  CPPUNIT_TEST_SUITE_END();

 public:
  void events_recorded_before_start_are_written() {
    World world({201});
    world.recorder.record(event("a"));
    world.recorder.record(event("b"));
    world.recorder.start(&world.server);
    world.await([](const EventStatistics& f) { return f.written == 2; });
    CPPUNIT_ASSERT_EQUAL(std::string("POST ") + kEvents, world.server.asked().front());
  }

  void a_repeat_becomes_a_series() {
    World world({201});
    world.recorder.start(&world.server);
    for (int i = 0; i < 50; ++i) world.recorder.record(event("a"));
    world.recorder.drain(20s);
    const auto asked = world.server.asked();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, asked.size());
    CPPUNIT_ASSERT(asked[1].starts_with(std::string("PATCH ") + kEvents + "/cart."));
  }

  void an_overloaded_server_is_retried() {
    World world({429, 503, 201});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.await([](const EventStatistics& f) { return f.written == 1; });
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, world.server.asked().size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, world.recorder.statistics().failed);
  }

  void a_retry_that_the_server_asked_for_is_marked() {
    World world({429, 201});
    world.server.retry_after = 1s;
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.await([](const EventStatistics& f) { return f.written == 1; });
    const std::string post = std::string("POST ") + kEvents;
    CPPUNIT_ASSERT(world.server.asked() == (std::vector<std::string>{post, post + " again"}));
  }

  void an_event_is_given_up_after_the_maximum_of_attempts() {
    World world({0});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.recorder.record(event("b"));
    world.await([](const EventStatistics& f) { return f.failed == 2; });
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, world.server.asked().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.lines("is given up: connection refused"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.lines("events wait: connection refused"));
  }

  void a_lost_response_is_not_a_failure() {
    World world({0, 409});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.await([](const EventStatistics& f) { return f.written == 1; });
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, world.lines("event"));
  }

  void an_expired_series_is_created_again() {
    World world({201, 404, 201});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.recorder.record(event("a"));
    world.await([](const EventStatistics& f) { return f.written == 2; });
    const auto asked = world.server.asked();
    CPPUNIT_ASSERT(asked[1].starts_with("PATCH"));
    CPPUNIT_ASSERT_EQUAL(std::string("POST ") + kEvents, asked[2]);
  }

  void a_rejected_event_is_logged_once_and_not_retried() {
    World world({403});
    world.recorder.start(&world.server);
    for (const char* note : {"a", "b", "c"}) world.recorder.record(event(note));
    world.await([](const EventStatistics& f) { return f.failed == 3; });
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, world.server.asked().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.lines("is given up"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.lines("answers 403: \"because\"; grant create and patch"));
  }

  void a_full_queue_drops_the_oldest_event_and_logs_once() {
    World world({Server::kSilent}, 3);
    world.recorder.start(&world.server);
    world.recorder.record(event("in hand"));
    world.server.await(1);
    for (int i = 0; i < 10; ++i) world.recorder.record(event(std::to_string(i)));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{7}, world.recorder.statistics().dropped);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.lines("the oldest are dropped"));
  }

  void without_a_server_no_request_is_sent() {
    World world({201});
    world.recorder.start(nullptr);
    world.recorder.record(event("a"));
    world.recorder.drain(20s);
    CPPUNIT_ASSERT(world.server.asked().empty());
  }

  void a_new_transport_gets_later_events() {
    World world({201});
    Server other({201});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.await([](const EventStatistics& f) { return f.written == 1; });
    world.server.stop();
    world.recorder.set_transport(&other);
    world.recorder.record(event("b"));
    other.await(1);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.server.asked().size());
    world.recorder.stop();
  }

  void a_new_transport_gets_queued_events() {
    World world({Server::kSilent}, 100, 1'000'000);
    Server other({201});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.server.await(1);
    world.server.stop();
    world.recorder.set_transport(&other);                        // the request with the old transport has ended
    const std::size_t asked = world.server.asked().size();  // the stopped server may have received a retry before
    other.await(1);
    world.await([](const EventStatistics& f) { return f.written == 1; });
    CPPUNIT_ASSERT_EQUAL(asked, world.server.asked().size());
    world.recorder.stop();
  }

  void a_transport_can_be_removed_and_restored() {
    World world({0});  // each attempt fails
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.server.await(1);
    world.server.stop();
    world.recorder.set_transport(nullptr);
    const std::size_t asked = world.server.asked().size();
    for (int i = 0; i < 5; ++i) world.recorder.record(event("b" + std::to_string(i)));
    Server other({201});
    world.recorder.set_transport(&other);
    world.recorder.record(event("c"));
    other.await(1);
    CPPUNIT_ASSERT_EQUAL(asked, world.server.asked().size());
    world.recorder.stop();
  }

  void drain_writes_queued_events() {
    World world({201});
    world.recorder.start(&world.server);
    for (const char* note : {"a", "b", "c"}) world.recorder.record(event(note));
    world.recorder.drain(20s);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, world.recorder.statistics().written);
    world.recorder.record(event("too late"));
    world.recorder.stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, world.server.asked().size());
  }

  void drain_does_not_wait_for_a_silent_server() {
    World world({Server::kSilent});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.server.await(1);
    const auto begin = world.clock.now();
    world.recorder.drain(50ms);
    CPPUNIT_ASSERT(world.clock.now() - begin < test::stretched(10s));  // the server never responds
    world.server.stop();
    world.recorder.stop();
  }

  void drain_gives_up_after_the_first_failure() {
    constexpr std::size_t kQueue = 20;
    World world({0}, kQueue);
    world.server.hold();
    for (std::size_t i = 0; i <= kQueue; ++i) world.recorder.record(event(std::to_string(i)));
    world.recorder.start(&world.server);
    world.server.await(1);
    std::thread draining([&] { world.recorder.drain(1h); });
    // A full queue drops an event; after drain() nothing is recorded.
    const bool ending = test::wait_until([&] {
      const auto dropped = world.recorder.statistics().dropped;
      world.recorder.record(event("a"));
      world.recorder.record(event("b"));
      return world.recorder.statistics().dropped == dropped;
    });
    world.server.release();
    draining.join();
    CPPUNIT_ASSERT(ending);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.server.asked().size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ClusterEventRecorderTest);

}  // namespace event_recorder_test
}  // namespace sluice::kube
