// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Portals on a real kernel: iptables-save must print rules as they were written, or each later step would write them
// again; and connections must reach the proxy port to which rules redirect.
// Run in a separate network namespace (test/system/iptables_kernel_test.sh).
//   userspace_roundtrip 4|6 nft|legacy      TAP
//   userspace_roundtrip 4|6 bench N         times with N service ports
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/fd.hpp"
#include "lib/program.hpp"
#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/userspace/cleanup.hpp"
#include "plugins/userspace/probe.hpp"
#include "plugins/userspace/socket_address.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/common/world.hpp"
#include "test/unit/patience.hpp"

namespace sluice::test {
namespace {

using userspace::Portal;
using userspace::PortalWriter;
using userspace::SocketAddress;

// Runs a program found in PATH.
lib::ProgramResult call(const std::string& program, std::vector<std::string> arguments) {
  lib::Program command;
  command.arguments = std::move(arguments);
  command.arguments.insert(command.arguments.begin(), lib::find_program(program));
  return *lib::run_program(command);
}

class Checks {
 public:
  Checks(abi::Family family, bool legacy)
      : family_(family), legacy_(legacy), six_(family == abi::Family::kIpv6), tool_(six_ ? "ip6tables" : "iptables") {
    node_.flags = abi::kNodePortsMatchAll | abi::kNodePortsOnLocalhost;
    node_.ip = six_ ? "fd00:9::2" : "192.168.0.2";
    node_.local_addresses = {node_.ip};
    node_.detector_cidr = six_ ? "fd00::/32" : "10.0.0.0/8";
    World world(family_);
    facts_ = userspace::portal_facts(family_, std::nullopt, world.node(node_));
    services_ = variants();
    restart();
  }

  int run() {
    leaves_no_trace_of_a_probe();
    writes_what_it_reads_back();
    reads_proxy_ports_from_rules();
    redirects_connections();
    applies_every_delta();
    follows_the_node();
    excludes_refused_service_ports();
    repairs_drift();
    cleans_up();
    std::printf("1..%d\n", count_);
    return failed_ ? 1 : 0;
  }

 private:
  void check(bool good, const std::string& what) {
    std::printf("%s %d - %s\n", good ? "ok" : "not ok", ++count_, what.c_str());
    if (!good) {
      failed_ = true;
      std::printf("# %s (%zu lines written)\n", error_.c_str(), written_.lines);
    }
    std::fflush(stdout);
  }

  // One service port for each kind of rules, each with its own proxy ports.
  std::vector<ServiceSpec> variants() const {
    const std::string outside = six_ ? "2001:db8::" : "198.51.100.";
    std::vector<ServiceSpec> made = many_services(11, 2, family_);
    made[1].protocol = abi::Protocol::kUdp;
    made[2].node_port = 30002;
    made[3].node_port = 30003;
    made[3].external_local = true;
    made[4] = made[3];
    made[4].name = "svc-remote";
    made[4].cluster_ip = many_services(20, 0, family_)[16].cluster_ip;
    made[4].node_port = 30004;
    made[4].external_ips = {outside + "4"};
    for (EndpointSpec& endpoint : made[4].endpoints) endpoint.local = false;
    made[5].vips = {outside + "5", outside + "15"};
    made[6].vips = {outside + "6"};
    made[6].source_ranges = {six_ ? "2001:db8:1::/48" : "203.0.113.0/25"};
    made[7] = made[6];
    made[7].name = "svc-ranges";
    made[7].cluster_ip = many_services(20, 0, family_)[17].cluster_ip;
    made[7].vips = {outside + "7"};
    made[7].external_local = true;
    made[7].source_ranges.push_back(six_ ? "fd00::/16" : "192.168.0.0/24");
    made[7].source_ranges.push_back(six_ ? "fd00::/48" : "10.0.0.0/16");
    made[8].internal_local = true;
    made[8].external_ips = {outside + "8"};
    made[9].health_check_node_port = 32000;
    made[9].port_name = "";
    made[10].endpoints.clear();
    made[10].node_port = 30010;
    made[10].external_ips = {outside + "10"};
    made[10].vips = {outside + "11"};
    return made;
  }

  Portal portal(const ServiceSpec& spec, std::size_t index) {
    World world(family_);
    const auto port = static_cast<std::uint16_t>(40000 + 2 * index);
    return userspace::plan_portal(facts_, world.service(spec), {port, static_cast<std::uint16_t>(port + 1)}, {});
  }
  std::vector<Portal> portals(const std::vector<ServiceSpec>& services) {
    std::vector<Portal> made;
    for (std::size_t i = 0; i < services.size(); ++i) made.push_back(portal(services[i], i));
    return made;
  }

  void restart() {
    writer_ = std::make_unique<PortalWriter>(kernel_, family_, [] {
      return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    });
  }
  bool attempt(const std::function<void()>& step) {
    try {
      error_.clear();
      step();
      return true;
    } catch (const std::exception& caught) {
      error_ = caught.what();
      return false;
    }
  }
  bool full(const std::vector<Portal>& portals) {
    return attempt([&] { written_ = writer_->write_full(userspace::fixed_rules(facts_), portals); });
  }
  bool writes(const std::vector<Portal>& portals) { return full(portals) && written_.lines > 0; }
  bool nothing_to_do(const std::vector<Portal>& portals) { return full(portals) && written_.lines == 0; }
  bool delta(const std::vector<Portal>& changed, const std::vector<userspace::PortalId>& removed = {}) {
    return attempt([&] { written_ = writer_->write_delta(changed, removed); });
  }
  bool has_drift() {
    std::optional<std::string> drift;
    if (!attempt([&] { drift = writer_->find_drift(); })) return false;
    error_ = drift.value_or("");
    return drift.has_value();
  }

  std::string saved() {
    std::string rules;
    const std::string text = call(tool_ + "-save", {}).output;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (line.empty() || line[0] != '#') rules += line.substr(0, line.find(" [")) + "\n";
      at = end + 1;
    }
    return rules;
  }

  void leaves_no_trace_of_a_probe() {
    const std::string before = saved();
    check(attempt([&] { userspace::probe_kernel(kernel_, family_); }), "this kernel supports the rules");
    check(saved() == before, "a probe leaves nothing behind");
  }

  void writes_what_it_reads_back() {
    check(writes({}), "a full transaction without service ports");
    check(nothing_to_do({}), "the same again writes nothing");
    check(writes(portals(services_)) && written_.refused.empty(), "a full transaction with every kind of rule");
    check(nothing_to_do(portals(services_)), "the same again writes nothing");
    check(!has_drift(), "and there is no drift");
    restart();
    check(nothing_to_do(portals(services_)), "after a restart it writes nothing");
  }

  void reads_proxy_ports_from_rules() {
    std::size_t right = 0;
    attempt([&] {
      const auto found = writer_->read_proxy_ports();
      for (std::size_t i = 0; i + 1 < services_.size(); ++i) {
        const Portal made = portal(services_[i], i);
        const auto one = found.find({made.name, made.protocol});
        right += one != found.end() && one->second.cluster == 40000 + 2 * i ? 1 : 0;
      }
      right += found.size() + 1 == services_.size() ? 1 : 0;  // the last one has no endpoints
      right += found.at({"bench/svc-3:p80", abi::Protocol::kTcp}).local == 40007 ? 1 : 0;
    });
    check(right == services_.size() + 1, "proxy ports are read from the rules of an earlier process");
  }

  // A process of the node connects; which proxy port does it reach?
  void redirects_connections() {
    call("ip", {"link", "set", "lo", "up"});
    call("ip", {"link", "add", "d0", "type", "veth", "peer", "name", "d1"});
    for (const char* end : {"d0", "d1"}) call("ip", {"link", "set", end, "up"});
    std::vector<std::string> address = {"addr", "add", node_.ip + (six_ ? "/64" : "/24"), "dev", "d0"};
    if (six_) address.push_back("nodad");
    call("ip", address);
    call("ip", {six_ ? "-6" : "-4", "route", "add", "default", "dev", "d0"});
    // The kernel adds the route to an own address after it has noticed that the link is up. Packets leave the node until then.
    check(wait_until([this] { return reached_port(node_.ip, 40000, 100) == 40000; }), "the node reaches its address");
    check(reached_port(services_[0].cluster_ip, 80) == 40000, "a process of the node reaches a cluster IP");
    check(reached_port(node_.ip, 30002) == 40004, "and a node port on an address of the node");
    if (!six_) check(reached_port("127.0.0.1", 30002) == 40004, "and a node port on 127.0.0.1");
    if (six_) check(is_dropped("::1", 30002), "but no node port on ::1");
    check(reached_port(node_.ip, 30003) == 40006, "with policy Local it reaches the cluster listener");
    check(reached_port(services_[5].vips[1], 80) == 40010, "a load balancer address is redirected");
    check(is_dropped(services_[6].vips[0], 80), "a load balancer address drops sources outside its ranges");
    check(reached_port(services_[7].vips[0], 80) == 40014, "a load balancer address accepts sources in its ranges");
    check(reached_port(services_[8].cluster_ip, 80) == 40017,
          "with internal policy Local it reaches the local listener");
    ServiceSpec remote = services_[8];
    for (EndpointSpec& endpoint : remote.endpoints) endpoint.local = false;
    check(delta({portal(remote, 8)}) && is_dropped(remote.cluster_ip, 80),
          "packets are dropped without a local endpoint");
    check(delta({portal(services_[8], 8)}) && reached_port(remote.cluster_ip, 80) == 40017,
          "and redirected with one again");
    const ServiceSpec& none = services_[10];
    check(is_rejected(none.cluster_ip, 80), "without endpoints a cluster IP is rejected");
    check(is_rejected(node_.ip, 30010), "and a node port");
    check(!is_rejected(none.external_ips[0], 80), "but not packets that leave the node");
    ServiceSpec some = none;
    some.endpoints = services_[0].endpoints;
    check(delta({portal(some, 10)}) && reached_port(none.cluster_ip, 80) == 40020, "it is served with an endpoint");
    check(delta({portal(none, 10)}) && is_rejected(none.cluster_ip, 80), "and rejected without it again");
  }

  bool is_rejected(const std::string& host, std::uint16_t port) {
    // With IPv6 the first refusal may arrive while the socket is locked; then the next SYN is refused, a second later.
    return reached_port(host, port) == 0 && error_.ends_with(std::strerror(ECONNREFUSED));
  }
  bool is_dropped(const std::string& host, std::uint16_t port) {
    return reached_port(host, port, 100) == 0;  // fixed time: no answer
  }
  // The proxy port that the connection reaches; 0: none.
  std::uint16_t reached_port(const std::string& host, std::uint16_t port,
                             int patience = stretched_milliseconds(std::chrono::seconds(3))) {
    std::vector<lib::Fd> listeners;
    std::vector<pollfd> arriving;
    for (std::uint16_t at = 40000; at < 40022; ++at) {
      lib::Fd made(socket(sdk::socket_family(family_), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      const int on = 1;
      setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
      const SocketAddress any(family_, {}, at);
      if (bind(made.get(), any.get(), any.size()) != 0 || listen(made.get(), 4) != 0)
        return report_reached(1, "cannot listen", errno);
      arriving.push_back({made.get(), POLLIN, 0});
      listeners.push_back(std::move(made));
    }
    const lib::Fd client(socket(sdk::socket_family(family_), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const SocketAddress to(family_, *sdk::parse_address(host, family_), port);
    if (connect(client.get(), to.get(), to.size()) != 0 && errno != EINPROGRESS)
      return report_reached(0, "cannot connect", errno);
    pollfd waiting{client.get(), POLLOUT, 0};
    if (poll(&waiting, 1, patience) != 1) return report_reached(0, "no answer", 0);
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(client.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0 || (waiting.revents & (POLLERR | POLLHUP)) != 0) return report_reached(0, "refused", error);
    // The client may be connected before the listener receives the last packet of the handshake.
    if (poll(arriving.data(), arriving.size(), patience) < 1)
      return report_reached(1, "no listener received the connection", 0);
    const auto first = std::find_if(arriving.begin(), arriving.end(), [](const pollfd& one) { return one.revents != 0; });
    const auto reached = static_cast<std::uint16_t>(40000 + (first - arriving.begin()));
    return report_reached(reached, "port " + std::to_string(reached), 0);
  }

  // What a failed check prints.
  std::uint16_t report_reached(std::uint16_t proxy_port, const std::string& what, int error) {
    error_ = what + (error == 0 ? "" : std::string(": ") + std::strerror(error));
    return proxy_port;
  }

  // Deltas change one service port into each kind and back; a full transaction must agree.
  void applies_every_delta() {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < services_.size(); ++i) {
      std::vector<ServiceSpec> wanted = services_;
      ServiceSpec& to = wanted[i == 0 ? 2 : 0];
      const ServiceSpec from = to;
      to = services_[i];
      to.name = from.name;
      to.port_name = from.port_name;
      to.protocol = from.protocol;
      to.cluster_ip = from.cluster_ip;
      if (to.node_port != 0) to.node_port = static_cast<std::uint16_t>(to.node_port + 100);
      const std::size_t index = i == 0 ? 2 : 0;
      const bool good = delta({portal(to, index)}) && nothing_to_do(portals(wanted)) && delta({portal(from, index)}) &&
                        nothing_to_do(portals(services_));
      if (good) continue;
      ++wrong;
      std::printf("# %s as %s: %s\n", from.name.c_str(), services_[i].name.c_str(), error_.c_str());
    }
    check(wrong == 0, "a delta from one kind of rules to another equals a full transaction");
    const Portal gone = portal(services_[3], 3);
    check(delta({}, {{gone.name, gone.protocol}}) && delta({gone}) && nothing_to_do(portals(services_)),
          "a service port is removed and added again");
    check(!has_drift(), "and there is no drift");
  }

  void follows_the_node() {
    const userspace::PortalFacts before = facts_;
    facts_.node_ports_match_all = false;
    facts_.node_port_addresses = {*sdk::parse_address(node_.ip, family_)};
    check(writes(portals(services_)) && nothing_to_do(portals(services_)), "node ports on one address only");
    facts_ = before;
    // Not the node IP, which is the default target of DNAT.
    facts_.listen_address = *sdk::parse_address(family_ == abi::Family::kIpv6 ? "fd00:99::7" : "192.168.99.7", family_);
    check(writes(portals(services_)) && nothing_to_do(portals(services_)), "a proxy that listens on one address");
    facts_ = before;
    check(writes(portals(services_)) && nothing_to_do(portals(services_)), "and back");
  }

  void excludes_refused_service_ports() {
    std::vector<Portal> wanted = portals(services_);
    // Ports are translated in table nat only.
    wanted[2].rules.push_back({netfilter::Table::kFilter, std::string(userspace::kPortalsFirewall),
                               "-m comment --comment " + wanted[2].name + " -p tcp -m tcp -j REDIRECT --to-ports 1"});
    check(full(wanted) && written_.refused.size() == 1 && written_.refused.contains(wanted[2].name),
          "a service port refused in a full transaction is found");
    check(saved().find("comment " + wanted[2].name + " ") == std::string::npos, "and has no rules");
    check(writes(portals(services_)) && written_.refused.empty(), "it is programmed again");
    check(delta({wanted[2]}) && written_.refused.size() == 1, "a service port refused in a delta is found");
    check(writes(portals(services_)) && written_.refused.empty() && nothing_to_do(portals(services_)),
          "and programmed again");
  }

  void repair(const std::string& what, const std::function<bool()>& drift) {
    check(drift(), what + " is done");
    check(has_drift(), "drift is detected after " + what);
    std::printf("# %s\n", error_.c_str());
    check(writes(portals(services_)) && nothing_to_do(portals(services_)), "and repaired after " + what);
  }
  void repairs_drift() {
    repair("iptables -t nat -F", [this] { return call(tool_, {"-t", "nat", "-F"}).ok(); });
    repair("a flush of all tables", [this] {
      for (const char* table : {"nat", "filter"}) {
        if (!call(tool_, {"-t", table, "-F"}).ok() || !call(tool_, {"-t", table, "-X"}).ok()) return false;
      }
      return true;
    });
    if (!legacy_) repair("nft flush ruleset", [] { return call("nft", {"flush", "ruleset"}).ok(); });
    repair("the removal of one rule", [this] {
      return call(tool_, {"-t", "nat", "-D", "KUBE-PORTALS-HOST", "2"}).ok();
    });
    repair("the removal of one jump", [this] { return call(tool_, {"-t", "nat", "-D", "PREROUTING", "1"}).ok(); });
    repair("an inserted foreign rule", [this] {
      return call(tool_, {"-t", "nat", "-I", "KUBE-PORTALS-HOST", "-j", "RETURN"}).ok();
    });
    check(call(tool_, {"-t", "nat", "-N", "FOREIGN"}).ok() && !has_drift(), "a foreign chain is not drift");
  }

  void cleans_up() {
    check(call(tool_, {"-t", "nat", "-A", "PREROUTING", "-p", "udp", "-j", "ACCEPT"}).ok(), "a foreign rule");
    check(attempt([&] { userspace::remove_unclaimed(*writer_, family_, {}); }), "cleanup");
    const std::string rules = saved();
    check(rules.find("-A PREROUTING -p udp -j ACCEPT") != std::string::npos, "it is still there");
    check(rules.find("KUBE-") == std::string::npos, "no own rule is left");
    check(attempt([&] { userspace::remove_unclaimed(*writer_, family_, {}); }), "cleanup of nothing");
  }

  const abi::Family family_;
  const bool legacy_;
  const bool six_;
  const std::string tool_;
  NodeSpec node_;
  userspace::PortalFacts facts_;
  std::vector<ServiceSpec> services_;
  netfilter::NodeKernel kernel_{family_};
  std::unique_ptr<PortalWriter> writer_;
  PortalWriter::Written written_;
  std::string error_;
  int count_ = 0;
  bool failed_ = false;
};

int bench(abi::Family family, std::size_t count) {
  netfilter::NodeKernel kernel(family);
  PortalWriter writer(kernel, family, [] {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  });
  World world(family);
  NodeSpec node;
  node.detector = abi::LocalDetectorKind::kNone;
  if (family == abi::Family::kIpv6) node.ip = "fd00::2";
  const userspace::PortalFacts facts = userspace::portal_facts(family, std::nullopt, world.node(node));
  std::vector<Portal> portals;
  for (const ServiceSpec& spec : many_services(count, 1, family)) {
    const auto port = static_cast<std::uint16_t>(20000 + portals.size());
    portals.push_back(userspace::plan_portal(facts, world.service(spec), {port, 0}, {}));
  }
  const Portal one = portals[count / 2];
  const auto timed = [](const char* what, const std::function<void()>& step) {
    const auto begin = std::chrono::steady_clock::now();
    step();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%-40s %.4f s\n", what, took.count());
  };
  const auto fixed = userspace::fixed_rules(facts);
  timed("first load", [&] { writer.write_full(fixed, portals); });
  timed("full, nothing to write", [&] { writer.write_full(fixed, portals); });
  timed("one service port less", [&] { writer.write_delta({}, {{one.name, one.protocol}}); });
  timed("one service port more", [&] { writer.write_delta({one}, {}); });
  timed("equal delta", [&] { writer.write_delta({one}, {}); });
  timed("verify, no foreign change", [&] { writer.find_drift(); });
  call(family == abi::Family::kIpv6 ? "ip6tables" : "iptables", {"-t", "nat", "-N", "FOREIGN"});
  timed("verify, after a foreign change", [&] { writer.find_drift(); });
  timed("cleanup", [&] { userspace::remove_unclaimed(writer, family, {}); });
  return 0;
}

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto family = !words.empty() && words[0] == "6" ? sluice::abi::Family::kIpv6 : sluice::abi::Family::kIpv4;
  if (words.size() == 3 && words[1] == "bench") return sluice::test::bench(family, std::stoul(words[2]));
  if (words.size() != 2) {
    std::fprintf(stderr, "usage: userspace_roundtrip 4|6 nft|legacy | 4|6 bench SERVICES\n");
    return 2;
  }
  return sluice::test::Checks(family, words[1] == "legacy").run();
}
