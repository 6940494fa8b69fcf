// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The recorder with a server that takes, refuses, is busy, or never answers.
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
namespace cluster_event_recorder_test {

using namespace std::chrono_literals;

// Answers each request with the next status; with the last one for ever.
class Server final : public Transport {
 public:
  explicit Server(std::deque<int> statuses) : statuses_(std::move(statuses)) {}

  base::Status send(const Request& request, ResponseSink& sink) override {
    std::unique_lock lock(mutex_);
    asked_.push_back(request.method + " " + request.path + (request.again ? " again" : ""));
    changed_.notify_all();
    const int status = statuses_.front();
    if (statuses_.size() > 1) statuses_.pop_front();
    if (status == kSilent) changed_.wait(lock, [this] { return stopped_; });
    if (held_) changed_.wait(lock, [this] { return stopped_ || !held_; });
    if (stopped_) return {base::StatusCode::unavailable, "stopped", ECANCELED};
    if (status == 0) return base::unavailable("connection refused");
    if (auto told = sink.on_head({status, "application/json", retry_after}); !told.ok()) return told;
    return status < 400 ? base::Status() : sink.on_body(R"({"kind":"Status","message":"because"})");
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

  // No answer before release().
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
  void await(const std::function<bool(const EventFigures&)>& reached) {
    CPPUNIT_ASSERT(test::wait_until([&] { return reached(recorder.figures()); }));
  }
  std::size_t lines(const std::string& word) const {
    const auto all = log.lines();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const std::string& line) {
      return line.starts_with("WARN") && line.find(word) != std::string::npos;
    }));
  }

  base::SteadyClock clock;
  test::CapturedLog log;
  Server server;
  EventRecorder recorder;
};

constexpr const char* kEvents = "/apis/events.k8s.io/v1/namespaces/shop/events";

class ClusterEventRecorderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ClusterEventRecorderTest);
  CPPUNIT_TEST(what_was_recorded_before_the_start_is_written);
  CPPUNIT_TEST(a_repeat_becomes_a_series);
  CPPUNIT_TEST(a_busy_server_is_asked_again);
  CPPUNIT_TEST(what_a_busy_server_asked_for_again_is_marked);
  CPPUNIT_TEST(a_server_that_stays_busy_is_given_up);
  CPPUNIT_TEST(a_lost_answer_is_no_failure);
  CPPUNIT_TEST(a_series_that_expired_is_created_anew);
  CPPUNIT_TEST(a_refusal_is_said_once_and_not_repeated);
  CPPUNIT_TEST(a_full_queue_drops_the_oldest_and_says_so_once);
  CPPUNIT_TEST(without_a_server_nothing_is_asked);
  CPPUNIT_TEST(another_server_gets_what_comes_next);
  CPPUNIT_TEST(what_waits_goes_to_the_other_server);
  CPPUNIT_TEST(a_server_may_go_and_come);
  CPPUNIT_TEST(the_end_waits_for_what_can_be_written);
  CPPUNIT_TEST(the_end_waits_for_no_silent_server);
  CPPUNIT_TEST(the_end_gives_up_with_the_first_failure);
  CPPUNIT_TEST_SUITE_END();

 public:
  void what_was_recorded_before_the_start_is_written() {
    World world({201});
    world.recorder.record(event("a"));
    world.recorder.record(event("b"));
    world.recorder.start(&world.server);
    world.await([](const EventFigures& f) { return f.written == 2; });
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

  void a_busy_server_is_asked_again() {
    World world({429, 503, 201});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.await([](const EventFigures& f) { return f.written == 1; });
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, world.server.asked().size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, world.recorder.figures().failed);
  }

  void what_a_busy_server_asked_for_again_is_marked() {
    World world({429, 201});
    world.server.retry_after = 1s;
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.await([](const EventFigures& f) { return f.written == 1; });
    const std::string post = std::string("POST ") + kEvents;
    CPPUNIT_ASSERT(world.server.asked() == (std::vector<std::string>{post, post + " again"}));
  }

  void a_server_that_stays_busy_is_given_up() {
    World world({0});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.recorder.record(event("b"));
    world.await([](const EventFigures& f) { return f.failed == 2; });
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, world.server.asked().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.lines("is given up: connection refused"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.lines("events wait: connection refused"));
  }

  void a_lost_answer_is_no_failure() {
    World world({0, 409});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.await([](const EventFigures& f) { return f.written == 1; });
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, world.lines("event"));
  }

  void a_series_that_expired_is_created_anew() {
    World world({201, 404, 201});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.recorder.record(event("a"));
    world.await([](const EventFigures& f) { return f.written == 2; });
    const auto asked = world.server.asked();
    CPPUNIT_ASSERT(asked[1].starts_with("PATCH"));
    CPPUNIT_ASSERT_EQUAL(std::string("POST ") + kEvents, asked[2]);
  }

  void a_refusal_is_said_once_and_not_repeated() {
    World world({403});
    world.recorder.start(&world.server);
    for (const char* note : {"a", "b", "c"}) world.recorder.record(event(note));
    world.await([](const EventFigures& f) { return f.failed == 3; });
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, world.server.asked().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.lines("is given up"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.lines("answers 403: \"because\"; grant create and patch"));
  }

  void a_full_queue_drops_the_oldest_and_says_so_once() {
    World world({Server::kSilent}, 3);
    world.recorder.start(&world.server);
    world.recorder.record(event("in hand"));
    world.server.await(1);
    for (int i = 0; i < 10; ++i) world.recorder.record(event(std::to_string(i)));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{7}, world.recorder.figures().dropped);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.lines("the oldest are dropped"));
  }

  void without_a_server_nothing_is_asked() {
    World world({201});
    world.recorder.start(nullptr);
    world.recorder.record(event("a"));
    world.recorder.drain(20s);
    CPPUNIT_ASSERT(world.server.asked().empty());
  }

  void another_server_gets_what_comes_next() {
    World world({201});
    Server other({201});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.await([](const EventFigures& f) { return f.written == 1; });
    world.server.stop();
    world.recorder.exchange(&other);
    world.recorder.record(event("b"));
    other.await(1);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.server.asked().size());
    world.recorder.stop();
  }

  void what_waits_goes_to_the_other_server() {
    World world({Server::kSilent}, 100, 1'000'000);
    Server other({201});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.server.await(1);
    world.server.stop();
    world.recorder.exchange(&other);  // the request on the old way has ended
    const std::size_t asked = world.server.asked().size();  // the stopped server may be asked again before that
    other.await(1);
    world.await([](const EventFigures& f) { return f.written == 1; });
    CPPUNIT_ASSERT_EQUAL(asked, world.server.asked().size());
    world.recorder.stop();
  }

  void a_server_may_go_and_come() {
    World world({0});  // each try fails
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.server.await(1);
    world.server.stop();
    world.recorder.exchange(nullptr);
    const std::size_t asked = world.server.asked().size();
    for (int i = 0; i < 5; ++i) world.recorder.record(event("b" + std::to_string(i)));
    Server other({201});
    world.recorder.exchange(&other);
    world.recorder.record(event("c"));
    other.await(1);
    CPPUNIT_ASSERT_EQUAL(asked, world.server.asked().size());
    world.recorder.stop();
  }

  void the_end_waits_for_what_can_be_written() {
    World world({201});
    world.recorder.start(&world.server);
    for (const char* note : {"a", "b", "c"}) world.recorder.record(event(note));
    world.recorder.drain(20s);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, world.recorder.figures().written);
    world.recorder.record(event("too late"));
    world.recorder.stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, world.server.asked().size());
  }

  void the_end_waits_for_no_silent_server() {
    World world({Server::kSilent});
    world.recorder.start(&world.server);
    world.recorder.record(event("a"));
    world.server.await(1);
    const auto begin = world.clock.now();
    world.recorder.drain(50ms);
    CPPUNIT_ASSERT(world.clock.now() - begin < test::stretched(10s));  // the server never answers
    world.server.stop();
    world.recorder.stop();
  }

  void the_end_gives_up_with_the_first_failure() {
    constexpr std::size_t kQueue = 20;
    World world({0}, kQueue);
    world.server.hold();
    for (std::size_t i = 0; i <= kQueue; ++i) world.recorder.record(event(std::to_string(i)));
    world.recorder.start(&world.server);
    world.server.await(1);
    std::thread draining([&] { world.recorder.drain(1h); });
    // A queue that overflows drops an event, but after the end has begun nothing is recorded.
    const bool ending = test::wait_until([&] {
      const auto dropped = world.recorder.figures().dropped;
      world.recorder.record(event("a"));
      world.recorder.record(event("b"));
      return world.recorder.figures().dropped == dropped;
    });
    world.server.release();
    draining.join();
    CPPUNIT_ASSERT(ending);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, world.server.asked().size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ClusterEventRecorderTest);

}  // namespace cluster_event_recorder_test
}  // namespace sluice::kube
