// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Connection tracking of the real kernel in a separate network namespace. Needs root, conntrack(8) to create entries,
// and ip(8) and nft(8) to enable tracking.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include "core/conntrack/scan.hpp"
#include "lib/fd.hpp"
#include "lib/sysctl.hpp"
#include "test/unit/conntrack/fakes.hpp"
#include "test/unit/skip.hpp"

namespace sluice::conntrack {
namespace scan_kernel_test {

using lib::Family;
using lib::SocketAddress;
using test::at;

struct Addresses {
  Family family;
  SocketAddress vip, other_vip, e1, e2, client;
};
const Addresses kV4{Family::ipv4,           at("172.30.0.10", 53),  at("172.30.0.11", 53),
                    at("10.180.0.1", 5353), at("10.180.0.2", 5353), at("10.0.0.2", 40000)};
const Addresses kV6{Family::ipv6,           at("fd00:172::10", 53), at("fd00:172::11", 53),
                    at("fd00:10::1", 5353), at("fd00:10::2", 5353), at("fd00:10::99", 40000)};

bool insert(const std::string& protocol, const SocketAddress& source, const SocketAddress& destination,
            const SocketAddress& reply_source, const std::string& more = "") {
  const auto port = [](const SocketAddress& address) { return " " + std::to_string(address.port); };
  const std::string command = "conntrack -I -t 300 -p " + protocol + " --orig-src " + source.address.to_string() +
                              " --orig-dst " + destination.address.to_string() + " --reply-src " +
                              reply_source.address.to_string() + " --reply-dst " + source.address.to_string() +
                              " --sport" + port(source) + " --dport" + port(destination) + " --reply-port-src" +
                              port(reply_source) + " --reply-port-dst" + port(source) + " " + more + " >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

std::vector<Flow> flows(ConntrackTable& table, Family family, const FlowQuery& query) {
  std::vector<Flow> out;
  const auto status = table.dump(family, query, [&](const Flow& flow) {
    out.push_back(flow);
    return true;
  });
  CPPUNIT_ASSERT_EQUAL(std::string(), status.message());
  return out;
}

// A UDP socket of a process at the loopback address.
class Loopback {
 public:
  explicit Loopback(Family family) : family_(family), socket_(::socket(domain(), SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    name_.ss_family = static_cast<sa_family_t>(domain());
    if (family == Family::ipv4) {
      reinterpret_cast<sockaddr_in&>(name_).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      reinterpret_cast<sockaddr_in6&>(name_).sin6_addr = in6addr_loopback;
    }
    CPPUNIT_ASSERT_EQUAL(0, ::bind(socket_.get(), name(), size_));
    CPPUNIT_ASSERT_EQUAL(0, ::getsockname(socket_.get(), name(), &size_));
  }

  SocketAddress address() const {
    return family_ == Family::ipv4 ? at("127.0.0.1", ntohs(reinterpret_cast<const sockaddr_in&>(name_).sin_port))
                                   : at("::1", ntohs(reinterpret_cast<const sockaddr_in6&>(name_).sin6_port));
  }
  void send_to(Loopback& other) {
    CPPUNIT_ASSERT_EQUAL(ssize_t(1), ::sendto(socket_.get(), "x", 1, 0, other.name(), other.size_));
    pollfd arrived{other.socket_.get(), POLLIN, 0};
    CPPUNIT_ASSERT_EQUAL(1, ::poll(&arrived, 1, 60'000));
    char byte = 0;
    CPPUNIT_ASSERT_EQUAL(ssize_t(1), ::recv(other.socket_.get(), &byte, 1, MSG_DONTWAIT));
  }

 private:
  int domain() const { return family_ == Family::ipv4 ? AF_INET : AF_INET6; }
  sockaddr* name() { return reinterpret_cast<sockaddr*>(&name_); }

  Family family_;
  sockaddr_storage name_{};
  socklen_t size_ = sizeof name_;
  lib::Fd socket_;
};

std::uint64_t buckets() {
  const auto text = lib::Sysctl().read("net/netfilter/nf_conntrack_buckets");
  CPPUNIT_ASSERT_EQUAL(std::string(), text.status().message());
  return std::stoull(*text);
}

// Counts the dumps of a scan.
class CountingTable : public ConntrackTable {
 public:
  explicit CountingTable(ConntrackTable& of) : of_(of) {}
  std::size_t dumps = 0;

  lib::Status dump(Family family, const FlowQuery& query, const Visitor& visitor) override {
    ++dumps;
    return of_.dump(family, query, visitor);
  }
  FlowQuery supported_query(Family family, const FlowQuery& query) const override {
    return of_.supported_query(family, query);
  }
  bool is_full_dump_cheaper(Family family, std::size_t number) const override {
    return of_.is_full_dump_cheaper(family, number);
  }
  lib::Result<std::size_t> remove(Family family, std::span<const Flow> flows) override {
    return of_.remove(family, flows);
  }

 private:
  ConntrackTable& of_;
};

class ConntrackKernelTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConntrackKernelTest);
  CPPUNIT_TEST(reads_and_filters_entries);
  CPPUNIT_TEST(counts_packets_by_direction);
  CPPUNIT_TEST(reads_a_large_table_without_a_filter);
  CPPUNIT_TEST(removes_only_the_given_entry);
  CPPUNIT_TEST(a_scan_removes_only_stale_entries);
  CPPUNIT_TEST(a_scan_reads_a_table_of_few_entries_once);
  CPPUNIT_TEST(entries_that_are_not_copied_cost_nothing);
  CPPUNIT_TEST(removes_many_entries_in_batches);
  CPPUNIT_TEST_SUITE_END();

  // The namespace belongs to a thread and ends with it.
  static void isolated(const std::function<void(const Addresses&)>& body) {
    if (::geteuid() != 0) return test::skip("needs root");
    std::exception_ptr failure;
    bool possible = true;
    std::thread([&] {
      try {
        if (::unshare(CLONE_NEWNET) != 0 || std::system("conntrack -L >/dev/null 2>&1") != 0) {
          possible = false;
          return;
        }
        body(kV4);
        body(kV6);
      } catch (...) {
        failure = std::current_exception();
      }
    }).join();
    if (failure) std::rethrow_exception(failure);
    if (!possible) test::skip("needs network namespaces, connection tracking and conntrack(8)");
  }
  static SocketAddress client(const Addresses& a, std::uint16_t number) {
    return {a.client.address, static_cast<std::uint16_t>(a.client.port + number)};
  }

 public:
  void reads_and_filters_entries() {
    isolated([](const Addresses& a) {
      CPPUNIT_ASSERT(insert("udp", client(a, 1), a.vip, a.e1));
      CPPUNIT_ASSERT(insert("udp", client(a, 2), a.vip, a.e2));
      CPPUNIT_ASSERT(insert("udp", client(a, 3), a.other_vip, a.other_vip));
      CPPUNIT_ASSERT(insert("tcp", client(a, 4), a.vip, a.e2, "--state ESTABLISHED"));
      CPPUNIT_ASSERT(insert("udp", client(a, 5), a.vip, a.e2, "-w 7"));
      KernelConntrackTable table;
      const auto all = flows(table, a.family, {});
      CPPUNIT_ASSERT_EQUAL(std::size_t(3), all.size());
      const auto matching = [&](const FlowQuery& query) {
        // The table may return more flows, but must return all that match.
        auto out = flows(table, a.family, table.supported_query(a.family, query));
        std::erase_if(out, [&](const Flow& flow) { return !query.fits(flow); });
        return out;
      };
      const auto to_e2 = matching({std::nullopt, 0, a.e2.address, a.e2.port});
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), to_e2.size());
      // conntrack(8) does not set IPS_DST_NAT, so the entry resembles one of IPVS.
      CPPUNIT_ASSERT(to_e2[0].remaining > 240 && to_e2[0].remaining <= 300);
      const Flow expected{client(a, 2), a.vip, a.e2, client(a, 2), to_e2[0].id, false, to_e2[0].remaining, 0};
      CPPUNIT_ASSERT(expected == to_e2[0]);
      CPPUNIT_ASSERT(insert("udp", client(a, 6), a.vip, a.vip, "--dst-nat " + a.e1.address.to_string()));
      const auto to_e1 = matching({std::nullopt, 0, a.e1.address, 0});
      CPPUNIT_ASSERT_EQUAL(std::size_t(2), to_e1.size());
      CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t(1), std::count_if(to_e1.begin(), to_e1.end(), [&](const Flow& flow) {
                             return flow.redirected && flow.source == client(a, 6);
                           }));
      std::system("conntrack -D -p udp -g >/dev/null 2>&1");
      CPPUNIT_ASSERT_EQUAL(std::size_t(2), matching({a.vip.address, a.vip.port, std::nullopt, 0}).size());
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), matching({a.other_vip.address, 53, std::nullopt, 0}).size());
      // Filtered by the kernel.
      const auto shown = [&](const FlowQuery& query) {
        return flows(table, a.family, table.supported_query(a.family, query)).size();
      };
      const bool ipv4 = a.family == Family::ipv4;
      CPPUNIT_ASSERT_EQUAL(std::size_t(3), shown({std::nullopt, 53, std::nullopt, 0}));
      CPPUNIT_ASSERT_EQUAL(std::size_t(0), shown({std::nullopt, 54, std::nullopt, 0}));
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), shown({std::nullopt, 0, a.other_vip.address, 53}));
      CPPUNIT_ASSERT_EQUAL(std::size_t(ipv4 ? 1 : 2), shown({std::nullopt, 0, a.e1.address, a.e1.port}));
      CPPUNIT_ASSERT_EQUAL(std::size_t(ipv4 ? 1 : 3), shown({a.other_vip.address, 53, std::nullopt, 0}));
      std::system("conntrack -F >/dev/null 2>&1");
    });
  }

  void counts_packets_by_direction() {
    isolated([](const Addresses& a) {
      // The kernel tracks packets once a rule needs it.
      CPPUNIT_ASSERT(std::system("ip link set lo up && echo 1 >/proc/sys/net/netfilter/nf_conntrack_acct && "
                                 "nft 'table inet t { chain c { type filter hook output priority 0; "
                                 "ct state invalid drop; }; }'") == 0);
      Loopback client(a.family), server(a.family);
      for (int i = 0; i < 3; ++i) client.send_to(server);
      server.send_to(client);
      KernelConntrackTable table;
      const auto found = flows(table, a.family, {});
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), found.size());
      CPPUNIT_ASSERT(client.address() == found.front().source);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t(4), found.front().packets);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), found.front().replies);
    });
  }

  // A long filtered walk in the kernel would delay packets.
  void reads_a_large_table_without_a_filter() {
    isolated([](const Addresses& a) {
      const Addresses& other = a.family == Family::ipv4 ? kV6 : kV4;
      CPPUNIT_ASSERT(insert("udp", client(a, 1), a.vip, a.e1));
      CPPUNIT_ASSERT(insert("udp", client(a, 2), a.vip, a.e2));
      CPPUNIT_ASSERT(insert("tcp", client(a, 3), a.vip, a.e2, "--state ESTABLISHED"));
      CPPUNIT_ASSERT(insert("udp", client(other, 4), other.vip, other.e1));
      KernelConntrackTable filtered(4);
      KernelConntrackTable whole(3);
      const FlowQuery query{std::nullopt, 0, a.e1.address, a.e1.port};
      CPPUNIT_ASSERT(!filtered.supported_query(a.family, query).all_flows());
      CPPUNIT_ASSERT(whole.supported_query(a.family, query).all_flows());
      CPPUNIT_ASSERT_EQUAL(std::size_t(2), flows(whole, a.family, {}).size());
      // The dump is not filtered and returns more flows than match.
      CPPUNIT_ASSERT_EQUAL(std::size_t(2), flows(whole, a.family, query).size());
      CPPUNIT_ASSERT_EQUAL(std::size_t(a.family == Family::ipv4 ? 1 : 2),
                           flows(filtered, a.family, filtered.supported_query(a.family, query)).size());
      // Once the table is smaller, the kernel filters again.
      std::system("conntrack -D -p tcp >/dev/null 2>&1; conntrack -D -p tcp -f ipv6 >/dev/null 2>&1");
      CPPUNIT_ASSERT(!whole.supported_query(a.family, query).all_flows());
      std::system("conntrack -F >/dev/null 2>&1");
    });
  }

  void removes_only_the_given_entry() {
    isolated([](const Addresses& a) {
      CPPUNIT_ASSERT(insert("udp", client(a, 1), a.vip, a.e1));
      KernelConntrackTable table;
      const auto before = flows(table, a.family, {});
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), before.size());
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), *table.remove(a.family, before));
      CPPUNIT_ASSERT_EQUAL(std::size_t(0), *table.remove(a.family, before));
      // An entry with the same addresses and another id is another entry.
      CPPUNIT_ASSERT(insert("udp", client(a, 1), a.vip, a.e2));
      auto other = flows(table, a.family, {});
      ++other[0].id;
      CPPUNIT_ASSERT_EQUAL(std::size_t(0), *table.remove(a.family, other));
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), flows(table, a.family, {}).size());
      std::system("conntrack -F >/dev/null 2>&1");
    });
  }

  void a_scan_removes_only_stale_entries() {
    isolated([](const Addresses& a) {
      CPPUNIT_ASSERT(insert("udp", client(a, 1), a.vip, a.e1));
      CPPUNIT_ASSERT(insert("udp", client(a, 2), a.vip, a.e2));
      CPPUNIT_ASSERT(insert("udp", client(a, 3), a.vip, a.vip));
      CPPUNIT_ASSERT(insert("tcp", client(a, 4), a.vip, a.e2, "--state ESTABLISHED"));
      CPPUNIT_ASSERT(insert("udp", client(a, 5), a.vip, a.e2, "-w 7"));
      CPPUNIT_ASSERT(insert("udp", client(a, 6), a.other_vip, a.e2));
      KernelConntrackTable table;
      for (const bool filtered : {true, false}) {
        ConntrackState state;
        ConntrackWork work;
        UdpChange change;
        change.ports.emplace_back(test::udp_key("svc1"), test::udp_port({a.vip}, 0, {a.e1}));
        state.apply(change, work);
        if (!filtered) work.note_full_scan();
        const auto scan = reconcile_conntrack(a.family, state, work, table, std::atomic<bool>(false));
        CPPUNIT_ASSERT_EQUAL(std::string(), scan.status().message());
        CPPUNIT_ASSERT_EQUAL(std::uint64_t(filtered ? 2 : 0), scan->deleted);
      }
      const auto left = flows(table, a.family, {});
      CPPUNIT_ASSERT_EQUAL(std::size_t(2), left.size());
      CPPUNIT_ASSERT(std::system("test $(conntrack -L -f ipv4 2>/dev/null | wc -l) = 4 || "
                                 "test $(conntrack -L -f ipv6 2>/dev/null | wc -l) = 4") == 0);
      std::system("conntrack -F >/dev/null 2>&1");
    });
  }

  // A walk over the kernel's buckets takes more time than copies of a few entries.
  void a_scan_reads_a_table_of_few_entries_once() {
    isolated([](const Addresses& a) {
      CPPUNIT_ASSERT(KernelConntrackTable().is_full_dump_cheaper(a.family, 2));
      for (const bool few : {true, false}) {
        CPPUNIT_ASSERT(insert("udp", client(a, 1), a.vip, a.vip));
        CPPUNIT_ASSERT(insert("udp", client(a, 2), a.vip, a.e1));
        CPPUNIT_ASSERT(insert("udp", client(a, 3), a.other_vip, a.e1));
        // Two saved walks over the buckets, against copies of three entries.
        KernelConntrackTable kernel(KernelConntrackTable::kMostFiltered, 2 * buckets() / 3 + (few ? 0 : 1));
        CountingTable table(kernel);
        ConntrackState state;
        ConntrackWork work;
        UdpChange change;
        const SocketAddress other_port{a.other_vip.address, 54};
        change.ports.emplace_back(test::udp_key("svc1"), test::udp_port({a.vip, other_port}, 30053, {a.e1}));
        state.apply(change, work);
        CPPUNIT_ASSERT_EQUAL(std::size_t(3), work.queries().size());
        const auto scan = reconcile_conntrack(a.family, state, work, table, std::atomic<bool>(false));
        CPPUNIT_ASSERT_EQUAL(std::string(), scan.status().message());
        CPPUNIT_ASSERT_EQUAL(std::size_t(few ? 1 : 3), table.dumps);
        CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), scan->deleted);
        CPPUNIT_ASSERT_EQUAL(std::size_t(2), flows(kernel, a.family, {}).size());
        std::system("conntrack -F >/dev/null 2>&1");
      }
    });
  }

  // Most entries of a node are of TCP: a dump of all UDP entries does not copy them.
  void entries_that_are_not_copied_cost_nothing() {
    isolated([](const Addresses& a) {
      const Addresses& other = a.family == Family::ipv4 ? kV6 : kV4;
      CPPUNIT_ASSERT(insert("udp", client(a, 1), a.vip, a.e1));
      CPPUNIT_ASSERT(insert("udp", client(a, 2), a.vip, a.e1));
      CPPUNIT_ASSERT(insert("tcp", client(a, 3), a.vip, a.e1, "--state ESTABLISHED"));
      CPPUNIT_ASSERT(insert("udp", client(other, 4), other.vip, other.e1));
      // A copy takes as long as half a walk: two copies and a walk as long as two walks, four as long as three.
      KernelConntrackTable table(KernelConntrackTable::kMostFiltered, buckets() / 2);
      CPPUNIT_ASSERT(!table.is_full_dump_cheaper(a.family, 2) && table.is_full_dump_cheaper(a.family, 3));
      // A partial dump does not update the count.
      CPPUNIT_ASSERT_EQUAL(std::size_t(0), flows(table, a.family, {std::nullopt, 54, std::nullopt, 0}).size());
      CPPUNIT_ASSERT(!table.is_full_dump_cheaper(a.family, 2));
      CPPUNIT_ASSERT_EQUAL(std::size_t(2), flows(table, a.family, {}).size());
      CPPUNIT_ASSERT(table.is_full_dump_cheaper(a.family, 2) && !table.is_full_dump_cheaper(other.family, 2));
      // The next dump of all flows shows that there are more.
      CPPUNIT_ASSERT(insert("udp", client(a, 5), a.vip, a.e1));
      CPPUNIT_ASSERT(table.is_full_dump_cheaper(a.family, 2));
      CPPUNIT_ASSERT_EQUAL(std::size_t(3), flows(table, a.family, {}).size());
      CPPUNIT_ASSERT(!table.is_full_dump_cheaper(a.family, 2));
      // The number of entries limits the count.
      std::system("conntrack -F >/dev/null 2>&1");
      CPPUNIT_ASSERT(insert("udp", client(a, 1), a.vip, a.e1));
      CPPUNIT_ASSERT(table.is_full_dump_cheaper(a.family, 2));
      std::system("conntrack -F >/dev/null 2>&1");
    });
  }

  void removes_many_entries_in_batches() {
    isolated([](const Addresses& a) {
      for (std::uint16_t i = 0; i < 200; ++i) CPPUNIT_ASSERT(insert("udp", client(a, i), a.vip, a.e1));
      KernelConntrackTable table;
      auto all = flows(table, a.family, {});
      CPPUNIT_ASSERT_EQUAL(std::size_t(200), all.size());
      // Every second entry is removed before.
      std::vector<Flow> first;
      for (std::size_t i = 0; i < all.size(); i += 2) first.push_back(all[i]);
      CPPUNIT_ASSERT_EQUAL(std::size_t(100), *table.remove(a.family, first));
      CPPUNIT_ASSERT_EQUAL(std::size_t(100), *table.remove(a.family, all));
      CPPUNIT_ASSERT_EQUAL(std::size_t(0), flows(table, a.family, {}).size());
    });
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConntrackKernelTest);

}  // namespace scan_kernel_test
}  // namespace sluice::conntrack
