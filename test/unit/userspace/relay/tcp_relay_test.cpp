// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Data through the TCP relay: none is lost or reordered, and each end gets the FIN or reset of the other.
#include <cppunit/extensions/HelperMacros.h>
#include <poll.h>

#include <atomic>
#include <random>

#include "test/unit/userspace/relay/tcp_fixture.hpp"

namespace sluice::userspace {
namespace tcp_relay_test {

using namespace rig;

// Pseudorandom bytes, determined by the seed and independent of the step size.
class Bytes {
 public:
  explicit Bytes(std::uint64_t seed) : state_(seed) {}
  char next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<char>(state_ >> 56U);
  }

 private:
  std::uint64_t state_;
};

bool write_stream(const lib::Fd& socket, std::uint64_t seed, std::size_t size, std::size_t largest) {
  Bytes bytes(seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  std::string piece;
  while (size > 0) {
    piece.resize(std::min<std::size_t>(size, 1 + random() % largest));
    for (char& byte : piece) byte = bytes.next();
    std::size_t sent = 0;
    while (sent < piece.size()) {
      const ssize_t n = send(socket.get(), piece.data() + sent, piece.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent += static_cast<std::size_t>(n);
    }
    size -= piece.size();
  }
  return shutdown(socket.get(), SHUT_WR) == 0;
}

// The number of correct bytes up to the end of the stream.
std::size_t read_stream(const lib::Fd& socket, std::uint64_t seed, std::size_t largest) {
  Bytes bytes(seed);
  std::mt19937 random(static_cast<unsigned>(seed) + 1);
  std::string piece(largest, '\0');
  std::size_t total = 0;
  for (;;) {
    const ssize_t n = recv(socket.get(), piece.data(), 1 + random() % largest, 0);
    if (n <= 0) return n == 0 ? total : 0;
    for (ssize_t i = 0; i < n; ++i) {
      if (piece[static_cast<std::size_t>(i)] != bytes.next()) return 0;
    }
    total += static_cast<std::size_t>(n);
  }
}

class TcpRelayTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TcpRelayTest);
  CPPUNIT_TEST(both_ways_at_once_ipv4);
  CPPUNIT_TEST(both_ways_at_once_ipv6);
  CPPUNIT_TEST(small_pieces_are_copied_without_pipes);
  CPPUNIT_TEST(a_slow_reader_stops_the_writer_and_gets_everything);
  CPPUNIT_TEST(a_client_that_has_sent_everything_still_gets_its_answer);
  CPPUNIT_TEST(an_endpoint_that_has_sent_everything_still_gets_the_rest);
  CPPUNIT_TEST(a_reset_by_the_client_reaches_the_endpoint);
  CPPUNIT_TEST(a_reset_by_the_endpoint_reaches_the_client);
  CPPUNIT_TEST(data_sent_before_a_reset_arrives);
  CPPUNIT_TEST(an_idle_connection_is_reset_after_the_timeout);
  CPPUNIT_TEST(the_proxy_header_has_the_client_ipv4);
  CPPUNIT_TEST(the_proxy_header_has_the_client_ipv6);
  CPPUNIT_TEST(many_connections_leave_nothing_behind);
  CPPUNIT_TEST(connections_are_spread_over_threads);
  CPPUNIT_TEST_SUITE_END();

  // One connection between a client and an endpoint.
  struct Path {
    explicit Path(RelaySettings settings = Relayed::one_thread(), abi::Family family = abi::Family::kIpv4,
                  bool sends_proxy_header = false)
        : upstream(listening(family)),
          relay({name_of(upstream)}, settings, family, sends_proxy_header),
          client(connected(relay.front)),
          server(accepted(upstream)) {}
    // Wait until the relay knows that it is connected.
    void settle() const {
      write_all(client, "x");
      CPPUNIT_ASSERT_EQUAL(std::string("x"), read_exactly(server, 1));
    }
    lib::Fd upstream;
    Relayed relay;
    lib::Fd client;
    lib::Fd server;
  };

  static void both_ways(Path& path, std::size_t size, std::size_t largest) {
    std::size_t to_server = 0;
    std::size_t to_client = 0;
    std::atomic<bool> written{true};
    std::thread a([&] { written = write_stream(path.client, 1, size, largest) && written; });
    std::thread b([&] { written = write_stream(path.server, 2, size, largest) && written; });
    std::thread c([&] { to_server = read_stream(path.server, 1, largest); });
    to_client = read_stream(path.client, 2, largest);
    a.join();
    b.join();
    c.join();
    CPPUNIT_ASSERT(written);
    CPPUNIT_ASSERT_EQUAL(size, to_server);
    CPPUNIT_ASSERT_EQUAL(size, to_client);
    CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::open, 0));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{size}, path.relay.sum(&ThreadStatistics::bytes_to_endpoint));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{size}, path.relay.sum(&ThreadStatistics::bytes_to_client));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, path.relay.sum(&ThreadStatistics::ended_reset));
  }

  void both_ways_at_once_ipv4() {
    Path path;
    both_ways(path, std::size_t{12} << 20U, 300000);
    CPPUNIT_ASSERT(path.relay.sum(&ThreadStatistics::pipes) > 0);
  }

  void both_ways_at_once_ipv6() {
    RelaySettings settings = Relayed::one_thread();
    settings.threads = 2;
    settings.pipe_bytes = 65536;
    Path path(settings, abi::Family::kIpv6);
    both_ways(path, std::size_t{6} << 20U, 100000);
  }

  void small_pieces_are_copied_without_pipes() {
    Path path;
    for (int i = 0; i < 100; ++i) {
      write_all(path.client, "ping");
      CPPUNIT_ASSERT_EQUAL(std::string("ping"), read_exactly(path.server, 4));
      write_all(path.server, "pong!");
      CPPUNIT_ASSERT_EQUAL(std::string("pong!"), read_exactly(path.client, 5));
    }
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, path.relay.sum(&ThreadStatistics::pipes));
    CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::bytes_to_endpoint, 400));
    CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::bytes_to_client, 500));
  }

  void a_slow_reader_stops_the_writer_and_gets_everything() {
    Path path;
    const std::string piece(65536, 'x');
    std::size_t written = 0;
    // The writer is blocked if it cannot write for a while; fixed time, as a writer that continues too early is
    // harmless.
    for (pollfd ready{path.client.get(), POLLOUT, 0}; poll(&ready, 1, 300) == 1;) {
      const ssize_t n = send(path.client.get(), piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) written += static_cast<std::size_t>(n);
      CPPUNIT_ASSERT_MESSAGE("no back-pressure", written < (std::size_t{256} << 20U));
    }
    CPPUNIT_ASSERT_EQUAL(0, shutdown(path.client.get(), SHUT_WR));
    std::size_t read = 0;
    std::string buffer(65536, '\0');
    for (;;) {
      const ssize_t n = recv(path.server.get(), buffer.data(), buffer.size(), 0);
      CPPUNIT_ASSERT(n >= 0);
      if (n == 0) break;
      read += static_cast<std::size_t>(n);
    }
    CPPUNIT_ASSERT_EQUAL(written, read);
  }

  void a_client_that_has_sent_everything_still_gets_its_answer() {
    Path path;
    write_all(path.client, "question");
    shutdown(path.client.get(), SHUT_WR);
    CPPUNIT_ASSERT_EQUAL(std::string("question"), read_exactly(path.server, 8));
    CPPUNIT_ASSERT_EQUAL(0, how_it_ended(path.server));
    write_all(path.server, "answer");
    CPPUNIT_ASSERT_EQUAL(std::string("answer"), read_exactly(path.client, 6));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, path.relay.sum(&ThreadStatistics::open));
    path.server.reset();
    CPPUNIT_ASSERT_EQUAL(0, how_it_ended(path.client));
    CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::open, 0));
  }

  void an_endpoint_that_has_sent_everything_still_gets_the_rest() {
    Path path;
    write_all(path.server, "greeting");
    shutdown(path.server.get(), SHUT_WR);
    CPPUNIT_ASSERT_EQUAL(std::string("greeting"), read_exactly(path.client, 8));
    CPPUNIT_ASSERT_EQUAL(0, how_it_ended(path.client));
    write_all(path.client, "upload");
    CPPUNIT_ASSERT_EQUAL(std::string("upload"), read_exactly(path.server, 6));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, path.relay.sum(&ThreadStatistics::open));
    path.client.reset();
    CPPUNIT_ASSERT_EQUAL(0, how_it_ended(path.server));
    CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::open, 0));
  }

  void a_reset_by_the_client_reaches_the_endpoint() {
    Path path;
    path.settle();
    rig::reset(std::move(path.client));
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.server));
    CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::ended_reset, 1));
    CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::open, 0));
  }

  void a_reset_by_the_endpoint_reaches_the_client() {
    Path path;
    path.settle();
    rig::reset(std::move(path.server));
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.client));
    CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::ended_reset, 1));
  }

  void data_sent_before_a_reset_arrives() {
    Path path;
    write_all(path.server, "last words");
    CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::bytes_to_client, 10));
    rig::reset(std::move(path.server));
    CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::ended_reset, 1));
    CPPUNIT_ASSERT_EQUAL(std::string("last words"), read_exactly(path.client, 10));
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.client));
  }

  void an_idle_connection_is_reset_after_the_timeout() {
    RelaySettings settings = Relayed::one_thread();
    // Longer than the exchange of the first bytes takes on a busy machine.
    settings.tcp_idle_timeout = sluice::test::stretched_at_most(milliseconds(1000), std::chrono::seconds(5));
    settings.dial_timeouts = {milliseconds(50), milliseconds(5000)};
    Path path(settings);
    path.settle();
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.client));
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.server));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, path.relay.sum(&ThreadStatistics::ended_idle));
  }

  static void sends_proxy_header(abi::Family family) {
    Path path(Relayed::one_thread(), family, true);
    const SocketAddress from = name_of(path.client);
    const std::size_t length = family == abi::Family::kIpv6 ? 16 : 4;
    std::string expected("\r\n\r\n\0\r\nQUIT\n", 12);
    expected += '\x21';
    expected += family == abi::Family::kIpv6 ? '\x21' : '\x11';
    expected += '\0';
    expected += static_cast<char>(2 * length + 4);
    expected.append(reinterpret_cast<const char*>(from.address().bytes), length);
    expected.append(reinterpret_cast<const char*>(path.relay.front.address().bytes), length);
    for (const std::uint16_t port : {from.port(), path.relay.front.port()}) {
      expected += static_cast<char>(port >> 8U);
      expected += static_cast<char>(port & 0xffU);
    }
    // Before the client sends data, since some servers send first.
    CPPUNIT_ASSERT_EQUAL(expected, read_exactly(path.server, expected.size()));
    write_all(path.client, "hello");
    CPPUNIT_ASSERT_EQUAL(std::string("hello"), read_exactly(path.server, 5));
  }
  void the_proxy_header_has_the_client_ipv4() { sends_proxy_header(abi::Family::kIpv4); }
  void the_proxy_header_has_the_client_ipv6() { sends_proxy_header(abi::Family::kIpv6); }

  void many_connections_leave_nothing_behind() {
    const std::size_t before = open_descriptors();
    {
      const lib::Fd upstream = listening(abi::Family::kIpv4);
      RelaySettings settings = Relayed::one_thread();
      settings.threads = 2;
      Relayed relay({name_of(upstream)}, settings);
      const std::size_t idle = open_descriptors();
      for (int i = 0; i < 300; ++i) {
        const lib::Fd client = connected(relay.front);
        const lib::Fd server = accepted(upstream);
        write_all(client, "x");
        CPPUNIT_ASSERT_EQUAL(std::string("x"), read_exactly(server, 1));
      }
      CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::open, 0));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{300}, relay.sum(&ThreadStatistics::accepted));
      CPPUNIT_ASSERT_EQUAL(idle, open_descriptors());
      CPPUNIT_ASSERT_EQUAL(std::uint32_t{0}, relay.listener->balancer().next({}, 0)->open());
    }
    CPPUNIT_ASSERT_EQUAL(before, open_descriptors());
  }

  void connections_are_spread_over_threads() {
    const lib::Fd upstream = listening(abi::Family::kIpv4);
    RelaySettings settings = Relayed::one_thread();
    settings.threads = 2;
    Relayed relay({name_of(upstream)}, settings);
    std::vector<lib::Fd> ends;
    for (int i = 0; i < 8; ++i) {
      ends.push_back(connected(relay.front));
      ends.push_back(accepted(upstream));
    }
    CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::open, 8));
    for (const auto& statistics : relay.engine->statistics()) CPPUNIT_ASSERT(statistics->open.get() >= 3);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(TcpRelayTest);

}  // namespace tcp_relay_test
}  // namespace sluice::userspace
