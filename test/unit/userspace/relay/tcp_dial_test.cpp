// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Dialling endpoints for a TCP client, and what happens to clients when endpoints are removed or the
// listening socket closes.
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/userspace/relay/tcp_fixture.hpp"

namespace sluice::userspace {
namespace tcp_dial_test {

using namespace rig;

class TcpDialTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TcpDialTest);
  CPPUNIT_TEST(without_endpoints_a_client_is_accepted_and_closed);
  CPPUNIT_TEST(when_all_endpoints_refuse_the_client_is_closed);
  CPPUNIT_TEST(dead_endpoints_are_hidden_while_one_answers);
  CPPUNIT_TEST(a_silent_endpoint_costs_one_dial_timeout);
  CPPUNIT_TEST(dial_timeouts_bound_the_dial);
  CPPUNIT_TEST(what_the_client_sends_while_dialling_is_not_lost);
  CPPUNIT_TEST(no_dial_for_a_client_that_has_gone);
  CPPUNIT_TEST(a_client_reset_while_dialling_is_passed_on);
  CPPUNIT_TEST(an_endpoint_removed_while_dialled_is_replaced_at_once);
  CPPUNIT_TEST(removed_endpoints_do_not_use_up_the_attempts);
  CPPUNIT_TEST(connections_of_a_removed_endpoint_are_kept);
  CPPUNIT_TEST(connections_of_a_removed_endpoint_are_drained);
  CPPUNIT_TEST(connections_of_a_removed_endpoint_are_reset);
  CPPUNIT_TEST(connections_of_a_stopped_listener_are_kept);
  CPPUNIT_TEST(connections_of_a_stopped_listener_are_reset);
  CPPUNIT_TEST(stopping_accepts_queued_connections);
  CPPUNIT_TEST(after_stopping_the_port_is_free);
  CPPUNIT_TEST(connections_of_a_released_backend_continue_until_reset);
  CPPUNIT_TEST(an_engine_ends_with_connections_open);
  CPPUNIT_TEST(families_with_equal_settings_share_an_engine);
  CPPUNIT_TEST_SUITE_END();

  static void expect_served(const lib::Fd& client, const lib::Fd& upstream) {
    const lib::Fd server = accepted(upstream);
    write_all(server, "here");
    CPPUNIT_ASSERT_EQUAL(std::string("here"), read_exactly(client, 4));
  }

  static RelaySettings when_removed(WhenRemoved what) {
    RelaySettings settings = Relayed::one_thread();
    settings.when_removed = what;
    settings.drain = milliseconds(100);
    return settings;
  }

  static RelaySettings patient() {
    RelaySettings settings = Relayed::one_thread();
    settings.dial_timeouts = {seconds(30)};
    return settings;
  }

  void without_endpoints_a_client_is_accepted_and_closed() {
    Relayed relay({});
    const lib::Fd client = connected(relay.front);
    CPPUNIT_ASSERT_EQUAL(0, how_it_ended(client));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, relay.sum(&ThreadStatistics::refused_no_endpoint));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, relay.sum(&ThreadStatistics::dials));
  }

  void when_all_endpoints_refuse_the_client_is_closed() {
    Relayed relay({dead_endpoint(), dead_endpoint()});
    const lib::Fd client = connected(relay.front);
    CPPUNIT_ASSERT_EQUAL(0, how_it_ended(client));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, relay.sum(&ThreadStatistics::failed_all_dials));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{4}, relay.sum(&ThreadStatistics::dials_failed));
  }

  void dead_endpoints_are_hidden_while_one_answers() {
    const lib::Fd upstream = listening(abi::Family::kIpv6);
    std::vector<SocketAddress> endpoints{name_of(upstream)};
    for (int i = 0; i < 7; ++i) endpoints.push_back(dead_endpoint(abi::Family::kIpv6));
    Relayed relay(endpoints, Relayed::one_thread(), abi::Family::kIpv6);
    for (int i = 0; i < 50; ++i) {
      const lib::Fd client = connected(relay.front);
      expect_served(client, upstream);
    }
    CPPUNIT_ASSERT(relay.sum(&ThreadStatistics::dials_failed) >= 7);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, relay.sum(&ThreadStatistics::failed_all_dials));
  }

  void a_silent_endpoint_costs_one_dial_timeout() {
    const SilentEndpoint silent;
    const lib::Fd upstream = listening(abi::Family::kIpv4);
    RelaySettings settings = Relayed::one_thread();
    settings.dial_timeouts = {milliseconds(50), seconds(20)};
    Relayed relay({silent.address(), name_of(upstream)}, settings);
    for (int i = 0; i < 4; ++i) {
      const lib::Fd client = connected(relay.front);
      expect_served(client, upstream);
    }
    CPPUNIT_ASSERT(relay.sum(&ThreadStatistics::dials_failed) >= 1);
  }

  void dial_timeouts_bound_the_dial() {
    const SilentEndpoint silent;
    RelaySettings settings = Relayed::one_thread();
    settings.dial_timeouts = {milliseconds(50), milliseconds(100)};
    Relayed relay({silent.address()}, settings);
    const auto begin = std::chrono::steady_clock::now();
    const lib::Fd client = connected(relay.front);
    CPPUNIT_ASSERT_EQUAL(0, how_it_ended(client));
    // No upper bound is needed: without dial timeouts the client would wait longer than its socket timeout.
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - begin >= milliseconds(149));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, relay.sum(&ThreadStatistics::dials));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, relay.sum(&ThreadStatistics::dials_failed));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, relay.sum(&ThreadStatistics::failed_all_dials));
  }

  void what_the_client_sends_while_dialling_is_not_lost() {
    const SilentEndpoint silent;
    const lib::Fd upstream = listening(abi::Family::kIpv4);
    Relayed relay({silent.address()}, patient());
    const lib::Fd client = connected(relay.front);
    write_all(client, "early");
    shutdown(client.get(), SHUT_WR);
    CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::dials, 1));
    relay.replace_endpoints({name_of(upstream)});
    const lib::Fd server = accepted(upstream);
    CPPUNIT_ASSERT_EQUAL(std::string("early"), read_exactly(server, 5));
    CPPUNIT_ASSERT_EQUAL(0, how_it_ended(server));
  }

  void no_dial_for_a_client_that_has_gone() {
    const SilentEndpoint silent;
    Relayed relay({silent.address()}, patient());
    lib::Fd client = connected(relay.front);
    CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::dials, 1));
    rig::reset(std::move(client));
    CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::open, 0));
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{0}, relay.listener->balancer().next({}, 0)->open());
  }

  void a_client_reset_while_dialling_is_passed_on() {
    const lib::Fd upstream = listening(abi::Family::kIpv4);
    Relayed relay({name_of(upstream)});
    for (int i = 0; i < 100; ++i) {
      lib::Fd client = connected(relay.front);
      const lib::Fd server = accepted(upstream);
      rig::reset(std::move(client));
      CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(server));
    }
  }

  void an_endpoint_removed_while_dialled_is_replaced_at_once() {
    const SilentEndpoint silent;
    const lib::Fd upstream = listening(abi::Family::kIpv4);
    Relayed relay({silent.address()}, patient());
    const lib::Fd client = connected(relay.front);
    CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::dials, 1));
    relay.replace_endpoints({name_of(upstream)});
    expect_served(client, upstream);
  }

  void removed_endpoints_do_not_use_up_the_attempts() {
    const std::vector<SilentEndpoint> silent(6);
    const lib::Fd upstream = listening(abi::Family::kIpv4);
    Relayed relay({silent[0].address()}, patient());
    const lib::Fd client = connected(relay.front);
    write_all(client, "early");
    for (std::size_t i = 1; i < silent.size(); ++i) {
      CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::dials, i));
      relay.replace_endpoints({silent[i].address()});
    }
    CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::dials, silent.size()));
    relay.replace_endpoints({name_of(upstream)});
    expect_served(client, upstream);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, relay.sum(&ThreadStatistics::failed_all_dials));
  }

  // Opens a connection, then replaces its endpoint.
  struct Replaced {
    explicit Replaced(const RelaySettings& settings)
        : old(listening(abi::Family::kIpv4)),
          next(listening(abi::Family::kIpv4)),
          relay({name_of(old)}, settings),
          client(connected(relay.front)),
          server(accepted(old)) {
      CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::open, 1));
      write_all(client, "x");
      CPPUNIT_ASSERT_EQUAL(std::string("x"), read_exactly(server, 1));
    }
    lib::Fd old, next;
    Relayed relay;
    lib::Fd client, server;
  };

  static void expect_alive(const Replaced& path) {
    write_all(path.client, "still");
    CPPUNIT_ASSERT_EQUAL(std::string("still"), read_exactly(path.server, 5));
    write_all(path.server, "there");
    CPPUNIT_ASSERT_EQUAL(std::string("there"), read_exactly(path.client, 5));
  }

  static void expect_reset(const Replaced& path) {
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.client));
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.server));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, path.relay.sum(&ThreadStatistics::ended_drained));
  }

  void connections_of_a_removed_endpoint_are_kept() {
    Replaced path(when_removed(WhenRemoved::kKeep));
    path.relay.replace_endpoints({name_of(path.next)});
    expect_served(connected(path.relay.front), path.next);
    expect_alive(path);
  }

  void connections_of_a_removed_endpoint_are_drained() {
    Replaced path(when_removed(WhenRemoved::kDrain));
    const auto begin = std::chrono::steady_clock::now();
    path.relay.replace_endpoints({name_of(path.next)});
    expect_served(connected(path.relay.front), path.next);
    expect_reset(path);
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - begin >= milliseconds(99));
  }

  void connections_of_a_removed_endpoint_are_reset() {
    Replaced path(when_removed(WhenRemoved::kReset));
    const lib::Fd other = connected(path.relay.front);
    const lib::Fd other_server = accepted(path.old);
    // The remaining endpoint keeps its connections.
    path.relay.replace_endpoints({name_of(path.old), name_of(path.next)});
    expect_alive(path);
    path.relay.replace_endpoints({name_of(path.next)});
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.client));
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.server));
    CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(other));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, path.relay.sum(&ThreadStatistics::ended_drained));
    expect_served(connected(path.relay.front), path.next);
  }

  void connections_of_a_stopped_listener_are_kept() {
    Replaced path(when_removed(WhenRemoved::kKeep));
    path.relay.engine->stop(path.relay.id);
    expect_alive(path);
  }

  void connections_of_a_stopped_listener_are_reset() {
    Replaced path(when_removed(WhenRemoved::kReset));
    path.relay.engine->stop(path.relay.id);
    expect_reset(path);
  }

  void stopping_accepts_queued_connections() {
    const lib::Fd upstream = listening(abi::Family::kIpv4);
    RelaySettings settings = Relayed::one_thread();
    settings.threads = 2;
    settings.max_connections = 1;  // so that the others stay in the accept queue
    Relayed relay({name_of(upstream)}, settings);
    std::vector<lib::Fd> clients;
    for (int i = 0; i < 5; ++i) clients.push_back(connected(relay.front));
    expect_served(clients.front(), upstream);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, relay.sum(&ThreadStatistics::accepted));
    relay.engine->stop(relay.id);
    for (std::size_t i = 1; i < clients.size(); ++i) expect_served(clients[i], upstream);
  }

  void after_stopping_the_port_is_free() {
    const lib::Fd upstream = listening(abi::Family::kIpv4);
    RelaySettings settings = Relayed::one_thread();
    settings.threads = 3;
    Relayed relay({name_of(upstream)}, settings);
    relay.engine->stop(relay.id);
    const lib::Fd again = new_socket(abi::Family::kIpv4);
    CPPUNIT_ASSERT_EQUAL(0, bind(again.get(), relay.front.get(), relay.front.size()));
    relay.engine->stop(relay.id);  // a second call has no effect
  }

  void connections_of_a_released_backend_continue_until_reset() {
    RelaySettings settings = Relayed::one_thread();
    settings.when_removed = WhenRemoved::kReset;
    Replaced path(settings);
    path.relay.engine->stop({&path.relay.id, 1}, Engine::Ending::kRetired);
    const lib::Fd late = new_socket(abi::Family::kIpv4);
    CPPUNIT_ASSERT(connect(late.get(), path.relay.front.get(), path.relay.front.size()) != 0);
    write_all(path.client, "more");
    CPPUNIT_ASSERT_EQUAL(std::string("more"), read_exactly(path.server, 4));
    path.relay.engine->reset(*path.relay.relayed);
    expect_reset(path);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, path.relay.sum(&ThreadStatistics::open));
  }

  void an_engine_ends_with_connections_open() {
    const std::size_t before = open_descriptors();
    {
      const SilentEndpoint silent;
      Replaced path(patient());
      path.relay.replace_endpoints({silent.address()});
      const lib::Fd dialling = connected(path.relay.front);
      CPPUNIT_ASSERT(path.relay.becomes(&ThreadStatistics::dials, 2));
      path.relay.engine.reset();
      // A reset, not an end of stream.
      CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.client));
      CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(path.server));
      CPPUNIT_ASSERT_EQUAL(ECONNRESET, how_it_ended(dialling));
    }
    CPPUNIT_ASSERT_EQUAL(before, open_descriptors());
  }

  void families_with_equal_settings_share_an_engine() {
    const auto one = Engine::shared(Relayed::one_thread());
    CPPUNIT_ASSERT(one == Engine::shared(Relayed::one_thread()));
    CPPUNIT_ASSERT(one != Engine::shared(patient()));
    CPPUNIT_ASSERT_EQUAL(1U, one->threads());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(TcpDialTest);

}  // namespace tcp_dial_test
}  // namespace sluice::userspace
