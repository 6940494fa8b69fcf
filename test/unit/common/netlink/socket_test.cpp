// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netlink/socket.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "plugins/common/netlink/error.hpp"
#include "plugins/ipvs/servers/ipvs_codec.hpp"
#include "plugins/ipvs/servers/netlink_servers.hpp"
#include "test/unit/ipvs/ipvs_socket.hpp"

namespace sluice::ipvs {
namespace socket_test {

using netlink::Socket;
using Items = std::deque<IpvsItem>;
constexpr std::chrono::milliseconds kShort{1};

ServerKey key_of(std::uint16_t port) { return {*sdk::parse_address("10.0.0.1", abi::Family::kIpv4), port, abi::Protocol::kTcp}; }

ServerCommand add(std::uint16_t port) {
  ServerCommand command;
  command.kind = ServerCommandKind::kAddServer;
  command.server.key = key_of(port);
  command.server.scheduler = "rr";
  return command;
}

abi::Code code_when(const std::function<void()>& body) {
  try {
    body();
  } catch (const sdk::Failure& failure) {
    return failure.code();
  }
  return abi::Code::kOk;
}

class NetlinkSocketTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NetlinkSocketTest);
  CPPUNIT_TEST(maps_an_errno_to_what_the_caller_should_do);
  CPPUNIT_TEST(returns_a_result_for_each_request_of_a_batch);
  CPPUNIT_TEST(sends_batches_in_windows);
  CPPUNIT_TEST(ignores_messages_of_other_senders);
  CPPUNIT_TEST(a_missing_answer_is_an_unknown_result);
  CPPUNIT_TEST(lost_or_truncated_answers_are_unknown_results);
  CPPUNIT_TEST(opens_its_socket_again_after_each_failure);
  CPPUNIT_TEST(goes_on_receiving_after_a_signal);
  CPPUNIT_TEST(repeats_a_dump_that_was_broken);
  CPPUNIT_TEST(gives_up_a_dump_that_is_always_broken);
  CPPUNIT_TEST(leaves_interruptions_to_the_caller);
  CPPUNIT_TEST(returns_the_error_of_a_dump);
  CPPUNIT_TEST(enlarges_the_buffer_for_a_large_answer);
  CPPUNIT_TEST(keeps_the_reason_in_words);
  CPPUNIT_TEST(talks_to_the_kernel_of_this_machine);
  CPPUNIT_TEST(filters_messages_by_attribute);
  CPPUNIT_TEST_SUITE_END();

 public:
  void maps_an_errno_to_what_the_caller_should_do() {
    for (const int error : {ENOBUFS, ENOMEM, EAGAIN, EINTR, EBUSY}) {
      CPPUNIT_ASSERT(netlink::code_of(error) == abi::Code::kRetry);
    }
    CPPUNIT_ASSERT(netlink::code_of(EPERM) == abi::Code::kDenied);
    CPPUNIT_ASSERT(netlink::code_of(EACCES) == abi::Code::kDenied);
    CPPUNIT_ASSERT(netlink::code_of(EAFNOSUPPORT) == abi::Code::kUnsupported);
    CPPUNIT_ASSERT(netlink::code_of(EINVAL) == abi::Code::kKernel);
    try {
      netlink::fail(EPERM, "IPVS", "cannot read");
    } catch (const sdk::Failure& failure) {
      CPPUNIT_ASSERT_EQUAL(
          std::string("cannot read: Operation not permitted (EPERM); run it with the capability CAP_NET_ADMIN"),
          std::string(failure.what()));
      CPPUNIT_ASSERT_EQUAL(EPERM, failure.os_errno());
    }
  }

  void returns_a_result_for_each_request_of_a_batch() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    std::vector<ServerCommand> commands;
    for (std::uint16_t i = 1; i <= 300; ++i) commands.push_back(add(i % 7 == 0 ? i - 1 : i));
    const std::vector<int> results = servers.execute(commands);
    CPPUNIT_ASSERT_EQUAL(commands.size(), results.size());
    for (std::size_t i = 1; i <= 300; ++i) CPPUNIT_ASSERT_EQUAL(i % 7 == 0 ? EEXIST : 0, results[i - 1]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{300 - 300 / 7}, line_.kernel.held.size());
  }

  void sends_batches_in_windows() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    std::vector<ServerCommand> commands;
    for (std::uint16_t i = 0; i < 1000; ++i) commands.push_back(add(i));
    servers.execute(commands);
    CPPUNIT_ASSERT(line_.most_requests <= Socket::kWindow);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1 + (1000 + Socket::kWindow - 1) / Socket::kWindow}, line_.datagrams);
  }

  void ignores_messages_of_other_senders() {
    line_.corrupt = [](Items& items) {
      if (items.empty()) return;
      const std::uint32_t sequence = first_message(items.front().bytes)->nlmsg_seq;
      std::string late = acknowledgement(sequence - 1, EINVAL);
      std::string foreign = acknowledgement(sequence, EINVAL);
      first_message(foreign)->nlmsg_pid = kIpvsPortId + 1;
      std::string notification = acknowledgement(0, EINVAL);
      // One in a separate datagram, two before the answer.
      items.front().bytes = foreign + notification + items.front().bytes;
      items.push_front({late, 0});
    };
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    CPPUNIT_ASSERT_EQUAL(0, servers.execute({add(80)}).front());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, servers.servers().size());
  }

  void a_missing_answer_is_an_unknown_result() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    servers.servers();
    line_.corrupt = [](Items& items) { items.pop_back(); };
    CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { servers.execute({add(80), add(81)}); }));
    line_.corrupt = [](Items& items) { first_message(items.front().bytes)->nlmsg_seq += 1000; };
    CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { servers.execute({add(82)}); }));
  }

  void lost_or_truncated_answers_are_unknown_results() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    servers.servers();
    const std::vector<std::function<void(Items&)>> faults = {
        [](Items& items) { items.push_front({{}, ENOBUFS}); },
        [](Items& items) { items.back().bytes.resize(items.back().bytes.size() - 8); },
        [](Items& items) { items.back().bytes.resize(5); },
        [](Items& items) { items.back().bytes.clear(); },
        [](Items& items) { first_message(items.front().bytes)->nlmsg_len = 0xFFFFFF; },
        [](Items& items) { first_message(items.front().bytes)->nlmsg_len = 3; },
    };
    for (const auto& fault : faults) {
      line_.corrupt = fault;
      CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { servers.execute({add(80)}); }));
    }
    line_.corrupt = nullptr;
    CPPUNIT_ASSERT_EQUAL(EEXIST, servers.execute({add(80)}).front());
  }

  void opens_its_socket_again_after_each_failure() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    servers.servers();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, line_.opened);
    line_.send_error = ENOBUFS;
    CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { servers.execute({add(80)}); }));
    CPPUNIT_ASSERT_EQUAL(0, servers.execute({add(80)}).front());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, line_.opened);
  }

  void goes_on_receiving_after_a_signal() {
    line_.corrupt = [](Items& items) { items.push_front({{}, EINTR}); };
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    CPPUNIT_ASSERT_EQUAL(0, servers.execute({add(80)}).front());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, line_.opened);
  }

  void repeats_a_dump_that_was_broken() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    for (std::uint16_t i = 0; i < 20; ++i) servers.execute({add(i)});
    const std::vector<std::function<void(Items&)>> faults = {
        [](Items& items) { items.pop_back(); },                                      // no end
        [](Items& items) { items.erase(items.begin() + 3, items.end()); },           // the end and more
        [](Items& items) { items[2] = {{}, ENOBUFS}; },                              // lost
        [](Items& items) { items[1].bytes.resize(items[1].bytes.size() / 2); },      // a short read
        [](Items& items) { first_message(items[1].bytes)->nlmsg_flags |= NLM_F_DUMP_INTR; },
        [](Items& items) { items.back().bytes = done(first_message(items.back().bytes)->nlmsg_seq, EINTR); },
        [](Items& items) { items[1].bytes = acknowledgement(first_message(items[1].bytes)->nlmsg_seq, EBUSY); },
        [](Items& items) {
          first_message(items[1].bytes)->nlmsg_type = NLMSG_OVERRUN;
        },
    };
    for (std::size_t i = 0; i < faults.size(); ++i) {
      line_.corrupt = [&, once = true](Items& items) mutable {
        if (std::exchange(once, false)) faults[i](items);
      };
      const std::uint64_t dumps = line_.kernel.server_dumps;
      const std::uint64_t opened = line_.opened;
      // Each appears once: the results of the broken dump are dropped.
      CPPUNIT_ASSERT_EQUAL_MESSAGE(std::to_string(i), std::size_t{20}, servers.servers().size());
      CPPUNIT_ASSERT_EQUAL_MESSAGE(std::to_string(i), dumps + 2, line_.kernel.server_dumps);
      // The kernel answers EBUSY to a socket whose dump has not ended.
      CPPUNIT_ASSERT_EQUAL_MESSAGE(std::to_string(i), opened + 1, line_.opened);
    }
  }

  void gives_up_a_dump_that_is_always_broken() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    servers.execute({add(80)});
    std::uint64_t dumps = line_.kernel.server_dumps;
    line_.corrupt = [](Items& items) { first_message(items.front().bytes)->nlmsg_flags |= NLM_F_DUMP_INTR; };
    CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { servers.servers(); }));
    CPPUNIT_ASSERT_EQUAL(dumps + Socket::kTries, line_.kernel.server_dumps);
    // Timeouts take time: fewer repetitions.
    dumps = line_.kernel.server_dumps;
    line_.corrupt = [](Items& items) { items.clear(); };
    CPPUNIT_ASSERT(abi::Code::kRetry == code_when([&] { servers.servers(); }));
    CPPUNIT_ASSERT_EQUAL(dumps + 2, line_.kernel.server_dumps);
  }

  void leaves_interruptions_to_the_caller() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    for (std::uint16_t i = 0; i < 20; ++i) servers.execute({add(i)});
    Socket socket(line_.opener(), "IPVS", kShort);
    const lib::netlink::Message all = ask_for_servers(line_.id);
    std::size_t taken = 0;
    const auto dump = [&](Socket::InterruptibleDump& loose) {
      return socket.dump(all, [&] { taken = 0; }, [&](nlmsghdr*) { ++taken; }, &loose);
    };
    Socket::InterruptibleDump loose;
    CPPUNIT_ASSERT_EQUAL(0, dump(loose));
    const std::size_t whole = taken;
    CPPUNIT_ASSERT(!loose.interrupted && whole >= 20);
    const std::uint64_t opened = line_.opened, dumps = line_.kernel.server_dumps;
    line_.corrupt = [](Items& items) { first_message(items.front().bytes)->nlmsg_flags |= NLM_F_DUMP_INTR; };
    CPPUNIT_ASSERT_EQUAL(0, dump(loose));
    CPPUNIT_ASSERT(loose.interrupted && taken == whole && line_.kernel.server_dumps == dumps + 1 && line_.opened == opened);
    // An abandoned dump goes on in the kernel.
    loose.stop = [&] { return taken >= 3; };
    CPPUNIT_ASSERT_EQUAL(ECANCELED, dump(loose));
    CPPUNIT_ASSERT(taken >= 3 && taken < whole);
    loose.stop = {};
    line_.corrupt = {};
    CPPUNIT_ASSERT_EQUAL(0, dump(loose));
    CPPUNIT_ASSERT(!loose.interrupted && taken == whole && line_.opened == opened + 1);
  }

  void returns_the_error_of_a_dump() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    servers.servers();
    line_.corrupt = [](Items& items) {
      const std::uint32_t sequence = first_message(items.front().bytes)->nlmsg_seq;
      items = {{acknowledgement(sequence, EPERM), 0}};
    };
    CPPUNIT_ASSERT(abi::Code::kDenied == code_when([&] { servers.servers(); }));
    CPPUNIT_ASSERT(abi::Code::kDenied == code_when([&] { servers.real_servers(key_of(80)); }));
  }

  void enlarges_the_buffer_for_a_large_answer() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    std::vector<ServerCommand> commands;
    for (std::uint16_t i = 0; i < 1500; ++i) commands.push_back(add(i));
    servers.execute(commands);
    line_.in_datagram = 2000;  // some 200 KiB at once
    CPPUNIT_ASSERT_EQUAL(std::size_t{1500}, servers.servers().size());
  }

  void keeps_the_reason_in_words() {
    Socket socket(line_.opener(), "IPVS", kShort);
    line_.corrupt = [](Items& items) {
      const std::uint32_t sequence = first_message(items.front().bytes)->nlmsg_seq;
      items = {{acknowledgement(sequence, EINVAL, "Unknown attribute"), 0}};
    };
    CPPUNIT_ASSERT_EQUAL(EINVAL, socket.request(encode(line_.id, add(80), abi::Family::kIpv4)));
    CPPUNIT_ASSERT_EQUAL(std::string("Unknown attribute"), socket.reason());
  }

  // The same layer on a real socket: every network namespace has a loopback link.
  void talks_to_the_kernel_of_this_machine() {
    Socket socket(NETLINK_ROUTE, "the kernel's links");
    const ifinfomsg header{};
    std::size_t links = 0;
    CPPUNIT_ASSERT_EQUAL(0, socket.dump(
                                lib::netlink::make_message(RTM_GETLINK, 0, header), [&] { links = 0; },
                                [&](nlmsghdr* message) { links += message->nlmsg_type == RTM_NEWLINK ? 1 : 0; }));
    CPPUNIT_ASSERT(links >= 1);
    ifinfomsg loopback{};
    loopback.ifi_index = 1;
    CPPUNIT_ASSERT_EQUAL(0, socket.request(lib::netlink::make_message(RTM_GETLINK, 0, loopback)));
    const std::vector<int> results = socket.batch(500, [&](std::size_t i) {
      ifinfomsg link{};
      link.ifi_index = i % 8 == 0 ? 1 : 1'000'000;
      return lib::netlink::make_message(RTM_GETLINK, 0, link);
    });
    for (std::size_t i = 0; i < results.size(); ++i) CPPUNIT_ASSERT_EQUAL(i % 8 == 0 ? 0 : ENODEV, results[i]);
  }

  // The end of a dump has none and is skipped.
  void filters_messages_by_attribute() {
    const auto answers = [](std::uint16_t attribute) {
      const std::unique_ptr<lib::netlink::RawSocket> socket = netlink::open_raw_socket(NETLINK_ROUTE);
      CPPUNIT_ASSERT_EQUAL(0, socket->filter_by_attribute(attribute, sizeof(ifinfomsg)));
      const ifinfomsg header{};
      const lib::netlink::Message request = lib::netlink::make_message(RTM_GETLINK, NLM_F_DUMP, header);
      CPPUNIT_ASSERT_EQUAL(0, socket->send(lib::netlink::bytes_of(request)));
      std::vector<char> buffer(1 << 16);
      std::size_t count = 0;
      while (socket->receive(std::span<char>(buffer), std::chrono::milliseconds(20)) > 0) ++count;
      return count;
    };
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, answers(0x3000));
    CPPUNIT_ASSERT(answers(IFLA_IFNAME) >= 1);
  }

 private:
  IpvsLine line_;
};
CPPUNIT_TEST_SUITE_REGISTRATION(NetlinkSocketTest);

}  // namespace socket_test
}  // namespace sluice::ipvs
