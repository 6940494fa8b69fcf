// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The rules of ipvs mode on a real kernel: iptables-save must print them as written, or each later step would write
// them again. Run in a network namespace of its own (test/system/iptables_kernel_test.sh). TAP.
//   ipvs_rules_roundtrip 4|6 [nft|legacy [xt_ipvs]]
// With xt_ipvs only the rules that need that match, which few kernels have.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/program.hpp"
#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/ipvs/rules/rule_writer.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/ipvs/rule_text.hpp"

namespace sluice::test {
namespace {

using ipvs::SetId;

lib::ProgramResult call(const std::string& program, std::vector<std::string> arguments) {
  lib::Program command;
  command.arguments = std::move(arguments);
  command.arguments.insert(command.arguments.begin(), lib::find_program(program));
  return *lib::run_program(command);
}

class Checks {
 public:
  explicit Checks(abi::Family family)
      : family_(family), kernel_(family), tool_(family == abi::Family::kIpv6 ? "ip6tables" : "iptables") {
    restart();
  }

  int run(bool only_ipvs_matches) {
    names_a_missing_set();
    if (!make_sets()) return finish();
    if (only_ipvs_matches) {
      closes_load_balancers();
      return finish();
    }
    writes_what_it_reads_back();
    changes_end_where_a_full_would();
    closes_load_balancers();
    repairs_drift();
    cleans_up();
    return finish();
  }

 private:
  void restart() {
    writer_ = std::make_unique<ipvs::RuleWriter>(kernel_, family_, [this] { return clock_; });
  }
  void check(bool good, const std::string& what) {
    std::printf("%s %d - %s\n", good ? "ok" : "not ok", ++count_, what.c_str());
    if (!good) std::printf("# %s (%zu lines)\n", error_.c_str(), writer_->session().lines());
    failed_ = failed_ || !good;
    std::fflush(stdout);
  }
  void skip(const std::string& what, const std::string& why) {
    std::printf("ok %d - %s # SKIP %s\n", ++count_, what.c_str(), why.c_str());
  }
  int finish() const {
    std::printf("1..%d\n", count_);
    return failed_ ? 1 : 0;
  }
  bool quietly(const std::function<void()>& act) {
    try {
      act();
      return true;
    } catch (const std::exception& why) {
      error_ = why.what();
      return false;
    }
  }
  bool full(const ipvs::RulePlan& plan) {
    return quietly([&] { writer_->write_full(plan); });
  }
  bool writes(const ipvs::RulePlan& plan) { return full(plan) && writer_->session().lines() != 0; }
  bool nothing_to_do(const ipvs::RulePlan& plan) { return full(plan) && writer_->session().lines() == 0; }
  bool has_no_drift() {
    clock_ += 1000000000000;
    std::optional<std::string> drift;
    const bool checked = quietly([&] { drift = writer_->find_drift(); });
    if (drift) error_ = *drift;
    return checked && !drift;
  }

  ipvs::RuleFacts facts(NodeSpec node = {}) {
    if (family_ == abi::Family::kIpv6) node.detector_cidr = "fd00::/16";
    return rule_facts(node, family_);
  }
  ipvs::ServerKey key(unsigned host, abi::Protocol protocol = abi::Protocol::kTcp) {
    const std::string number = std::to_string(host);
    return server_key(family_ == abi::Family::kIpv6 ? "2001:db8::" + number : "198.51.100." + number,
                      static_cast<std::uint16_t>(8000 + host), protocol, family_);
  }

  void names_a_missing_set() {
    check(!full(ipvs::plan_rules(facts(), kAllSets, {})) && error_.find("the set KUBE-") != std::string::npos,
          "rules without their set are rejected, and the set is named");
    std::printf("# %s\n", error_.c_str());
  }

  bool make_sets() {
    bool made = true;
    for (const SetId id : ipvs::all_sets()) {
      const ipvs::SetType type = ipvs::spec(id).type;
      std::vector<std::string> words{"create", ipvs::set_name(id, family_), std::string(ipvs::type_name(type))};
      if (type == ipvs::SetType::kPorts) {
        words.insert(words.end(), {"range", "0-65535"});
      } else {
        words.insert(words.end(), {"family", family_ == abi::Family::kIpv6 ? "inet6" : "inet"});
      }
      const lib::ProgramResult outcome = call("ipset", words);
      if (!outcome.ok()) error_ = outcome.error_output;
      made = made && outcome.ok();
    }
    check(made, "the kernel makes sets of every type");
    return made;
  }

  void writes_what_it_reads_back() {
    std::vector<NodeSpec> nodes(5);
    nodes[1].detector = abi::LocalDetectorKind::kNone;
    nodes[2].detector = abi::LocalDetectorKind::kBridgeInterface;
    nodes[2].detector_interface = "cbr0";
    nodes[3].detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    nodes[3].detector_interface = "cali";
    nodes[4].flags |= abi::kMasqueradeAll;
    nodes[4].mark = 1u << 31;
    const char* what[] = {"a detector by range", "no detector", "a bridge", "a prefix of interfaces", "masqueradeAll"};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const ipvs::RulePlan plan = ipvs::plan_rules(facts(nodes[i]), kAllSets, {});
      check(writes(plan), std::string("the rules with ") + what[i] + " are written");
      check(nothing_to_do(plan), std::string("the same again writes nothing: ") + what[i]);
      restart();
      check(nothing_to_do(plan), std::string("after a restart nothing is written: ") + what[i]);
    }
    check(has_no_drift(), "there is no drift");
  }

  void changes_end_where_a_full_would() {
    std::size_t wrong = 0;
    for (const SetId id : ipvs::all_sets()) {
      for (const std::uint32_t filled : {bits({id}), kAllSets & ~bits({id})}) {
        const ipvs::RulePlan plan = ipvs::plan_rules(facts(), filled, {});
        if (!writer_->differs(plan)) continue;
        const bool good = quietly([&] { writer_->write_change(plan); }) && has_no_drift() && nothing_to_do(plan);
        if (good) continue;
        ++wrong;
        std::printf("# %08x: %s\n", filled, error_.c_str());
      }
    }
    check(wrong == 0, "changes of each set equal a full write");
  }

  bool has_ipvs_match() {
    return call(tool_, {"-N", "SLUICE-TRY"}).ok() &&
           call(tool_, {"-A", "SLUICE-TRY", "-m", "ipvs", "--vport", "80", "-j", "DROP"}).ok() &&
           call(tool_, {"-F", "SLUICE-TRY"}).ok();
  }

  void closes_load_balancers() {
    const bool able = has_ipvs_match();
    call(tool_, {"-F", "SLUICE-TRY"});
    call(tool_, {"-X", "SLUICE-TRY"});
    const std::vector<std::string> titles = {
        "load balancers closed to the node are written", "the same again writes nothing, and there is no drift",
        "an added one is one line", "a removed one is one line", "after a restart nothing is written for them"};
    if (!able) {
      for (const std::string& title : titles) skip(title, "this kernel has no xt_ipvs");
      return;
    }
    std::set<ipvs::ServerKey> closed{key(1), key(2, abi::Protocol::kUdp), key(3, abi::Protocol::kSctp)};
    const auto plan = [&] { return ipvs::plan_rules(facts(), kAllSets, closed); };
    const auto one_line = [&] {
      return quietly([&] { writer_->write_change(plan()); }) && writer_->session().lines() == 1;
    };
    check(writes(plan()), titles[0]);
    check(nothing_to_do(plan()) && has_no_drift(), titles[1]);
    closed.insert(key(0));
    check(one_line(), titles[2]);
    closed.erase(key(2, abi::Protocol::kUdp));
    check(one_line() && has_no_drift(), titles[3]);
    restart();
    check(nothing_to_do(plan()), titles[4]);
  }

  void repairs_drift() {
    const ipvs::RulePlan plan = ipvs::plan_rules(facts(), kAllSets, {});
    const std::vector<std::vector<std::string>> changes = {{"-t", "nat", "-F"},
                                                           {"-t", "filter", "-F"},
                                                           {"-t", "nat", "-D", "PREROUTING", "1"},
                                                           {"-t", "nat", "-D", "KUBE-SERVICES", "3"},
                                                           {"-t", "filter", "-I", "KUBE-IPVS-FILTER", "-j", "ACCEPT"}};
    for (const auto& change : changes) {
      std::string what = tool_;
      for (const std::string& word : change) what += " " + word;
      full(plan);
      check(has_no_drift() && call(tool_, change).ok() && !has_no_drift(), "it is found: " + what);
      check(writes(plan) && nothing_to_do(plan) && has_no_drift(), "it is repaired: " + what);
    }
  }

  void cleans_up() {
    const std::vector<std::string> foreign = {"-t", "nat", "-A", "PREROUTING", "-p", "udp", "-j", "ACCEPT"};
    check(call(tool_, foreign).ok() &&
              quietly([&] { writer_->remove_all([](netfilter::Table, const std::string&) { return false; }); }),
          "all is removed");
    const std::string rules = call(tool_ + "-save", {}).output;
    check(rules.find("KUBE-") == std::string::npos, "nothing of ours is left");
    check(rules.find("-A PREROUTING -p udp -j ACCEPT") != std::string::npos, "a foreign rule is still there");
    bool destroyed = true;
    for (const SetId id : ipvs::all_sets())
      destroyed = call("ipset", {"destroy", ipvs::set_name(id, family_)}).ok() && destroyed;
    check(destroyed, "no set is in use");
  }

  abi::Family family_;
  netfilter::NodeKernel kernel_;
  std::string tool_;
  std::unique_ptr<ipvs::RuleWriter> writer_;
  std::uint64_t clock_ = 0;
  std::string error_;
  int count_ = 0;
  bool failed_ = false;
};

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: ipvs_rules_roundtrip 4|6 [nft|legacy [xt_ipvs]]\n");
    return 2;
  }
  return sluice::test::Checks(argv[1] == std::string("6") ? sluice::abi::Family::kIpv6 : sluice::abi::Family::kIpv4)
      .run(argc > 3 && argv[3] == std::string("xt_ipvs"));
}
