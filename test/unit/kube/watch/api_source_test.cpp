// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Starts and stops the watch of ServiceCIDRs while the other kinds are watched.
#include "core/kube/watch/api_source.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>

#include "test/unit/kube/event_recorder.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::kube {
namespace api_source_test {

using namespace std::chrono_literals;

// Has one object of each kind. A watch sends nothing until the test calls send_event().
class Server final : public Transport {
 public:
  lib::Status send(const Request& request, ResponseSink& sink) override {
    std::unique_lock lock(mutex_);
    if (stopped_) return stopped();
    const std::string plural = request.path.substr(request.path.rfind('/') + 1);
    if (request.watch) {
      lock.unlock();
      if (auto status = sink.on_head({200, "application/json", {}}); !status.ok()) return status;
      lock.lock();
      const auto sent = sent_[plural];
      ++watching_[plural];
      changed_.notify_all();
      changed_.wait(lock, [&] { return stopped_ || sent_[plural] != sent; });
      --watching_[plural];
      ++ended_[plural];
      changed_.notify_all();
      if (stopped_) return stopped();
      lock.unlock();
      return sink.on_body(
          R"({"type":"ADDED","object":{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"b","resourceVersion":"6"},"spec":{"cidrs":["10.1.0.0/16"]}}})"
          "\n");
    }
    ++lists_[plural];
    lock.unlock();
    if (auto status = sink.on_head({200, "application/json", {}}); !status.ok()) return status;
    return sink.on_body(list(plural));
  }
  void stop() override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  std::string server() const override { return "https://api"; }

  void await_watch(const std::string& plural, int count = 1) {
    std::unique_lock lock(mutex_);
    CPPUNIT_ASSERT_MESSAGE(plural, changed_.wait_for(lock, test::stretched(20s), [&] { return watching_[plural] == count; }));
  }
  void await_ended(const std::string& plural, int count) {
    std::unique_lock lock(mutex_);
    CPPUNIT_ASSERT_MESSAGE(plural, changed_.wait_for(lock, test::stretched(20s), [&] { return ended_[plural] >= count; }));
  }
  void send_event(const std::string& plural) {
    const std::lock_guard lock(mutex_);
    ++sent_[plural];
    changed_.notify_all();
  }
  int watching(const std::string& plural) {
    const std::lock_guard lock(mutex_);
    return watching_[plural];
  }
  int lists(const std::string& plural) {
    const std::lock_guard lock(mutex_);
    return lists_[plural];
  }

 private:
  static lib::Status stopped() { return {lib::StatusCode::unavailable, "stopped", ECANCELED}; }
  static std::string list(const std::string& plural) {
    const std::string items =
        plural == "servicecidrs" ? R"({"metadata":{"name":"a","resourceVersion":"4"},"spec":{"cidrs":["10.0.0.0/16"]}})" : "";
    const std::string kind = plural == "services"         ? "Service"
                             : plural == "endpointslices" ? "EndpointSlice"
                             : plural == "nodes"          ? "Node"
                                                          : "ServiceCIDR";
    const std::string version = kind == "EndpointSlice" ? "discovery.k8s.io/v1"
                                : kind == "ServiceCIDR" ? "networking.k8s.io/v1"
                                                        : "v1";
    return "{\"kind\":\"" + kind + "List\",\"apiVersion\":\"" + version +
           "\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" + items + "]}";
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> watching_;
  std::map<std::string, int> ended_;
  std::map<std::string, int> sent_;
  std::map<std::string, int> lists_;
  bool stopped_ = false;
};

class ApiSourceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ApiSourceTest);
  CPPUNIT_TEST(service_cidrs_can_be_started_while_running);
  CPPUNIT_TEST(service_cidrs_are_not_delivered_after_they_are_stopped);
  CPPUNIT_TEST(service_cidrs_can_be_restarted_before_the_old_watch_has_ended);
  CPPUNIT_TEST(service_cidrs_can_be_enabled_before_start);
  CPPUNIT_TEST(other_details_make_it_list_again);
  CPPUNIT_TEST(unchanged_details_do_not_make_it_list_again);
  CPPUNIT_TEST(details_can_be_set_before_start);
  CPPUNIT_TEST(stop_does_not_wait_for_a_cancelled_watch);
  CPPUNIT_TEST(service_cidrs_can_be_set_during_stop);
  CPPUNIT_TEST(a_cancelled_request_fails_with_the_next_chunk);
  CPPUNIT_TEST_SUITE_END();

  const lib::SteadyClock clock_{};
  std::unique_ptr<test::EventRecorder> sink_;
  std::unique_ptr<ApiSource> source_;
  Server* server_ = nullptr;

  void make(bool service_cidrs) {
    source_.reset();  // before the sink that it uses
    auto server = std::make_unique<Server>();
    server_ = server.get();
    sink_ = std::make_unique<test::EventRecorder>();
    source_ = std::make_unique<ApiSource>(
        std::move(server), ApiSourceOptions{.node_name = "n", .streaming_lists = false, .service_cidrs = service_cidrs},
        *sink_, clock_);
  }
  std::string kinds() const {
    std::string out;
    for (const auto& resource : source_->status().resources) out += (out.empty() ? "" : ",") + resource.object_kind;
    return out;
  }
  // The delivered events of ServiceCIDRs.
  std::string cidrs() {
    std::string out;
    for (const auto& line : sink_->take()) {
      if (line.find("ServiceCIDR") != std::string::npos) out += (out.empty() ? "" : ", ") + line;
    }
    return out;
  }

 public:
  void tearDown() override {
    source_.reset();
    sink_.reset();
  }

  void service_cidrs_can_be_started_while_running() {
    make(false);
    source_->start();
    server_->await_watch("services");
    CPPUNIT_ASSERT_EQUAL(std::string("Service,EndpointSlice,Node"), kinds());
    source_->set_service_cidrs(true);
    source_->set_service_cidrs(true);
    server_->await_watch("servicecidrs");
    CPPUNIT_ASSERT_EQUAL(std::string("Service,EndpointSlice,Node,ServiceCIDR"), kinds());
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, upsert ServiceCIDR a, end ServiceCIDR"), cidrs());
    CPPUNIT_ASSERT_EQUAL(1, server_->watching("services"));
  }

  void service_cidrs_are_not_delivered_after_they_are_stopped() {
    make(true);
    source_->start();
    server_->await_watch("servicecidrs");
    server_->await_watch("services");
    sink_->take();
    source_->set_service_cidrs(false);
    CPPUNIT_ASSERT_EQUAL(std::string("Service,EndpointSlice,Node"), kinds());
    server_->send_event("servicecidrs");
    server_->await_ended("servicecidrs", 1);
    source_->set_service_cidrs(false);
    source_->stop();
    CPPUNIT_ASSERT_EQUAL(std::string(), cidrs());
    CPPUNIT_ASSERT_EQUAL(0, server_->watching("servicecidrs"));
  }

  void service_cidrs_can_be_restarted_before_the_old_watch_has_ended() {
    make(true);
    source_->start();
    server_->await_watch("servicecidrs");
    cidrs();
    for (int i = 0; i < 3; ++i) {
      source_->set_service_cidrs(false);
      source_->set_service_cidrs(true);
      server_->await_watch("servicecidrs", i + 2);
      CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, upsert ServiceCIDR a, end ServiceCIDR"), cidrs());
    }
    server_->send_event("servicecidrs");
    server_->await_ended("servicecidrs", 4);
    while (cidrs().empty()) sink_->wait_for_more();  // from the remaining reflector
  }

  // The last end of a list of EndpointSlices has details of endpoints.
  void other_details_make_it_list_again() {
    make(false);
    source_->start();
    server_->await_watch("services");
    server_->await_watch("endpointslices");
    server_->await_watch("nodes");
    CPPUNIT_ASSERT(sink_->last_list_details(model::ResourceKind::endpoint_slice) == nullptr);
    sink_->take();
    source_->set_details(test::wanted({.endpoints = true}));
    server_->await_watch("services", 2);  // the old one ends with its next event
    server_->await_watch("endpointslices", 2);
    CPPUNIT_ASSERT_EQUAL(1, server_->watching("nodes"));
    CPPUNIT_ASSERT(sink_->last_list_details(model::ResourceKind::endpoint_slice)->endpoints);
    CPPUNIT_ASSERT(sink_->last_list_details(model::ResourceKind::service)->endpoints);
    CPPUNIT_ASSERT_EQUAL(std::string("Service,EndpointSlice,Node"), kinds());
    server_->send_event("services");
    server_->await_ended("services", 2);
    source_->set_details(nullptr);
    server_->await_watch("endpointslices", 3);
    CPPUNIT_ASSERT(sink_->last_list_details(model::ResourceKind::endpoint_slice) == nullptr);
  }

  // A new reflector would list before its first watch, and the old one would not watch again after the event.
  void unchanged_details_do_not_make_it_list_again() {
    for (const bool endpoints : {false, true}) {
      make(false);
      if (endpoints) source_->set_details(test::wanted({.endpoints = true}));
      source_->start();
      for (const char* const plural : {"services", "endpointslices"}) server_->await_watch(plural);
      source_->set_details(test::wanted({.endpoints = endpoints}));
      for (const char* const plural : {"services", "endpointslices"}) {
        server_->send_event(plural);
        server_->await_ended(plural, 1);
        server_->await_watch(plural);
        CPPUNIT_ASSERT_EQUAL_MESSAGE(plural, 1, server_->lists(plural));
      }
    }
  }

  void details_can_be_set_before_start() {
    make(false);
    source_->set_details(test::wanted({.endpoints = true}));
    source_->start();
    server_->await_watch("services");
    server_->await_watch("endpointslices");
    CPPUNIT_ASSERT(sink_->last_list_details(model::ResourceKind::endpoint_slice)->endpoints);
  }

  void service_cidrs_can_be_enabled_before_start() {
    make(false);
    source_->set_service_cidrs(true);
    CPPUNIT_ASSERT_EQUAL(0, server_->watching("servicecidrs"));
    source_->start();
    server_->await_watch("servicecidrs");
    make(true);
    source_->set_service_cidrs(false);
    source_->start();
    server_->await_watch("services");
    server_->await_watch("endpointslices");
    CPPUNIT_ASSERT_EQUAL(std::string(), cidrs());
  }

  void stop_does_not_wait_for_a_cancelled_watch() {
    make(true);
    source_->start();
    server_->await_watch("servicecidrs");
    source_->set_service_cidrs(false);
    source_->stop();
    source_->set_service_cidrs(true);
    CPPUNIT_ASSERT_EQUAL(std::string("Service,EndpointSlice,Node"), kinds());
  }

  // The thread sanitizer judges it: stop() joins the threads of reflectors that set_service_cidrs() would destroy.
  void service_cidrs_can_be_set_during_stop() {
    for (int i = 0; i < 10; ++i) {
      make(true);
      source_->start();
      server_->await_watch("servicecidrs");
      std::thread setter([&] {
        for (int n = 0; n < 20; ++n) source_->set_service_cidrs(n % 2 == 1);
      });
      source_->stop();
      setter.join();
    }
  }

  void a_cancelled_request_fails_with_the_next_chunk() {
    // Each chunk is one event. The reflector is cancelled after the first.
    class Chunks final : public Transport {
     public:
      lib::Status send(const Request&, ResponseSink& sink) override {
        ++requests;
        if (auto status = sink.on_head({200, "", {}}); !status.ok()) return status;
        for (const char* name : {"a", "b"}) {
          last = sink.on_body(R"({"type":"ADDED","object":{"metadata":{"namespace":"demo","name":")" +
                              std::string(name) + R"(","resourceVersion":"1"},"spec":{}}})" + "\n");
          if (!last.ok()) return last;
          reflector->cancel();
        }
        return {};
      }
      void stop() override {}
      std::string server() const override { return "https://api"; }

      Reflector* reflector = nullptr;
      lib::Status last;
      int requests = 0;
    };
    Chunks chunks;
    test::EventRecorder events;
    FailureLog failures;
    StreamingSupport streaming(true, clock_);
    Reflector reflector(services_resource(), {chunks, events, clock_, [] { return 0.0; }, failures, streaming});
    chunks.reflector = &reflector;
    CPPUNIT_ASSERT(reflector.step() == 0ms);
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a"), events.take_text());
    CPPUNIT_ASSERT_EQUAL(ECANCELED, chunks.last.os_errno());
    CPPUNIT_ASSERT(reflector.step() == 0ms);
    CPPUNIT_ASSERT_EQUAL(1, chunks.requests);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), reflector.status().errors);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ApiSourceTest);

}  // namespace api_source_test
}  // namespace sluice::kube
