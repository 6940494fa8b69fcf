// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/inspect_command.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ctl/client.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::observe {
namespace inspect_command_test {

using namespace std::chrono_literals;
using nlohmann::json;

class InspectCommandTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(InspectCommandTest);
  CPPUNIT_TEST(rows_of_each_family_are_listed);
  CPPUNIT_TEST(the_backend_selects_a_service_and_the_daemon_a_namespace);
  CPPUNIT_TEST(a_backend_that_cannot_read_the_kernel_is_an_error);
  CPPUNIT_TEST(a_failure_affects_only_its_family);
  CPPUNIT_TEST(addresses_of_the_node_are_filled_in);
  CPPUNIT_TEST(the_address_selects_the_family);
  CPPUNIT_TEST(a_timeout_names_the_call);
  CPPUNIT_TEST(invalid_requests_are_rejected);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> folder_;
  std::optional<ControlServer> server_;

  static void describe(lib::Family family, const snapshot::DescribeRequest& request) {
    auto node = std::make_shared<snapshot::NodeFacts>();
    node->node_ip = *lib::IpAddress::parse(family == lib::Family::ipv4 ? "192.168.1.5" : "fd00::5");
    snapshot::Description out;
    out.node = node;
    request.done(std::move(out));
  }
  // Answers with rows that repeat the question.
  static void inspect(const sync::SyncLoop::Inspect& question) {
    CPPUNIT_ASSERT(question.wanted());
    const auto& request = question.request;
    plugin::InspectionOutcome out;
    for (const char* const name_space : {"shop", "other"}) {
      const plugin::InspectedKey key{name_space, "cart", "http", "tcp"};
      if (request.wants && !request.wants(key)) continue;
      if (request.kind == abi::InspectionKind::kInspectCounters) {
        out.counters.emplace_back().key = key;
      } else if (request.kind == abi::InspectionKind::kInspectDrift) {
        out.drift.push_back({key, abi::DriftKind::kDriftMissing, 1, "asked for '" + request.name + "'", "", ""});
      }
    }
    if (request.kind == abi::InspectionKind::kInspectExplanation) {
      out.steps.emplace_back().effect = "flags " + std::to_string(request.packet.flags) + ", protocol " +
                                        std::to_string(static_cast<int>(request.packet.protocol));
    }
    if (request.name == "shop/bad") {
      out = {};
      out.code = abi::Code::kKernel;
      out.message = "no";
    }
    question.done(std::move(out));
  }
  static ServiceView view(lib::Family family) {
    ServiceView out;
    out.family = family;
    out.backend = "b";
    out.inspect = inspect;
    out.describe = [family](const snapshot::DescribeRequest& request) { describe(family, request); };
    out.in_progress = [] { return std::string("apply"); };
    return out;
  }
  static std::vector<ServiceView> both() { return {view(lib::Family::ipv4), view(lib::Family::ipv6)}; }
  void serve(std::vector<ServiceView> views, std::chrono::milliseconds timeout = 1h) {
    server_.emplace(folder_->path("control.sock"));
    server_->on_slow("inspect", InspectCommand([views] { return views; }, timeout));
    const auto started = server_->start();
    CPPUNIT_ASSERT_MESSAGE(started.message(), started.ok());
  }
  std::string ask(json request) {
    request["command"] = "inspect";
    const auto answer = ctl::send_request(folder_->path(), request, 20s);
    return answer.ok() ? answer->dump() : answer.status().message();
  }
  json explained(json packet, json more = json::object()) {
    more["kind"] = "explanation";
    more["packet"] = std::move(packet);
    return json::parse(ask(std::move(more)))["families"];
  }

 public:
  void setUp() override { folder_.emplace(); }
  void tearDown() override {
    server_.reset();
    folder_.reset();
  }

  void rows_of_each_family_are_listed() {
    serve(both());
    const json families = json::parse(ask({{"kind", "counters"}}))["families"];
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, families.size());
    CPPUNIT_ASSERT_EQUAL(std::string(R"("IPv6" "b" 2)"), families[1]["family"].dump() + " " +
                                                             families[1]["backend"].dump() + " " +
                                                             std::to_string(families[1]["rows"].size()));
    CPPUNIT_ASSERT(!families[0].contains("packet"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, json::parse(ask({{"kind", "drift"}, {"family", 6}}))["families"].size());
  }

  void the_backend_selects_a_service_and_the_daemon_a_namespace() {
    serve({view(lib::Family::ipv4)});
    const std::string service = ask({{"kind", "drift"}, {"query", "shop/cart:http"}});
    CPPUNIT_ASSERT_MESSAGE(service, service.find("asked for 'shop/cart:http'") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(service, service.find("other") == std::string::npos);
    const std::string name_space = ask({{"kind", "drift"}, {"query", "other"}});
    CPPUNIT_ASSERT_MESSAGE(name_space, name_space.find("asked for ''") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(name_space, name_space.find("shop") == std::string::npos);
  }

  void a_backend_that_cannot_read_the_kernel_is_an_error() {
    auto views = both();
    views[0].inspect = nullptr;
    views[1].inspect = nullptr;
    serve(views);
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"families":[{"error":"backend b cannot read the kernel","family":"IPv4"},)"
                                     R"({"error":"backend b cannot read the kernel","family":"IPv6"}]})"),
                         ask({{"kind", "counters"}}));
  }

  void a_failure_affects_only_its_family() {
    auto views = both();
    views[1].inspect = [](sync::SyncLoop::Inspect question) {
      question.request.name = "shop/bad";
      inspect(question);
    };
    serve(std::move(views));
    const json families = json::parse(ask({{"kind", "drift"}}))["families"];
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, families[0]["rows"].size());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"error":"backend b: inspect: no","family":"IPv6"})"), families[1].dump());
  }

  void addresses_of_the_node_are_filled_in() {
    serve(both());
    const json families = explained({{"port", 30080}, {"protocol", "udp"}}, {{"family", 4}});
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"address":"192.168.1.5","client":"192.168.1.5","from":"node","port":30080,)"
                                     R"("protocol":"udp"})"),
                         families[0]["packet"].dump());
    CPPUNIT_ASSERT_EQUAL(std::string("flags 1, protocol 17"), families[0]["rows"][0]["effect"].get<std::string>());
  }

  void the_address_selects_the_family() {
    serve(both());
    const json families = explained({{"address", "fd00::41"}, {"port", 80}, {"from", "pod"}, {"client", "fd00::7"}});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, families.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"address":"fd00::41","client":"fd00::7","from":"pod","port":80,"protocol":"tcp"})"),
        families[0]["packet"].dump());
    CPPUNIT_ASSERT_EQUAL(std::string("flags 2, protocol 6"), families[0]["rows"][0]["effect"].get<std::string>());
    CPPUNIT_ASSERT_EQUAL(std::string("flags 0, protocol 6"), explained({{"address", "10.0.0.1"},
                                                                        {"port", 80},
                                                                        {"from", "outside"},
                                                                        {"client", "10.9.9.9"}})[0]["rows"][0]["effect"]
                                                                 .get<std::string>());
  }

  void a_timeout_names_the_call() {
    auto views = both();
    views[1].inspect = [](const sync::SyncLoop::Inspect&) {};
    serve(std::move(views), 1ms);
    CPPUNIT_ASSERT(
        ask({{"kind", "counters"}}).find("no answer within 0 s: the backend is busy with apply; try again\"") !=
        std::string::npos);
  }

  void invalid_requests_are_rejected() {
    serve({view(lib::Family::ipv4)});
    const std::string failed = "sluiced says: inspect failed: ";
    const json packet = {{"address", "10.0.0.1"}, {"port", 80}};
    const auto with = [&](const char* key, const json& value) {
      json out = packet;
      out[key] = value;
      return ask({{"kind", "explanation"}, {"packet", out}});
    };
    CPPUNIT_ASSERT_EQUAL(failed + "kind must be counters, drift or explanation", ask({{"kind", "frontends"}}));
    CPPUNIT_ASSERT_EQUAL(failed + "kind must be a string", ask({{"kind", 1}}));
    CPPUNIT_ASSERT_EQUAL(failed +
                             "drift: ':30080' does not select by name; allowed: NAMESPACE/NAME, "
                             "NAMESPACE/NAME:PORT, NAMESPACE or NAME",
                         ask({{"kind", "drift"}, {"query", ":30080"}}));
    CPPUNIT_ASSERT_EQUAL(failed + "an explanation needs a packet", ask({{"kind", "explanation"}}));
    CPPUNIT_ASSERT_EQUAL(failed + "packet.address must be an IP address", with("address", "10.0.0"));
    CPPUNIT_ASSERT_EQUAL(failed + "packet.port must be a number", with("port", "80"));
    CPPUNIT_ASSERT_EQUAL(failed + "packet.port must be 1 to 65535", with("port", 65536));
    CPPUNIT_ASSERT_EQUAL(failed + "packet.protocol must be tcp, udp or sctp", with("protocol", "icmp"));
    CPPUNIT_ASSERT_EQUAL(failed + "packet.from must be node, pod or outside", with("from", "moon"));
    CPPUNIT_ASSERT_EQUAL(failed + "packet.client is missing: the address of the client", with("from", "pod"));
    CPPUNIT_ASSERT_EQUAL(failed + "packet.client and packet.address must be of one family", with("client", "fd00::1"));
    CPPUNIT_ASSERT_EQUAL(failed + "IPv6 is not served on this node", with("address", "fd00::1"));
    CPPUNIT_ASSERT_EQUAL(
        failed + "packet and family must be of one family",
        ask({{"kind", "explanation"}, {"family", 4}, {"packet", {{"address", "fd00::1"}, {"port", 80}}}}));
    CPPUNIT_ASSERT_EQUAL(failed + "packet.address is missing; for an address of this node, family is needed",
                         ask({{"kind", "explanation"}, {"packet", {{"port", 80}}}}));
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(InspectCommandTest);

}  // namespace inspect_command_test
}  // namespace sluice::observe
