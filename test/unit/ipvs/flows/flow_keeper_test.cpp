// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The kernel's notifications of deleted conntrack entries, and the requests that restore them.
#include "plugins/ipvs/flows/flow_keeper.hpp"

#include <arpa/inet.h>
#include <cppunit/extensions/HelperMacros.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "plugins/ipvs/flows/forgotten_flow.hpp"
#include "sluice/sdk/address.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/ipvs/fake_tracking.hpp"
#include "test/unit/patience.hpp"

namespace sluice::test {
namespace flow_keeper_test {

using ipvs::ForgottenFlow;
using ipvs::RealServer;
using ipvs::ServerKey;

struct Side {
  const char* source;
  std::uint16_t source_port;
  const char* destination;
  std::uint16_t destination_port;
};

// A notification, and the deviations from the usual one.
struct Event {
  abi::Family family = abi::Family::kIpv4;
  std::uint8_t protocol = IPPROTO_TCP;
  Side sent{"10.0.0.2", 40000, "172.30.0.1", 80};
  Side answer{"10.0.180.1", 8080, "10.0.0.2", 40000};
  std::uint32_t status = IPS_CONFIRMED | IPS_SEEN_REPLY | IPS_ASSURED | IPS_DST_NAT | IPS_DST_NAT_DONE | IPS_SRC_NAT_DONE | IPS_DYING;
  std::uint32_t seconds = 86000;
  std::uint32_t mark = 0;
  std::uint16_t zone = 0;
  int state = TCP_CONNTRACK_ESTABLISHED;  // 0: no attribute
  std::uint32_t port = 0;
  int type = IPCTNL_MSG_CT_DELETE;
};

void put_side(nl_msg* message, int type, const Side& side, const Event& event) {
  const bool v6 = event.family == abi::Family::kIpv6;
  nlattr* const tuple = nla_nest_start(message, type);
  nlattr* const ip = nla_nest_start(message, CTA_TUPLE_IP);
  nla_put(message, v6 ? CTA_IP_V6_SRC : CTA_IP_V4_SRC, v6 ? 16 : 4, sdk::parse_address(side.source, event.family)->bytes);
  nla_put(message, v6 ? CTA_IP_V6_DST : CTA_IP_V4_DST, v6 ? 16 : 4, sdk::parse_address(side.destination, event.family)->bytes);
  nla_nest_end(message, ip);
  nlattr* const proto = nla_nest_start(message, CTA_TUPLE_PROTO);
  nla_put_u8(message, CTA_PROTO_NUM, event.protocol);
  nla_put_u16(message, CTA_PROTO_SRC_PORT, htons(side.source_port));
  nla_put_u16(message, CTA_PROTO_DST_PORT, htons(side.destination_port));
  nla_nest_end(message, proto);
  nla_nest_end(message, tuple);
}

std::string bytes_of(const Event& event) {
  nfgenmsg header{};
  header.nfgen_family = static_cast<std::uint8_t>(sdk::socket_family(event.family));
  auto owned = lib::netlink::make_message(static_cast<std::uint16_t>((NFNL_SUBSYS_CTNETLINK << 8) | event.type), 0, header);
  nl_msg* const message = owned.get();
  nlmsg_hdr(message)->nlmsg_pid = event.port;
  put_side(message, CTA_TUPLE_ORIG, event.sent, event);
  put_side(message, CTA_TUPLE_REPLY, event.answer, event);
  nla_put_u32(message, CTA_STATUS, htonl(event.status));
  if (event.seconds != 0) nla_put_u32(message, CTA_TIMEOUT, htonl(event.seconds));
  if (event.mark != 0) nla_put_u32(message, CTA_MARK, htonl(event.mark));
  if (event.zone != 0) nla_put_u16(message, CTA_ZONE, htons(event.zone));
  if (event.state != 0) {
    nlattr* const info = nla_nest_start(message, CTA_PROTOINFO);
    nlattr* const tcp = nla_nest_start(message, CTA_PROTOINFO_TCP);
    nla_put_u8(message, CTA_PROTOINFO_TCP_STATE, static_cast<std::uint8_t>(event.state));
    nla_nest_end(message, tcp);
    nla_nest_end(message, info);
  }
  return std::string(lib::netlink::bytes_of(owned));
}

std::optional<ForgottenFlow> read(const Event& event) {
  std::string bytes = bytes_of(event);
  return ipvs::read_forgotten(reinterpret_cast<nlmsghdr*>(bytes.data()), event.family);
}

// Attributes of a request by path: "1/1/1=0a000002", in hexadecimal digits.
std::string text_of(const nlattr* first, int size, const std::string& path, int depth) {
  std::string text;
  for (const nlattr* at = first; nla_ok(at, size); at = nla_next(at, &size)) {
    const std::string here = path + std::to_string(nla_type(at));
    if ((at->nla_type & NLA_F_NESTED) != 0 && depth < 4) {
      text += text_of(static_cast<const nlattr*>(nla_data(at)), nla_len(at), here + "/", depth + 1);
      continue;
    }
    text += here + "=";
    for (int i = 0; i < nla_len(at); ++i) {
      std::array<char, 3> digits{};
      std::snprintf(digits.data(), digits.size(), "%02x", static_cast<const std::uint8_t*>(nla_data(at))[i]);
      text += digits.data();
    }
    text += " ";
  }
  return text;
}

class FlowKeeperTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FlowKeeperTest);
  CPPUNIT_TEST(reads_entries_worth_restoring);
  CPPUNIT_TEST(ignores_other_entries);
  CPPUNIT_TEST(survives_any_notification);
  CPPUNIT_TEST(requests_the_same_entry);
  CPPUNIT_TEST(requests_ipv6_and_udp_entries);
  CPPUNIT_TEST(restores_entries_of_its_servers);
  CPPUNIT_TEST(restores_entries_deleted_before_the_start);
  CPPUNIT_TEST(reports_entries_it_could_not_restore);
  CPPUNIT_TEST(warns_once_if_it_cannot_subscribe);
  CPPUNIT_TEST(can_be_started_again);
  CPPUNIT_TEST_SUITE_END();

  static RealServer at(const char* address, std::uint16_t port, abi::Family family = abi::Family::kIpv4) {
    return {*sdk::parse_address(address, family), port};
  }
  static ServerKey service(std::uint16_t port = 80) {
    return {*sdk::parse_address("172.30.0.1", abi::Family::kIpv4), port, abi::Protocol::kTcp};
  }

  std::shared_ptr<Tracking> tracking_ = std::make_shared<Tracking>();
  FakeHost host_;

  netlink::OpenRawSocket open() {
    return [this] { return std::make_unique<TrackingSocket>(tracking_); };
  }
  ipvs::FlowKeeper keeper() { return {open(), abi::Family::kIpv4, sdk::Logger(&host_)}; }
  void wait_read() {
    CPPUNIT_ASSERT(wait_until([&] { return tracking_->read_everything(); }));
  }
  std::string logged() const {
    std::string text;
    for (const auto& [how, line] : host_.lines) text += line + "\n";
    return text;
  }
  static std::string request(const ForgottenFlow& flow, abi::Family family) {
    const lib::netlink::Message message = ipvs::restore_request(flow, family);
    const nlmsghdr* const header = nlmsg_hdr(message.get());
    CPPUNIT_ASSERT_EQUAL((NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_NEW, static_cast<int>(header->nlmsg_type));
    CPPUNIT_ASSERT_EQUAL(NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL, static_cast<int>(header->nlmsg_flags));
    return text_of(nlmsg_attrdata(header, sizeof(nfgenmsg)), nlmsg_attrlen(header, sizeof(nfgenmsg)), "", 0);
  }

 public:
  void reads_entries_worth_restoring() {
    Event event;
    event.mark = 0x4000;
    event.answer = {"10.0.180.1", 8080, "192.168.0.2", 50123};
    const auto flow = read(event);
    CPPUNIT_ASSERT(flow.has_value());
    CPPUNIT_ASSERT(flow->client == at("10.0.0.2", 40000) && flow->service == service());
    CPPUNIT_ASSERT(flow->endpoint == at("10.0.180.1", 8080) && flow->reply_to == at("192.168.0.2", 50123));
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{86000}, flow->seconds);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{0x4000}, flow->mark);
    CPPUNIT_ASSERT_EQUAL(int{TCP_CONNTRACK_ESTABLISHED}, static_cast<int>(flow->tcp_state));
    for (const int state : {TCP_CONNTRACK_SYN_SENT, TCP_CONNTRACK_SYN_RECV, TCP_CONNTRACK_FIN_WAIT, TCP_CONNTRACK_CLOSE_WAIT,
                            TCP_CONNTRACK_LAST_ACK}) {
      event.state = state;
      CPPUNIT_ASSERT_MESSAGE(std::to_string(state), read(event).has_value());
    }
    Event datagram;
    datagram.protocol = IPPROTO_UDP;
    datagram.state = 0;
    CPPUNIT_ASSERT(read(datagram).has_value() && read(datagram)->service.protocol == abi::Protocol::kUdp);
  }

  void ignores_other_entries() {
    const std::pair<const char*, std::function<void(Event&)>> ignored[] = {
        {"deleted on request", [](Event& e) { e.port = 4712; }},
        {"its timeout expired", [](Event& e) { e.seconds = 0; }},
        {"one of IPVS", [](Event& e) { e.status &= ~static_cast<std::uint32_t>(IPS_DST_NAT); }},
        {"of another zone", [](Event& e) { e.zone = 7; }},
        {"ended by both sides", [](Event& e) { e.state = TCP_CONNTRACK_TIME_WAIT; }},
        {"broken off", [](Event& e) { e.state = TCP_CONNTRACK_CLOSE; }},
        {"without a state", [](Event& e) { e.state = 0; }},
        {"SCTP", [](Event& e) { e.protocol = IPPROTO_SCTP; }},
        {"a new one", [](Event& e) { e.type = IPCTNL_MSG_CT_NEW; }},
    };
    for (const auto& [what, make] : ignored) {
      Event event;
      make(event);
      CPPUNIT_ASSERT_MESSAGE(what, !read(event).has_value());
    }
    std::string bytes = bytes_of({});
    CPPUNIT_ASSERT(!ipvs::read_forgotten(reinterpret_cast<nlmsghdr*>(bytes.data()), abi::Family::kIpv6));
  }

  void survives_any_notification() {
    const std::string whole = bytes_of({});
    for (std::size_t size = NLMSG_HDRLEN; size < whole.size(); ++size) {
      std::string part = whole.substr(0, size);
      reinterpret_cast<nlmsghdr*>(part.data())->nlmsg_len = static_cast<std::uint32_t>(size);
      ipvs::read_forgotten(reinterpret_cast<nlmsghdr*>(part.data()), abi::Family::kIpv4);
    }
    std::mt19937 random(7);
    for (int i = 0; i < 20'000; ++i) {
      std::string changed = whole;
      for (int n = 0; n < 3; ++n) changed[NLMSG_HDRLEN + random() % (changed.size() - NLMSG_HDRLEN)] = static_cast<char>(random());
      ipvs::read_forgotten(reinterpret_cast<nlmsghdr*>(changed.data()), abi::Family::kIpv4);
    }
  }

  void requests_the_same_entry() {
    Event event;
    event.mark = 0x10;
    // Tuples without translation; then the translation; confirmed, replied, assured; timeout in days.
    CPPUNIT_ASSERT_EQUAL(std::string("1/1/1=0a000002 1/1/2=ac1e0001 1/2/1=06 1/2/2=9c40 1/2/3=0050 "
                                     "2/1/1=ac1e0001 2/1/2=0a000002 2/2/1=06 2/2/2=0050 2/2/3=9c40 "
                                     "13/1=0a00b401 13/3/1=1f90 13/3/2=1f90 "
                                     "3=0000000e 7=00014ff0 8=00000010 4/1/1=03 4/1/4=0808 4/1/5=0808 "),
                         request(*read(event), abi::Family::kIpv4));
    event.answer = {"10.0.180.1", 8080, "192.168.0.2", 50123};
    CPPUNIT_ASSERT(request(*read(event), abi::Family::kIpv4).find("6/1=c0a80002 6/3/1=c3cb 6/3/2=c3cb ") != std::string::npos);
  }

  void requests_ipv6_and_udp_entries() {
    Event event;
    event.family = abi::Family::kIpv6;
    event.protocol = IPPROTO_UDP;
    event.sent = {"fd00:10::2", 40000, "fd00:172::1", 53};
    event.answer = {"fd00:10:180::1", 5353, "fd00:10::2", 40000};
    event.status = IPS_CONFIRMED | IPS_DST_NAT | IPS_DYING;
    event.seconds = 30;
    event.state = 0;
    CPPUNIT_ASSERT_EQUAL(std::string("1/1/3=fd000010000000000000000000000002 1/1/4=fd000172000000000000000000000001 "
                                     "1/2/1=11 1/2/2=9c40 1/2/3=0035 "
                                     "2/1/3=fd000172000000000000000000000001 2/1/4=fd000010000000000000000000000002 "
                                     "2/2/1=11 2/2/2=0035 2/2/3=9c40 "
                                     "13/4=fd000010018000000000000000000001 13/3/1=14e9 13/3/2=14e9 3=00000008 7=0000001e "),
                         request(*read(event), abi::Family::kIpv6));
  }

  void restores_entries_of_its_servers() {
    ipvs::FlowKeeper keeper = this->keeper();
    keeper.listen();
    keeper.start({service()});
    tracking_->notify(bytes_of({}));
    Event other;
    other.sent.destination_port = 81;  // a foreign virtual server
    tracking_->notify(bytes_of(other));
    tracking_->notify(bytes_of({}) + bytes_of({}));
    wait_read();
    keeper.stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, tracking_->asked());
    CPPUNIT_ASSERT_EQUAL(std::string("restored conntrack entries that IPVS removed: 3\n"), logged());
    CPPUNIT_ASSERT_EQUAL(0, tracking_->listening);
  }

  void restores_entries_deleted_before_the_start() {
    ipvs::FlowKeeper keeper = this->keeper();
    keeper.listen();
    CPPUNIT_ASSERT_EQUAL(1, tracking_->listening);
    tracking_->notify(bytes_of({}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, tracking_->asked());
    keeper.start({service()});
    wait_read();
    keeper.stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, tracking_->asked());
  }

  void reports_entries_it_could_not_restore() {
    tracking_->answer = EEXIST;
    ipvs::FlowKeeper keeper = this->keeper();
    keeper.listen();
    keeper.start({service()});
    tracking_->notify(bytes_of({}));
    tracking_->notify({}, ENOBUFS);
    tracking_->notify(bytes_of({}));  // later notifications are processed
    wait_read();
    keeper.stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, tracking_->asked());
    CPPUNIT_ASSERT_EQUAL(
        std::string("conntrack entries that IPVS removed were not restored in time: 2\n"
                    "connections may have been reset when ipvs mode retired: conntrack notifications were lost: "
                    "No buffer space available (ENOBUFS)\n"),
        logged());
  }

  void warns_once_if_it_cannot_subscribe() {
    tracking_->refusal = EPERM;
    ipvs::FlowKeeper keeper = this->keeper();
    for (int i = 0; i < 2; ++i) {
      keeper.listen();
      keeper.start({service()});
      CPPUNIT_ASSERT(!keeper.running());
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, host_.lines.size());
    CPPUNIT_ASSERT_MESSAGE(logged(),
                           logged().find("may lose its connection while ipvs mode retires") != std::string::npos &&
                               logged().find("EPERM") != std::string::npos);
    // Without a subscription it does nothing.
    ipvs::FlowKeeper none({}, abi::Family::kIpv4, sdk::Logger(&host_));
    none.listen();
    none.start({service()});
    CPPUNIT_ASSERT(!none.running() && host_.lines.size() == 1);
  }

  void can_be_started_again() {
    ipvs::FlowKeeper keeper = this->keeper();
    keeper.listen();
    keeper.start({});  // no virtual server
    CPPUNIT_ASSERT(!keeper.running() && tracking_->listening == 0);
    for (int i = 1; i <= 2; ++i) {
      keeper.listen();
      keeper.listen();
      keeper.start({service()});
      keeper.start({service()});
      CPPUNIT_ASSERT(keeper.running() && tracking_->listening == 1);
      tracking_->notify(bytes_of({}));
      wait_read();
      keeper.stop(std::chrono::milliseconds(10));
      CPPUNIT_ASSERT(!keeper.running() && tracking_->listening == 0);
    }
    CPPUNIT_ASSERT_EQUAL(std::string("restored conntrack entries that IPVS removed: 1\n"
                                     "restored conntrack entries that IPVS removed: 1\n"),
                         logged());
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(FlowKeeperTest);

}  // namespace flow_keeper_test
}  // namespace sluice::test
