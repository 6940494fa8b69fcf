// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Real sockets on loopback addresses. problems() is the barrier: what was set before
// has taken effect when it returns. Waits end with the event waited for.
#include "core/serve/service_health_server.hpp"

#include <arpa/inet.h>
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/fd.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::serve {
namespace {

using base::Family;
using base::IpAddress;
using namespace std::chrono_literals;

IpAddress address(const std::string& text) { return *IpAddress::parse(text); }

struct SocketAddress {
  SocketAddress(const IpAddress& ip, std::uint16_t port) {
    if (ip.family() == Family::ipv4) {
      auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
      v4->sin_family = AF_INET;
      v4->sin_port = htons(port);
      std::memcpy(&v4->sin_addr, ip.bytes().data(), 4);
      size = sizeof *v4;
    } else {
      auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(port);
      std::memcpy(&v6->sin6_addr, ip.bytes().data(), 16);
      size = sizeof *v6;
    }
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr_storage storage{};
  socklen_t size = 0;
};

base::Fd tcp_socket(Family family) {
  return base::Fd(::socket(family == Family::ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

bool loopback_works(Family family) {
  const SocketAddress at(IpAddress::loopback(family), 0);
  return ::bind(tcp_socket(family).get(), at.get(), at.size) == 0;
}

// A port somebody else has until this is gone.
struct HeldPort {
  explicit HeldPort(const IpAddress& ip = address("127.0.0.1"), std::uint16_t wanted = 0) {
    const SocketAddress at(ip, wanted);
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CPPUNIT_ASSERT_EQUAL(0, ::bind(fd.get(), at.get(), at.size));
    CPPUNIT_ASSERT_EQUAL(0, ::listen(fd.get(), 1));
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    port = ntohs(bound.sin_port);
  }
  base::Fd fd = tcp_socket(Family::ipv4);
  std::uint16_t port = 0;
};

std::uint16_t free_port() { return HeldPort().port; }

class Client {
 public:
  explicit Client(std::uint16_t port, const IpAddress& ip = address("127.0.0.1")) : fd_(tcp_socket(ip.family())) {
    const SocketAddress at(ip, port);
    connected_ = ::connect(fd_.get(), at.get(), at.size) == 0;
  }
  bool connected() const { return connected_; }

  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  // One answer: header and as many bytes of body as it announces.
  std::string answer(bool head = false) {
    while (input_.find("\r\n\r\n") == std::string::npos) {
      if (!receive()) return "closed";
    }
    const std::size_t header = input_.find("\r\n\r\n") + 4;
    const std::size_t length = input_.find("Content-Length: ");
    CPPUNIT_ASSERT(length < header);
    const std::size_t size = header + (head ? 0 : std::stoul(input_.substr(length + 16)));
    while (input_.size() < size) {
      if (!receive()) return "closed";
    }
    const std::string out = input_.substr(0, size);
    input_.erase(0, size);
    return out;
  }
  std::string get() {
    send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    return answer();
  }
  bool closed_by_server() { return !receive(); }

 private:
  bool receive() {
    pollfd waits{fd_.get(), POLLIN, 0};
    CPPUNIT_ASSERT_MESSAGE("nothing happened", ::poll(&waits, 1, 20'000) == 1);
    char buffer[4096];
    const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    input_.append(buffer, static_cast<std::size_t>(n));
    return true;
  }

  base::Fd fd_;
  bool connected_ = false;
  std::string input_;
};

std::string ask(std::uint16_t port) {
  Client client(port);
  return client.connected() ? client.get() : "refused";
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
std::string status(const std::string& answer) { return holds(answer, "HTTP/1.1 ") ? answer.substr(9, 3) : answer; }

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
  CPPUNIT_TEST(families_are_apart);
  CPPUNIT_TEST(listens_on_the_given_addresses_only);
  CPPUNIT_TEST(new_addresses_keep_old_connections);
  CPPUNIT_TEST(no_address_no_listener);
  CPPUNIT_TEST(port_in_use_is_reported_once_and_tried_again);
  CPPUNIT_TEST(partly_open_is_closed);
  CPPUNIT_TEST(timer_tries_again);
  CPPUNIT_TEST(second_service_with_a_port_is_refused);
  CPPUNIT_TEST(two_services_may_exchange_their_ports);
  CPPUNIT_TEST(malformed_request);
  CPPUNIT_TEST(oversized_requests);
  CPPUNIT_TEST(small_body_is_taken);
  CPPUNIT_TEST(silent_client_is_closed);
  CPPUNIT_TEST(idle_client_is_closed);
  CPPUNIT_TEST(one_client_too_many_displaces_the_one_silent_for_longest);
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
    server_->set(Family::ipv4, "ns1", name, port, local_endpoints);
  }
  bool settled() { return server_->problems().empty(); }
  void expect(const std::string& wanted, const std::string& found) { CPPUNIT_ASSERT_EQUAL(wanted, found); }

  void answer_with_local_endpoints() {  // case 113
    const std::string answer = ask(start_with(2));
    expect("200", status(answer));
    CPPUNIT_ASSERT(holds(answer, "\r\nContent-Type: application/json\r\n"));
    CPPUNIT_ASSERT(holds(answer, "\r\nX-Content-Type-Options: nosniff\r\n"));
    CPPUNIT_ASSERT(holds(answer, "\r\nX-Load-Balancing-Endpoint-Weight: 2\r\n"));
    expect("{\n\t\"service\": {\n\t\t\"namespace\": \"ns1\",\n\t\t\"name\": \"svc1\"\n\t},\n\t\"localEndpoints\": 2,\n"
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
    server_->set(Family::ipv4, "n\"s", "a\\b\n\xff", port, 1);
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

  void families_are_apart() {
    if (!loopback_works(Family::ipv6)) {
      std::fputs("# families_are_apart: skipped, this host has no IPv6\n", stdout);
      return;
    }
    start();
    const std::uint16_t port = free_port();
    server_->set_addresses(Family::ipv4, std::nullopt);
    set("svc1", port, 1);
    server_->set(Family::ipv6, "ns1", "svc1", port, 0);
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

  void no_address_no_listener() {
    const std::uint16_t port = start_with(1);
    server_->set_addresses(Family::ipv4, std::vector<IpAddress>());
    CPPUNIT_ASSERT(settled());
    expect("refused", ask(port));
  }

  void port_in_use_is_reported_once_and_tried_again() {  // case 114
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
    for (int i = 0; i < 100 && found != "refused"; ++i) {
      found = ask(held.port);
      CPPUNIT_ASSERT_MESSAGE(found, found == "refused" || found == "closed");
    }
    expect("refused", found);
  }

  void timer_tries_again() {
    options_.retry = 1ms;
    start();
    std::optional<HeldPort> held(std::in_place);
    const std::uint16_t port = held->port;
    set("svc1", port, 1);
    CPPUNIT_ASSERT(!settled());
    const test::CapturedLog log;
    held.reset();
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (log.lines().empty() && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 1);
    expect("200", status(ask(port)));
  }

  void second_service_with_a_port_is_refused() {
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

  void two_services_may_exchange_their_ports() {
    const test::CapturedLog log;
    const std::uint16_t one = start_with(1);
    const std::uint16_t two = free_port();
    set("svc2", two, 1);
    CPPUNIT_ASSERT(settled());
    set("svc1", two, 1);
    set("svc2", one, 1);
    CPPUNIT_ASSERT(settled());
    CPPUNIT_ASSERT(holds(ask(two), "\"svc1\""));
    CPPUNIT_ASSERT(holds(ask(one), "\"svc2\""));
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

  void small_body_is_taken() {
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

  void one_client_too_many_displaces_the_one_silent_for_longest() {
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

}  // namespace
}  // namespace sluice::serve
