// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// ServerWriter and NetlinkServers on a real kernel, in network namespaces of their own. TAP. Needs root and a kernel
// with IPVS (test/vm).
#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "plugins/common/netlink/generic_family.hpp"
#include "plugins/common/netlink/socket.hpp"
#include "plugins/ipvs/servers/netlink_servers.hpp"
#include "plugins/ipvs/servers/server_writer.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/patience.hpp"

namespace sluice::ipvs {
namespace {

using Clock = std::chrono::steady_clock;
using test::stretched_milliseconds;
using test::wait_until;

std::uint64_t now() {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
}

class Checks {
 public:
  // `count`: number of earlier tests.
  Checks(abi::Family family, int count) : family_(family), kernel_(family), count_(count) {
    restart(WhenRemoved::kKeep);
  }

  void run() {
    lets_addresses_in();
    knows_schedulers();
    writes_what_it_reads_back();
    refuses_single_objects();
    puts_right_what_others_did();
    drains();
    lets_go_at_the_deadline();
    many();
  }
  int count() const { return count_; }
  bool failed() const { return failed_; }

 private:
  void check(bool good, const std::string& what) {
    std::printf("%s %d - %s: %s\n", good ? "ok" : "not ok", ++count_, six() ? "IPv6" : "IPv4", what.c_str());
    if (!good) {
      failed_ = true;
      for (const auto& [severity, line] : host_.lines) std::printf("# %s\n", line.c_str());
    }
    std::fflush(stdout);
  }

  bool six() const { return family_ == abi::Family::kIpv6; }
  abi::Address address(const char* prefix4, const char* prefix6, unsigned number) const {
    const std::string text = six() ? std::string(prefix6) + std::to_string(number)
                                   : prefix4 + std::to_string(number / 250) + "." + std::to_string(number % 250 + 1);
    return *sdk::parse_address(text, family_);
  }
  ServerKey key(unsigned number, abi::Protocol protocol = abi::Protocol::kTcp) const {
    return {address("10.96.", "fd00:96::", number), 80, protocol};
  }
  RealServer real(unsigned number) const { return {address("10.1.", "fd00:1::", number), 8080}; }
  VisitConnections connections_ = [this](const ConnectionVisitor& visitor, const MoreTime& more) {
    return visit_connections("/proc/thread-self/net/ip_vs_conn", family_, visitor, more);
  };
  RealServers reals(const std::vector<unsigned>& numbers) const {
    auto list = std::make_shared<std::vector<RealServer>>();
    for (const unsigned number : numbers) list->push_back(real(number));
    std::sort(list->begin(), list->end());
    return list;
  }
  static WantedServer wanted(const ServerKey& of, RealServers list) { return {{of, "rr", 0, 0}, std::move(list), "test/s"}; }

  void restart(WhenRemoved when, std::chrono::seconds drain = std::chrono::seconds(1)) {
    ServerWriter::Options options;
    options.family = family_;
    options.when_removed = when;
    options.drain = drain;
    writer_ = std::make_unique<ServerWriter>(kernel_, options, now, sdk::Logger(&host_));
    writer_->refresh();
  }
  int weight(const ServerKey& of, unsigned number) {
    for (const RealServerState& state : kernel_.real_servers(of)) {
      if (state.server == real(number)) return state.weight;
    }
    return -1;
  }
  // As "ipvsadm -C" does.
  void flush() {
    netlink::Socket socket(NETLINK_GENERIC, "IPVS");
    netlink::GenericFamily ipvs("IPVS", "ip_vs");
    if (socket.request(lib::netlink::make_generic(ipvs.id(socket), IPVS_CMD_FLUSH, IPVS_GENL_VERSION)) != 0) std::abort();
  }

  // Virtual and real servers are addresses of the loopback link.
  void lets_addresses_in() {
    netlink::Socket socket(NETLINK_ROUTE, "the kernel's links");
    ifinfomsg up{};
    up.ifi_index = 1;
    up.ifi_flags = IFF_UP;
    up.ifi_change = IFF_UP;
    bool good = socket.request(lib::netlink::make_message(RTM_NEWLINK, 0, up)) == 0;
    for (const abi::Address& one : {key(1).address, real(1).address, real(2).address}) {
      ifaddrmsg header{};
      header.ifa_family = static_cast<std::uint8_t>(sdk::socket_family(family_));
      header.ifa_prefixlen = six() ? 128 : 32;
      header.ifa_flags = IFA_F_NODAD;
      header.ifa_index = 1;
      const lib::netlink::Message message = lib::netlink::make_message(RTM_NEWADDR, NLM_F_CREATE, header);
      lib::netlink::must(nla_put(message.get(), IFA_LOCAL, static_cast<int>(sdk::address_bytes(family_)), one.bytes));
      good = socket.request(message) == 0 && good;
    }
    check(good, "the loopback link takes the addresses of the test");
  }

  void knows_schedulers() {
    std::string known;
    std::size_t count = 0;
    bool clear = true;
    for (const char* const name :
         {"rr", "wrr", "lc", "wlc", "fo", "ovf", "lblc", "lblcr", "dh", "sh", "mh", "sed", "nq", "twos", "nonsense"}) {
      WantedServer server = wanted(key(3), reals({1, 2}));
      server.server.scheduler = name;
      if (std::string(name) == "mh") server.server.flags = kSchedulerPort;
      const auto outcome = writer_->put({server});
      if (outcome.refused.empty()) {
        const auto found = kernel_.servers();
        clear = clear && found.size() == 1 && found[0].same_attributes(server.server);
        known += std::string(" ") + name;
        ++count;
      } else {
        const std::string module = "module ip_vs_" + std::string(name);
        clear = clear && outcome.refused.at("test/s").find(module) != std::string::npos;
        std::printf("# %s\n", outcome.refused.at("test/s").c_str());
      }
    }
    std::printf("# schedulers:%s\n", known.c_str());
    check(clear && count >= 11, "schedulers change in place, and a missing one is named with its module");
    writer_->remove({key(3)});
    check(kernel_.servers().empty(), "the virtual server is removed");
  }

  void writes_what_it_reads_back() {
    std::vector<WantedServer> all;
    for (const abi::Protocol protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp, abi::Protocol::kSctp}) {
      all.push_back(wanted(key(5, protocol), reals({1, 2, 3})));
      all.push_back(wanted(key(6, protocol), reals({})));
      all.back().server.flags = kPersistent;
      all.back().server.persistence_seconds = 10800;
    }
    check(writer_->put(all).refused.empty(), "virtual servers of each protocol are written");
    restart(WhenRemoved::kKeep);
    std::uint64_t messages = kernel_.messages();
    check(writer_->put(all).refused.empty() && kernel_.messages() == messages,
          "after a restart they are read back, and nothing is written");
    check(!writer_->find_drift(), "and there is no drift");
    check(writer_->servers() == 6 && writer_->real_servers() == 9, "each is counted");
    kernel_.execute({{ServerCommandKind::kEditReal, all[0].server, real(2), 0},
                     {ServerCommandKind::kEditReal, all[2].server, real(2), 7}});
    check(writer_->find_drift().value_or("").find("has the weight") != std::string::npos, "a wrong weight is found");
    restart(WhenRemoved::kKeep);
    messages = kernel_.messages();
    writer_->put(all);
    check(kernel_.messages() == messages + 2 && weight(key(5), 2) == 1 && !writer_->find_drift(),
          "a wanted real server of another weight is edited back, and nothing else is changed");
    all[2].real = reals({1, 4});
    writer_->put({all[2]});
    check(kernel_.real_servers(key(5, abi::Protocol::kUdp)).size() == 2, "UDP real servers are removed at once");
    NetlinkServers other(six() ? abi::Family::kIpv4 : abi::Family::kIpv6);
    check(other.servers().empty(), "the other family sees none of them");
    kernel_.set_timeouts({900, 10, 300});
    writer_->remove(writer_->held());
    check(kernel_.servers().empty(), "all are removed");
  }

  void refuses_single_objects() {
    WantedServer server = wanted(key(7), reals({1}));
    auto list = std::make_shared<std::vector<RealServer>>(*server.real);
    list->push_back({*sdk::parse_address(six() ? "ff02::1" : "224.0.0.5", family_), 80});
    std::sort(list->begin(), list->end());
    server.real = list;
    const auto outcome = writer_->put({server, wanted(key(8), reals({1, 2}))});
    check(outcome.refused.size() == 1 && weight(key(7), 1) == 1 && weight(key(8), 2) == 1 && !writer_->find_drift(),
          "an address that the kernel rejects does not stop the others");
    if (!outcome.refused.empty()) std::printf("# %s\n", outcome.refused.begin()->second.c_str());
    writer_->remove(writer_->held());
  }

  void puts_right_what_others_did() {
    std::vector<WantedServer> all;
    for (unsigned i = 10; i < 20; ++i) all.push_back(wanted(key(i), reals({1, 2})));
    writer_->put(all);
    NetlinkServers other(family_);
    other.execute({{ServerCommandKind::kDeleteServer, all[0].server, {}, 0},
                   {ServerCommandKind::kAddReal, all[1].server, real(3), 1},
                   {ServerCommandKind::kDeleteReal, all[2].server, real(2), 0}});
    host_.lines.clear();
    for (unsigned i = 0; i < 3; ++i) all[i].real = reals({1, 3});
    const auto outcome = writer_->put({all[0], all[1], all[2]});
    bool good = outcome.refused.empty() && host_.lines.size() == 1;
    for (unsigned i = 10; i < 13; ++i) good = good && weight(key(i), 1) == 1 && weight(key(i), 3) == 1 && weight(key(i), 2) == -1;
    check(good && !writer_->find_drift(),
          "EEXIST, ESRCH and ENOENT of the kernel are repaired within the call, with one log line");
    flush();
    const std::string drift = writer_->find_drift().value_or("");
    check(drift.find("10 virtual servers") == 0, "that all virtual servers were flushed is found: " + drift);
    writer_->refresh();
    check(writer_->put(all).refused.empty() && kernel_.servers().size() == 10 && !writer_->find_drift(),
          "and a refresh puts them back");
    writer_->remove(writer_->held());
  }

  int open_socket(const abi::Address& at, std::uint16_t port, bool listen_there) {
    sockaddr_storage name{};
    socklen_t size = 0;
    if (six()) {
      auto& full = reinterpret_cast<sockaddr_in6&>(name);
      full.sin6_family = AF_INET6;
      full.sin6_port = htons(port);
      std::memcpy(&full.sin6_addr, at.bytes, 16);
      size = sizeof(full);
    } else {
      auto& full = reinterpret_cast<sockaddr_in&>(name);
      full.sin_family = AF_INET;
      full.sin_port = htons(port);
      std::memcpy(&full.sin_addr, at.bytes, 4);
      size = sizeof(full);
    }
    const int made = ::socket(six() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{20, 0};
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    const int result = listen_there ? (::bind(made, reinterpret_cast<sockaddr*>(&name), size) == 0 ? ::listen(made, 16) : -1)
                                    : ::connect(made, reinterpret_cast<sockaddr*>(&name), size);
    if (result == 0) return made;
    ::close(made);
    return -1;
  }

  // A connection through the virtual server; the listener that accepted it (1 or 2), and its socket there.
  struct Connection {
    int client = -1;
    int server = -1;
    unsigned listener = 0;
    bool talks() const {
      char in = 0;
      return ::send(client, "x", 1, MSG_NOSIGNAL) == 1 && ::recv(server, &in, 1, 0) == 1 && in == 'x' &&
             ::send(server, "y", 1, MSG_NOSIGNAL) == 1 && ::recv(client, &in, 1, 0) == 1 && in == 'y';
    }
    // With a reset: otherwise the kernel keeps the closed connection for minutes.
    void cut() const {
      const linger none{1, 0};
      setsockopt(client, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
      ::close(client);
      ::close(server);
    }
  };
  Connection connect_to(const ServerKey& of) {
    Connection made;
    made.client = open_socket(of.address, of.port, false);
    if (made.client < 0) return made;
    pollfd waiting[2] = {{listeners_[0], POLLIN, 0}, {listeners_[1], POLLIN, 0}};
    if (::poll(waiting, 2, stretched_milliseconds(std::chrono::seconds(20))) <= 0) return made;
    made.listener = waiting[0].revents != 0 ? 1 : 2;
    made.server = ::accept4(listeners_[made.listener - 1], nullptr, nullptr, SOCK_CLOEXEC);
    const timeval limit{20, 0};
    setsockopt(made.server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return made;
  }

  void drains() {
    restart(WhenRemoved::kKeep);
    listeners_[0] = open_socket(real(1).address, 8080, true);
    listeners_[1] = open_socket(real(2).address, 8080, true);
    writer_->put({wanted(key(1), reals({1}))});
    const Connection first = connect_to(key(1));
    check(first.listener == 1 && first.talks(), "a connection goes through the virtual server");
    if (first.listener != 1) return;
    counts(key(1));
    writer_->put({wanted(key(1), reals({2}))});
    check(weight(key(1), 1) == 0 && writer_->draining() == 1, "a real server with a connection gets weight 0");
    writer_->tick();
    check(first.talks(), "its connection stays");
    const Connection second = connect_to(key(1));
    check(second.listener == 2 && second.talks(), "a new one goes to the other real server");
    restart(WhenRemoved::kKeep);
    writer_->put({wanted(key(1), reals({2}))});
    check(weight(key(1), 1) == 0 && writer_->draining() == 1 && first.talks(), "a restart continues the drain");
    writer_->put({wanted(key(1), reals({1, 2}))});
    check(weight(key(1), 1) == 1 && writer_->draining() == 0 && first.talks(), "wanted again, it gets its weight back and keeps its connection");
    std::set<unsigned> used;
    for (int i = 0; i < 2; ++i) {
      const Connection other = connect_to(key(1));
      used.insert(other.listener);
      other.cut();
    }
    check(used.size() == 2, "and gets new ones");
    writer_->put({wanted(key(1), reals({2}))});
    check(weight(key(1), 1) == 0 && first.talks(), "and drains again");
    first.cut();
    check(wait_until([&] { return writer_->tick(), writer_->draining() == 0; }, std::chrono::seconds(60)) &&
              weight(key(1), 1) == -1,
          "without connections it is removed");
    check(second.talks() && !writer_->find_drift(), "the other one is not touched");
    second.cut();
  }

  // One connection is established, to the first real server. The kernel sums up its counters every two seconds.
  void counts(const ServerKey& of) {
    const auto moves = [](const IpvsCounters& counters) {
      return counters.known && counters.connections >= 1 && counters.packets >= 3 && counters.reply_packets >= 2 &&
             counters.bytes >= 40 * counters.packets && counters.reply_bytes >= 40 * counters.reply_packets;
    };
    const auto server_counts = [&] {
      const auto all = kernel_.servers();
      return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.key == of && moves(one.counters); });
    };
    const auto real_counts = [&] {
      const auto all = kernel_.real_servers(of);
      return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.active == 1 && moves(one.counters); });
    };
    check(wait_until(server_counts, std::chrono::seconds(30)), "the kernel counts its packets at the virtual server");
    check(wait_until(real_counts, std::chrono::seconds(30)), "and at the real server, where it is active");
  }

  void lets_go_at_the_deadline() {
    restart(WhenRemoved::kDrain, std::chrono::seconds(2));
    writer_->put({wanted(key(1), reals({1}))});
    const Connection one = connect_to(key(1));
    writer_->put({wanted(key(1), reals({2}))});
    check(one.listener == 1 && weight(key(1), 1) == 0 && one.talks(), "with a deadline, a connection goes on until then");
    check(wait_until([&] { return writer_->tick(), weight(key(1), 1) == -1; }, std::chrono::seconds(30)),
          "and the real server is removed at the deadline");
    one.cut();
    restart(WhenRemoved::kReset);
    writer_->put({wanted(key(1), reals({1}))});
    const Connection other = connect_to(key(1));
    writer_->put({wanted(key(1), reals({2}))});
    check(other.listener == 1 && weight(key(1), 1) == -1, "without grace it is removed at once");
    other.cut();
    writer_->put({wanted(key(1), reals({1, 2}))});
    const Connection last = connect_to(key(1));
    writer_->quiesce({key(1)});
    const auto idle = [&] { return !writer_->find_idle({key(1)}, connections_).empty(); };
    check(!idle() && weight(key(1), 1) == 0 && weight(key(1), 2) == 0 && last.talks(),
          "a virtual server that retires keeps its connections and takes no new ones");
    last.cut();
    check(wait_until(idle, std::chrono::seconds(30)), "and it is idle once they have been reset");
    writer_->remove(writer_->held());
  }

  void many() {
    constexpr unsigned kServers = 1000;
    restart(WhenRemoved::kKeep);
    std::vector<WantedServer> all;
    for (unsigned i = 0; i < kServers; ++i) {
      std::vector<unsigned> numbers;
      for (unsigned k = 0; k < 10; ++k) numbers.push_back(i * 10 + k);
      all.push_back(wanted(key(i), reals(numbers)));
    }
    const auto timed = [](const std::function<void()>& body) {
      const auto begin = Clock::now();
      body();
      return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count());
    };
    bool good = false;
    const long put = timed([&] { good = writer_->put(all).refused.empty(); });
    check(good && kernel_.servers().size() == kServers, "1,000 virtual servers with 10 real servers each are written");
    const long read = timed([&] { restart(WhenRemoved::kKeep); });
    std::uint64_t messages = kernel_.messages();
    const long same = timed([&] { writer_->put(all); });
    check(kernel_.messages() == messages && writer_->real_servers() == 10 * kServers, "and read back: nothing is written");
    all[500].real = reals({1, 2, 3});
    messages = kernel_.messages();
    const long one = timed([&] { writer_->put({all[500]}); });
    check(kernel_.messages() == messages + 3 + 10 + 10, "a change costs one message per changed real server");
    long check_ms = 0;
    const long total = timed([&] {
      for (int i = 0; i < 5; ++i) good = good && !writer_->find_drift();
    });
    check_ms = total / 5;
    check(good, "there is no drift");
    const long gone = timed([&] { writer_->remove(writer_->held()); });
    check(kernel_.servers().empty(), "all are removed");
    std::printf("# put %ld ms, refresh %ld ms, put of the same %ld ms, of one %ld ms, a check %ld ms, removal %ld ms\n", put,
                read, same, one, check_ms, gone);
  }

  abi::Family family_;
  test::FakeHost host_;
  NetlinkServers kernel_;
  std::unique_ptr<ServerWriter> writer_;
  int listeners_[2] = {-1, -1};
  int count_;
  bool failed_ = false;
};

}  // namespace
}  // namespace sluice::ipvs

int main() {
  using namespace sluice;
  int count = 0;
  bool failed = false;
  try {
    for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
      if (::unshare(CLONE_NEWNET) != 0) {
        std::printf("1..0 # SKIP network namespaces need root\n");
        return 0;
      }
      if (count == 0) {
        try {
          ipvs::NetlinkServers(family).servers();
        } catch (const sdk::Failure& failure) {
          if (failure.code() != abi::Code::kUnsupported) throw;
          std::printf("1..0 # SKIP %s\n", failure.what());
          return 0;
        }
      }
      ipvs::Checks checks(family, count);
      checks.run();
      count = checks.count();
      failed = failed || checks.failed();
    }
  } catch (const std::exception& failure) {
    std::printf("Bail out! %s\n", failure.what());
    return 1;
  }
  std::printf("1..%d\n", count);
  return failed ? 1 : 0;
}
