// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The command "services" over a real socket; the test takes the place of the threads of the families.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <future>
#include <optional>

#include "core/ctl/client.hpp"
#include "core/observe/services/command.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::observe {
namespace command_test {

using namespace std::chrono_literals;
using nlohmann::json;

class ServicesCommandTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServicesCommandTest);
  CPPUNIT_TEST(without_inspection_the_delivered_state_is_shown);
  CPPUNIT_TEST(with_inspection_the_kernel_state_is_shown);
  CPPUNIT_TEST(the_kernel_is_not_read_on_request);
  CPPUNIT_TEST(objects_on_request);
  CPPUNIT_TEST(a_failure_affects_only_its_family);
  CPPUNIT_TEST(a_timeout_of_a_busy_backend_names_the_call);
  CPPUNIT_TEST(a_timeout_of_a_busy_store_is_an_error);
  CPPUNIT_TEST(one_family_on_request);
  CPPUNIT_TEST(invalid_requests_are_rejected);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> folder_;
  std::optional<ControlServer> server_;

  // One service port, shop/cart:http with node port 30080, if the request wants it.
  static void describe(const snapshot::DescribeRequest& request) {
    snapshot::DescribedPort described;
    described.explained.port.key = {{base::Symbol("shop"), "cart"}, base::Symbol("http"), model::Protocol::tcp};
    described.explained.port.frontends = {{store::FrontendKind::node_port, {}, 30080}};
    CPPUNIT_ASSERT(request.wanted());
    snapshot::Description out;
    out.generation = 7;
    if (request.may_want(described.explained.port.key.service) && request.wants(described.explained, nullptr))
      out.ports = {described};
    request.done(std::move(out));
  }
  static ServiceView view(lib::Family family) {
    ServiceView out;
    out.family = family;
    out.backend = "b";
    out.describe = describe;
    out.in_progress = [] { return std::string("apply"); };
    return out;
  }
  // IPv4 reads the kernel, and fails when asked for "shop/bad"; IPv6 cannot.
  static std::vector<ServiceView> both() {
    std::vector<ServiceView> out{view(lib::Family::ipv4), view(lib::Family::ipv6)};
    out[0].inspect = [](sync::SyncLoop::Inspect question) {
      CPPUNIT_ASSERT(question.wanted());
      plugin::InspectionOutcome outcome;
      outcome.lines = {"shop/cart:http :30080/tcp asked for '" + question.request.name + "'"};
      if (question.request.name == "shop/bad") {
        outcome = {};
        outcome.code = abi::Code::kKernel;
        outcome.message = "no";
      }
      question.done(std::move(outcome));
    };
    return out;
  }
  void serve(std::vector<ServiceView> views, std::chrono::milliseconds timeout = 1h) {
    server_.emplace(folder_->path("control.sock"));
    server_->on_slow("services", ServicesCommand([views] { return views; }, timeout));
    const auto started = server_->start();
    CPPUNIT_ASSERT_MESSAGE(started.message(), started.ok());
  }
  std::string ask(json request) {
    request["command"] = "services";
    const auto answer = ctl::send_request(folder_->path(), request, 20s);
    return answer.ok() ? answer->dump() : answer.status().message();
  }

 public:
  void setUp() override { folder_.emplace(); }
  void tearDown() override {
    server_.reset();
    folder_.reset();
  }

  void without_inspection_the_delivered_state_is_shown() {
    serve({view(lib::Family::ipv4)});
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"families":[{"backend":"b","family":"IPv4","generation":7,)"
                    R"("lines":["shop/cart:http :30080/tcp at no address -> no endpoints"],"view":"given"}]})"),
        ask(json::object()));
    CPPUNIT_ASSERT(ask({{"query", "shop/other"}}).find(R"("lines":[])") != std::string::npos);
  }

  void with_inspection_the_kernel_state_is_shown() {
    serve(both());
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"({"families":[{"backend":"b","family":"IPv4","generation":7,"lines":["shop/cart:http :30080/tcp asked for )"
            R"('shop/cart:http'"],"view":"kernel"},{"backend":"b","family":"IPv6","generation":7,)"
            R"("lines":["shop/cart:http :30080/tcp at no address -> no endpoints"],"view":"given"}]})"),
        ask({{"query", "shop/cart:http"}}));
    // Queries other than names are matched by the daemon alone.
    CPPUNIT_ASSERT(ask({{"query", ":30080"}}).find("asked for ''") != std::string::npos);
  }

  void the_kernel_is_not_read_on_request() {
    serve(both());
    CPPUNIT_ASSERT(ask({{"kernel", false}}).find("asked for") == std::string::npos);
    CPPUNIT_ASSERT(ask({{"kernel", true}}).find("asked for") != std::string::npos);
  }

  void objects_on_request() {
    serve(both());
    const auto answer = json::parse(ask({{"objects", true}, {"family", 4}}));
    CPPUNIT_ASSERT_EQUAL(std::string("cart"), answer["families"][0]["service_ports"][0]["service"].get<std::string>());
    CPPUNIT_ASSERT(!answer["families"][0].contains("lines"));
    CPPUNIT_ASSERT(ask({{"objects", false}}).find("service_ports") == std::string::npos);
  }

  void a_failure_affects_only_its_family() {
    serve(both());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"families":[{"error":"backend b: services: no; use --no-kernel to show )"
                                     R"(the delivered state","family":"IPv4"},)"
                                     R"({"backend":"b","family":"IPv6","generation":7,"lines":[],"view":"given"}]})"),
                         ask({{"query", "shop/bad"}}));
  }

  void a_timeout_of_a_busy_backend_names_the_call() {
    auto views = both();
    auto kept = std::make_shared<std::promise<sync::SyncLoop::Inspect>>();
    views[0].inspect = [kept](sync::SyncLoop::Inspect question) { kept->set_value(std::move(question)); };
    serve(std::move(views), 1ms);
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"families":[{"error":"no answer within 0 s: the backend is busy with apply; try again, or use )"
                    R"x(--no-kernel to show the delivered state","family":"IPv4"},{"backend":"b","family":"IPv6",)x"
                    R"("generation":7,"lines":[],"view":"given"}]})"),
        ask({{"query", "shop/none"}}));
    const auto question = kept->get_future().get();
    CPPUNIT_ASSERT(!question.wanted());
    question.done({});  // the client has its answer
  }

  void a_timeout_of_a_busy_store_is_an_error() {
    auto views = both();
    views[1].describe = [](const snapshot::DescribeRequest&) {};
    serve(std::move(views), 1ms);
    const std::string answer = ask({{"query", "shop/cart"}});
    CPPUNIT_ASSERT_MESSAGE(answer, answer.find("asked for 'shop/cart'") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(
        answer, answer.find(R"({"error":"no answer within 0 s: sluiced is busy; try again","family":"IPv6"})") !=
                    std::string::npos);
  }

  void one_family_on_request() {
    serve(both());
    CPPUNIT_ASSERT(ask({{"family", 6}}).find("IPv4") == std::string::npos);
    CPPUNIT_ASSERT(ask({{"family", 4}}).find("IPv6") == std::string::npos);
    server_.reset();
    serve({view(lib::Family::ipv4)});
    CPPUNIT_ASSERT_EQUAL(std::string("sluiced says: services failed: IPv6 is not served on this node"),
                         ask({{"family", 6}}));
  }

  void invalid_requests_are_rejected() {
    serve(both());
    const std::string failed = "sluiced says: services failed: ";
    CPPUNIT_ASSERT_EQUAL(failed + "query must be a string", ask({{"query", 1}}));
    CPPUNIT_ASSERT_EQUAL(failed + "kernel must be true or false", ask({{"kernel", 1}}));
    CPPUNIT_ASSERT_EQUAL(failed + "objects must be true or false", ask({{"objects", "yes"}}));
    const std::string odd_query = ask({{"query", "a/b/c"}});
    CPPUNIT_ASSERT_MESSAGE(odd_query,
                           odd_query.starts_with(failed + "invalid query 'a/b/c': use NAMESPACE/NAME[:PORT]"));
    for (const json& odd : {json(5), json("4"), json(nullptr), json(4.5)}) {
      CPPUNIT_ASSERT_EQUAL(std::string("sluiced says: services failed: family must be 4 or 6"), ask({{"family", odd}}));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServicesCommandTest);

}  // namespace command_test
}  // namespace sluice::observe
