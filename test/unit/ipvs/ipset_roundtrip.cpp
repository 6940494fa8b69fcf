// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The writer of sets on a real kernel, through libipset; the program ipset plays another process. Run in a network
// namespace of its own (test/system/ipset_kernel_test.sh).
//   ipset_roundtrip 4|6     TAP, and times as comments
//   ipset_roundtrip both    two threads, a family each
#include "test/unit/ipvs/ipset_roundtrip.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/program.hpp"
#include "plugins/ipvs/sets/libipset_sets.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "test/unit/patience.hpp"

namespace sluice::test {
namespace {

using namespace ipvs;
using abi::Family;
using Clock = std::chrono::steady_clock;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

lib::ProgramResult call(const std::string& program, std::vector<std::string> arguments) {
  lib::Program command;
  command.arguments = std::move(arguments);
  command.arguments.insert(command.arguments.begin(), lib::find_program(program));
  return *lib::run_program(command);
}
// As another program would.
std::string ipset(std::vector<std::string> arguments) { return call("ipset", std::move(arguments)).output; }

// The exception, as "code: object: sentence"; empty: none.
template <class Body>
std::string thrown(const Body& body) {
  try {
    body();
    return "";
  } catch (const sdk::Failure& failure) {
    return std::to_string(static_cast<int>(failure.code())) + ": " + failure.object() + ": " + failure.what();
  }
}
std::string code(abi::Code code) { return std::to_string(static_cast<int>(code)) + ": "; }

class Checks {
 public:
  explicit Checks(Family family) : family_(family), kernel_(family), writer_(kernel_, family) {}

  int run() {
    says_what_privilege_is_missing();
    leaves_other_descriptors_alone();
    makes_all_sets();
    reads_back_what_it_writes();
    costs_little();
    finds_and_repairs_drift();
    replaces_sets_of_others();
    explains_errors();
    grows();
    is_fast();
    removes_all();
    return tap_.finish();
  }

 private:
  void check(bool good, const std::string& what, const std::string& why = "") { tap_.check(good, what, why); }
  SetEntry entry(SetId set, std::uint32_t n) const { return nth_entry(set, family_, n); }
  std::vector<SetItem> items(SetId set, std::uint32_t from, std::uint32_t to) const {
    return nth_items(set, family_, from, to);
  }
  std::string name(SetId set) const { return set_name(set, family_); }
  std::string iptables() const { return family_ == Family::kIpv6 ? "ip6tables" : "iptables"; }
  std::string inet() const { return family_ == Family::kIpv6 ? "inet6" : "inet"; }
  bool rule(const std::string& how, SetId set, const std::string& flags) const {
    return call(iptables(), {how, "INPUT", "-m", "set", "--match-set", name(set), flags, "-j", "ACCEPT"}).ok();
  }

  void says_what_privilege_is_missing() {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      if (setuid(65534) != 0) _exit(1);
      LibipsetSets mine(family_);
      const std::string error = thrown([&] { mine.create("KUBE-DENIED", SetType::kIp, 10); });
      const bool good =
          has(error, code(abi::Code::kDenied)) && has(error, "KUBE-DENIED") && has(error, "CAP_NET_ADMIN");
      if (!good) std::printf("# %s\n", error.c_str());
      std::fflush(stdout);
      _exit(good ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    check(status == 0, "without CAP_NET_ADMIN the error says so");
  }

  // The session opens a socket like this one, which may belong to another plugin.
  void leaves_other_descriptors_alone() {
    const int foreign = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
    const std::string error = thrown([&] { kernel_.header("KUBE-NOWHERE"); });
    check(error.empty() && fcntl(foreign, F_GETFD) == 0,
          "a netlink socket of another part of the process keeps its flags", error);
    close(foreign);
    // ls itself opens one, the folder.
    const std::string inherited = call("ls", {"/proc/self/fd"}).output;
    check(inherited == "0\n1\n2\n3\n", "programs inherit no socket of libipset", inherited);
  }

  void makes_all_sets() {
    writer_.read_back();
    check(ipset({"list", "-n"}).empty(), "read_back() creates nothing");
    writer_.refresh();
    const std::string listed = ipset({"list", "-t"});
    std::string wrong;
    for (const SetId set : all_sets()) {
      const bool ports = spec(set).type == SetType::kPorts;
      const std::string begin = "Name: " + name(set) + "\nType: " + std::string(type_name(spec(set).type)) + "\n";
      const std::size_t at = listed.find(begin);
      const std::string rest = at == std::string::npos ? "" : listed.substr(at, listed.find("\n\n", at) - at);
      if (!has(rest, ports ? "range 0-65535" : "family " + inet() + " hashsize 1024 maxelem 65536"))
        wrong += name(set) + " ";
    }
    check(wrong.empty() && has(listed, "Name: "), "all sets are created as specified", wrong);
    check(writer_.filled() == 0, "new sets are empty");
  }

  void reads_back_what_it_writes() {
    for (const SetId set : all_sets()) writer_.add(items(set, 0, 300));
    SetWriter other(kernel_, family_);
    other.read_back();
    std::string wrong;
    for (const SetId set : all_sets()) {
      if (other.held(set) != writer_.held(set) || other.held(set).size() != 300) wrong += name(set) + " ";
      const std::string listed = ipset({"list", name(set)}) + "\n";
      for (const SetEntry& entry : writer_.held(set)) {
        const std::string text = to_string(entry, spec(set).type, family_);
        if (has(listed, "\n" + text + "\n")) continue;
        wrong += text + " of " + name(set) + " ";
        break;
      }
    }
    check(wrong.empty(), "entries of every type are read back as they were written, and ipset prints them as we do",
          wrong);
    check(other.filled() == (1U << kSets) - 1, "all sets have entries");
    check(!writer_.find_drift() && !writer_.find_drift(), "what was written is not drift");
    for (const SetId set : all_sets()) writer_.remove(items(set, 10, 300));
    other.refresh();
    for (const SetId set : all_sets()) {
      if (other.held(set) != writer_.held(set) || other.held(set).size() != 10) wrong += name(set) + " ";
    }
    check(wrong.empty(), "entries of every type are removed", wrong);
  }

  void costs_little() {
    std::uint64_t before = writer_.messages();
    writer_.add(items(SetId::kClusterIp, 0, 10));
    writer_.remove(items(SetId::kClusterIp, 10, 20));
    check(writer_.messages() == before, "no difference costs no message");
    writer_.refresh();
    check(writer_.messages() == before, "refresh() without differences sends no change");
    writer_.add(items(SetId::kClusterIp, 10, 11));
    check(writer_.messages() == before + 1, "an entry costs one message that changes something");
    before = writer_.messages();
    writer_.add(items(SetId::kLoopBack, 1000, 2000));
    check(writer_.messages() < before + 30, "a thousand entries cost few messages");
    // Exists already, or is gone already: the kernel accepts both.
    SetWriter blind(kernel_, family_);
    check(thrown([&] { blind.add(items(SetId::kClusterIp, 0, 12)); }).empty(), "existing entries are not an error");
    check(thrown([&] {
            kernel_.remove(name(SetId::kClusterIp), SetType::kIpPort, {entry(SetId::kClusterIp, 77)});
          }).empty(),
          "missing entries are not an error");
    writer_.refresh();
  }

  void finds_and_repairs_drift() {
    const std::string set = name(SetId::kClusterIp);
    const auto found = [&](const std::string& part, const std::string& what) {
      std::string drift;
      for (unsigned i = 0; i < SetWriter::kSweep && drift.empty(); ++i) drift = writer_.find_drift().value_or("");
      check(has(drift, part), what, drift);
    };
    const SetContents before = writer_.held(SetId::kClusterIp);
    std::vector<SetItem> all;
    for (const SetEntry& entry : before) all.push_back({SetId::kClusterIp, entry});
    const auto repair = [&] {
      writer_.refresh();
      writer_.add(all);
      std::vector<SetItem> foreign;
      for (const SetEntry& entry : writer_.held(SetId::kClusterIp)) {
        if (before.count(entry) == 0) foreign.push_back({SetId::kClusterIp, entry});
      }
      writer_.remove(foreign);
      check(!writer_.find_drift() && !writer_.find_drift() && writer_.held(SetId::kClusterIp) == before,
            "it is repaired");
    };
    ipset({"flush", set});
    found(set + " has 0 entries", "a set that was flushed is found");
    repair();
    ipset({"destroy", set});
    found(set + " is gone", "a set that was destroyed is found");
    repair();
    ipset({"add", set, to_string(entry(SetId::kClusterIp, 5000), SetType::kIpPort, family_)});
    ipset({"del", set, to_string(entry(SetId::kClusterIp, 3), SetType::kIpPort, family_)});
    found("lacks 1 entries and has 1", "an entry that was replaced by another is found within two calls");
    repair();
    ipset({"destroy", set});
    ipset({"create", set, "hash:ip", "family", inet()});
    found("another type (hash:ip)", "a recreated set of another type is found");
    check(has(thrown([&] { writer_.add(items(SetId::kClusterIp, 6000, 6001)); }),
              "it is of type hash:ip and not hash:ip,port"),
          "nothing is written into a set of another type");
    repair();
    ipset({"flush"});
    found(" more sets have drifted", "all drift is reported");
    writer_.refresh();
    writer_.add(all);
  }

  void replaces_sets_of_others() {
    const std::string set = name(SetId::kClusterIp);
    const std::string port_set = name(SetId::kNodePortTcp);
    ipset({"create", temporary_name(SetId::kClusterIp, family_), "hash:ip,port", "family", inet()});
    writer_.refresh();
    check(!has(ipset({"list", "-n"}), temporary_name(SetId::kClusterIp, family_)),
          "a temporary set of an ended process is destroyed");
    ipset({"destroy", port_set});
    ipset({"create", port_set, "bitmap:port", "range", "0-1023"});
    ipset({"destroy", set});
    ipset({"create", set, "hash:ip,port", "family", inet(), "maxelem", "100"});
    writer_.refresh();
    writer_.add(items(SetId::kClusterIp, 0, 200));
    writer_.add(items(SetId::kNodePortTcp, 30000, 30001));
    check(!writer_.find_drift() && !writer_.find_drift() && has(ipset({"list", "-t", set}), "maxelem 65536"),
          "sets that are too small are rebuilt");
    if (!rule("-A", SetId::kClusterIp, "dst,dst")) {
      check(true, "rules that use a set # SKIP no match set in iptables");
      return;
    }
    const auto foreign = [&](std::vector<std::string> how) {
      rule("-D", SetId::kClusterIp, "dst,dst");
      wait_until([&] { return kernel_.destroy(set); });  // the kernel releases the rule's set later
      how.insert(how.begin(), {"create", set});
      ipset(how);
      return rule("-A", SetId::kClusterIp, how[2] == "hash:ip" ? "dst" : "dst,dst");
    };
    check(foreign({"hash:ip,port", "family", inet(), "timeout", "300"}), "a rule uses a set with timeouts");
    writer_.refresh();
    writer_.add(items(SetId::kClusterIp, 0, 5));
    check(!has(ipset({"list", "-t", set}), "timeout") && !writer_.find_drift() && !writer_.find_drift() &&
              has(ipset({"list", "-t", set}), "References: 1"),
          "it is replaced under the rule");
    check(foreign({"hash:ip", "family", inet()}), "a rule uses a set of another type");
    const std::string error = thrown([&] { writer_.refresh(); });
    check(has(error, set) && has(error, "delete that rule") && has(error, "hash:ip"),
          "otherwise the error names the remedy", error);
    rule("-D", SetId::kClusterIp, "dst");
    wait_until([&] { return thrown([&] { writer_.refresh(); }).empty(); });
    check(thrown([&] { writer_.refresh(); }).empty() && !has(ipset({"list", "-n"}), "-N\n"),
          "without the rule it is created again");
  }

  void explains_errors() {
    const std::string set = name(SetId::kIpvsAddresses);
    SetEntry zero;
    std::vector<SetItem> mixed = items(SetId::kIpvsAddresses, 5000, 5100);
    mixed[0].entry = mixed[70].entry = mixed[99].entry = zero;
    const std::size_t before = writer_.held(SetId::kIpvsAddresses).size();
    std::string error = thrown([&] { writer_.add(mixed); });
    check(error.empty() && !writer_.find_drift(), "a rejected entry does not stop the others", error);
    const auto refused = writer_.refused().find({SetId::kIpvsAddresses, zero});
    error = refused == writer_.refused().end() ? "" : refused->second;
    check(writer_.refused().size() == 1 && has(error, " " + to_string(zero, SetType::kIp, family_) + " to set " + set),
          "the rejected entry is named", error);
    check(writer_.held(SetId::kIpvsAddresses).size() == before + 97, "and is not held");
    ipset({"destroy", set});
    error = thrown([&] { writer_.add(items(SetId::kIpvsAddresses, 200, 201)); });
    check(has(error, "does not exist") && has(error, set), "a set that is gone is named", error);
    error = thrown([&] { kernel_.swap(set, "KUBE-NOWHERE"); });
    check(has(error, set) && has(error, "KUBE-NOWHERE"), "sets that cannot be swapped are named", error);
    ipset({"create", set, "hash:ip", "family", inet(), "maxelem", "5"});
    error = thrown([&] { writer_.add(items(SetId::kIpvsAddresses, 200, 210)); });
    check(has(error, "is full") && has(error, set), "a set that another process filled is named", error);
    refuse_next(IPSET_ERR_FIND_TYPE);
    error = thrown([&] { kernel_.create("KUBE-TRIED", SetType::kIpPortNet, 10); });
    check(has(error, code(abi::Code::kUnsupported) + "KUBE-TRIED") && has(error, "ip_set_hash_ipportnet"),
          "a type the kernel lacks is named with its module", error);
    kernel_.destroy("KUBE-TRIED");
    check(has(thrown([&] { kernel_.destroy(""); }), "cannot be the name"), "an empty name does not mean every set");
    check(kernel_.destroy("KUBE-NOWHERE"), "a missing set may be destroyed");
    writer_.refresh();
    check(!writer_.find_drift() && !writer_.find_drift(), "the session works after errors");
  }

  void grows() {
    constexpr std::uint32_t kMany = 70000;
    const SetId set = SetId::kClusterIp;
    writer_.add(items(set, 0, 65000));
    rule("-A", set, "dst,dst");
    std::atomic<bool> done{false};
    std::uint64_t least = ~std::uint64_t{0}, listings = 0;
    std::thread looker([&] {
      LibipsetSets mine(family_);
      while (!done) {
        const auto header = mine.header(name(set));
        least = std::min(least, header ? header->entries : 0);
        ++listings;
      }
    });
    const auto begin = Clock::now();
    const std::string error = thrown([&] { writer_.add(items(set, 65000, kMany)); });
    const auto took = Clock::now() - begin;
    done = true;
    looker.join();
    std::printf("# grown past 65,536 entries in %.3f s, listed %llu times meanwhile\n",
                std::chrono::duration<double>(took).count(), static_cast<unsigned long long>(listings));
    const auto header = kernel_.header(name(set));
    check(error.empty() && header && header->entries == kMany && header->maxelem == 131072,
          "a full set is rebuilt with twice the room", error);
    check(listings > 0 && least >= 65000, "no packet meets an incomplete set", std::to_string(least));
    check(!has(ipset({"list", "-n"}), temporary_name(set, family_)), "the old set is gone");
    check(rule("-D", set, "dst,dst") && !writer_.find_drift() && !writer_.find_drift(), "rules use the new set");
    SetWriter other(kernel_, family_);
    other.refresh();
    check(other.held(set).size() == kMany && other.held(set) == writer_.held(set), "a restart reads it completely");
    other.remove(items(set, 0, kMany));
    writer_.refresh();
  }

  void is_fast() {
    constexpr std::uint32_t kMany = 100000;
    const SetId set = SetId::kLoopBack;
    const std::vector<SetItem> all = items(set, 0, kMany);
    const auto timed = [&](const char* what, const auto& body) {
      const auto begin = Clock::now();
      const std::clock_t cpu = std::clock();
      body();
      std::printf("# 100,000 entries %s: %.3f s, of them %.3f s of CPU\n", what,
                  std::chrono::duration<double>(Clock::now() - begin).count(),
                  static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
    };
    timed("added", [&] { writer_.add(all); });
    timed("listed", [&] { kernel_.entries(name(set), spec(set).type); });
    timed("compared", [&] { check(!writer_.find_drift() && !writer_.find_drift(), "100,000 entries are as written"); });
    timed("removed", [&] { writer_.remove(all); });
  }

  void removes_all() {
    writer_.add(items(SetId::kClusterIp, 0, 3));
    const bool ruled = rule("-A", SetId::kClusterIp, "dst,dst");
    std::vector<std::string> used;
    const std::string kept = name(SetId::kLoopBack);
    ipset({"create", "FOREIGN", "hash:ip"});
    const std::string error =
        thrown([&] { used = writer_.remove_all([&](const std::string& set) { return set == kept; }); });
    std::string listed = ipset({"list", "-n"});
    if (ruled) {
      check(used == std::vector{name(SetId::kClusterIp)} &&
                has(ipset({"list", name(SetId::kClusterIp)}), "Number of entries: 0"),
            "a set that a rule uses is emptied and named", error);
      rule("-D", SetId::kClusterIp, "dst,dst");
      writer_.remove_all([&](const std::string& set) { return set == kept; });
      listed = ipset({"list", "-n"});
    }
    std::set<std::string> left;
    for (std::size_t at = 0; at < listed.size();) {
      const std::size_t end = listed.find('\n', at);
      left.insert(listed.substr(at, end - at));
      at = end + 1;
    }
    check(left == std::set<std::string>{kept, "FOREIGN"}, "all other sets of ours are destroyed, foreign ones stay",
          listed);
    writer_.remove_all([](const std::string&) { return false; });
    check(ipset({"list", "-n"}) == "FOREIGN\n", "all sets go");
  }

  Family family_;
  LibipsetSets kernel_;
  SetWriter writer_;
  SetTap tap_;
};

}  // namespace
}  // namespace sluice::test

int main(int count, char** arguments) {
  using sluice::abi::Family;
  const std::string what = count == 2 ? arguments[1] : "";
  if (what == "both") return sluice::test::check_both_families();
  if (what == "4" || what == "6") return sluice::test::Checks(what == "6" ? Family::kIpv6 : Family::kIpv4).run();
  std::fprintf(stderr, "usage: %s 4|6|both\n", arguments[0]);
  return 2;
}
