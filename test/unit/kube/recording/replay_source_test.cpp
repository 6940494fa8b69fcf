// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Replays recordings: complete, in order, at the original speed.
#include "core/kube/recording/replay_source.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <filesystem>

#include "core/kube/recording/recording_sink.hpp"
#include "lib/rfc3339.hpp"
#include "test/unit/kube/event_recorder.hpp"
#include "test/unit/kube/recording/recording_text.hpp"
#include "test/unit/sync/fake_clock.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace replay_source_test {

using namespace std::chrono_literals;
using test::listed_recording;
using test::service_event;

const std::string kListed =
    "begin Service, upsert Service demo/web, end Service, begin EndpointSlice, end EndpointSlice, begin Node, end Node";

class ReplaySourceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReplaySourceTest);
  CPPUNIT_TEST(events_are_delivered_at_the_speed_of_the_recording);
  CPPUNIT_TEST(the_speed_can_be_changed);
  CPPUNIT_TEST(speed_0_has_no_delays);
  CPPUNIT_TEST(a_time_that_goes_back_causes_no_delay);
  CPPUNIT_TEST(invalid_objects_are_delivered_as_unusable);
  CPPUNIT_TEST(recorded_events_are_delivered_unchanged);
  CPPUNIT_TEST(trigger_times_are_shifted_with_the_event);
  CPPUNIT_TEST(malformed_lines_are_found_before_the_replay);
  CPPUNIT_TEST(a_truncated_last_line_is_not_delivered);
  CPPUNIT_TEST(a_file_that_changes_meanwhile_ends_the_replay);
  CPPUNIT_TEST(the_replay_has_its_own_thread_and_stops_at_once);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder folder_;
  test::EventRecorder store_;
  test::FakeClock clock_;

  std::string file(const std::string& text) { return folder_.write("r.jsonl", text); }
  static std::string later_events() {
    return service_event("1000", "MODIFIED", "b") + service_event("61000.5", "DELETED", "web");
  }

 public:
  void events_are_delivered_at_the_speed_of_the_recording() {
    ReplaySource source(file(listed_recording() + later_events()), {}, store_, clock_);
    CPPUNIT_ASSERT(source.open().ok());
    CPPUNIT_ASSERT(source.step() == 1ms);
    CPPUNIT_ASSERT_EQUAL(std::string(), store_.take_text());
    clock_.advance(1ms);
    CPPUNIT_ASSERT(source.step() == 999ms);
    CPPUNIT_ASSERT_EQUAL(kListed, store_.take_text());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{7}, source.status().delivered);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{9}, source.status().total);
    // A step that is too early delivers nothing; one that is too late catches up.
    clock_.advance(998ms);
    CPPUNIT_ASSERT(source.step() == 1ms);
    clock_.advance(2s);
    CPPUNIT_ASSERT(source.step() == 61000500us - 2999ms);
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service demo/b"), store_.take_text());
    CPPUNIT_ASSERT(!source.status().complete());
    clock_.advance(1min);
    CPPUNIT_ASSERT(!source.step());
    CPPUNIT_ASSERT_EQUAL(std::string("remove Service demo/web"), store_.take_text());
    CPPUNIT_ASSERT(source.status().complete());
    CPPUNIT_ASSERT_EQUAL(std::string(), source.status().error);
    CPPUNIT_ASSERT(!source.step());
    CPPUNIT_ASSERT_EQUAL(std::string(), store_.take_text());
  }

  void the_speed_can_be_changed() {
    const std::string path = file(listed_recording() + later_events());
    ReplaySource fast(path, {.speed = 10}, store_, clock_);
    CPPUNIT_ASSERT(fast.open().ok());
    CPPUNIT_ASSERT(fast.step() == 100us);
    clock_.advance(100us);
    CPPUNIT_ASSERT(fast.step() == 99900us);
    ReplaySource slow(path, {.speed = 0.5}, store_, clock_);
    CPPUNIT_ASSERT(slow.open().ok());
    CPPUNIT_ASSERT(slow.step() == 2ms);
    ReplaySource hardly(path, {.speed = 1e-300}, store_, clock_);
    CPPUNIT_ASSERT(hardly.open().ok());
    CPPUNIT_ASSERT(hardly.step() > 24h * 365 * 50);
  }

  void speed_0_has_no_delays() {
    ReplaySource source(file(listed_recording() + later_events()), {.speed = 0}, store_, clock_);
    CPPUNIT_ASSERT(source.open().ok());
    CPPUNIT_ASSERT(!source.step());
    CPPUNIT_ASSERT_EQUAL(kListed + ", upsert Service demo/b, remove Service demo/web", store_.take_text());
  }

  void a_time_that_goes_back_causes_no_delay() {
    ReplaySource source(file(listed_recording() + service_event("0.5", "MODIFIED", "b")), {}, store_, clock_);
    CPPUNIT_ASSERT(source.open().ok());
    clock_.advance(1ms);
    CPPUNIT_ASSERT(!source.step());
    CPPUNIT_ASSERT_EQUAL(kListed + ", upsert Service demo/b", store_.take_text());
  }

  void invalid_objects_are_delivered_as_unusable() {
    const std::string slice =
        R"({"ms":2,"type":"ADDED","object":{"kind":"EndpointSlice","metadata":{"name":"s","namespace":"demo"}}})"
        "\n";
    const std::string nameless = R"({"ms":2,"type":"ADDED","object":{"kind":"EndpointSlice","metadata":{}}})"
                                 "\n";
    ReplaySource source(file(listed_recording() + service_event("2", "MODIFIED", "web", R"("ports":[{"port":0}])") +
                             service_event("2", "UNUSABLE", "b") + slice + nameless),
                        {.speed = 0}, store_, clock_);
    CPPUNIT_ASSERT(source.open().ok());
    CPPUNIT_ASSERT(!source.step());
    CPPUNIT_ASSERT_EQUAL(kListed + ", unusable Service demo/web, unusable Service demo/b, remove EndpointSlice demo/s",
                         store_.take_text());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, source.status().unusable);
    CPPUNIT_ASSERT(source.status().complete());
  }

  void recorded_events_are_delivered_unchanged() {
    model::EndpointSlice slice;
    slice.name = {base::Symbol("demo"), "web-1"};
    slice.service = {base::Symbol("demo"), "web"};
    slice.family = lib::Family::ipv6;
    slice.endpoints.resize(2);
    slice.endpoints[0].address[15] = 7;
    slice.endpoints[1].address[0] = 0xfd;
    slice.endpoints[1].terminating = true;
    model::Node node;
    node.name = "node-1";
    node.zone = "a";
    test::EventRecorder first;
    RecordingSink sink(folder_.path("new.jsonl"), first, clock_);
    CPPUNIT_ASSERT(sink.start({"sluiced test", "node-1", {}}).ok());
    for (const auto kind : model::kResourceKinds) {
      sink.deliver(model::ListBegin{kind});
      sink.deliver(model::ListEnd{kind});
    }
    sink.deliver(model::Upsert{slice});
    sink.deliver(model::Upsert{node});
    sink.deliver(model::Remove{model::ResourceKind::node, {base::Symbol(), "node-1"}});
    sink.deliver(model::Unusable{model::ResourceKind::service, {base::Symbol("demo"), "web"}});
    sink.stop();
    ReplaySource source(folder_.path("new.jsonl"), {.speed = 0}, store_, clock_);
    CPPUNIT_ASSERT_EQUAL(std::string(), source.open().message());
    CPPUNIT_ASSERT(!source.step());
    CPPUNIT_ASSERT_EQUAL(first.take_text(), store_.take_text());
    CPPUNIT_ASSERT(store_.last<model::EndpointSlice>() == slice);
    CPPUNIT_ASSERT(store_.last<model::Node>() == node);
  }

  void trigger_times_are_shifted_with_the_event() {
    // The slice came 2 s after the start, 1.5 s after its trigger.
    const std::string slice =
        R"({"ms":2000,"type":"ADDED","object":{"kind":"EndpointSlice","metadata":{"name":"s","namespace":"demo",)"
        R"("labels":{"kubernetes.io/service-name":"web"},)"
        R"("annotations":{"endpoints.kubernetes.io/last-change-trigger-time":"2026-11-21T06:00:00.5Z"}},)"
        R"("addressType":"IPv4"}})"
        "\n";
    const auto now = lib::parse_rfc3339("2030-01-01T00:00:00Z").value();
    ReplaySource source(file(listed_recording() + slice), {.speed = 0}, store_, clock_, [&] { return now; });
    CPPUNIT_ASSERT(source.open().ok());
    CPPUNIT_ASSERT(!source.step());
    CPPUNIT_ASSERT(store_.last<model::EndpointSlice>().trigger_time == now - 1500ms);
  }

  void malformed_lines_are_found_before_the_replay() {
    const std::string path = file(listed_recording() + "malformed\n" + later_events());
    ReplaySource source(path, {.speed = 0}, store_, clock_);
    const auto status = source.start();
    CPPUNIT_ASSERT(status.message().starts_with(path + ":9: is not valid JSON"));
    source.stop();
    CPPUNIT_ASSERT_EQUAL(std::string(), store_.take_text());
  }

  void a_truncated_last_line_is_not_delivered() {
    ReplaySource source(file(listed_recording() + service_event("2", "MODIFIED", "b").substr(0, 40)), {.speed = 0},
                        store_, clock_);
    CPPUNIT_ASSERT(source.open().ok());
    CPPUNIT_ASSERT(!source.step());
    CPPUNIT_ASSERT_EQUAL(kListed, store_.take_text());
    CPPUNIT_ASSERT(source.status().complete());
  }

  void a_file_that_changes_meanwhile_ends_the_replay() {
    // Larger than the read buffer.
    std::string text = listed_recording();
    while (text.size() < (1u << 20)) text += service_event("1", "MODIFIED", "web");
    const std::string path = file(text);
    ReplaySource source(path, {}, store_, clock_);
    CPPUNIT_ASSERT(source.open().ok());
    std::filesystem::resize_file(path, 10);
    clock_.advance(1ms);
    CPPUNIT_ASSERT(!source.step());
    CPPUNIT_ASSERT_MESSAGE(source.status().error, source.status().error.starts_with(path + ":"));
    CPPUNIT_ASSERT(!source.status().complete());
  }

  void the_replay_has_its_own_thread_and_stops_at_once() {
    const lib::SteadyClock clock;
    ReplaySource source(file(listed_recording() + service_event("3600000", "MODIFIED", "b")), {}, store_, clock);
    CPPUNIT_ASSERT(source.start().ok());
    std::string delivered;
    while (delivered.size() < kListed.size()) {
      store_.wait_for_more();
      const std::string more = store_.take_text();
      CPPUNIT_ASSERT_MESSAGE(delivered, !more.empty());
      delivered += (delivered.empty() ? "" : ", ") + more;
    }
    source.stop();
    CPPUNIT_ASSERT_EQUAL(kListed, delivered);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReplaySourceTest);

}  // namespace replay_source_test
}  // namespace sluice::kube
