// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/netlink_servers.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <linux/netlink.h>

#include <cerrno>
#include <random>

#include "plugins/ipvs/servers/server_writer.hpp"
#include "test/unit/ipvs/ipvs_socket.hpp"
#include "test/unit/ipvs/servers/server_rig.hpp"

namespace sluice::ipvs {
namespace netlink_servers_test {

constexpr std::chrono::milliseconds kShort{1};
const abi::Family kSix = abi::Family::kIpv6;
const ServerKey kKeySix{*sdk::parse_address("fd00::10", kSix), 443, abi::Protocol::kSctp};
const ServerKey kKey = server_key("10.96.0.10");

ServerCommand command(ServerCommandKind kind, const ServerKey& key, const RealServer& server = {}, std::int32_t weight = 1) {
  ServerCommand made;
  made.kind = kind;
  made.server = {key, "mh", kPersistent | kSchedulerPort, 10800};
  made.real = server;
  made.weight = weight;
  return made;
}

class NetlinkServersTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NetlinkServersTest);
  CPPUNIT_TEST(writes_and_reads_back_all_attributes);
  CPPUNIT_TEST(reads_counters);
  CPPUNIT_TEST(shows_one_family_without_firewall_marks);
  CPPUNIT_TEST(skips_other_messages);
  CPPUNIT_TEST(reports_rejections_of_the_kernel);
  CPPUNIT_TEST(finds_a_reloaded_module);
  CPPUNIT_TEST(names_the_missing_module);
  CPPUNIT_TEST(sets_timeouts);
  CPPUNIT_TEST(counts_messages_that_change_something);
  CPPUNIT_TEST(a_writer_converges_over_a_broken_socket);
  CPPUNIT_TEST_SUITE_END();

 public:
  void writes_and_reads_back_all_attributes() {
    NetlinkServers servers(kSix, line_.opener(), kShort);
    const RealServer one{*sdk::parse_address("fd00:1::1", kSix), 8443};
    const RealServer two{*sdk::parse_address("fd00:1::2", kSix), 65535};
    const std::vector<int> results = servers.execute({command(ServerCommandKind::kAddServer, kKeySix),
                                                      command(ServerCommandKind::kAddReal, kKeySix, one),
                                                      command(ServerCommandKind::kAddReal, kKeySix, two),
                                                      command(ServerCommandKind::kEditReal, kKeySix, two, 0)});
    CPPUNIT_ASSERT(results == std::vector<int>(4, 0));
    line_.kernel.find(kKeySix, two)->connections = 77;
    const auto list = servers.servers();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, list.size());
    CPPUNIT_ASSERT(list[0].key == kKeySix);
    CPPUNIT_ASSERT_EQUAL(std::string("mh"), list[0].scheduler);
    CPPUNIT_ASSERT_EQUAL(kPersistent | kSchedulerPort, list[0].flags);  // without "hashed"
    CPPUNIT_ASSERT_EQUAL(10800u, list[0].persistence_seconds);
    auto reals_found = servers.real_servers(kKeySix);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, reals_found.size());
    if (reals_found[0].server == one) std::swap(reals_found[0], reals_found[1]);
    CPPUNIT_ASSERT(reals_found[0].server == two && reals_found[1].server == one);
    CPPUNIT_ASSERT_EQUAL(0, reals_found[0].weight);
    CPPUNIT_ASSERT_EQUAL(1, reals_found[1].weight);
    // Without those of persistence templates, of which IpvsSocket reports nine.
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{77}, reals_found[0].connections);
    CPPUNIT_ASSERT(reals_found[0].masquerades);
    servers.execute({command(ServerCommandKind::kDeleteReal, kKeySix, one)});
    line_.kernel.find(kKeySix, two)->masquerades = false;
    reals_found = servers.real_servers(kKeySix);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, reals_found.size());
    CPPUNIT_ASSERT(!reals_found[0].masquerades);
    servers.execute({command(ServerCommandKind::kDeleteServer, kKeySix)});
    CPPUNIT_ASSERT(servers.servers().empty());
  }

  void reads_counters() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    servers.execute({command(ServerCommandKind::kAddServer, kKey), command(ServerCommandKind::kAddReal, kKey, real(1))});
    CPPUNIT_ASSERT(!servers.servers().at(0).counters.known);
    CPPUNIT_ASSERT(!servers.real_servers(kKey).at(0).counters.known);
    const std::uint64_t many = 1ull << 40;
    const auto text = [](const IpvsCounters& found) {
      return std::to_string(found.known) + " " + std::to_string(found.connections) + " " + std::to_string(found.packets) +
             " " + std::to_string(found.bytes) + " " + std::to_string(found.reply_packets) + " " +
             std::to_string(found.reply_bytes);
    };
    line_.kernel.held.at(kKey).counters = {true, many + 1, 2, many + 3, 4, 5};
    auto& of_real = *line_.kernel.find(kKey, real(1));
    of_real.connections = 9;
    of_real.active = 7;
    of_real.counters = {true, 11, many + 12, 13, 14, many + 15};
    const std::string high = std::to_string(many + 3);
    CPPUNIT_ASSERT_EQUAL("1 " + std::to_string(many + 1) + " 2 " + high + " 4 5", text(servers.servers().at(0).counters));
    const RealServerState found = servers.real_servers(kKey).at(0);
    CPPUNIT_ASSERT_EQUAL("1 11 " + std::to_string(many + 12) + " 13 14 " + std::to_string(many + 15), text(found.counters));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{9}, found.connections);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{7}, found.active);
    // An old kernel: only bytes have 64 bits.
    line_.wide_counters = false;
    CPPUNIT_ASSERT_EQUAL("1 1 2 " + high + " 4 5", text(servers.servers().at(0).counters));
    CPPUNIT_ASSERT_EQUAL("1 11 12 13 14 " + std::to_string(many + 15), text(servers.real_servers(kKey).at(0).counters));
  }

  void shows_one_family_without_firewall_marks() {
    NetlinkServers four(abi::Family::kIpv4, line_.opener(), kShort);
    NetlinkServers six(kSix, line_.opener(), kShort);
    four.execute({command(ServerCommandKind::kAddServer, kKey)});
    six.execute({command(ServerCommandKind::kAddServer, kKeySix)});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, four.servers().size());
    CPPUNIT_ASSERT(four.servers()[0].key == kKey);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, six.servers().size());
  }

  void skips_other_messages() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    // Without persistence the timeout has no meaning.
    line_.kernel.held[kKey].attributes = {kKey, "rr", 0, 360};
    CPPUNIT_ASSERT_EQUAL(0u, servers.servers().at(0).persistence_seconds);
    CPPUNIT_ASSERT(servers.real_servers(server_key("10.96.9.9")).empty());
    // Tunnels may lead to the other family.
    line_.kernel.held[kKey].real[{*sdk::parse_address("fd00::7", kSix), 80}] = {};
    line_.kernel.held[kKey].real[real(1)] = {1, true, 0xFFFFFFFF};
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, servers.real_servers(kKey).size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, servers.real_servers(kKey)[0].connections);
  }

  void reports_rejections_of_the_kernel() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    ServerCommand unknown = command(ServerCommandKind::kAddServer, kKey);
    unknown.server.scheduler = "fo";
    const std::vector<int> results =
        servers.execute({unknown, command(ServerCommandKind::kAddReal, kKey, real(1)),
                         command(ServerCommandKind::kAddServer, kKey), command(ServerCommandKind::kAddServer, kKey),
                         command(ServerCommandKind::kEditReal, kKey, real(1))});
    CPPUNIT_ASSERT(results == (std::vector<int>{ENOENT, ESRCH, 0, EEXIST, ENOENT}));
  }

  void finds_a_reloaded_module() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    servers.execute({command(ServerCommandKind::kAddServer, kKey)});
    line_.id = 0x21;
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, servers.servers().size());
    line_.id = 0x22;
    CPPUNIT_ASSERT_EQUAL(0, servers.execute({command(ServerCommandKind::kAddReal, kKey, real(1))}).front());
    line_.id = 0x23;
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, servers.real_servers(kKey).size());
    line_.id = 0x24;
    servers.set_timeouts({900, 0, 0});
    CPPUNIT_ASSERT_EQUAL(900u, line_.kernel.set_to.tcp);
  }

  void names_the_missing_module() {
    line_.id = 0;
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    try {
      servers.servers();
      CPPUNIT_FAIL("nothing was thrown");
    } catch (const sdk::Failure& failure) {
      CPPUNIT_ASSERT(failure.code() == abi::Code::kUnsupported);
      CPPUNIT_ASSERT_EQUAL(std::string("ip_vs"), failure.object());
      CPPUNIT_ASSERT(std::string(failure.what()).find("modprobe ip_vs") != std::string::npos);
    }
  }

  void sets_timeouts() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    servers.set_timeouts({900, 120, 300});
    servers.set_timeouts({0, 60, 0});
    CPPUNIT_ASSERT_EQUAL(900u, line_.kernel.set_to.tcp);
    CPPUNIT_ASSERT_EQUAL(60u, line_.kernel.set_to.tcp_fin);
    CPPUNIT_ASSERT_EQUAL(300u, line_.kernel.set_to.udp);
    line_.kernel.set_to.udp = 45;  // as another program would
    const IpvsTimeouts timeouts = servers.timeouts();
    CPPUNIT_ASSERT_EQUAL(900u, timeouts.tcp);
    CPPUNIT_ASSERT_EQUAL(60u, timeouts.tcp_fin);
    CPPUNIT_ASSERT_EQUAL(45u, timeouts.udp);
  }

  void counts_messages_that_change_something() {
    NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
    servers.servers();
    servers.real_servers(kKey);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, servers.messages());
    servers.execute({});
    servers.execute({command(ServerCommandKind::kAddServer, kKey), command(ServerCommandKind::kAddReal, kKey, real(1))});
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, servers.messages());
  }

  // Every fault at every position of the exchange: after the usual reaction (refresh, then everything again) the
  // kernel holds what is wanted, and nothing is removed in between.
  void a_writer_converges_over_a_broken_socket() {
    std::mt19937 random(4242);
    std::size_t broken = 0;
    for (unsigned round = 0; round < 400; ++round) {
      line_.kernel.held.clear();
      line_.queue.clear();
      line_.in_datagram = 1 + round % 5;
      NetlinkServers servers(abi::Family::kIpv4, line_.opener(), kShort);
      ServerWriter::Options options;
      options.family = abi::Family::kIpv4;
      ServerWriter writer(servers, options, [] { return std::uint64_t{1}; }, sdk::Logger(nullptr));
      writer.refresh();
      std::vector<WantedServer> all;
      for (unsigned i = 1; i < 12; ++i) all.push_back(wanted(server_key("10.97.0." + std::to_string(i)), reals({1, 2, i + 5})));
      writer.put(all);
      const unsigned kind = round % 7;
      auto skip = random() % 6;
      line_.corrupt = [&](std::deque<IpvsItem>& items) {
        if (items.empty() || skip-- != 0) return;
        // The kernel reports ENOBUFS if it loses a part of a dump: only the end may be missing silently.
        const std::size_t at = kind == 1 || kind == 4 ? items.size() - 1 : random() % items.size();
        switch (kind) {
          case 0: items[at] = {{}, ENOBUFS}; break;
          case 1: items.erase(items.begin() + static_cast<std::ptrdiff_t>(at)); break;
          case 2: items[at].bytes.resize((random() % items[at].bytes.size()) / 4 * 4 + 1); break;  // inside a message
          case 3: first_message(items[at].bytes)->nlmsg_flags |= NLM_F_DUMP_INTR; break;
          case 4: first_message(items[at].bytes)->nlmsg_seq += static_cast<std::uint32_t>(1 + random() % 1000); break;
          case 5: items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), {{}, EINTR}); break;
          case 6: items.resize(at); break;
        }
      };
      for (WantedServer& server : all) server.real = reals({2, 3});
      bool whole = false;
      for (int attempt = 0; !whole && attempt < 4; ++attempt) {
        try {
          if (attempt > 0) writer.refresh();
          writer.put(all);
          writer.tick();
          whole = true;
        } catch (const sdk::Failure& failure) {
          ++broken;
          CPPUNIT_ASSERT(failure.code() == abi::Code::kRetry);
        }
      }
      line_.corrupt = nullptr;
      CPPUNIT_ASSERT(whole);
      CPPUNIT_ASSERT_EQUAL(std::size_t{11}, line_.kernel.held.size());
      for (const WantedServer& server : all) {
        const auto& held = line_.kernel.held[server.server.key].real;
        CPPUNIT_ASSERT(held == (std::map<RealServer, FakeServerKernel::Real>{{real(2), {}}, {real(3), {}}}));
      }
      CPPUNIT_ASSERT(!writer.find_drift());
    }
    CPPUNIT_ASSERT(broken > 20);
  }

 private:
  IpvsLine line_;
};
CPPUNIT_TEST_SUITE_REGISTRATION(NetlinkServersTest);

}  // namespace netlink_servers_test
}  // namespace sluice::ipvs
