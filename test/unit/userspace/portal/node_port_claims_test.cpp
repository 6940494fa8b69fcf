// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/extensions/HelperMacros.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lib/program.hpp"
#include "plugins/common/sockets/port_holder.hpp"
#include "plugins/userspace/claim_arbiter.hpp"
#include "plugins/userspace/portal/node_port_claims.hpp"
#include "test/unit/userspace/sockets.hpp"

namespace sluice::userspace {
namespace node_port_claims_test {

constexpr abi::Family kV4 = abi::Family::kIpv4;
constexpr abi::Protocol kTcp = abi::Protocol::kTcp;
constexpr abi::Protocol kUdp = abi::Protocol::kUdp;
using Names = std::set<std::string>;

class ClaimsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ClaimsTest);
  CPPUNIT_TEST(programs_cannot_bind_a_claimed_port);
  CPPUNIT_TEST(a_connection_to_a_claimed_port_is_refused);
  CPPUNIT_TEST(datagrams_to_a_claimed_port_are_dropped);
  CPPUNIT_TEST(a_conflict_names_the_holding_service);
  CPPUNIT_TEST(a_program_that_has_the_port_is_named);
  CPPUNIT_TEST(a_released_port_that_a_starting_program_still_has_is_waited_for);
  CPPUNIT_TEST(a_program_with_so_reuseaddr_is_detected);
  CPPUNIT_TEST(one_address_and_every_address_can_both_be_claimed);
  CPPUNIT_TEST(a_failed_claim_of_every_address_keeps_single_addresses);
  CPPUNIT_TEST(an_address_not_yet_on_the_node_can_be_claimed);
  CPPUNIT_TEST(only_the_owner_releases);
  CPPUNIT_TEST(a_release_passes_the_port_to_the_waiting_owner);
  CPPUNIT_TEST(an_unwanted_port_is_held_until_release_unwanted);
  CPPUNIT_TEST(a_port_can_be_claimed_again_before_its_release);
  CPPUNIT_TEST(the_first_owner_keeps_the_port);
  CPPUNIT_TEST(a_port_held_by_a_program_is_retried);
  CPPUNIT_TEST(one_address_and_every_address_do_not_conflict);
  CPPUNIT_TEST_SUITE_END();

  NodePortClaims claims_{kV4};
  ClaimArbiter arbiter_{kV4};

 public:
  // CppUnit keeps fixtures until all tests have run; tearDown() releases the ports earlier.
  void tearDown() override {
    claims_ = NodePortClaims(kV4);
    arbiter_ = ClaimArbiter(kV4);
  }

 private:
  const std::uint16_t port_ = test::free_port(kV4);
  const ClaimedAddress tcp_{{}, port_, kTcp};
  const ClaimedAddress udp_{{}, port_, kUdp};
  const ClaimedAddress one_{test::loopback(kV4), port_, kTcp};

  bool is_free(int type) const { return static_cast<bool>(test::bound(kV4, type, {}, port_)); }
  std::string named(const std::string& how) const { return "node port " + std::to_string(port_) + how; }

  void programs_cannot_bind_a_claimed_port() {
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(tcp_, "a/b"));
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    CPPUNIT_ASSERT(is_free(SOCK_DGRAM));
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(udp_, "a/b"));
    CPPUNIT_ASSERT(!is_free(SOCK_DGRAM));
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(tcp_, "a/b"));
    claims_.release(tcp_, "a/b");
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, claims_.size());
  }

  void a_connection_to_a_claimed_port_is_refused() {
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(tcp_, "a/b"));
    CPPUNIT_ASSERT_EQUAL(ECONNREFUSED, test::connect_error(kV4, port_));
  }

  // The sender gets no error when the filter of a socket drops its datagrams, so the receive queue is checked.
  void datagrams_to_a_claimed_port_are_dropped() {
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(udp_, "a/b"));
    const lib::Fd client = test::bound(kV4, SOCK_DGRAM, test::loopback(kV4), 0);
    const SocketAddress to(kV4, test::loopback(kV4), port_);
    for (int i = 0; i < 8; ++i) {
      CPPUNIT_ASSERT_EQUAL(ssize_t{4}, sendto(client.get(), "text", 4, 0, to.get(), to.size()));
    }
    for (int fd = 3; fd < 1024; ++fd) {
      SocketAddress address;
      socklen_t size = SocketAddress::capacity();
      int type = 0;
      socklen_t type_size = sizeof(type);
      if (getsockname(fd, address.get(), &size) != 0 || address.family() != AF_INET || address.port() != port_)
        continue;
      if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_DGRAM) continue;
      pollfd wait{fd, POLLIN, 0};
      CPPUNIT_ASSERT_EQUAL(0, poll(&wait, 1, 0));
      return;
    }
    CPPUNIT_FAIL("the socket that holds the port was not found");
  }

  // Case 133.
  void a_conflict_names_the_holding_service() {
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(tcp_, "shop/cart:http"));
    CPPUNIT_ASSERT_EQUAL(named("/TCP belongs to Service port shop/cart:http; give one of them another port"),
                         claims_.claim(tcp_, "shop/other:http"));
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(udp_, "shop/other:dns"));
  }

  void a_program_that_has_the_port_is_named() {
    const lib::Fd mine = test::bound(kV4, SOCK_STREAM, test::loopback(kV4), port_);
    CPPUNIT_ASSERT_EQUAL(0, listen(mine.get(), 1));
    CPPUNIT_ASSERT_EQUAL(named("/TCP is in use by this process; stop it, or give the Service another port"),
                         claims_.claim(tcp_, "a/b"));
    CPPUNIT_ASSERT_EQUAL(std::string("this process"), sockets::find_port_holder(kV4, kTcp, {}, port_));
    CPPUNIT_ASSERT_EQUAL(std::string("a program of this node"), sockets::find_port_holder(kV4, kUdp, {}, port_));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, claims_.size());
  }

  // A process that runs no program yet has the descriptors of this one.
  void a_released_port_that_a_starting_program_still_has_is_waited_for() {
    lib::Fd inherited = test::bound(kV4, SOCK_STREAM, {}, port_);
    CPPUNIT_ASSERT(inherited);
    std::optional<lib::StartingProgram> starting(std::in_place);
    std::thread program([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // fixed time: the claim waits
      inherited.reset();
      starting.reset();
    });
    const std::string refusal = claims_.claim(tcp_, "shop/new");
    program.join();
    CPPUNIT_ASSERT_EQUAL(std::string(), refusal);
  }

  void a_program_with_so_reuseaddr_is_detected() {
    const lib::Fd mine(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    for (const int option : {SO_REUSEADDR, SO_REUSEPORT}) {
      CPPUNIT_ASSERT_EQUAL(0, setsockopt(mine.get(), SOL_SOCKET, option, &on, sizeof(on)));
    }
    const SocketAddress where(kV4, {}, port_);
    CPPUNIT_ASSERT_EQUAL(0, bind(mine.get(), where.get(), where.size()));
    CPPUNIT_ASSERT(!claims_.claim(tcp_, "a/b").empty());
  }

  // Case 71: the rules distinguish the two, so they do not conflict; the port stays reserved throughout.
  void one_address_and_every_address_can_both_be_claimed() {
    const abi::Address other = *sdk::parse_address("127.0.0.2", kV4);
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(one_, "a/one"));
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, one_.address, port_));
    CPPUNIT_ASSERT(test::bound(kV4, SOCK_STREAM, other, port_));
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(tcp_, "a/all"));
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, other, port_));
    claims_.release(tcp_, "a/all");
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, one_.address, port_));
    CPPUNIT_ASSERT(test::bound(kV4, SOCK_STREAM, other, port_));
    // In the other order.
    claims_.release(one_, "a/one");
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(tcp_, "a/all"));
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(one_, "a/one"));
    claims_.release(one_, "a/one");
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, one_.address, port_));
  }

  void a_failed_claim_of_every_address_keeps_single_addresses() {
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(one_, "a/one"));
    const lib::Fd mine = test::bound(kV4, SOCK_STREAM, *sdk::parse_address("127.0.0.2", kV4), port_);
    CPPUNIT_ASSERT(mine);
    CPPUNIT_ASSERT(!claims_.claim(tcp_, "a/all").empty());
    CPPUNIT_ASSERT(!test::bound(kV4, SOCK_STREAM, one_.address, port_));
  }

  void an_address_not_yet_on_the_node_can_be_claimed() {
    const ClaimedAddress elsewhere{*sdk::parse_address("192.0.2.1", kV4), port_, kTcp};
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(elsewhere, "a/b"));
  }

  void only_the_owner_releases() {
    CPPUNIT_ASSERT_THROW(claims_.release(tcp_, "a/b"), std::logic_error);
    CPPUNIT_ASSERT_EQUAL(std::string(), claims_.claim(tcp_, "a/b"));
    CPPUNIT_ASSERT_THROW(claims_.release(tcp_, "a/c"), std::logic_error);
    CPPUNIT_ASSERT_THROW(claims_.hand_over(tcp_, "a/c", "a/d"), std::logic_error);
  }

  void a_release_passes_the_port_to_the_waiting_owner() {
    arbiter_.set_wanted("a/1", {}, {tcp_});
    arbiter_.set_wanted("a/2", {}, {tcp_});
    CPPUNIT_ASSERT(arbiter_.settle(false).empty());
    CPPUNIT_ASSERT_EQUAL(std::string(), arbiter_.refusal(tcp_, "a/1"));
    CPPUNIT_ASSERT(!arbiter_.refusal(tcp_, "a/2").empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, arbiter_.refusals());
    arbiter_.set_wanted("a/1", {tcp_}, {});
    CPPUNIT_ASSERT(Names{"a/2"} == arbiter_.settle(false));
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    CPPUNIT_ASSERT_EQUAL(std::string(), arbiter_.refusal(tcp_, "a/2"));
    arbiter_.release_unwanted();
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, arbiter_.refusals());
  }

  void an_unwanted_port_is_held_until_release_unwanted() {
    arbiter_.set_wanted("a/1", {}, {tcp_});
    arbiter_.settle(false);
    arbiter_.set_wanted("a/1", {tcp_}, {});
    arbiter_.settle(false);
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    arbiter_.release_unwanted();
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, arbiter_.held());
  }

  // If rules could not be written, the pending release must not affect the new holder.
  void a_port_can_be_claimed_again_before_its_release() {
    arbiter_.set_wanted("a/1", {}, {tcp_});
    arbiter_.settle(false);
    arbiter_.set_wanted("a/1", {tcp_}, {});
    arbiter_.settle(false);
    arbiter_.set_wanted("a/1", {}, {tcp_});
    CPPUNIT_ASSERT(arbiter_.settle(false).empty());
    arbiter_.release_unwanted();
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    CPPUNIT_ASSERT_EQUAL(std::string(), arbiter_.refusal(tcp_, "a/1"));
  }

  void the_first_owner_keeps_the_port() {
    arbiter_.set_wanted("b/late-in-the-alphabet", {}, {tcp_});
    arbiter_.settle(false);
    arbiter_.set_wanted("a/early", {}, {tcp_});
    arbiter_.set_wanted("b/late-in-the-alphabet", {tcp_}, {tcp_});
    CPPUNIT_ASSERT(arbiter_.settle(true).empty());
    CPPUNIT_ASSERT(!arbiter_.refusal(tcp_, "a/early").empty());
    CPPUNIT_ASSERT_EQUAL(std::string(), arbiter_.refusal(tcp_, "b/late-in-the-alphabet"));
    arbiter_.set_wanted("a/early", {tcp_}, {});
    CPPUNIT_ASSERT(arbiter_.settle(false).empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, arbiter_.refusals());
  }

  void a_port_held_by_a_program_is_retried() {
    lib::Fd mine = test::bound(kV4, SOCK_STREAM, {}, port_);
    arbiter_.set_wanted("a/1", {}, {tcp_, udp_});
    CPPUNIT_ASSERT(arbiter_.settle(false).empty());
    CPPUNIT_ASSERT(!arbiter_.refusal(tcp_, "a/1").empty());
    CPPUNIT_ASSERT_EQUAL(std::string(), arbiter_.refusal(udp_, "a/1"));
    mine.reset();
    CPPUNIT_ASSERT(arbiter_.settle(false).empty());
    CPPUNIT_ASSERT(Names{"a/1"} == arbiter_.settle(true));
    CPPUNIT_ASSERT_EQUAL(std::string(), arbiter_.refusal(tcp_, "a/1"));
  }

  void one_address_and_every_address_do_not_conflict() {
    arbiter_.set_wanted("a/one", {}, {one_});
    arbiter_.set_wanted("a/all", {}, {tcp_});
    CPPUNIT_ASSERT(arbiter_.settle(false).empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, arbiter_.refusals());
    arbiter_.set_wanted("a/all", {tcp_}, {});
    arbiter_.settle(false);
    arbiter_.release_unwanted();
    CPPUNIT_ASSERT(!is_free(SOCK_STREAM));
    arbiter_.set_wanted("a/one", {one_}, {});
    arbiter_.settle(false);
    arbiter_.release_unwanted();
    CPPUNIT_ASSERT(is_free(SOCK_STREAM));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ClaimsTest);

}  // namespace node_port_claims_test
}  // namespace sluice::userspace
