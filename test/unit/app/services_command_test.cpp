// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The command services, over a real socket, with families whose threads are the test's.
#include "core/app/services_command.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <future>
#include <optional>

#include "core/ctl/client.hpp"
#include "test/unit/app/temporary_folder.hpp"

namespace sluice::app {
namespace services_command_test {

using namespace std::chrono_literals;
using nlohmann::json;

class ServicesCommandTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServicesCommandTest);
  CPPUNIT_TEST(a_backend_without_the_extension_is_answered_for);
  CPPUNIT_TEST(a_backend_with_the_extension_is_asked);
  CPPUNIT_TEST(told_is_chosen_by_request);
  CPPUNIT_TEST(a_failure_is_of_its_family_alone);
  CPPUNIT_TEST(a_busy_backend_is_named);
  CPPUNIT_TEST(one_family_alone);
  CPPUNIT_TEST(wrong_requests_are_refused);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> folder_;
  std::optional<serve::ControlServer> server_;

  static std::vector<snapshot::ServicePortPtr> told() {
    store::ServicePort port;
    port.key = {{base::Symbol("shop"), "cart"}, base::Symbol("http"), model::Protocol::tcp};
    port.frontends = {{store::FrontendKind::node_port, {}, 30080}};
    return {std::make_shared<const store::ServicePort>(port)};
  }
  static ServiceView view(base::Family family) {
    ServiceView out;
    out.family = family;
    out.backend = "b";
    out.told = [](snapshot::StoreThread::ToldDone done) { done(told(), 7); };
    out.in_progress = [] { return std::string("apply"); };
    return out;
  }
  // IPv4 reads the kernel, and fails when asked for "shop/bad"; IPv6 cannot.
  static std::vector<ServiceView> both() {
    std::vector<ServiceView> out{view(base::Family::ipv4), view(base::Family::ipv6)};
    out[0].inspect = [](sync::SyncLoop::Inspect question) {
      CPPUNIT_ASSERT(question.wanted());
      plugin::InspectionOutcome seen;
      seen.lines = {"asked for " + question.name};
      if (question.name == "shop/bad") {
        seen = {};
        seen.code = abi::Code::kKernel;
        seen.message = "no";
      }
      question.done(std::move(seen));
    };
    return out;
  }
  void serve(std::vector<ServiceView> views, std::chrono::milliseconds patience = 1h) {
    server_.emplace(folder_->path("control.sock"));
    server_->on_slow("services", ServicesCommand([views] { return views; }, patience));
    const auto started = server_->start();
    CPPUNIT_ASSERT_MESSAGE(started.message(), started.ok());
  }
  std::string ask(json request) {
    request["command"] = "services";
    const auto answer = ctl::ask(folder_->path(), request, 20s);
    return answer.ok() ? answer->dump() : answer.status().message();
  }

 public:
  void setUp() override { folder_.emplace(); }
  void tearDown() override {
    server_.reset();
    folder_.reset();
  }

  void a_backend_without_the_extension_is_answered_for() {
    serve({view(base::Family::ipv4)});
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"families":[{"backend":"b","family":"IPv4","generation":7,)"
                    R"("lines":["shop/cart:http :30080/tcp -> rejected, no endpoints"],"view":"told"}]})"),
        ask(json::object()));
    CPPUNIT_ASSERT(ask({{"name", "shop/other"}}).find(R"("lines":[])") != std::string::npos);
  }

  void a_backend_with_the_extension_is_asked() {
    serve(both());
    const std::string answer = ask({{"name", "shop/cart:http"}});
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"families":[{"backend":"b","family":"IPv4","lines":["asked for shop/cart:http"],)"
                    R"("view":"kernel"},{"backend":"b","family":"IPv6","generation":7,)"
                    R"("lines":["shop/cart:http :30080/tcp -> rejected, no endpoints"],"view":"told"}]})"),
        answer);
  }

  void told_is_chosen_by_request() {
    serve(both());
    CPPUNIT_ASSERT(ask({{"told", true}}).find("kernel") == std::string::npos);
    CPPUNIT_ASSERT(ask({{"told", false}}).find("kernel") != std::string::npos);
  }

  void a_failure_is_of_its_family_alone() {
    serve(both());
    const std::string answer = ask({{"name", "shop/bad"}});
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"families":[{"error":"backend b: services: no","family":"IPv4"},)"
                                     R"({"backend":"b","family":"IPv6","generation":7,"lines":[],"view":"told"}]})"),
                         answer);
  }

  void a_busy_backend_is_named() {
    auto views = both();
    auto kept = std::make_shared<std::promise<sync::SyncLoop::Inspect>>();
    views[0].inspect = [kept](sync::SyncLoop::Inspect question) { kept->set_value(std::move(question)); };
    serve(std::move(views), 1ms);
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"({"families":[{"error":"no answer within 0 s: the backend is busy with apply; try again, or ask for )"
            R"x(what the backend has been told (--told)","family":"IPv4"},{"backend":"b","family":"IPv6",)x"
            R"("generation":7,"lines":[],"view":"told"}]})"),
        ask({{"name", "shop/none"}}));
    const auto question = kept->get_future().get();
    CPPUNIT_ASSERT(!question.wanted());
    question.done({});  // nobody listens
  }

  void one_family_alone() {
    serve(both());
    CPPUNIT_ASSERT(ask({{"family", 6}}).find("IPv4") == std::string::npos);
    CPPUNIT_ASSERT(ask({{"family", 4}}).find("IPv6") == std::string::npos);
    server_.reset();
    serve({view(base::Family::ipv4)});
    CPPUNIT_ASSERT_EQUAL(std::string("sluiced says: services failed: IPv6 is not served on this node"),
                         ask({{"family", 6}}));
  }

  void wrong_requests_are_refused() {
    serve(both());
    CPPUNIT_ASSERT_EQUAL(std::string("sluiced says: services failed: name is no text"), ask({{"name", 1}}));
    CPPUNIT_ASSERT_EQUAL(std::string("sluiced says: services failed: told is neither true nor false"),
                         ask({{"told", 1}}));
    for (const json& odd : {json(5), json("4"), json(nullptr), json(4.5)}) {
      CPPUNIT_ASSERT_EQUAL(std::string("sluiced says: services failed: family is neither 4 nor 6"),
                           ask({{"family", odd}}));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServicesCommandTest);

}  // namespace services_command_test
}  // namespace sluice::app
