// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The paths of the health and the metrics address, on real sockets.
#include "core/observe/pages/http_pages.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "test/unit/observe/http_peer.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::observe {
namespace http_pages_test {

using namespace std::chrono_literals;
using test::address;
using test::ask;
using test::holds;
using test::status;

class HttpPagesTest : public CppUnit::TestFixture, public PageSources {
  CPPUNIT_TEST_SUITE(HttpPagesTest);
  CPPUNIT_TEST(health_paths);
  CPPUNIT_TEST(node_is_eligible);
  CPPUNIT_TEST(late_family);
  CPPUNIT_TEST(metrics_paths);
  CPPUNIT_TEST(slis_after_a_ping);
  CPPUNIT_TEST(gates_and_profiling_are_off);
  CPPUNIT_TEST(verbosity);
  CPPUNIT_TEST(without_an_address_there_is_no_server);
  CPPUNIT_TEST(taken_address_is_no_error);
  CPPUNIT_TEST(taken_address_is_an_error_with_bind_address_hard_fail);
  CPPUNIT_TEST(pages_show_the_running_configuration);
  CPPUNIT_TEST(addresses_can_change);
  CPPUNIT_TEST(new_address_may_overlap_the_old_one);
  CPPUNIT_TEST(servers_may_swap_addresses);
  CPPUNIT_TEST(a_bind_failure_keeps_both_addresses);
  CPPUNIT_TEST(abandon_keeps_both_addresses);
  CPPUNIT_TEST(servers_can_be_turned_off_and_on);
  CPPUNIT_TEST_SUITE_END();

  config::Settings settings_;
  std::optional<lib::Clock::Duration> pending_;
  std::vector<std::string> calls_;
  std::unique_ptr<test::CapturedLog> log_;
  std::unique_ptr<config::SettingsCell> cell_;
  std::unique_ptr<HttpPages> pages_;
  std::uint16_t health_ = 0;
  std::uint16_t metrics_ = 0;

 public:
  void setUp() override {
    log_ = std::make_unique<test::CapturedLog>();
    {
      const test::HeldPort health;  // both held at once, or the kernel may give one port twice
      const test::HeldPort metrics;
      health_ = health.port;
      metrics_ = metrics.port;
    }
    settings_.backend = "iptables";
    settings_.serve.healthz = lib::SocketAddress{address("127.0.0.1"), health_};
    settings_.serve.metrics = lib::SocketAddress{address("127.0.0.1"), metrics_};
    settings_.serve.profiling = true;
    settings_.kube_proxy_configuration = R"({"kind":"KubeProxyConfiguration"})";
    settings_.flags = {{"a", "1"}, {"b", ""}};
  }
  void tearDown() override {
    pages_.reset();
    log_.reset();
  }

 private:
  // PageSources
  std::vector<FamilyHealth> families() override {
    return {{lib::Family::ipv4, std::chrono::system_clock::now(), pending_}};
  }
  std::string metrics_text() override { return "a_metric 1\n"; }
  void answered_healthz(int code) override { calls_.push_back("healthz " + std::to_string(code)); }
  void answered_livez(int code) override { calls_.push_back("livez " + std::to_string(code)); }
  void set_verbosity(int v) override { calls_.push_back("verbosity " + std::to_string(v)); }
  void bind_failed_hard(const std::string& reason, const std::string&) override { calls_.push_back(reason); }

  lib::Status start() {
    pages_.reset();  // it refers to the settings
    cell_ = std::make_unique<config::SettingsCell>(settings_);
    pages_ = std::make_unique<HttpPages>(*cell_, *this, ProcessInfo{.version = "9.8.7", .emulation_version = {}});
    return pages_->start();
  }
  lib::Status prepare(const config::Settings& to) {
    CPPUNIT_ASSERT(pages_->concerned(*cell_->get(), to));
    return pages_->prepare(*cell_->get(), to);
  }
  std::vector<std::string> reload(const config::Settings& to) {
    const auto status = prepare(to);
    CPPUNIT_ASSERT_MESSAGE(status.message(), status.ok());
    cell_->set(std::make_shared<const config::Settings>(to));
    return pages_->commit().done;
  }
  static lib::SocketAddress at(const std::string& ip, std::uint16_t port) { return {address(ip), port}; }
  static std::string body(const std::string& answer) {
    const auto end = answer.find("\r\n\r\n");
    return end == std::string::npos ? answer : answer.substr(end + 4);
  }
  void expect(const std::string& wanted, const std::string& found) { CPPUNIT_ASSERT_EQUAL(wanted, found); }
  // Stops the servers before it reads what their threads recorded.
  std::vector<std::string> calls() {
    pages_->stop();
    return calls_;
  }

  void health_paths() {
    CPPUNIT_ASSERT(start().ok());
    pages_->set_node(model::Node{});
    expect("200", status(ask(health_, "/healthz")));
    expect("200", status(ask(health_, "/healthz?verbose")));
    CPPUNIT_ASSERT(holds(ask(health_, "/livez"), "\"healthy\":true"));
    CPPUNIT_ASSERT(holds(ask(health_, "/sync"), "\"oldestPendingSeconds\":0"));
    for (const char* path : {"/", "/healthz/", "/metrics", "/healthzz"}) expect("404", status(ask(health_, path)));
    CPPUNIT_ASSERT(calls() == std::vector<std::string>({"healthz 200", "healthz 200", "livez 200"}));
  }

  void node_is_eligible() {  // case 112
    CPPUNIT_ASSERT(start().ok());
    expect("503", status(ask(health_, "/healthz")));
    expect("200", status(ask(health_, "/livez")));
    model::Node node;
    pages_->set_node(node);
    expect("200", status(ask(health_, "/healthz")));
    node.leaving = true;
    pages_->set_node(node);
    expect("503", status(ask(health_, "/healthz")));
    CPPUNIT_ASSERT(pages_->proxy_healthy());
    pages_->set_node(std::nullopt);
    CPPUNIT_ASSERT(holds(ask(health_, "/healthz"), "\"nodeEligible\":false,\"healthy\":true"));
  }

  void late_family() {
    settings_.sync_period = 1s;
    pending_ = 2s;
    CPPUNIT_ASSERT(start().ok());
    pages_->set_node(model::Node{});
    expect("503", status(ask(health_, "/healthz")));
    expect("503", status(ask(health_, "/livez")));
    CPPUNIT_ASSERT(!pages_->proxy_healthy());
    CPPUNIT_ASSERT(calls() == std::vector<std::string>({"healthz 503", "livez 503"}));
  }

  void metrics_paths() {
    CPPUNIT_ASSERT(start().ok());
    const std::string text = ask(metrics_, "/metrics");
    CPPUNIT_ASSERT(holds(text, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8; escaping=underscores\r\n"));
    expect("a_metric 1\n", body(text));
    const std::string mode = ask(metrics_, "/proxyMode");
    CPPUNIT_ASSERT(holds(mode, "\r\nContent-Type: text/plain; charset=utf-8\r\n"));
    CPPUNIT_ASSERT(holds(mode, "\r\nX-Content-Type-Options: nosniff\r\n"));
    expect("iptables", body(mode));
    expect("{\"kubeproxy.config.k8s.io\":{\"kind\":\"KubeProxyConfiguration\"}}", body(ask(metrics_, "/configz")));
    expect("ok", body(ask(metrics_, "/healthz")));
    CPPUNIT_ASSERT(holds(ask(metrics_, "/sync"), "\"families\":{\"IPv4\""));
    CPPUNIT_ASSERT(holds(ask(metrics_, "/flagz"), " only.\na=1\nb=\n"));
    CPPUNIT_ASSERT(holds(ask(metrics_, "/statusz"), "\nBinary version: sluiced 9.8.7\n"));
    expect("404", status(ask(metrics_, "/livez")));
    const std::string profile = ask(metrics_, "/debug/pprof/heap");
    expect("404", status(profile));
    CPPUNIT_ASSERT(holds(profile, "not a Go program"));
  }

  void slis_after_a_ping() {
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(!holds(ask(metrics_, "/metrics/slis"), "kubernetes_healthcheck"));
    ask(metrics_, "/healthz");
    ask(metrics_, "/healthz");
    CPPUNIT_ASSERT(holds(ask(metrics_, "/metrics/slis"),
                         "kubernetes_healthchecks_total{name=\"ping\",status=\"success\",type=\"healthz\"} 2\n"));
  }

  void gates_and_profiling_are_off() {
    settings_.serve.profiling = settings_.serve.flagz = settings_.serve.statusz = false;
    CPPUNIT_ASSERT(start().ok());
    for (const char* path : {"/flagz", "/statusz", "/debug/flags/v", "/debug/pprof/"}) {
      CPPUNIT_ASSERT(holds(ask(metrics_, path), "404 page not found"));
    }
  }

  void verbosity() {
    CPPUNIT_ASSERT(start().ok());
    const auto put = [&](const std::string& value, const std::string& method = "PUT") {
      test::HttpPeer client(metrics_);
      client.send(method + " /debug/flags/v HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(value.size()) +
                  "\r\n\r\n" + value);
      return client.answer();
    };
    expect("successfully set klog.logging.verbosity to 4\n", body(put("4")));
    for (const char* wrong : {"", "x", "4x", "-1", "99999999999999"}) expect("400", status(put(wrong)));
    expect("406", status(put("4", "POST")));
    CPPUNIT_ASSERT(calls() == std::vector<std::string>{"verbosity 4"});
  }

  void without_an_address_there_is_no_server() {
    settings_.serve.healthz.reset();
    settings_.serve.metrics.reset();
    CPPUNIT_ASSERT(start().ok());
    expect("refused", ask(health_));
    expect("refused", ask(metrics_));
  }

  void taken_address_is_no_error() {
    const test::HeldPort held(address("127.0.0.1"), health_);
    CPPUNIT_ASSERT(start().ok());
    CPPUNIT_ASSERT(holds(log_->text(), "health server: cannot listen on 127.0.0.1:" + std::to_string(health_)));
    expect("ok", body(ask(metrics_, "/healthz")));
    CPPUNIT_ASSERT(calls().empty());
  }

  void taken_address_is_an_error_with_bind_address_hard_fail() {
    settings_.serve.bind_address_hard_fail = true;
    for (const auto& [port, reason] :
         {std::pair{health_, "FailedToStartProxierHealthcheck"}, std::pair{metrics_, "FailedToStartMetricServer"}}) {
      const test::HeldPort held(address("127.0.0.1"), port);
      calls_.clear();
      const lib::Status status = start();
      CPPUNIT_ASSERT(!status.ok());
      CPPUNIT_ASSERT(holds(status.message(), "bindAddressHardFail"));
      CPPUNIT_ASSERT(calls_ == std::vector<std::string>{reason});
      expect("refused", ask(port == health_ ? metrics_ : health_));
    }
  }

  void pages_show_the_running_configuration() {
    CPPUNIT_ASSERT(start().ok());
    config::Settings next = settings_;
    next.masquerade_all = true;
    CPPUNIT_ASSERT(!pages_->concerned(settings_, next));
    next.backend = "nftables";
    next.kube_proxy_configuration = R"({"mode":"nftables"})";
    next.flags = {{"c", "2"}};
    next.serve.profiling = next.serve.statusz = false;
    CPPUNIT_ASSERT(reload(next) ==
                   std::vector<std::string>{"health and metrics: new settings applied, same addresses"});
    expect("nftables", body(ask(metrics_, "/proxyMode")));
    expect("{\"kubeproxy.config.k8s.io\":{\"mode\":\"nftables\"}}", body(ask(metrics_, "/configz")));
    CPPUNIT_ASSERT(holds(ask(metrics_, "/flagz"), " only.\nc=2\n"));
    expect("404", status(ask(metrics_, "/statusz")));
    expect("404", status(ask(metrics_, "/debug/flags/v")));
  }

  void addresses_can_change() {
    CPPUNIT_ASSERT(start().ok());
    config::Settings next = settings_;
    next.serve.metrics = at("127.0.0.1", test::free_port());
    CPPUNIT_ASSERT(reload(next) ==
                   std::vector<std::string>{"metrics server: listens on " + next.serve.metrics->to_string()});
    expect("refused", ask(metrics_));
    expect("a_metric 1\n", body(ask(next.serve.metrics->port, "/metrics")));
    expect("200", status(ask(health_, "/livez")));
  }

  void new_address_may_overlap_the_old_one() {
    CPPUNIT_ASSERT(start().ok());
    config::Settings whole = settings_;
    whole.serve.metrics = at("0.0.0.0", metrics_);
    reload(whole);
    expect("200", status(ask(metrics_, "/metrics", address("127.0.0.2"))));
    config::Settings other = settings_;
    other.serve.metrics = at("127.0.0.2", metrics_);
    reload(other);
    expect("200", status(ask(metrics_, "/metrics", address("127.0.0.2"))));
    expect("refused", ask(metrics_, "/metrics"));
    reload(settings_);
    expect("200", status(ask(metrics_, "/metrics")));
    // The port is not shared with other processes.
    const lib::Fd thief = test::tcp_socket(test::Family::ipv4);
    const int on = 1;
    ::setsockopt(thief.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const test::RawAddress taken(address("127.0.0.1"), metrics_);
    CPPUNIT_ASSERT(::bind(thief.get(), taken.get(), taken.size) != 0);
  }

  void servers_may_swap_addresses() {
    CPPUNIT_ASSERT(start().ok());
    config::Settings next = settings_;
    std::swap(next.serve.healthz, next.serve.metrics);
    reload(next);
    expect("a_metric 1\n", body(ask(health_, "/metrics")));
    expect("200", status(ask(metrics_, "/livez")));
    expect("404", status(ask(metrics_, "/metrics")));
  }

  void a_bind_failure_keeps_both_addresses() {
    CPPUNIT_ASSERT(start().ok());
    const test::HeldPort held;
    config::Settings next = settings_;
    next.serve.healthz = at("127.0.0.1", test::free_port());
    next.serve.metrics = at("127.0.0.1", held.port);
    const auto failure = prepare(next);
    CPPUNIT_ASSERT_EQUAL("metrics server: cannot listen on 127.0.0.1:" + std::to_string(held.port) +
                             ": Address already in use; stop the process that has the port, or choose another",
                         failure.message());
    expect("200", status(ask(health_, "/livez")));
    expect("200", status(ask(metrics_, "/metrics")));
    expect("refused", ask(next.serve.healthz->port));
  }

  void abandon_keeps_both_addresses() {
    CPPUNIT_ASSERT(start().ok());
    config::Settings next = settings_;
    next.serve.metrics = at("0.0.0.0", metrics_);
    next.serve.healthz.reset();
    CPPUNIT_ASSERT(prepare(next).ok());
    pages_->abandon();
    expect("200", status(ask(health_, "/livez")));
    for (int i = 0; i < 20; ++i) expect("200", status(ask(metrics_, "/metrics")));
    expect("refused", ask(metrics_, "/metrics", address("127.0.0.2")));
  }

  void servers_can_be_turned_off_and_on() {
    CPPUNIT_ASSERT(start().ok());
    config::Settings none = settings_;
    none.serve.healthz.reset();
    none.serve.metrics.reset();
    CPPUNIT_ASSERT(reload(none) == (std::vector<std::string>{"health server: is off", "metrics server: is off"}));
    expect("refused", ask(health_));
    expect("refused", ask(metrics_));
    reload(settings_);
    expect("200", status(ask(health_, "/livez")));
    expect("200", status(ask(metrics_, "/metrics")));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HttpPagesTest);

}  // namespace http_pages_test
}  // namespace sluice::observe
