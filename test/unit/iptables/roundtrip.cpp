// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The iptables backend on a real kernel: the canonical form of written rules must equal that of
// the iptables-save output, or each later step would write them again. Must run in a private
// network namespace (test/system/iptables_kernel_test.sh).
//   iptables_roundtrip 4|6 nft|legacy      TAP
//   iptables_roundtrip 4|6 bench N M       times with N service ports of M endpoints
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "test/unit/iptables/roundtrip.hpp"

namespace sluice::test {
namespace {

// One service port of each kind of rules.
std::vector<ServiceSpec> variants(abi::Family family) {
  const bool ipv6 = family == abi::Family::kIpv6;
  const std::string outside = ipv6 ? "2001:db8::" : "198.51.100.";
  std::vector<ServiceSpec> made = many_services(14, 3, family);
  made[1].endpoints.clear();
  made[2].protocol = abi::Protocol::kUdp;
  made[3].protocol = abi::Protocol::kSctp;
  made[4].node_port = 30004;
  made[5].node_port = 30005;
  made[5].external_local = true;
  made[6] = made[5];
  made[6].name = "svc-remote";
  made[6].cluster_ip = many_services(20, 0, family)[16].cluster_ip;
  made[6].node_port = 30006;
  for (EndpointSpec& endpoint : made[6].endpoints) endpoint.local = false;
  made[7].vips = {outside + "7", outside + "17"};
  made[8].vips = {outside + "8"};
  made[8].source_ranges = {ipv6 ? "2001:db8:1::/48" : "203.0.113.0/25", ipv6 ? "fd00::/64" : "192.168.0.0/24"};
  made[9].affinity_seconds = 10800;
  made[10].internal_local = true;
  made[11].external_ips = {outside + "11"};
  made[11].endpoints.clear();
  made[12].health_check_node_port = 32000;
  made[13].port_name = "";
  for (std::size_t i = made[13].endpoints.size(); i < 40; ++i) {
    made[13].endpoints.push_back({ipv6 ? "fd00:3::" + std::to_string(i) : "10.99.0." + std::to_string(i), 80, false,
                                  Condition::kReady});
  }
  return made;
}

class Checks {
 public:
  Checks(abi::Family family, bool legacy)
      : family_(family), legacy_(legacy), services_(variants(family)), trip_(family),
        tool_(family == abi::Family::kIpv6 ? "ip6tables" : "iptables") {}

  int run() {
    leaves_no_trace_of_a_probe();
    writes_what_it_reads_back();
    sees_its_own_writes();
    takes_every_path();
    repairs_drift();
    cleans_up();
    check_refusals(family_, legacy_, tap_);
    check_retirement(family_, tap_);
    check_affinity(family_, tap_);
    check_counters(family_, tap_);
    check_inspection(family_, tap_);
    return tap_.finish();
  }

 private:
  void check(bool good, const std::string& what) { tap_.check(good, what, trip_); }
  bool written(abi::Code code) { return code == abi::Code::kOk && trip_.result.kernel_writes > 0; }
  bool nothing_to_do(abi::Code code) { return code == abi::Code::kOk && trip_.result.kernel_writes == 0; }

  std::string saved() {
    std::string rules;
    std::string text = call(tool_ + "-save", {}).output;
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
    check(trip_.probe() == abi::Code::kOk, "this kernel can do what the rules need");
    check(saved() == before, "a probe leaves nothing behind");
  }

  void writes_what_it_reads_back() {
    check(written(trip_.full({})), "a full transaction without service ports");
    check(nothing_to_do(trip_.full({})), "the same again writes nothing");
    check(written(trip_.full(services_)), "a full transaction with every kind of rule");
    check(nothing_to_do(trip_.full(services_)), "the same again writes nothing");
    trip_.restart();
    check(nothing_to_do(trip_.full(services_)), "after a restart it writes nothing");
  }

  void sees_its_own_writes() {
    trip_.host.clock = 0;
    trip_.host.step = 0;
    check(trip_.verify() == abi::Code::kOk, "verify agrees");
    check(trip_.delta({}, {services_[4]}) == abi::Code::kOk && trip_.delta({services_[4]}) == abi::Code::kOk,
          "a service port is removed and added again");
    check(trip_.verify() == abi::Code::kOk, "verify ignores own writes");
    check(call(tool_, {"-t", "nat", "-N", "FOREIGN"}).ok() && trip_.verify() == abi::Code::kOk,
          "verify ignores a foreign chain");
    check(nothing_to_do(trip_.full(services_)), "and nothing had to be written");
  }

  // A delta turns each kind of rules into each other kind; a full transaction must give the same rules.
  void takes_every_path() {
    std::size_t wrong = 0;
    for (const ServiceSpec& from : services_) {
      for (const ServiceSpec& shape : services_) {
        ServiceSpec to = shape;
        to.name = from.name;
        to.port_name = from.port_name;
        to.protocol = from.protocol;
        to.cluster_ip = from.cluster_ip;
        if (to.node_port != 0) to.node_port = static_cast<std::uint16_t>(to.node_port + 100);
        std::vector<ServiceSpec> wanted = services_;
        for (ServiceSpec& service : wanted) {
          if (service.name == from.name) service = to;
        }
        const bool good = trip_.delta({to}) == abi::Code::kOk && nothing_to_do(trip_.full(wanted)) &&
                          trip_.delta({from}) == abi::Code::kOk && nothing_to_do(trip_.full(services_));
        if (good) continue;
        ++wrong;
        std::printf("# %s as %s: %s\n", from.name.c_str(), shape.name.c_str(), trip_.error.message);
      }
    }
    check(wrong == 0, "a delta between any two kinds of rules gives the same rules as a full transaction");
  }

  void repair(const std::string& what, const std::function<bool()>& cause_drift) {
    check(cause_drift(), what + " is done");
    trip_.host.clock += 1000000000000;
    check(trip_.verify() == abi::Code::kNeedFull, "verify notices " + what);
    std::printf("# %s\n", trip_.error.message);
    check(written(trip_.full(services_)), "a full transaction repairs " + what);
    check(nothing_to_do(trip_.full(services_)) && trip_.verify() == abi::Code::kOk, "and all is well after " + what);
  }

  void repairs_drift() {
    repair("iptables -t nat -F", [this] { return call(tool_, {"-t", "nat", "-F"}).ok(); });
    repair("iptables -t filter -F", [this] { return call(tool_, {"-t", "filter", "-F"}).ok(); });
    repair("a flush of all tables", [this] {
      for (const char* table : {"mangle", "nat", "filter"}) {
        if (!call(tool_, {"-t", table, "-F"}).ok() || !call(tool_, {"-t", table, "-X"}).ok()) return false;
      }
      return true;
    });
    if (!legacy_) repair("nft flush ruleset", [] { return call("nft", {"flush", "ruleset"}).ok(); });
    repair("the removal of one dispatch rule",
           [this] { return call(tool_, {"-t", "nat", "-D", "KUBE-SERVICES", "2"}).ok(); });
    repair("the removal of one jump", [this] { return call(tool_, {"-t", "nat", "-D", "PREROUTING", "1"}).ok(); });
    repair("the removal of the node port rule", [this] {
      const std::string rules = call(tool_, {"-t", "nat", "-S", "KUBE-SERVICES"}).output;
      const auto lines = std::count(rules.begin(), rules.end(), '\n');
      return call(tool_, {"-t", "nat", "-D", "KUBE-SERVICES", std::to_string(lines - 1)}).ok();
    });
    repair("a rule that was put in between",
           [this] { return call(tool_, {"-t", "nat", "-I", "KUBE-MARK-MASQ", "-j", "RETURN"}).ok(); });
  }

  void cleans_up() {
    check(call(tool_, {"-t", "nat", "-A", "PREROUTING", "-p", "udp", "-j", "ACCEPT"}).ok(), "a foreign rule");
    check(trip_.cleanup() == abi::Code::kOk, "cleanup");
    const std::string rules = saved();
    check(rules.find("-A PREROUTING -p udp -j ACCEPT") != std::string::npos, "it is still there");
    check(rules.find("KUBE-SERVICES") == std::string::npos && rules.find("KUBE-SEP-") == std::string::npos &&
              rules.find("KUBE-PROXY-CANARY") == std::string::npos,
          "nothing of ours is left");
    check(rules.find(":KUBE-FIREWALL -") != std::string::npos, "kubelet's chain is still there");
    check(trip_.cleanup() == abi::Code::kOk, "cleanup of nothing");
  }

  abi::Family family_;
  bool legacy_;
  std::vector<ServiceSpec> services_;
  Roundtrip trip_;
  std::string tool_;
  Tap tap_;
};

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) {
    std::fprintf(stderr, "usage: iptables_roundtrip 4|6 nft|legacy | 4|6 bench SERVICES ENDPOINTS\n");
    return 2;
  }
  const auto family = words[0] == "6" ? sluice::abi::Family::kIpv6 : sluice::abi::Family::kIpv4;
  if (words[1] == "bench" && words.size() == 4) {
    return sluice::test::bench(family, std::stoul(words[2]), std::stoul(words[3]));
  }
  return sluice::test::Checks(family, words[1] == "legacy").run();
}
