// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Data that a client has sent before the relay accepts it.
#include <cppunit/extensions/HelperMacros.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cstring>

#include "test/unit/userspace/relay/tcp_fixture.hpp"

namespace sluice::userspace {
namespace tcp_flow_test {

using namespace rig;

// Members of the kernel's tcp_info, which the C library's lacks: tcpi_segs_in, tcpi_data_segs_in.
constexpr std::size_t kSegments = 140;
constexpr std::size_t kDataSegments = 152;

// How many segments a socket has received: all, and those with data.
std::pair<std::uint32_t, std::uint32_t> received_segments(const lib::Fd& socket) {
  std::array<char, 512> info{};
  socklen_t size = info.size();
  CPPUNIT_ASSERT_EQUAL(0, getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, info.data(), &size));
  CPPUNIT_ASSERT(size >= kDataSegments + sizeof(std::uint32_t));
  std::pair<std::uint32_t, std::uint32_t> found;
  std::memcpy(&found.first, info.data() + kSegments, sizeof(found.first));
  std::memcpy(&found.second, info.data() + kDataSegments, sizeof(found.second));
  return found;
}

constexpr std::size_t kProxyHeader = 28;  // IPv4

// Serves one client at a time. The first client is there, so that the next one waits in the accept queue.
struct OneAtATime {
  explicit OneAtATime(bool sends_proxy_header = false)
      : upstream(listening(abi::Family::kIpv4)),
        relay({name_of(upstream)}, settings(), abi::Family::kIpv4, sends_proxy_header),
        first(connected(relay.front)),
        server_of_first(accepted(upstream)) {
    // Then the relay knows that it is connected.
    write_all(first, "x");
    const std::size_t header = sends_proxy_header ? kProxyHeader : 0;
    CPPUNIT_ASSERT_EQUAL('x', read_exactly(server_of_first, header + 1).back());
  }

  static RelaySettings settings() {
    RelaySettings made = Relayed::one_thread();
    made.max_connections = 1;
    return made;
  }

  // A client that has sent this before it is accepted.
  lib::Fd early(const std::string& text) {
    lib::Fd client = connected(relay.front);
    write_all(client, text);
    first.reset();
    server_of_first.reset();
    return client;
  }

  lib::Fd upstream;
  Relayed relay;
  lib::Fd first;
  lib::Fd server_of_first;
};

class TcpFlowTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TcpFlowTest);
  CPPUNIT_TEST(early_data_arrives_before_later_data);
  CPPUNIT_TEST(early_data_follows_the_proxy_header);
  CPPUNIT_TEST(the_end_of_the_stream_follows_early_data);
  CPPUNIT_TEST(a_client_whose_early_data_is_lost_is_reset);
  CPPUNIT_TEST(early_data_acknowledges_the_endpoint);
  CPPUNIT_TEST_SUITE_END();

  // Smaller than what is read ahead, exactly as much, and more.
  void early_data_arrives_before_later_data() {
    for (const std::size_t size : {5U, 2047U, 2048U, 2049U, 50000U}) {
      OneAtATime path;
      std::string text;
      for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i % 23);
      const lib::Fd client = path.early(text);
      const lib::Fd server = accepted(path.upstream);
      CPPUNIT_ASSERT_EQUAL(text, read_exactly(server, size));
      write_all(client, "later");
      CPPUNIT_ASSERT_EQUAL(std::string("later"), read_exactly(server, 5));
      write_all(server, "answer");
      CPPUNIT_ASSERT_EQUAL(std::string("answer"), read_exactly(client, 6));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{1 + size + 5}, path.relay.sum(&ThreadStatistics::bytes_to_endpoint));
    }
  }

  void early_data_follows_the_proxy_header() {
    OneAtATime path(true);
    const lib::Fd client = path.early("early");
    const lib::Fd server = accepted(path.upstream);
    const std::string received = read_exactly(server, kProxyHeader + 5);
    CPPUNIT_ASSERT_EQUAL(std::string("\r\n\r\n\0\r\nQUIT\n", 12), received.substr(0, 12));
    CPPUNIT_ASSERT_EQUAL(std::string("early"), received.substr(kProxyHeader));
  }

  void the_end_of_the_stream_follows_early_data() {
    OneAtATime path;
    const lib::Fd client = path.early("early");
    shutdown(client.get(), SHUT_WR);
    const lib::Fd server = accepted(path.upstream);
    CPPUNIT_ASSERT_EQUAL(std::string("early"), read_exactly(server, 5));
    CPPUNIT_ASSERT_EQUAL(0, how_it_ended(server));
    write_all(server, "answer");
    CPPUNIT_ASSERT_EQUAL(std::string("answer"), read_exactly(client, 6));
  }

  // As the kernel resets a connection that is closed with unread data.
  void a_client_whose_early_data_is_lost_is_reset() {
    OneAtATime path;
    path.relay.replace_endpoints({dead_endpoint()});
    const lib::Fd client = path.early("early");
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(client));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, path.relay.sum(&ThreadStatistics::failed_all_dials));
  }

  // The endpoint gets the SYN and the data, and no packet without data between them. On a busy machine the kernel
  // sends one before the relay sends the data.
  void early_data_acknowledges_the_endpoint() {
    OneAtATime path;
    CPPUNIT_ASSERT(wait_until([&] {
      const lib::Fd client = path.early("early");
      const lib::Fd server = accepted(path.upstream);
      CPPUNIT_ASSERT_EQUAL(std::string("early"), read_exactly(server, 5));
      path.first = lib::Fd(dup(client.get()));
      path.server_of_first = lib::Fd(dup(server.get()));
      return received_segments(server) == std::pair<std::uint32_t, std::uint32_t>(2, 1);
    }));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(TcpFlowTest);

}  // namespace tcp_flow_test
}  // namespace sluice::userspace
