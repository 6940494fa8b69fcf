// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Real sockets on loopback addresses. The handling of single clients is tested in
// service_health_server_test.cpp: the code is the same.
#include "core/observe/http/http_server.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <dirent.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "test/unit/observe/http_peer.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::observe {
namespace http_server_test {

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

std::size_t open_descriptors() {
  std::size_t out = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++out;
  ::closedir(folder);
  return out;
}

class HttpServerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HttpServerTest);
  CPPUNIT_TEST(request_and_answer);
  CPPUNIT_TEST(absolute_target);
  CPPUNIT_TEST(body_of_a_request);
  CPPUNIT_TEST(head_has_the_length_and_no_body);
  CPPUNIT_TEST(version_and_connection_are_those_of_the_request);
  CPPUNIT_TEST(unspecified_address_listens_in_both_families);
  CPPUNIT_TEST(specific_address_listens_only_there);
  CPPUNIT_TEST(bind_failure_is_reported_once_and_retried);
  CPPUNIT_TEST(partial_bind_is_a_failure);
  CPPUNIT_TEST(idle_clients_are_limited);
  CPPUNIT_TEST(unsent_answers_are_limited);
  CPPUNIT_TEST(slow_reader_gets_the_whole_answer);
  CPPUNIT_TEST(exception_of_a_handler_fails_one_request);
  CPPUNIT_TEST(stop_closes_everything);
  CPPUNIT_TEST_SUITE_END();

  HttpLimits limits_;
  HttpServer::Handler handler_ = [](const HttpRequest& request) {
    return HttpResponse{
        404,
        "text/x-test",
        request.method + "|" + request.path + "|" + request.query + "|" + request.accept + "|" + request.body,
        {{"X-Own", "yes"}}};
  };
  std::atomic<int> failures_{0};
  std::unique_ptr<HttpServer> server_;

 public:
  void tearDown() override { server_.reset(); }

 private:
  std::uint16_t start(const std::string& where = "127.0.0.1", std::uint16_t port = free_port()) {
    server_ = std::make_unique<HttpServer>(
        "test server", lib::SocketAddress{address(where), port}, handler_, [this](const std::string&) { ++failures_; },
        limits_);
    server_->start();
    return port;
  }
  void expect(const std::string& wanted, const std::string& found) { CPPUNIT_ASSERT_EQUAL(wanted, found); }
  static std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

  void request_and_answer() {
    Client client(start());
    client.send("BREW /pot?a=b?c HTTP/1.1\r\nHost: x\r\nAccept: tea\r\n\r\n");
    const std::string answer = client.answer();
    expect("404", status(answer));
    expect("BREW|/pot|a=b?c|tea|", body(answer));
    CPPUNIT_ASSERT(holds(answer, "\r\nContent-Type: text/x-test\r\n"));
    CPPUNIT_ASSERT(holds(answer, "\r\nX-Own: yes\r\n"));
    expect("GET|/|||", body(client.get()));
  }

  void absolute_target() {
    Client client(start());
    expect("GET|/a|b||", body(client.get("http://host:80/a?b")));
    expect("GET|/|||", body(client.get("http://host")));
    expect("GET|/|b||", body(client.get("http://host?b")));
  }

  void body_of_a_request() {
    Client client(start());
    client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n42");
    expect("PUT|/|||42", body(client.answer()));
  }

  void head_has_the_length_and_no_body() {
    Client client(start());
    client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CPPUNIT_ASSERT(holds(client.answer(true), "\r\nContent-Length: 10\r\n"));
    expect("GET|/|||", body(client.get()));
  }

  void version_and_connection_are_those_of_the_request() {
    const std::string fields = " 404 Not Found\r\nContent-Type: text/x-test\r\nX-Own: yes\r\nContent-Length: 8\r\n";
    const std::uint16_t port = start();
    const auto answer = [](Client& client, const std::string& request) {
      client.send(request);
      return client.answer();
    };
    Client new_client(port);
    expect("HTTP/1.1" + fields + "\r\nGET|/|||", answer(new_client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    expect("HTTP/1.1" + fields + "Connection: close\r\n\r\nGET|/|||",
           answer(new_client, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    Client old_client(port);
    const std::string kept = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    for (int i = 0; i < 2; ++i) expect("HTTP/1.0" + fields + "Connection: keep-alive\r\n\r\nGET|/|||", answer(old_client, kept));
    expect("HTTP/1.0" + fields + "Connection: close\r\n\r\nGET|/|||", answer(old_client, "GET / HTTP/1.0\r\n\r\n"));
  }

  void unspecified_address_listens_in_both_families() {
    for (const char* where : {"0.0.0.0", "::"}) {
      const bool v6 = loopback_works(Family::ipv6);
      if (!v6 && where[0] == ':') continue;
      const std::uint16_t port = start(where);
      expect("404", status(ask(port)));
      expect("404", status(ask(port, "/", address("127.0.0.2"))));
      if (v6) expect("404", status(ask(port, "/", address("::1"))));
    }
  }

  void specific_address_listens_only_there() {
    const std::uint16_t port = start("127.0.0.2");
    expect("404", status(ask(port, "/", address("127.0.0.2"))));
    expect("refused", ask(port));
    if (!loopback_works(Family::ipv6)) return;
    const std::uint16_t other = start("::1");
    expect("404", status(ask(other, "/", address("::1"))));
    expect("refused", ask(other));
  }

  void bind_failure_is_reported_once_and_retried() {
    const test::CapturedLog log;
    limits_.retry = 5ms;
    std::optional<HeldPort> held(std::in_place);
    const std::uint16_t port = start("127.0.0.1", held->port);
    CPPUNIT_ASSERT_EQUAL(1, failures_.load());
    CPPUNIT_ASSERT(holds(log.text(), "test server: cannot listen on 127.0.0.1:" + std::to_string(port) +
                                         ": Address already in use; stop the process that has the port"));
    std::this_thread::sleep_for(50ms);  // fixed time: several attempts, one line
    CPPUNIT_ASSERT_EQUAL(1, failures_.load());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), log.lines().size());
    held.reset();
    test::wait_until([&] { return ask(port) != "refused"; });
    expect("404", status(ask(port)));
    CPPUNIT_ASSERT(holds(log.lines().back(), "test server listens on"));
  }

  void partial_bind_is_a_failure() {
    if (!loopback_works(Family::ipv6)) return;
    HeldPort held(address("0.0.0.0"));
    start("::", held.port);
    CPPUNIT_ASSERT_EQUAL(1, failures_.load());
    expect("refused", ask(held.port, "/", address("::1")));
  }

  void idle_clients_are_limited() {
    limits_.max_clients = 8;
    const std::uint16_t port = start();
    const std::size_t before = open_descriptors();
    {
      std::vector<Client> idle;
      for (int i = 0; i < 200; ++i) {
        idle.emplace_back(port);
        if (i % 10 == 0) expect("404", status(ask(port)));
      }
      expect("404", status(ask(port)));
      // The clients' own ends are in this process, too.
      CPPUNIT_ASSERT(open_descriptors() <= before + idle.size() + limits_.max_clients);
      CPPUNIT_ASSERT(idle.front().closed_by_server());
    }
  }

  // Kernel buffers on the way to a client that does not read.
  static constexpr std::size_t kLarge = 8u << 20;

  void unsent_answers_are_limited() {
    std::atomic<int> asked{0};
    handler_ = [&](const HttpRequest& request) {
      ++asked;
      return HttpResponse{200, "text/plain", std::string(request.path == "/large" ? kLarge : 1, 'x')};
    };
    limits_.answers_limit = 2 * kLarge + 1000;
    limits_.response_time = 60s;
    const std::uint16_t port = start();
    std::vector<Client> readers;
    for (int i = 0; i < 5; ++i) {
      readers.emplace_back(port).send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
      CPPUNIT_ASSERT(test::wait_until([&] { return asked > i; }));
    }
    expect("200", status(ask(port)));
    int whole = 0;
    for (Client& reader : readers) whole += reader.answer() == "closed" ? 0 : 1;
    CPPUNIT_ASSERT_EQUAL(2, whole);
    expect("closed", readers[0].answer());
  }

  void slow_reader_gets_the_whole_answer() {
    handler_ = [](const HttpRequest&) { return HttpResponse{200, "text/plain", std::string(kLarge, 'x')}; };
    limits_.answers_limit = 1;  // one answer is always allowed
    Client client(start());
    CPPUNIT_ASSERT(client.get().size() > kLarge);
    CPPUNIT_ASSERT(client.get().size() > kLarge);
  }

  void exception_of_a_handler_fails_one_request() {
    const test::CapturedLog log;
    handler_ = [](const HttpRequest& request) -> HttpResponse {
      if (request.path == "/throw") throw std::runtime_error("thrown by a test");
      return {};
    };
    const std::uint16_t port = start();
    Client other(port);
    expect("200", status(other.get()));
    expect("500", status(ask(port, "/throw")));
    expect("200", status(other.get()));
    CPPUNIT_ASSERT(holds(log.text(), "thrown by a test"));
  }

  void stop_closes_everything() {
    const std::uint16_t port = start();
    Client client(port);
    expect("404", status(client.get()));
    server_->stop();
    CPPUNIT_ASSERT(client.closed_by_server());
    expect("refused", ask(port));
    server_->stop();
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HttpServerTest);

}  // namespace http_server_test
}  // namespace sluice::observe
