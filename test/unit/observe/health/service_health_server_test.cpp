// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Real sockets on loopback addresses. problems() is a barrier: all earlier calls of set()
// have taken effect when it returns. Waits end with their event.
#include "core/observe/health/service_health_server.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <utility>

#include "lib/fd.hpp"
#include "test/unit/observe/http_peer.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::observe {
namespace service_health_server_test {

using lib::Family;
using lib::IpAddress;
using namespace std::chrono_literals;
using test::address;
using test::ask;
using test::free_port;
using test::HeldPort;
using test::holds;
using test::loopback_works;
using test::status;
using Client = test::HttpPeer;

class ServiceHealthServerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServiceHealthServerTest);
  CPPUNIT_TEST(answer_with_local_endpoints);
  CPPUNIT_TEST(answer_without_local_endpoints);
  CPPUNIT_TEST(unhealthy_proxy_keeps_the_weight);
  CPPUNIT_TEST(names_are_escaped);
  CPPUNIT_TEST(any_method_and_path);
  CPPUNIT_TEST(head_has_no_body);
  CPPUNIT_TEST(connection_is_kept_and_the_count_follows);
  CPPUNIT_TEST(http_1_0_is_closed_after_the_answer);
  CPPUNIT_TEST(changed_port_moves);
  CPPUNIT_TEST(removed_service_closes_port_and_connections);
  CPPUNIT_TEST(families_are_separate);
  CPPUNIT_TEST(listens_on_the_given_addresses_only);
  CPPUNIT_TEST(new_addresses_keep_old_connections);
  CPPUNIT_TEST(without_an_address_there_is_no_listener);
  CPPUNIT_TEST(port_in_use_is_reported_once_and_retried);
  CPPUNIT_TEST(partly_open_is_closed);
  CPPUNIT_TEST(timer_retries);
  CPPUNIT_TEST(second_service_with_the_same_port_is_reported);
  CPPUNIT_TEST(two_services_may_swap_their_ports);
  CPPUNIT_TEST(changes_of_one_call_are_applied_at_once);
  CPPUNIT_TEST(a_port_passes_although_a_child_process_has_its_socket);
  CPPUNIT_TEST(malformed_request);
  CPPUNIT_TEST(oversized_requests);
  CPPUNIT_TEST(small_body_is_accepted);
  CPPUNIT_TEST(silent_client_is_closed);
  CPPUNIT_TEST(idle_client_is_closed);
  CPPUNIT_TEST(a_client_beyond_the_limit_displaces_the_longest_idle_one);
  CPPUNIT_TEST(stop_closes_everything);
  CPPUNIT_TEST_SUITE_END();

  std::atomic<bool> healthy_{true};
  ServiceHealthOptions options_;
  std::unique_ptr<ServiceHealthServer> server_;

 public:
  void tearDown() override { server_.reset(); }

 private:
  void start() {
    server_ = std::make_unique<ServiceHealthServer>([this] { return healthy_.load(); }, options_);
    server_->set_addresses(Family::ipv4, std::vector{address("127.0.0.1")});
    server_->start();
  }
  // A server with ns1/svc1 on the port returned.
  std::uint16_t start_with(std::size_t local_endpoints) {
    start();
    const std::uint16_t port = free_port();
    set("svc1", port, local_endpoints);
    CPPUNIT_ASSERT(settled());
    return port;
  }
  void set(const std::string& name, std::uint16_t port, std::size_t local_endpoints) {
    server_->set(Family::ipv4, {{"ns1", name, port, local_endpoints}});
  }
  bool settled() { return server_->problems().empty(); }
  void expect(const std::string& wanted, const std::string& found) { CPPUNIT_ASSERT_EQUAL(wanted, found); }

  void answer_with_local_endpoints() {  // case 113
    const std::string answer = ask(start_with(2));
    expect("200", status(answer));
    CPPUNIT_ASSERT(holds(answer, "\r\nContent-Type: application/json\r\n"));
    CPPUNIT_ASSERT(holds(answer, "\r\nX-Content-Type-Options: nosniff\r\n"));
    CPPUNIT_ASSERT(holds(answer, "\r\nX-Load-Balancing-Endpoint-Weight: 2\r\n"));
    expect(
        "{\n\t\"service\": {\n\t\t\"namespace\": \"ns1\",\n\t\t\"name\": \"svc1\"\n\t},\n\t\"localEndpoints\": 2,\n"
        "\t\"serviceProxyHealthy\": true\n}",
        answer.substr(answer.find("\r\n\r\n") + 4));
  }

  void answer_without_local_endpoints() {
    const std::string answer = ask(start_with(0));
    expect("503", status(answer));
    CPPUNIT_ASSERT(holds(answer, "\r\nX-Load-Balancing-Endpoint-Weight: 0\r\n"));
    CPPUNIT_ASSERT(holds(answer, "\t\"localEndpoints\": 0,\n\t\"serviceProxyHealthy\": true\n}"));
  }

  void unhealthy_proxy_keeps_the_weight() {
    healthy_ = false;
    const std::string answer = ask(start_with(2));
    expect("503", status(answer));
    CPPUNIT_ASSERT(holds(answer, "\r\nX-Load-Balancing-Endpoint-Weight: 2\r\n"));
    CPPUNIT_ASSERT(holds(answer, "\t\"localEndpoints\": 2,\n\t\"serviceProxyHealthy\": false\n}"));
  }

  void names_are_escaped() {
    start();
    const std::uint16_t port = free_port();
    server_->set(Family::ipv4, {{"n\"s", "a\\b\n\xff", port, 1}});
    CPPUNIT_ASSERT(settled());
    const std::string answer = ask(port);
    CPPUNIT_ASSERT(holds(answer, "\"namespace\": \"n\\\"s\",\n"));
    CPPUNIT_ASSERT(holds(answer, "\"name\": \"a\\\\b\\n\xef\xbf\xbd\"\n"));
  }

  void any_method_and_path() {
    const std::uint16_t port = start_with(1);
    for (const std::string request : {"GET /healthz", "POST /", "DELETE /x?y=z", "BREW /pot", "OPTIONS *"}) {
      Client client(port);
      client.send(request + " HTTP/1.1\r\nHost: x\r\n\r\n");
      expect("200", status(client.answer()));
    }
  }

  void head_has_no_body() {
    Client client(start_with(1));
    client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
    expect("200", status(client.answer(true)));
    expect("200", status(client.get()));  // directly behind the header
  }

  void connection_is_kept_and_the_count_follows() {
    const std::uint16_t port = start_with(1);
    Client client(port);
    expect("200", status(client.get()));
    set("svc1", port, 0);
    CPPUNIT_ASSERT(settled());
    expect("503", status(client.get()));
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    expect("503", status(client.answer()));
    expect("503", status(client.answer()));
  }

  void http_1_0_is_closed_after_the_answer() {
    Client client(start_with(1));
    client.send("GET / HTTP/1.0\r\n\r\n");
    CPPUNIT_ASSERT(holds(client.answer(), " 200 OK\r\n"));
    CPPUNIT_ASSERT(client.closed_by_server());
  }

  void changed_port_moves() {  // case 114
    const std::uint16_t before = start_with(1);
    const std::uint16_t now = free_port();
    set("svc1", now, 1);
    CPPUNIT_ASSERT(settled());
    expect("refused", ask(before));
    expect("200", status(ask(now)));
  }

  void removed_service_closes_port_and_connections() {
    const std::uint16_t port = start_with(1);
    Client client(port);
    expect("200", status(client.get()));
    set("svc1", 0, 0);
    set("never-heard-of", 0, 0);
    CPPUNIT_ASSERT(settled());
    CPPUNIT_ASSERT(client.closed_by_server());
    expect("refused", ask(port));
  }

  void families_are_separate() {
    if (!loopback_works(Family::ipv6)) {
      std::fputs("# families_are_separate: skipped, this host has no IPv6\n", stdout);
      return;
    }
    start();
    const std::uint16_t port = free_port();
    server_->set_addresses(Family::ipv4, std::nullopt);
    set("svc1", port, 1);
    server_->set(Family::ipv6, {{"ns1", "svc1", port, 0}});
    CPPUNIT_ASSERT(settled());
    expect("200", status(ask(port)));
    expect("503", status(Client(port, address("::1")).get()));
  }

  void listens_on_the_given_addresses_only() {  // case 115
    start();
    const std::uint16_t port = free_port();
    set("svc1", port, 1);
    CPPUNIT_ASSERT(settled());
    CPPUNIT_ASSERT(Client(port).connected());
    CPPUNIT_ASSERT(!Client(port, address("127.0.0.2")).connected());
    server_->set_addresses(Family::ipv4, std::nullopt);
    CPPUNIT_ASSERT(settled());
    CPPUNIT_ASSERT(Client(port, address("127.0.0.2")).connected());
  }

  void new_addresses_keep_old_connections() {
    const std::uint16_t port = start_with(1);
    Client client(port);
    expect("200", status(client.get()));
    server_->set_addresses(Family::ipv4, std::vector{address("127.0.0.1"), address("127.0.0.2")});
    CPPUNIT_ASSERT(settled());
    CPPUNIT_ASSERT(Client(port, address("127.0.0.2")).connected());
    expect("200", status(client.get()));
    server_->set_addresses(Family::ipv4, std::vector{address("127.0.0.2")});
    CPPUNIT_ASSERT(settled());
    CPPUNIT_ASSERT(client.closed_by_server());
  }

  void without_an_address_there_is_no_listener() {
    const std::uint16_t port = start_with(1);
    server_->set_addresses(Family::ipv4, std::vector<IpAddress>());
    CPPUNIT_ASSERT(settled());
    expect("refused", ask(port));
  }

  void port_in_use_is_reported_once_and_retried() {  // case 114
    const test::CapturedLog log;
    start();
    std::optional<HeldPort> held(std::in_place);
    const std::uint16_t port = held->port;
    const std::uint16_t other = free_port();
    set("svc1", port, 1);
    set("svc2", other, 1);
    const auto problems = server_->problems();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), problems.size());
    CPPUNIT_ASSERT(holds(problems[0], "Service ns1/svc1: cannot listen on health check node port 127.0.0.1:" +
                                          std::to_string(port) + ": Address already in use; stop the process"));
    expect("200", status(ask(other)));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), server_->problems().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), log.lines().size());
    CPPUNIT_ASSERT(holds(log.text(), problems[0]));

    held.reset();
    set("svc2", other, 2);
    CPPUNIT_ASSERT(settled());
    expect("200", status(ask(port)));
    CPPUNIT_ASSERT(holds(log.lines().back(), "is open now"));
  }

  void partly_open_is_closed() {
    start();
    HeldPort held(address("127.0.0.3"));
    server_->set_addresses(Family::ipv4, std::vector{address("127.0.0.1"), address("127.0.0.3")});
    set("svc1", held.port, 1);
    CPPUNIT_ASSERT(!settled());
    // Each attempt opens the one address before it fails on the other and closes it again.
    std::string found;
    test::wait_until([&] {
      found = ask(held.port);
      return found != "closed";
    });
    expect("refused", found);
  }

  void timer_retries() {
    options_.retry = 1ms;
    start();
    std::optional<HeldPort> held(std::in_place);
    const std::uint16_t port = held->port;
    set("svc1", port, 1);
    CPPUNIT_ASSERT(!settled());
    const test::CapturedLog log;
    held.reset();
    CPPUNIT_ASSERT(test::wait_until([&] { return !log.lines().empty(); }));
    expect("200", status(ask(port)));
  }

  void second_service_with_the_same_port_is_reported() {
    const std::uint16_t port = start_with(1);
    set("svc0", port, 0);
    const auto problems = server_->problems();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), problems.size());
    CPPUNIT_ASSERT(holds(problems[0], "Service ns1/svc0: "));
    CPPUNIT_ASSERT(holds(problems[0], "Service ns1/svc1 has the port"));
    CPPUNIT_ASSERT(holds(ask(port), "\"svc1\""));
    set("svc1", 0, 0);
    CPPUNIT_ASSERT(settled());
    CPPUNIT_ASSERT(holds(ask(port), "\"svc0\""));
  }

  void two_services_may_swap_their_ports() {
    const test::CapturedLog log;
    std::uint16_t one = start_with(1);
    std::uint16_t two = free_port();
    set("svc2", two, 1);
    CPPUNIT_ASSERT(settled());
    for (int round = 0; round < 100; ++round) {
      std::swap(one, two);
      server_->set(Family::ipv4, {{"ns1", "svc1", one, 1}, {"ns1", "svc2", two, 1}});
      CPPUNIT_ASSERT(settled());
    }
    CPPUNIT_ASSERT(log.lines().empty());
    CPPUNIT_ASSERT(holds(ask(one), "\"svc1\""));
    CPPUNIT_ASSERT(holds(ask(two), "\"svc2\""));
  }

  // The server would open the port for its new Service first if it saw changes one by one: between the two that matter
  // there are many without an effect.
  void changes_of_one_call_are_applied_at_once() {
    const test::CapturedLog log;
    const std::uint16_t port = start_with(1);
    std::vector<ServiceHealthUpdate> changes{{"ns1", "svc2", port, 1}};
    for (int index = 0; index < 20'000; ++index) changes.push_back({"ns1", "none-" + std::to_string(index), 0, 0});
    changes.push_back({"ns1", "svc1", 0, 0});
    server_->set(Family::ipv4, std::move(changes));
    CPPUNIT_ASSERT(settled());
    CPPUNIT_ASSERT_EQUAL(std::string(), log.text());
    CPPUNIT_ASSERT(holds(ask(port), "\"svc2\""));
  }

  // dup() makes the copy that a child process has until it executes its program.
  void a_port_passes_although_a_child_process_has_its_socket() {
    const test::CapturedLog log;
    const std::uint16_t port = start_with(1);
    const lib::Fd copy(::dup(listening_at(port)));
    CPPUNIT_ASSERT(copy.valid());
    server_->set(Family::ipv4, {{"ns1", "svc1", 0, 0}, {"ns1", "svc2", port, 1}});
    CPPUNIT_ASSERT(settled());
    CPPUNIT_ASSERT(log.lines().empty());
    CPPUNIT_ASSERT(holds(ask(port), "\"svc2\""));
  }

  // The descriptor of this process that listens at the port; -1 if there is none.
  static int listening_at(std::uint16_t port) {
    for (int fd = 0; fd < 4096; ++fd) {
      sockaddr_in bound{};
      socklen_t size = sizeof bound;
      int listens = 0;
      socklen_t listens_size = sizeof listens;
      if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0 || listens == 0) continue;
      if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) continue;
      if (bound.sin_family == AF_INET && ntohs(bound.sin_port) == port) return fd;
    }
    return -1;
  }

  void malformed_request() {
    const std::uint16_t port = start_with(1);
    for (const std::string request : {"\x16\x03\x01\x02\x01\x01\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "hello\r\n\r\n",
                                      "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
      Client client(port);
      client.send(request);
      expect("400", status(client.answer()));
      CPPUNIT_ASSERT(client.closed_by_server());
    }
    expect("200", status(ask(port)));
  }

  void oversized_requests() {
    const std::uint16_t port = start_with(1);
    Client header(port);
    header.send("GET / HTTP/1.1\r\nX: " + std::string(options_.header_limit, 'x'));
    expect("431", status(header.answer()));
    CPPUNIT_ASSERT(header.closed_by_server());
    Client body(port);
    body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n");
    expect("413", status(body.answer()));
    CPPUNIT_ASSERT(body.closed_by_server());
    expect("200", status(ask(port)));
  }

  void small_body_is_accepted() {
    Client client(start_with(1));
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
    expect("200", status(client.answer()));
    client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
    expect("200", status(client.answer()));
    expect("200", status(client.get()));
  }

  void silent_client_is_closed() {
    options_.request_time = 1ms;
    Client client(start_with(1));
    client.send("GET / HTT");
    CPPUNIT_ASSERT(client.closed_by_server());
  }

  void idle_client_is_closed() {
    options_.idle_time = 1ms;
    Client client(start_with(1));
    expect("200", status(client.get()));
    CPPUNIT_ASSERT(client.closed_by_server());
  }

  void a_client_beyond_the_limit_displaces_the_longest_idle_one() {
    options_.max_clients = 2;
    const std::uint16_t port = start_with(1);
    Client first(port);
    expect("200", status(first.get()));
    Client second(port);
    expect("200", status(second.get()));
    expect("200", status(first.get()));
    Client third(port);
    expect("200", status(third.get()));
    CPPUNIT_ASSERT(second.closed_by_server());
    expect("200", status(first.get()));
  }

  void stop_closes_everything() {
    const std::uint16_t port = start_with(1);
    Client client(port);
    expect("200", status(client.get()));
    server_->stop();
    CPPUNIT_ASSERT(client.closed_by_server());
    set("svc2", port, 1);
    server_->stop();
    expect("refused", ask(port));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServiceHealthServerTest);

}  // namespace service_health_server_test
}  // namespace sluice::observe
