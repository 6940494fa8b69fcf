// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The requests for conntrack entries, byte by byte where the kernel depends on it, and its answers.
#include "plugins/userspace/relay/conntrack_entry.hpp"

#include <arpa/inet.h>
#include <cppunit/extensions/HelperMacros.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace sluice::userspace {
namespace conntrack_entry_test {

using lib::netlink::header_of;
using lib::netlink::integer_attribute;
using lib::netlink::nested_attribute;

SocketAddress at(const char* address, std::uint16_t port) {
  abi::Address bytes{};
  const bool v6 = std::strchr(address, ':') != nullptr;
  CPPUNIT_ASSERT_EQUAL(1, inet_pton(v6 ? AF_INET6 : AF_INET, address, bytes.bytes));
  return SocketAddress(v6 ? abi::Family::kIpv6 : abi::Family::kIpv4, bytes, port);
}

std::string text(const SocketAddress& address) {
  char out[INET6_ADDRSTRLEN];
  const abi::Address bytes = address.address();
  inet_ntop(address.family(), bytes.bytes, out, sizeof(out));
  return std::string(out) + " " + std::to_string(address.port());
}

const nlattr* find(const lib::netlink::Message& message, int type) {
  return nlmsg_find_attr(header_of(message), sizeof(nfgenmsg), type);
}

std::uint16_t port_in(const nlattr* nest, int type) {
  return ntohs(static_cast<std::uint16_t>(integer_attribute(nested_attribute(nest, type))));
}

// Answers each request with the next errno.
class FakeKernel final : public lib::netlink::RawSocket {
 public:
  explicit FakeKernel(std::deque<int> answers) : answers_(std::move(answers)) {}
  int send(std::string_view datagram) noexcept override {
    const auto* const request = reinterpret_cast<const nlmsghdr*>(datagram.data());
    const int answer = answers_.front();
    answers_.pop_front();
    struct {
      nlmsghdr header;
      nlmsgerr error;
    } end{};
    end.header = {sizeof(end), NLMSG_ERROR, 0, request->nlmsg_seq, port_id()};
    end.error.error = -answer;
    reply_.assign(reinterpret_cast<const char*>(&end), sizeof(end));
    return 0;
  }
  long receive(std::span<char> into, std::chrono::milliseconds) noexcept override {
    std::memcpy(into.data(), reply_.data(), reply_.size());
    return static_cast<long>(reply_.size());
  }
  std::uint32_t port_id() const noexcept override { return 7; }

 private:
  std::deque<int> answers_;
  std::string reply_;
};

Conntrack answering(std::deque<int> answers) {
  auto kernel =
      std::make_shared<std::unique_ptr<lib::netlink::RawSocket>>(std::make_unique<FakeKernel>(std::move(answers)));
  return Conntrack([kernel] { return lib::Result<std::unique_ptr<lib::netlink::RawSocket>>(std::move(*kernel)); });
}

class ConntrackEntryTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConntrackEntryTest);
  CPPUNIT_TEST(a_new_entry_has_a_reply_tuple_that_is_not_translated);
  CPPUNIT_TEST(a_new_entry_translates_to_the_client);
  CPPUNIT_TEST(a_tcp_entry_begins_without_state_and_accepts_any_sequence_number);
  CPPUNIT_TEST(removal_names_the_original_tuple);
  CPPUNIT_TEST(errors_of_the_kernel_are_returned);
  CPPUNIT_TEST(an_acknowledgement_without_an_entry_is_no_answer);
  CPPUNIT_TEST(low_ports_stay_low);
  CPPUNIT_TEST_SUITE_END();

  const RelayFlow v4_{IPPROTO_TCP, at("192.168.0.2", 40001), at("10.180.0.1", 80)};
  const RelayFlow v6_{IPPROTO_UDP, at("fd00::2", 40001), at("fd00:1::1", 53)};

  void a_new_entry_has_a_reply_tuple_that_is_not_translated() {
    for (const RelayFlow& flow : {v4_, v6_}) {
      const SocketAddress client = flow.source.family() == AF_INET6 ? at("fd00::9", 1) : at("10.0.0.9", 1);
      const auto message = conntrack_message::create(flow, {client, 1, 1}, 20);
      CPPUNIT_ASSERT_EQUAL((NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_NEW, int{header_of(message)->nlmsg_type});
      CPPUNIT_ASSERT((header_of(message)->nlmsg_flags & (NLM_F_CREATE | NLM_F_EXCL)) == (NLM_F_CREATE | NLM_F_EXCL));
      ConntrackEntry entry;
      CPPUNIT_ASSERT(conntrack_message::read(header_of(message), entry));
      CPPUNIT_ASSERT_EQUAL(text(flow.source), text(entry.source));
      CPPUNIT_ASSERT_EQUAL(text(flow.destination), text(entry.destination));
      CPPUNIT_ASSERT_EQUAL(text(flow.destination), text(entry.reply_source));
      CPPUNIT_ASSERT_EQUAL(text(flow.source), text(entry.reply_destination));
    }
  }

  void a_new_entry_translates_to_the_client() {
    const auto message = conntrack_message::create(v4_, {at("10.0.0.9", 0), 1024, 65535}, 20);
    const nlattr* const nat = find(message, CTA_NAT_SRC);
    for (const int type : {CTA_NAT_V4_MINIP, CTA_NAT_V4_MAXIP}) {
      CPPUNIT_ASSERT_EQUAL(0, std::memcmp(nla_data(nested_attribute(nat, type)), "\x0a\0\0\x09", 4));
    }
    const nlattr* const ports = nested_attribute(nat, CTA_NAT_PROTO);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{1024}, port_in(ports, CTA_PROTONAT_PORT_MIN));
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{65535}, port_in(ports, CTA_PROTONAT_PORT_MAX));
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{20},
                         ntohl(static_cast<std::uint32_t>(integer_attribute(find(message, CTA_TIMEOUT)))));
  }

  void a_tcp_entry_begins_without_state_and_accepts_any_sequence_number() {
    const auto message = conntrack_message::create(v4_, {at("10.0.0.9", 0), 1, 1}, 20);
    const nlattr* const tcp = nested_attribute(find(message, CTA_PROTOINFO), CTA_PROTOINFO_TCP);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, integer_attribute(nested_attribute(tcp, CTA_PROTOINFO_TCP_STATE)));
    for (const int type : {CTA_PROTOINFO_TCP_FLAGS_ORIGINAL, CTA_PROTOINFO_TCP_FLAGS_REPLY}) {
      CPPUNIT_ASSERT_EQUAL(0, std::memcmp(nla_data(nested_attribute(tcp, type)), "\x08\x08", 2));
    }
    CPPUNIT_ASSERT(find(conntrack_message::create(v6_, {at("fd00::9", 0), 1, 1}, 20), CTA_PROTOINFO) == nullptr);
  }

  void removal_names_the_original_tuple() {
    const auto message = conntrack_message::remove(v4_);
    CPPUNIT_ASSERT_EQUAL((NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_DELETE, int{header_of(message)->nlmsg_type});
    CPPUNIT_ASSERT(find(message, CTA_TUPLE_ORIG) != nullptr);
    CPPUNIT_ASSERT(find(message, CTA_TUPLE_REPLY) == nullptr);
  }

  void errors_of_the_kernel_are_returned() {
    Conntrack conntrack = answering({EEXIST, 0, ENOENT});
    CPPUNIT_ASSERT_EQUAL(EEXIST, conntrack.create(v4_, {at("10.0.0.9", 0), 1, 1}, 20));
    CPPUNIT_ASSERT_EQUAL(0, conntrack.create(v4_, {at("10.0.0.9", 0), 1, 1}, 20));
    ConntrackEntry entry;
    CPPUNIT_ASSERT_EQUAL(ENOENT, conntrack.find(v4_, entry));
  }

  void an_acknowledgement_without_an_entry_is_no_answer() {
    Conntrack conntrack = answering({0, 0});
    ConntrackEntry entry;
    CPPUNIT_ASSERT_EQUAL(ENOENT, conntrack.find(v4_, entry));
    CPPUNIT_ASSERT_EQUAL(ENOENT, conntrack.find_by_reply(v4_, entry));
  }

  void low_ports_stay_low() {
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{511}, any_port_like(at("10.0.0.9", 22)).high);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{600}, any_port_like(at("10.0.0.9", 700)).low);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{1023}, any_port_like(at("10.0.0.9", 700)).high);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{1024}, any_port_like(at("10.0.0.9", 1024)).low);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConntrackEntryTest);

}  // namespace conntrack_entry_test
}  // namespace sluice::userspace
