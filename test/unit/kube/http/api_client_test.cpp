// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/api_client.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "test/unit/kube/http/hanging_lookup.hpp"
#include "test/unit/kube/http/tls_server.hpp"
#include "test/unit/kube/noted_observer.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/sync/fake_clock.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace api_client_test {

using namespace std::chrono_literals;

// Keeps the response; other threads can wait for its head.
class KeepingSink final : public ResponseSink {
 public:
  lib::Status on_head(const ResponseHead& head) override {
    const std::lock_guard lock(mutex_);
    heads.push_back(head.status);
    changed_.notify_all();
    return {};
  }
  lib::Status on_body(std::string_view bytes) override {
    body += bytes;
    return {};
  }
  bool wait_for_head() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, test::stretched(20s), [this] { return !heads.empty(); });
  }
  std::vector<int> heads;
  std::string body;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

// Keeps the reported addresses of the server.
class AddressSink final : public model::EventSink {
 public:
  explicit AddressSink(std::vector<std::vector<lib::SocketAddress>>& reported) : reported_(reported) {}
  void deliver(model::Event) override {}
  void server_at(std::vector<lib::SocketAddress> addresses) override { reported_.push_back(std::move(addresses)); }

 private:
  std::vector<std::vector<lib::SocketAddress>>& reported_;
};

class ApiClientTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ApiClientTest);
  CPPUNIT_TEST(lists_share_connections);
  CPPUNIT_TEST(a_401_is_retried_with_a_renewed_token);
  CPPUNIT_TEST(a_401_without_renewed_credentials_goes_to_the_sink);
  CPPUNIT_TEST(a_replaced_certificate_ends_an_idle_watch);
  CPPUNIT_TEST(a_new_certificate_ends_other_watches_and_idle_connections);
  CPPUNIT_TEST(each_group_has_its_own_header);
  CPPUNIT_TEST(stop_ends_a_watch);
  CPPUNIT_TEST(a_request_waits_for_the_rate_limit);
  CPPUNIT_TEST(retries_while_the_name_server_hangs_are_bounded);
  CPPUNIT_TEST(connection_pools_are_reported);
  CPPUNIT_TEST(addresses_are_reported_once_before_the_first_request);
  CPPUNIT_TEST_SUITE_END();

  // With the server's certificate as its own CA, made out to "test".
  ConnectionConfig config(const test::TlsServer& server) {
    ConnectionConfig out;
    out.server = *parse_server_url("https://127.0.0.1:" + std::to_string(server.port()));
    out.tls_server_name = "test";
    out.ca.inline_content = server_pem_.certificate;
    return out;
  }
  // As reports begin.
  static std::string host_of(const test::TlsServer& server) {
    return "127.0.0.1:" + std::to_string(server.port()) + " ";
  }
  static ApiClientOptions unlimited() {
    ApiClientOptions out;
    out.budget.qps = -1;
    return out;
  }
  void use_certificate(ConnectionConfig& config) {
    config.client_certificate.file = folder_.path("c.crt");
    config.client_key.file = folder_.path("c.key");
  }
  void write_certificate(const std::string& name) {
    const auto pem = test::make_pem(name);
    folder_.write("c.crt", pem.certificate);
    folder_.write("c.key", pem.key);
  }
  static test::ServerAnswer echo(const test::ReceivedRequest& request) {
    const bool watch = request.head.find("/watch") != std::string::npos;
    return {200, "for " + request.header("Authorization"), watch};
  }

  void lists_share_connections() {
    test::TlsServer server(server_pem_, echo);
    auto config = this->config(server);
    config.token.file = folder_.write("token", "one");
    ApiClient client(config, options_, noted_, clock_);
    KeepingSink sink;
    constexpr int kRequests = 20;
    for (int i = 0; i < kRequests; ++i) {
      sink.body.clear();
      const auto status = client.send({"/list", {}, false}, sink);
      CPPUNIT_ASSERT_MESSAGE(status.message(), status.ok());
      CPPUNIT_ASSERT_EQUAL(std::string("for Bearer one"), sink.body);
    }
    // The connection of the previous request may not be idle yet when the next request is sent.
    CPPUNIT_ASSERT(server.connections() <= kRequests / 2);
  }

  void addresses_are_reported_once_before_the_first_request() {
    std::vector<std::vector<lib::SocketAddress>> reported;
    test::TlsServer server(server_pem_, [&](const test::ReceivedRequest&) {
      return test::ServerAnswer{reported.size() == 1 ? 200 : 500, "", false};
    });
    AddressSink addresses{reported};
    options_.sink = &addresses;
    ApiClient client(config(server), options_, noted_, clock_);
    KeepingSink sink;
    for (int i = 0; i < 3; ++i) CPPUNIT_ASSERT(client.send({"/list", {}, false}, sink).ok());
    CPPUNIT_ASSERT((sink.heads == std::vector<int>{200, 200, 200}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), reported.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), reported[0].size());
    CPPUNIT_ASSERT((reported[0][0] == lib::SocketAddress{*lib::IpAddress::parse("127.0.0.1"), server.port()}));
  }

  void a_401_is_retried_with_a_renewed_token() {
    test::TlsServer server(server_pem_, [](const test::ReceivedRequest& request) {
      return request.header("Authorization") == "Bearer two" ? test::ServerAnswer{200, "good", false}
                                                             : test::ServerAnswer{401, "bad", false};
    });
    auto config = this->config(server);
    config.token.file = folder_.write("token", "one");
    ApiClient client(config, options_, noted_, clock_);
    KeepingSink refused;
    CPPUNIT_ASSERT(client.send({"/list", {}, false}, refused).ok());
    CPPUNIT_ASSERT(refused.heads == std::vector{401});
    const std::string host = host_of(server);
    CPPUNIT_ASSERT_EQUAL(host + "GET waited 0\nmiss\npools kept 1\n" + host + "GET 401 0 sent 0 received 3\n",
                         noted_.take());
    folder_.write("token", "two");
    KeepingSink sink;
    CPPUNIT_ASSERT(client.send({"/list", {}, false}, sink).ok());
    CPPUNIT_ASSERT(sink.heads == std::vector{200});
    CPPUNIT_ASSERT_EQUAL(std::string("good"), sink.body);
    CPPUNIT_ASSERT_EQUAL(host + "GET waited 0\nhit\n" + host + "GET 401 0 sent 0 received 0\nhit\n" + host +
                             "GET 200 0 sent 0 received 4 again\n",
                         noted_.take());
  }

  void a_401_without_renewed_credentials_goes_to_the_sink() {
    test::TlsServer server(server_pem_, [](const test::ReceivedRequest&) {
      return test::ServerAnswer{401, "bad", false};
    });
    auto config = this->config(server);
    config.token.file = folder_.write("token", "one");
    ApiClient client(config, options_, noted_, clock_);
    KeepingSink sink;
    CPPUNIT_ASSERT(client.send({"/list", {}, false}, sink).ok());
    CPPUNIT_ASSERT(sink.heads == std::vector{401});
    CPPUNIT_ASSERT_EQUAL(std::string("bad"), sink.body);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), server.requests().size());
  }

  void a_replaced_certificate_ends_an_idle_watch() {
    test::TlsServer server(server_pem_, echo);
    auto config = this->config(server);
    use_certificate(config);
    write_certificate("one");
    options_.certificate_check = 20ms;
    ApiClient client(config, options_, noted_, clock_);
    KeepingSink first;
    lib::Status status;
    std::thread watch([&] { status = client.send({"/watch", {}, true}, first); });
    CPPUNIT_ASSERT(first.wait_for_head());
    write_certificate("two");
    watch.join();
    CPPUNIT_ASSERT(status.code() == lib::StatusCode::unavailable && status.os_errno() != ECANCELED);
    KeepingSink second;
    CPPUNIT_ASSERT(client.send({"/list", {}, false}, second).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("one"), server.requests().front().client);
    CPPUNIT_ASSERT_EQUAL(std::string("two"), server.requests().back().client);
  }

  void a_new_certificate_ends_other_watches_and_idle_connections() {
    test::TlsServer server(server_pem_, echo);
    auto config = this->config(server);
    use_certificate(config);
    write_certificate("one");
    ApiClient client(config, options_, noted_, clock_);
    KeepingSink list;
    CPPUNIT_ASSERT(client.send({"/list", {}, false}, list).ok());
    KeepingSink watched;
    lib::Status status;
    std::thread watch([&] { status = client.send({"/watch", {}, true}, watched); });
    CPPUNIT_ASSERT(watched.wait_for_head());
    write_certificate("two");
    CPPUNIT_ASSERT(client.send({"/list", {}, false}, list).ok());
    watch.join();
    CPPUNIT_ASSERT(!status.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("two"), server.requests().back().client);
  }

  void each_group_has_its_own_header() {
    test::TlsServer server(server_pem_, echo);
    auto config = this->config(server);
    config.impersonate = {"jane", "", {"a", "b, c"}, {}};
    ApiClient client(config, options_, noted_, clock_);
    KeepingSink sink;
    CPPUNIT_ASSERT(client.send({"/list", {}, false}, sink).ok());
    const std::string head = server.requests().front().head;
    CPPUNIT_ASSERT_MESSAGE(head,
                           head.find("\r\nImpersonate-Group:a\r\nImpersonate-Group: b, c\r\n") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("jane"), server.requests().front().header("Impersonate-User"));
  }

  void stop_ends_a_watch() {
    test::TlsServer server(server_pem_, echo);
    ApiClient client(config(server), options_, noted_, clock_);
    KeepingSink sink;
    lib::Status status;
    std::thread watch([&] { status = client.send({"/watch", {}, true}, sink); });
    CPPUNIT_ASSERT(sink.wait_for_head());
    client.stop();
    watch.join();
    CPPUNIT_ASSERT_EQUAL(ECANCELED, status.os_errno());
    CPPUNIT_ASSERT_EQUAL(ECANCELED, client.send({"/list", {}, false}, sink).os_errno());
  }

  void a_request_waits_for_the_rate_limit() {
    test::CapturedLog log;
    test::TlsServer server(server_pem_, echo);
    options_.budget = {.qps = 0.001, .burst = 1};
    ApiClient client(config(server), options_, noted_, clock_);
    KeepingSink sink;
    CPPUNIT_ASSERT(client.send({"/list", {}, false}, sink).ok());
    noted_.take();
    lib::Status status;
    std::thread waiting([&] { status = client.send({"/list", {}, false}, sink); });
    // No assertion, as the thread waits for stop().
    test::wait_until([&] { return log.text().find("limit") != std::string::npos; });
    client.stop();
    waiting.join();
    CPPUNIT_ASSERT_EQUAL(ECANCELED, status.os_errno());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), server.requests().size());
    CPPUNIT_ASSERT_EQUAL(std::string(), noted_.take());
  }

  void retries_while_the_name_server_hangs_are_bounded() {
    test::HangingLookup names;
    ConnectionConfig config;
    config.server = *parse_server_url("https://api.test:6443");
    options_.resolver = std::make_shared<HostResolver>(names.function());
    options_.resolve_limit = 0ms;
    ApiClient client(config, options_, noted_, clock_);
    KeepingSink sink;
    lib::Status status;
    for (std::size_t i = 0; i < 3 * HostResolver::kMostLookups; ++i) status = client.send({"/list", {}, false}, sink);
    CPPUNIT_ASSERT_EQUAL(
        std::string("cannot reach the API server https://api.test:6443: the name api.test cannot be looked "
                    "up: 4 lookups still wait for the name server, and no more are started; check the "
                    "name servers in /etc/resolv.conf, or use an IP address"),
        status.message());
    CPPUNIT_ASSERT_EQUAL(HostResolver::kMostLookups, options_.resolver->in_progress());
  }

  void connection_pools_are_reported() {
    test::TlsServer server(server_pem_, echo);
    auto config = this->config(server);
    use_certificate(config);
    write_certificate("one");
    {
      ApiClient client(config, options_, noted_, clock_);
      const std::string waited = host_of(server) + "GET waited 0\n";
      const std::string listed = host_of(server) + "GET 200 0 sent 0 received 4\n";
      KeepingSink sink;
      CPPUNIT_ASSERT(client.send({"/list", {}, false}, sink).ok());
      CPPUNIT_ASSERT_EQUAL(waited + "miss\npools kept 1\n" + listed, noted_.take());
      CPPUNIT_ASSERT(client.send({"/list", {}, false}, sink).ok());
      CPPUNIT_ASSERT_EQUAL(waited + "hit\n" + listed, noted_.take());
      KeepingSink watched;
      std::thread watch([&] { static_cast<void>(client.send({"/watch", {}, true}, watched)); });
      CPPUNIT_ASSERT(watched.wait_for_head());
      CPPUNIT_ASSERT_EQUAL(waited + "uncacheable\n" + host_of(server) + "GET 200 0\n", noted_.take());
      write_certificate("two");
      CPPUNIT_ASSERT(client.send({"/list", {}, false}, sink).ok());
      CPPUNIT_ASSERT_EQUAL(waited + "pools kept -1\nmiss\npools kept 1\n" + listed, noted_.take());
      watch.join();
    }
    CPPUNIT_ASSERT_EQUAL(std::string("pools kept -1\n"), noted_.take());
  }

  test::FakeClock clock_;
  test::NotedObserver noted_;
  ApiClientOptions options_ = unlimited();
  test::TemporaryFolder folder_;
  const test::Pem server_pem_ = test::make_pem();
};

CPPUNIT_TEST_SUITE_REGISTRATION(ApiClientTest);

}  // namespace api_client_test
}  // namespace sluice::kube
