// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The answer to "services" for one family: pages for users, documents for programs.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/observe/services/document.hpp"

namespace sluice::observe {
namespace document_test {

using nlohmann::json;
using snapshot::Progress;
using store::FrontendKind;
using store::Use;

class ServicesDocumentTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServicesDocumentTest);
  CPPUNIT_TEST(a_page_shows_the_kernel);
  CPPUNIT_TEST(a_page_without_the_kernel);
  CPPUNIT_TEST(differences_follow_the_line);
  CPPUNIT_TEST(pending_changes_are_reported);
  CPPUNIT_TEST(a_query_shows_why_endpoints_are_used);
  CPPUNIT_TEST(large_services_are_counted);
  CPPUNIT_TEST(services_not_proxied_and_unwanted_lines);
  CPPUNIT_TEST(a_document_has_everything);
  CPPUNIT_TEST(a_document_has_the_rows_of_the_backend);
  CPPUNIT_TEST(a_document_has_a_limit);
  CPPUNIT_TEST_SUITE_END();

  snapshot::Description description_;
  std::vector<std::string> kernel_;
  std::vector<plugin::InspectedFrontend> rows_;

  static lib::IpAddress ip(const std::string& text) { return lib::IpAddress::parse(text).value(); }
  static store::ExplainedEndpoint endpoint(const std::string& address, Use cluster, Use local = Use::not_asked) {
    store::ExplainedEndpoint out;
    out.endpoint.address = ip(address).bytes();
    out.endpoint.port = 8080;
    out.endpoint.ready = cluster != Use::not_ready;
    out.endpoint.in_cluster = cluster == Use::used;
    out.endpoint.in_local = local == Use::used;
    out.node = base::Symbol("m");
    out.cluster = cluster;
    out.local = local;
    return out;
  }
  // shop/NAME:http 172.30.0.41:80/tcp and node port 30080.
  snapshot::DescribedPort& add(const std::string& name, const std::vector<store::ExplainedEndpoint>& endpoints) {
    snapshot::DescribedPort out;
    out.explained.port.key = {{base::Symbol("shop"), name}, base::Symbol("http"), model::Protocol::tcp};
    out.explained.port.frontends = {{FrontendKind::cluster_ip, ip("172.30.0.41"), 80}, {FrontendKind::node_port, {}, 30080}};
    out.explained.endpoints = endpoints;
    for (const auto& one : endpoints) {
      if (one.endpoint.in_cluster || one.endpoint.in_local) out.explained.port.endpoints.push_back(one.endpoint);
    }
    description_.ports.push_back(out);
    return description_.ports.back();
  }
  std::string page(bool kernel = true, const std::string& query = "") {
    const std::string backend = "b";
    const json answer = services_page({lib::Family::ipv4, backend, description_, kernel ? &kernel_ : nullptr},
                                      *ServiceQuery::parse(query));
    CPPUNIT_ASSERT_EQUAL(std::string(kernel ? "kernel" : "given"), answer["view"].get<std::string>());
    std::string out;
    for (const auto& line : answer["lines"]) out += line.get<std::string>() + "\n";
    return out;
  }
  json document(bool kernel = true) {
    const std::string backend = "b";
    return services_document({lib::Family::ipv4, backend, description_, kernel ? &kernel_ : nullptr, &rows_},
                             *ServiceQuery::parse(""));
  }

 public:
  void setUp() override {
    description_ = {};
    description_.generation = 7;
    kernel_.clear();
    rows_.clear();
    auto node = std::make_shared<snapshot::NodeFacts>();
    node->node_ports_match_all = false;
    node->node_port_addresses = {ip("192.0.2.7")};
    description_.node = node;
  }

  void a_page_shows_the_kernel() {
    add("cart", {endpoint("10.1.0.1", Use::used)});
    kernel_ = {"shop/cart:http 172.30.0.41:80/tcp -> 10.1.0.1:8080",
               "shop/cart:http :30080/tcp at 192.0.2.7 masqueraded -> 10.1.0.1:8080"};
    CPPUNIT_ASSERT_EQUAL(kernel_[0] + "\n" + kernel_[1] + "\n", page());
  }

  void a_page_without_the_kernel() {
    add("cart", {endpoint("10.1.0.1", Use::used)});
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http 172.30.0.41:80/tcp -> 10.1.0.1:8080\n"
                                     "shop/cart:http :30080/tcp at 192.0.2.7 masqueraded -> 10.1.0.1:8080\n"),
                         page(false));
  }

  void differences_follow_the_line() {
    add("cart", {endpoint("10.1.0.1", Use::used)});
    kernel_ = {"shop/cart:http 172.30.0.41:80/tcp -> 10.1.0.9:8080"};
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http 172.30.0.41:80/tcp -> 10.1.0.9:8080\n"
                                     "  the backend was given: shop/cart:http 172.30.0.41:80/tcp -> 10.1.0.1:8080\n"
                                     "shop/cart:http :30080/tcp is not in the kernel\n"
                                     "  the backend was given: shop/cart:http :30080/tcp at 192.0.2.7 masqueraded -> "
                                     "10.1.0.1:8080\n"),
                         page());
  }

  void pending_changes_are_reported() {
    for (const auto& [progress, phrase] :
         std::vector<std::pair<Progress, std::string>>{{Progress::change_pending, "changes at the next sync"},
                                                       {Progress::addition_pending, "is added at the next sync"},
                                                       {Progress::removal_pending, "is removed at the next sync"}}) {
      description_.ports.clear();
      add("cart", {endpoint("10.1.0.1", Use::used)}).progress = progress;
      const std::string text = page();
      CPPUNIT_ASSERT_MESSAGE(text, text.ends_with("\n  shop/cart:http " + phrase + "\n"));
      // A pending change is not reported as a difference.
      CPPUNIT_ASSERT_MESSAGE(text, text.find("was given") == std::string::npos);
    }
  }

  void a_query_shows_why_endpoints_are_used() {
    add("cart",
        {endpoint("10.1.0.1", Use::used), endpoint("10.1.0.2", Use::not_ready),
         endpoint("10.1.0.3", Use::used, Use::not_on_this_node), endpoint("10.1.0.4", Use::not_asked, Use::used)});
    CPPUNIT_ASSERT(page(false).find("endpoint 10.1.0.1") == std::string::npos);
    const std::string text = page(false, "shop/cart");
    CPPUNIT_ASSERT_MESSAGE(
        text, text.ends_with("  endpoint 10.1.0.2:8080 on node m: not used: not ready\n"
                             "  endpoint 10.1.0.1:8080 on node m: used\n"
                             "  endpoint 10.1.0.3:8080 on node m: policy Cluster: used; policy Local: not used: "
                             "not on this node\n"
                             "  endpoint 10.1.0.4:8080 on node m: used\n"));
    for (int i = 0; i < 10; ++i) add("more" + std::to_string(i), {});
    CPPUNIT_ASSERT(page(false, "shop").find("  endpoint") == std::string::npos);
  }

  void large_services_are_counted() {
    std::vector<store::ExplainedEndpoint> many;
    for (int i = 1; i <= 100; ++i)
      many.push_back(endpoint("10.1.0." + std::to_string(i), i == 100 ? Use::not_ready : Use::used));
    add("cart", many);
    const std::string text = page(false, "shop/cart");
    CPPUNIT_ASSERT_MESSAGE(
        text,
        text.starts_with("shop/cart:http 172.30.0.41:80/tcp -> 10.1.0.1:8080, 10.1.0.2:8080, 10.1.0.3:8080, "
                         "10.1.0.4:8080, 10.1.0.5:8080, 10.1.0.6:8080, 10.1.0.7:8080, 10.1.0.8:8080 and 91 more\n"));
    CPPUNIT_ASSERT_MESSAGE(text, text.find("10.1.0.100:8080 on node m: not used") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(text, text.ends_with("  and 80 endpoints more; all are in -o json\n"));
    CPPUNIT_ASSERT_EQUAL(std::size_t(100), document(false)["service_ports"][0]["endpoints"].size());
  }

  void services_not_proxied_and_unwanted_lines() {
    description_.not_proxied = {{{base::Symbol("shop"), "dns"}, "it is headless"}};
    kernel_ = {"not wanted by any Service: 172.30.0.99:80/tcp -> 10.1.0.1:80"};
    CPPUNIT_ASSERT_EQUAL("shop/dns is not proxied: it is headless\n" + kernel_[0] + "\n", page());
    CPPUNIT_ASSERT_EQUAL(std::string("shop/dns is not proxied: it is headless\n"), page(true, "shop"));
    CPPUNIT_ASSERT_EQUAL(std::string(R"([{"namespace":"shop","reason":"it is headless","service":"dns"}])"),
                         document()["not_proxied"].dump());
    CPPUNIT_ASSERT_EQUAL(json(kernel_).dump(), document()["unwanted"].dump());
    CPPUNIT_ASSERT_EQUAL(std::string("[]"), document(false)["unwanted"].dump());
  }

  void a_document_has_everything() {
    auto& described = add("cart", {endpoint("10.1.0.1", Use::used, Use::not_on_this_node)});
    described.explained.port.source_ranges = {lib::IpPrefix::parse("203.0.113.0/25").value()};
    described.explained.port.external_local = true;
    described.explained.port.has_any_endpoint = true;
    described.explained.port.affinity_seconds = 60;
    described.explained.endpoints[0].zone_hints = model::pack_names({"a", "b"});
    kernel_ = {"shop/cart:http 172.30.0.41:80/tcp sticky for 60 s -> 10.1.0.1:8080"};
    CPPUNIT_ASSERT_EQUAL(
        json::parse(R"({"backend":"b","family":"IPv4","generation":7,"not_proxied":[],"unwanted":[],"unwanted_frontends":[],"view":"kernel",
        "service_ports":[{"namespace":"shop","service":"cart","port_name":"http","protocol":"tcp","progress":"Given","not_served":"",
          "internal_traffic_policy":"Cluster","external_traffic_policy":"Local","session_affinity_seconds":60,
          "health_check_node_port":0,"source_ranges":["203.0.113.0/25"],
          "frontends":[
            {"kind":"ClusterIP","addresses":["172.30.0.41"],"every_address":false,"port":80,"policy":"Cluster",
             "without_endpoints":"Reject","kernel":"AsGiven",
             "kernel_line":"shop/cart:http 172.30.0.41:80/tcp sticky for 60 s -> 10.1.0.1:8080","kernel_frontend":null},
            {"kind":"NodePort","addresses":["192.0.2.7"],"every_address":false,"port":30080,"policy":"Local",
             "without_endpoints":"Drop","kernel":"Missing","kernel_line":null,"kernel_frontend":null}],
          "endpoints":[{"address":"10.1.0.1","port":8080,"node":"m","on_this_node":false,"ready":true,"serving":false,
             "terminating":false,"zone_hints":["a","b"],"node_hints":[],"cluster_list":"Used","local_list":"NotOnThisNode"}]}]})")
            .dump(2),
        document().dump(2));
    const json frontend = document(false)["service_ports"][0]["frontends"][0];
    CPPUNIT_ASSERT(frontend["kernel"] == "NotRead" && frontend["kernel_line"].is_null());
  }

  void a_document_has_the_rows_of_the_backend() {
    add("cart", {endpoint("10.1.0.1", Use::used)});
    kernel_ = {"not wanted by any Service: chain KUBE-SVC-X",
               "shop/cart:http :30080/tcp at 192.0.2.7 sticky for 60 s masqueraded -> 10.1.0.1:8080, KUBE-SEP-X (drains) "
               "(no mark); else dropped; only for 10.0.0.0/8"};
    rows_.resize(2);
    rows_[0].object = "chain KUBE-SVC-X";
    plugin::InspectedFrontend& row = rows_[1];
    row.protocol = "tcp";
    row.port = 30080;
    row.flags = abi::kInspectedNodePort | abi::kInspectedMasqueraded | abi::kInspectedDropped | abi::kInspectedRestricted;
    row.addresses = {"192.0.2.7"};
    row.affinity_seconds = 60;
    row.targets.targets = {{"10.1.0.1", 8080, 0, {}, {}}, {{}, 0, abi::kTargetDraining, "KUBE-SEP-X", "drains"}};
    row.otherwise = "dropped";
    row.source_ranges = {"10.0.0.0/8"};
    row.remarks = "no mark";
    const json found = document();
    CPPUNIT_ASSERT(found["service_ports"][0]["frontends"][0]["kernel_frontend"].is_null());
    CPPUNIT_ASSERT_EQUAL(
        json::parse(R"({"node_port":true,"addresses":["192.0.2.7"],"every_address":false,"port":30080,"protocol":"tcp",
          "session_affinity_seconds":60,"masqueraded":true,
          "targets":{"endpoints":[{"address":"10.1.0.1","port":8080,"object":"","draining":false,"remarks":""},
                                  {"address":"","port":0,"object":"KUBE-SEP-X","draining":true,"remarks":"drains"}],
                     "instead":"","remarks":""},
          "targets_from_this_node":{"endpoints":[],"instead":"","remarks":""},
          "without_target":"Drop","without_target_text":"dropped","restricted":true,"source_ranges":["10.0.0.0/8"],
          "source_ranges_text":"","source_ranges_remarks":"","remarks":"no mark"})")
            .dump(2),
        found["service_ports"][0]["frontends"][1]["kernel_frontend"].dump(2));
    CPPUNIT_ASSERT_EQUAL(std::string(R"([{"object":"chain KUBE-SVC-X"}])"), found["unwanted_frontends"].dump());
  }

  void a_document_has_a_limit() {
    add("cart", std::vector<store::ExplainedEndpoint>(kMaxDocumentEndpoints, endpoint("10.1.0.1", Use::not_ready)));
    CPPUNIT_ASSERT(document().contains("service_ports"));
    add("more", {endpoint("10.1.0.1", Use::used)});
    CPPUNIT_ASSERT_EQUAL(
        std::string("50001 endpoints are too many for one document, which has at most 50000; ask for a "
                    "namespace or for one Service"),
        document()["error"].get<std::string>());
    CPPUNIT_ASSERT(!document().contains("service_ports"));
    CPPUNIT_ASSERT(page(false).find("shop/more:http") != std::string::npos);  // pages count instead
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServicesDocumentTest);

}  // namespace document_test
}  // namespace sluice::observe
