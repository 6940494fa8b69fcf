// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The netlink messages for links and addresses, and the handling of the answers.
#include "plugins/ipvs/links/netlink_links.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <set>

#include "plugins/ipvs/server_types.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace netlink_links_test {

using abi::Family;
using Addresses = std::vector<abi::Address>;

abi::Address v4(const std::string& text) { return *sdk::parse_address(text, Family::kIpv4); }
abi::Address v6(const std::string& text) { return *sdk::parse_address(text, Family::kIpv6); }

// One request as the kernel would parse it.
struct Request {
  std::uint16_t type = 0;
  std::uint16_t flags = 0;
  ifaddrmsg address{};
  ifinfomsg link{};
  std::string name;
  std::string kind;
  std::string local;  // bytes
  bool both = false;  // IFA_ADDRESS is equal
  std::optional<ifa_cacheinfo> times;
  rtmsg route{};
  std::string destination, source;  // bytes
  std::uint32_t out = 0;            // link index
};

std::string data_of(const nlattr* attribute) {
  return {static_cast<const char*>(nla_data(attribute)), static_cast<std::size_t>(nla_len(attribute))};
}

Request parse(nlmsghdr* message) {
  Request out;
  out.type = message->nlmsg_type;
  out.flags = message->nlmsg_flags;
  if (out.type == RTM_GETLINK || out.type == RTM_NEWLINK || out.type == RTM_DELLINK) {
    std::memcpy(&out.link, nlmsg_data(message), sizeof(out.link));
    if (const nlattr* name = nlmsg_find_attr(message, sizeof(ifinfomsg), IFLA_IFNAME)) out.name = data_of(name).c_str();
    if (const nlattr* info = nlmsg_find_attr(message, sizeof(ifinfomsg), IFLA_LINKINFO)) {
      const auto* kind = nla_find(static_cast<const nlattr*>(nla_data(info)), nla_len(info), IFLA_INFO_KIND);
      if (kind != nullptr) out.kind = data_of(kind).c_str();
    }
    return out;
  }
  if (out.type == RTM_NEWROUTE || out.type == RTM_DELROUTE || out.type == RTM_GETROUTE) {
    std::memcpy(&out.route, nlmsg_data(message), sizeof(out.route));
    if (const nlattr* to = nlmsg_find_attr(message, sizeof(rtmsg), RTA_DST)) out.destination = data_of(to);
    if (const nlattr* from = nlmsg_find_attr(message, sizeof(rtmsg), RTA_PREFSRC)) out.source = data_of(from);
    if (const nlattr* link = nlmsg_find_attr(message, sizeof(rtmsg), RTA_OIF)) out.out = nla_get_u32(link);
    return out;
  }
  std::memcpy(&out.address, nlmsg_data(message), sizeof(out.address));
  const nlattr* local = nlmsg_find_attr(message, sizeof(ifaddrmsg), IFA_LOCAL);
  const nlattr* address = nlmsg_find_attr(message, sizeof(ifaddrmsg), IFA_ADDRESS);
  if (local != nullptr) out.local = data_of(local);
  out.both = local != nullptr && address != nullptr && data_of(local) == data_of(address);
  if (const nlattr* times = nlmsg_find_attr(message, sizeof(ifaddrmsg), IFA_CACHEINFO)) {
    std::memcpy(&out.times.emplace(), nla_data(times), sizeof(ifa_cacheinfo));
  }
  return out;
}

// The kernel's end: each request gets the messages of `dump` and then the result of `answer`.
struct Kernel {
  std::function<int(const Request&)> answer = [](const Request&) { return 0; };
  std::function<std::vector<std::string>(const Request&)> dump = [](const Request&) {
    return std::vector<std::string>();
  };
  std::vector<Request> requests;
  std::size_t datagrams = 0;
  std::deque<std::string> waiting;
};

class FakeRawSocket final : public lib::netlink::RawSocket {
 public:
  explicit FakeRawSocket(Kernel& kernel) : kernel_(kernel) {}

  int send(std::string_view datagram) noexcept override {
    ++kernel_.datagrams;
    std::string copy(datagram);
    auto* message = reinterpret_cast<nlmsghdr*>(copy.data());
    for (int left = static_cast<int>(copy.size()); nlmsg_ok(message, left); message = nlmsg_next(message, &left)) {
      const Request request = parse(message);
      kernel_.requests.push_back(request);
      for (std::string& each : kernel_.dump(request)) {
        auto* header = reinterpret_cast<nlmsghdr*>(each.data());
        header->nlmsg_seq = message->nlmsg_seq;
        header->nlmsg_pid = port_id();
        if ((request.flags & NLM_F_DUMP) == NLM_F_DUMP) header->nlmsg_flags |= NLM_F_MULTI;
        kernel_.waiting.push_back(each);
      }
      const bool dump = (request.flags & NLM_F_DUMP) == NLM_F_DUMP;
      const int refused = kernel_.answer(request);
      std::string end(static_cast<std::size_t>(NLMSG_LENGTH(sizeof(nlmsgerr))), '\0');
      auto* header = reinterpret_cast<nlmsghdr*>(end.data());
      header->nlmsg_len = static_cast<std::uint32_t>(end.size());
      header->nlmsg_type = dump && refused == 0 ? NLMSG_DONE : NLMSG_ERROR;
      header->nlmsg_flags = dump && refused == 0 ? NLM_F_MULTI : 0;
      header->nlmsg_seq = message->nlmsg_seq;
      header->nlmsg_pid = port_id();
      auto* error = static_cast<nlmsgerr*>(nlmsg_data(header));
      error->error = -refused;
      error->msg = *message;
      kernel_.waiting.push_back(end);
    }
    return 0;
  }

  long receive(std::span<char> into, std::chrono::milliseconds) noexcept override {
    if (kernel_.waiting.empty()) return -EAGAIN;
    const std::string next = kernel_.waiting.front();
    kernel_.waiting.pop_front();
    std::memcpy(into.data(), next.data(), std::min(into.size(), next.size()));
    return static_cast<long>(next.size());
  }

  std::uint32_t port_id() const noexcept override { return 4711; }

 private:
  Kernel& kernel_;
};

std::string address_answer(int index, int length, const abi::Address& address, Family family, int attribute) {
  ifaddrmsg header{};
  header.ifa_family = family == Family::kIpv4 ? AF_INET : AF_INET6;
  header.ifa_index = static_cast<unsigned>(index);
  header.ifa_prefixlen = static_cast<std::uint8_t>(length);
  auto message = lib::netlink::make_message(RTM_NEWADDR, 0, header);
  lib::netlink::must(nla_put(message.get(), attribute, family == Family::kIpv4 ? 4 : 16, address.bytes));
  return std::string(lib::netlink::bytes_of(message));
}

std::string route_answer(int index, const abi::Address& to, const abi::Address& from, int length = 32,
                         std::uint8_t table = RT_TABLE_LOCAL, std::uint8_t type = RTN_LOCAL) {
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_dst_len = static_cast<std::uint8_t>(length);
  header.rtm_table = table;
  header.rtm_type = type;
  auto message = lib::netlink::make_message(RTM_NEWROUTE, 0, header);
  lib::netlink::must(nla_put(message.get(), RTA_DST, 4, to.bytes));
  lib::netlink::must(nla_put(message.get(), RTA_PREFSRC, 4, from.bytes));
  lib::netlink::must(nla_put_u32(message.get(), RTA_OIF, static_cast<std::uint32_t>(index)));
  return std::string(lib::netlink::bytes_of(message));
}

std::string link_answer(int index, const std::string& kind) {
  ifinfomsg header{};
  header.ifi_index = index;
  auto message = lib::netlink::make_message(RTM_NEWLINK, 0, header);
  if (!kind.empty()) {
    nlattr* info = lib::netlink::must(nla_nest_start(message.get(), IFLA_LINKINFO));
    lib::netlink::must(nla_put_string(message.get(), IFLA_INFO_KIND, kind.c_str()));
    nla_nest_end(message.get(), info);
  }
  return std::string(lib::netlink::bytes_of(message));
}

class NetlinkLinksTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NetlinkLinksTest);
  CPPUNIT_TEST(finds_links_by_name_with_their_kind);
  CPPUNIT_TEST(makes_a_dummy_that_is_left_down);
  CPPUNIT_TEST(names_the_module_where_there_are_no_dummies);
  CPPUNIT_TEST(reads_single_addresses_of_one_link_only);
  CPPUNIT_TEST(binds_many_in_few_system_calls);
  CPPUNIT_TEST(binds_ipv6_without_duplicate_address_detection);
  CPPUNIT_TEST(sets_another_source_address);
  CPPUNIT_TEST(its_route_is_removed_with_the_address);
  CPPUNIT_TEST(restores_the_source_address);
  CPPUNIT_TEST(existing_and_missing_objects_are_no_failure);
  CPPUNIT_TEST(a_rejected_address_is_named);
  CPPUNIT_TEST(an_address_no_link_can_have_does_not_stop_the_others);
  CPPUNIT_TEST(a_link_without_ipv6_is_reported_with_its_sysctl);
  CPPUNIT_TEST(a_link_that_vanishes_is_retried);
  CPPUNIT_TEST_SUITE_END();

  Kernel kernel_;
  NetlinkLinks links_{[this] { return std::make_unique<FakeRawSocket>(kernel_); }};

  static std::string bytes(const std::string& text) {
    return std::string(reinterpret_cast<const char*>(v4(text).bytes), 4);
  }
  sdk::Failure failure_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const sdk::Failure& failure) {
      return failure;
    }
    CPPUNIT_FAIL("nothing failed");
    return {abi::Code::kOk, "", ""};
  }

 public:
  void setUp() override { kernel_ = Kernel(); }

  void finds_links_by_name_with_their_kind() {
    kernel_.dump = [](const Request&) { return std::vector{link_answer(7, "dummy")}; };
    const auto found = links_.find("kube-ipvs0");
    CPPUNIT_ASSERT(found.has_value());
    CPPUNIT_ASSERT_EQUAL(7, found->index);
    CPPUNIT_ASSERT_EQUAL(std::string("dummy"), found->kind);
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0"), kernel_.requests.at(0).name);
    kernel_.dump = [](const Request&) { return std::vector{link_answer(8, "")}; };
    CPPUNIT_ASSERT_EQUAL(std::string(), links_.find("kube-ipvs0")->kind);
    kernel_.dump = [](const Request&) { return std::vector<std::string>(); };
    kernel_.answer = [](const Request&) { return ENODEV; };
    CPPUNIT_ASSERT(!links_.find("kube-ipvs0"));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, links_.messages());
  }

  void makes_a_dummy_that_is_left_down() {
    links_.create("kube-ipvs0");
    const Request& request = kernel_.requests.at(0);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{RTM_NEWLINK}, request.type);
    CPPUNIT_ASSERT((request.flags & (NLM_F_CREATE | NLM_F_EXCL)) == (NLM_F_CREATE | NLM_F_EXCL));
    CPPUNIT_ASSERT_EQUAL(std::string("dummy"), request.kind);
    CPPUNIT_ASSERT_EQUAL(0u, request.link.ifi_flags);
    CPPUNIT_ASSERT_EQUAL(0u, request.link.ifi_change);
    kernel_.answer = [](const Request&) { return EEXIST; };
    links_.create("kube-ipvs0");
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, links_.messages());
  }

  void names_the_module_where_there_are_no_dummies() {
    kernel_.answer = [](const Request&) { return EOPNOTSUPP; };
    const auto failure = failure_of([&] { links_.create("kube-ipvs0"); });
    CPPUNIT_ASSERT(failure.code() == abi::Code::kUnsupported);
    CPPUNIT_ASSERT(std::string(failure.what()).find("load the module dummy") != std::string::npos);
    kernel_.answer = [](const Request&) { return EPERM; };
    CPPUNIT_ASSERT(failure_of([&] { links_.create("kube-ipvs0"); }).code() == abi::Code::kDenied);
  }

  void reads_single_addresses_of_one_link_only() {
    kernel_.dump = [](const Request&) {
      // An old kernel lists all links.
      return std::vector{address_answer(1, 8, v4("127.0.0.1"), Family::kIpv4, IFA_LOCAL),
                         address_answer(7, 32, v4("10.0.0.1"), Family::kIpv4, IFA_LOCAL),
                         address_answer(7, 24, v4("10.0.0.2"), Family::kIpv4, IFA_LOCAL),
                         address_answer(3, 32, v4("10.0.0.3"), Family::kIpv4, IFA_LOCAL)};
    };
    CPPUNIT_ASSERT(links_.addresses(7, Family::kIpv4) == Addresses{v4("10.0.0.1")});
    CPPUNIT_ASSERT_EQUAL(7u, kernel_.requests.at(0).address.ifa_index);
    CPPUNIT_ASSERT_EQUAL(int{AF_INET}, int{kernel_.requests.at(0).address.ifa_family});
    kernel_.dump = [](const Request&) {
      return std::vector{address_answer(7, 128, v6("fd00::1"), Family::kIpv6, IFA_ADDRESS),
                         address_answer(7, 64, v6("fe80::1"), Family::kIpv6, IFA_ADDRESS)};
    };
    CPPUNIT_ASSERT(links_.addresses(7, Family::kIpv6) == Addresses{v6("fd00::1")});
    kernel_.answer = [](const Request&) { return ENODEV; };
    CPPUNIT_ASSERT(links_.addresses(7, Family::kIpv6).empty());
  }

  void binds_many_in_few_system_calls() {
    Addresses many;
    for (int i = 0; i < 10'000; ++i) {
      many.push_back(v4("10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1)));
    }
    CPPUNIT_ASSERT(links_.bind(7, Family::kIpv4, many).empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{10'000}, kernel_.requests.size());
    CPPUNIT_ASSERT(kernel_.datagrams <= 100);
    std::set<std::string> different;
    for (const Request& request : kernel_.requests) {
      CPPUNIT_ASSERT_EQUAL(std::uint16_t{RTM_NEWADDR}, request.type);
      CPPUNIT_ASSERT_EQUAL(32, int{request.address.ifa_prefixlen});
      CPPUNIT_ASSERT_EQUAL(7u, request.address.ifa_index);
      CPPUNIT_ASSERT(request.both);
      different.insert(request.local);
    }
    CPPUNIT_ASSERT_EQUAL(many.size(), different.size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{10'000}, links_.messages());
  }

  void binds_ipv6_without_duplicate_address_detection() {
    CPPUNIT_ASSERT(links_.bind(7, Family::kIpv6, {v6("fd00::1")}).empty());
    links_.unbind(7, Family::kIpv6, {v6("fd00::1")});
    const Request& bind = kernel_.requests.at(0);
    CPPUNIT_ASSERT_EQUAL(int{IFA_F_NODAD}, int{bind.address.ifa_flags});
    CPPUNIT_ASSERT_EQUAL(128, int{bind.address.ifa_prefixlen});
    CPPUNIT_ASSERT_EQUAL(std::size_t{16}, bind.local.size());
    // Deprecated at once and valid forever: never the source of a masqueraded packet.
    CPPUNIT_ASSERT(bind.times.has_value());
    CPPUNIT_ASSERT_EQUAL(0u, bind.times->ifa_prefered);
    CPPUNIT_ASSERT_EQUAL(UINT32_MAX, bind.times->ifa_valid);
    const Request& unbind = kernel_.requests.at(1);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{RTM_DELADDR}, unbind.type);
    CPPUNIT_ASSERT_EQUAL(128, int{unbind.address.ifa_prefixlen});
    CPPUNIT_ASSERT(unbind.both);
  }

  // Replaces the kernel's route; an additional one would outlive the address.
  void sets_another_source_address() {
    links_.set_source(7, {v4("10.96.0.1"), v4("10.96.0.2")}, v4("192.168.0.2"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, kernel_.requests.size());
    const Request& second = kernel_.requests.at(1);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{RTM_NEWROUTE}, second.type);
    CPPUNIT_ASSERT_EQUAL(int{NLM_F_REPLACE}, second.flags & (NLM_F_REPLACE | NLM_F_CREATE | NLM_F_EXCL));
    CPPUNIT_ASSERT_EQUAL(int{RT_TABLE_LOCAL}, int{second.route.rtm_table});
    CPPUNIT_ASSERT_EQUAL(int{RTN_LOCAL}, int{second.route.rtm_type});
    CPPUNIT_ASSERT_EQUAL(int{RT_SCOPE_HOST}, int{second.route.rtm_scope});
    CPPUNIT_ASSERT_EQUAL(32, int{second.route.rtm_dst_len});
    CPPUNIT_ASSERT(second.destination == bytes("10.96.0.2") && second.source == bytes("192.168.0.2"));
    CPPUNIT_ASSERT_EQUAL(7u, second.out);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, links_.messages());
    kernel_.answer = [](const Request&) { return ENODEV; };
    links_.set_source(7, {v4("10.96.0.1")}, v4("192.168.0.2"));
    kernel_.answer = [](const Request&) { return EINVAL; };
    const auto failure = failure_of([&] { links_.set_source(7, {v4("10.96.0.1")}, v4("192.168.0.2")); });
    CPPUNIT_ASSERT_EQUAL(std::string("10.96.0.1"), failure.object());
  }

  // With an address the kernel removes only the route that it created.
  void its_route_is_removed_with_the_address() {
    kernel_.answer = [](const Request& request) { return request.type == RTM_DELROUTE ? ESRCH : 0; };
    links_.unbind(7, Family::kIpv4, {v4("10.96.0.1"), v4("10.96.0.2")});
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, kernel_.requests.size());
    for (int i = 0; i < 2; ++i) CPPUNIT_ASSERT_EQUAL(std::uint16_t{RTM_DELADDR}, kernel_.requests.at(i).type);
    const Request& route = kernel_.requests.at(3);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{RTM_DELROUTE}, route.type);
    CPPUNIT_ASSERT_EQUAL(int{RT_TABLE_LOCAL}, int{route.route.rtm_table});
    CPPUNIT_ASSERT_EQUAL(int{RTN_LOCAL}, int{route.route.rtm_type});
    CPPUNIT_ASSERT_EQUAL(int{RT_SCOPE_HOST}, int{route.route.rtm_scope});
    CPPUNIT_ASSERT_EQUAL(32, int{route.route.rtm_dst_len});
    CPPUNIT_ASSERT(route.destination == bytes("10.96.0.2") && route.source.empty());
    CPPUNIT_ASSERT_EQUAL(7u, route.out);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, links_.messages());
    kernel_.answer = [](const Request&) { return 0; };
    links_.unbind(7, Family::kIpv4, {v4("10.96.0.1")});
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{4}, links_.messages());
    kernel_.answer = [](const Request& request) { return request.type == RTM_DELROUTE ? EPERM : 0; };
    CPPUNIT_ASSERT_EQUAL(std::string("10.96.0.1"),
                         failure_of([&] { links_.unbind(7, Family::kIpv4, {v4("10.96.0.1")}); }).object());
    kernel_.requests.clear();
    kernel_.answer = [](const Request&) { return 0; };
    links_.unbind(7, Family::kIpv6, {v6("fd00::1")});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_.requests.size());
  }

  void restores_the_source_address() {
    const auto vip = v4("10.96.0.1"), usual = v4("10.96.0.2"), node = v4("192.168.0.2");
    kernel_.dump = [&](const Request& request) {
      if (request.type != RTM_GETROUTE) return std::vector<std::string>();
      return std::vector{route_answer(7, vip, node),  route_answer(7, usual, usual),
                         route_answer(3, usual, node), route_answer(7, v4("10.96.0.3"), node),
                         route_answer(7, usual, node, 24), route_answer(7, usual, node, 32, RT_TABLE_MAIN),
                         route_answer(7, usual, node, 32, RT_TABLE_LOCAL, RTN_BROADCAST)};
    };
    links_.restore_source(7, {vip, usual});
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, kernel_.requests.size());
    const Request& route = kernel_.requests.at(1);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{RTM_NEWROUTE}, route.type);
    CPPUNIT_ASSERT_EQUAL(int{NLM_F_REPLACE}, route.flags & (NLM_F_REPLACE | NLM_F_CREATE | NLM_F_EXCL));
    CPPUNIT_ASSERT(route.destination == bytes("10.96.0.1") && route.source == bytes("10.96.0.1"));
    CPPUNIT_ASSERT(route.out == 7 && route.route.rtm_protocol == RTPROT_KERNEL);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, links_.messages());
    // The kernel's own route exists, too.
    kernel_.requests.clear();
    kernel_.answer = [](const Request& request) { return request.type == RTM_NEWROUTE ? EEXIST : 0; };
    links_.restore_source(7, {vip});
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, kernel_.requests.size());
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{RTM_DELROUTE}, kernel_.requests.at(2).type);
    CPPUNIT_ASSERT(kernel_.requests.at(2).source == bytes("192.168.0.2"));
    kernel_.answer = [](const Request& request) { return request.type == RTM_NEWROUTE ? EPERM : 0; };
    CPPUNIT_ASSERT_EQUAL(std::string("10.96.0.1"), failure_of([&] { links_.restore_source(7, {vip}); }).object());
  }

  void existing_and_missing_objects_are_no_failure() {
    kernel_.answer = [](const Request& request) {
      return request.type == RTM_NEWADDR ? EEXIST : request.type == RTM_DELROUTE ? ESRCH : EADDRNOTAVAIL;
    };
    CPPUNIT_ASSERT(links_.bind(7, Family::kIpv4, {v4("10.0.0.1")}).empty());
    links_.unbind(7, Family::kIpv4, {v4("10.0.0.1")});
    kernel_.answer = [](const Request&) { return ENODEV; };
    links_.unbind(7, Family::kIpv4, {v4("10.0.0.1")});
    links_.remove(7);
  }

  void a_rejected_address_is_named() {
    const std::string second = std::string(reinterpret_cast<const char*>(v4("10.0.0.2").bytes), 4);
    const std::string third = std::string(reinterpret_cast<const char*>(v4("10.0.0.3").bytes), 4);
    kernel_.answer = [&](const Request& request) {
      return request.local == second || request.local == third ? EIO : 0;
    };
    const auto failure = failure_of([&] {
      (void)links_.bind(7, Family::kIpv4, {v4("10.0.0.1"), v4("10.0.0.2"), v4("10.0.0.3"), v4("10.0.0.4")});
    });
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.2"), failure.object());
    CPPUNIT_ASSERT(std::string(failure.what()).find("2 addresses") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, kernel_.requests.size());  // the others are in place
    CPPUNIT_ASSERT_THROW(links_.unbind(7, Family::kIpv4, {v4("10.0.0.2")}), sdk::Failure);
  }

  void an_address_no_link_can_have_does_not_stop_the_others() {
    const std::string second = std::string(reinterpret_cast<const char*>(v4("10.0.0.2").bytes), 4);
    const std::string third = std::string(reinterpret_cast<const char*>(v4("10.0.0.3").bytes), 4);
    kernel_.answer = [&](const Request& request) {
      return request.local == second ? EADDRNOTAVAIL : request.local == third ? EINVAL : 0;
    };
    const std::vector<RefusedAddress> refused =
        links_.bind(7, Family::kIpv4, {v4("10.0.0.1"), v4("10.0.0.2"), v4("10.0.0.3"), v4("10.0.0.4")});
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, refused.size());
    CPPUNIT_ASSERT(refused[0].address == v4("10.0.0.2") && refused[1].address == v4("10.0.0.3"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("cannot bind 10.0.0.2 to kube-ipvs0: Cannot assign requested address (EADDRNOTAVAIL)"),
        refused[0].why);
    CPPUNIT_ASSERT_EQUAL(std::string("cannot bind 10.0.0.3 to kube-ipvs0: Invalid argument (EINVAL)"), refused[1].why);
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, kernel_.requests.size());
  }

  void a_link_without_ipv6_is_reported_with_its_sysctl() {
    kernel_.answer = [](const Request&) { return EACCES; };
    const auto failure = failure_of([&] { (void)links_.bind(7, Family::kIpv6, {v6("fd00::1")}); });
    CPPUNIT_ASSERT(std::string(failure.what()).find("net.ipv6.conf.kube-ipvs0.disable_ipv6") != std::string::npos);
    CPPUNIT_ASSERT(failure.code() == abi::Code::kKernel);
    CPPUNIT_ASSERT(failure_of([&] { (void)links_.bind(7, Family::kIpv4, {v4("10.0.0.1")}); }).code() == abi::Code::kDenied);
  }

  void a_link_that_vanishes_is_retried() {
    kernel_.answer = [](const Request&) { return ENODEV; };
    CPPUNIT_ASSERT(failure_of([&] { (void)links_.bind(7, Family::kIpv4, {v4("10.0.0.1")}); }).code() == abi::Code::kRetry);
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(NetlinkLinksTest);

}  // namespace netlink_links_test
}  // namespace sluice::ipvs
