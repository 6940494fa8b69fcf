// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Random histories of the whole backend on a real kernel: changes, full transactions, restarts, foreign changes,
// refusals, lost answers, changes of the node. After each step the table has the meaning that the service ports
// require, and no drift is listed; every few steps it is compared with a table made in one step, which must have as many
// elements. TAP. Needs root; creates its own network namespaces.
//   nftables_random [--steps N] [--seed N] [--family 4|6] [--last N]
// Failures name the seed and the step, to be repeated with them; --last ends there.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "sluice/sdk/service.hpp"
#include "test/unit/common/world.hpp"
#include "test/unit/nftables/random_services.hpp"
#include "test/unit/nftables/random_subject.hpp"
#include "test/unit/nftables/table_reading.hpp"
#include "test/unit/patience.hpp"

namespace sluice::test {
namespace {

using namespace nftables;

constexpr auto kPatience = std::chrono::seconds(20);
constexpr unsigned kOneStepEvery = 10;  // steps between comparisons with a table made in one step

struct Wanted {
  unsigned steps = 300;
  std::uint64_t seed = 1;
  unsigned last = 0;
  bool four = true, six = true;
};

class History {
 public:
  History(abi::Family family, std::uint64_t seed) : family_(family), random_(family, seed), subject_(family) {
    node_.local_addresses = {"127.0.0.1", "192.168.0.2"};
    if (family == abi::Family::kIpv6) {
      node_.ip = "fd00:9::2";
      node_.detector_cidr = "fd00:2::/64";
      node_.local_addresses = {"::1", "fd00:9::2"};
    }
  }

  // Throws with the faults.
  void run(unsigned steps) {
    home_.enter();
    foreign_ = open_foreign_table(family_);
    for (unsigned i = 0; i < RandomServices::kMost / 2; ++i) services_[RandomServices::name(i)] = random_.make(i);
    label_ = "the first load";
    everything();
    check();
    for (step_ = 1; step_ <= steps; ++step_) {
      one_step();
      check();
      if (step_ % kOneStepEvery == 0) in_one_step();
    }
  }
  std::string where() const { return "step " + std::to_string(step_) + " (" + label_ + ")"; }
  std::string statistics() const {
    return std::to_string(deltas_) + " deltas, " + std::to_string(fulls_) + " fulls, " + std::to_string(drifts_) +
           " drifts, " + std::to_string(refusals_) + " refusals, " +
           std::to_string(subject_.saved_listings()) + " saved listings";
  }

 private:
  void one_step() {
    const unsigned dice = random_.pick(100);
    if (dice < 62) return changes();
    if (dice < 72) return labelled("everything again", [&] { unchanged(); });
    if (dice < 80) return labelled("restart", [&] { restart(); });
    if (dice < 90) return drift();
    if (dice < 93) return labelled("a refusal", [&] { refusal(); });
    if (dice < 96) return labelled("a lost answer", [&] { lost(); });
    if (dice < 98) return labelled("another node", [&] { another_node(); });
    labelled("time passes", [&] { remove_unused(); });
  }

  template <class Body>
  void labelled(const char* label, const Body& body) {
    label_ = label;
    body();
  }

  // Adds, removes or changes a few service ports. Returns them.
  std::vector<ServiceSpec> changed_, removed_;
  void think_of_changes() {
    changed_.clear();
    removed_.clear();
    std::set<std::string> touched;
    for (unsigned i = 0, count = 1 + random_.pick(3); i < count; ++i) {
      const unsigned number = random_.pick(RandomServices::kMost);
      const std::string name = RandomServices::name(number);
      if (!touched.insert(name).second) continue;
      const auto found = services_.find(name);
      if (found != services_.end() && random_.chance(20)) {
        removed_.push_back(found->second);
        services_.erase(found);
        continue;
      }
      if (found != services_.end() && random_.chance(60))
        random_.nudge(found->second);
      else
        services_[name] = random_.make(number);
      changed_.push_back(services_[name]);
    }
    const auto by_name = [](const ServiceSpec& a, const ServiceSpec& b) { return a.name < b.name; };
    std::sort(changed_.begin(), changed_.end(), by_name);
    std::sort(removed_.begin(), removed_.end(), by_name);
  }

  void changes() {
    think_of_changes();
    label_ = std::to_string(changed_.size()) + " changed, " + std::to_string(removed_.size()) + " removed";
    ++deltas_;
    if (const abi::Code code = subject_.delta(changed_, removed_, node_); code != abi::Code::kOk)
      wrong("a delta failed: " + subject_.errors());
  }

  void everything() {
    ++fulls_;
    if (subject_.full(list_of(services_), node_) != abi::Code::kOk) wrong("everything failed: " + subject_.errors());
  }

  void unchanged() {
    const Listing before = foreign_->list();
    everything();
    if (subject_.writes() == 0) return;
    wrong("nothing had changed, and " + std::to_string(subject_.writes()) + " were written" +
          what_differs(family_, before, foreign_->list()));
  }

  void restart_subject() {
    if (const std::string fault = subject_.restart(); !fault.empty()) wrong(fault);
  }

  void restart() {
    remove_unused();
    const bool change = random_.chance(30);
    if (change) think_of_changes();
    restart_subject();
    everything();
    if (!change && subject_.writes() != 0)
      wrong("a restart that missed nothing has written " + std::to_string(subject_.writes()));
  }

  // Removes unused shared chains, so that a restart finds none.
  void remove_unused() {
    // The second one removes what the first one has emptied. The time also suffices for the check of a saved listing.
    abi::Code code = abi::Code::kOk;
    for (int i = 0; i < 2 && code == abi::Code::kOk; ++i) {
      subject_.host.pass(std::chrono::seconds(61));
      code = subject_.verify();
    }
    if (code == abi::Code::kOk) return;
    // Foreign changes are repaired first.
    if (code != abi::Code::kNeedFull) wrong("verify: " + subject_.errors());
    unchanged();
    if (subject_.verify() != abi::Code::kOk) wrong("second verify: " + subject_.errors());
  }

  void drift() {
    ++drifts_;
    label_ = "drift: " + make_drift(random_, *foreign_, family_);
    if (subject_.drift().empty()) {
      // Only objects that wait for their removal are not listed, and not repaired.
      unchanged();
      return verify_until_ok();
    }
    switch (random_.pick(4)) {
      case 0:
        break;  // found by the next full transaction
      case 1:   // while the daemon is down
        restart_subject();
        break;
      case 2:  // a delta comes first, and may or may not succeed
        think_of_changes();
        subject_.delta(changed_, removed_, node_);
        break;
      default:
        if (!subject_.sees_foreign_change()) wrong("the drift is not noticed");
    }
    everything();
    verify_until_ok();
  }

  // The watch thread may report drift after its repair. Then there is nothing left to write.
  void verify_until_ok() {
    const bool well = wait_until(
        [&] {
          if (subject_.is_well()) return true;
          unchanged();
          return false;
        },
        kPatience);
    if (!well) wrong("verify after a repair: " + subject_.errors());
  }

  void refusal() {
    think_of_changes();
    subject_.next_commit = Trouble::kRefuse;
    const bool all = random_.chance(40);
    const abi::Code code = all ? subject_.full(list_of(services_), node_) : subject_.delta(changed_, removed_, node_);
    const std::string refused = subject_.take_refused();
    subject_.next_commit = Trouble::kNone;
    if (code != abi::Code::kOk) wrong("one refused service port fails all: " + subject_.errors());
    if (!refused.empty()) {
      ++refusals_;
      if (!subject_.host.has_failed(refused)) wrong("the refusal of " + refused + " is not reported");
      label_ += " of " + refused;
      check_without(refused);
    }
    everything();
  }

  void lost() {
    think_of_changes();
    subject_.next_commit = random_.chance(50) ? Trouble::kLostBefore : Trouble::kLostAfter;
    const bool all = random_.chance(40);
    const abi::Code code = all ? subject_.full(list_of(services_), node_) : subject_.delta(changed_, removed_, node_);
    const bool met = subject_.next_commit == Trouble::kNone;
    subject_.next_commit = Trouble::kNone;
    if (met && code == abi::Code::kOk) wrong("an answer was lost, and apply is content");
    if (!met && code != abi::Code::kOk) wrong("nothing was written, and apply fails: " + subject_.errors());
    everything();
  }

  void another_node() {
    const bool four = family_ == abi::Family::kIpv4;
    ++node_.version;
    switch (random_.pick(4)) {
      case 0:
        node_.flags ^= abi::kMasqueradeAll;
        break;
      case 1:
        node_.detector = random_.chance(30)   ? abi::LocalDetectorKind::kNone
                         : random_.chance(50) ? abi::LocalDetectorKind::kInterfaceNamePrefix
                                              : abi::LocalDetectorKind::kCidr;
        node_.detector_interface = node_.detector == abi::LocalDetectorKind::kInterfaceNamePrefix ? "cali" : "";
        break;
      case 2:
        node_.flags |= abi::kNodePortsMatchAll;
        node_.node_port_addresses.clear();
        break;
      default:
        node_.flags &= ~static_cast<std::uint32_t>(abi::kNodePortsMatchAll);
        node_.node_port_addresses = {four ? "192.168.0.2" : "fd00:9::2"};
        if (random_.chance(50)) node_.node_port_addresses.push_back(four ? "192.168.0.3" : "fd00:9::3");
    }
    // Together with a change. Facts that everything depends on require a full transaction.
    think_of_changes();
    const abi::Code code = subject_.delta(changed_, removed_, node_);
    if (code != abi::Code::kOk && code != abi::Code::kNeedFull)
      wrong("a delta with another node: " + subject_.errors());
    if (code != abi::Code::kOk) everything();
  }

  // Compares the meaning of the table, and lists drift: there must be none.
  void check() { check_without({}); }
  void check_without(const std::string& name) {
    if (const std::string found = faults(*foreign_, name); !found.empty()) wrong(found);
    if (const std::string found = subject_.drift(); !found.empty()) wrong("listed as drift: " + found);
  }

  std::string faults(TableKernel& kernel, const std::string& excluded, Listing* keep = nullptr) {
    World world(family_);
    std::vector<abi::ServicePort> ports;
    for (const auto& [name, spec] : services_) {
      ports.push_back(world.service(spec));
      if (!excluded.empty() && sdk::service_port_name(ports.back().key) == excluded) ports.pop_back();
    }
    Listing listing = kernel.list();
    std::string text;
    for (const std::string& one : read_against(family_, listing, ports, world.node(node_), false)) text += one + "\n";
    if (keep != nullptr) *keep = std::move(listing);
    return text;
  }

  void in_one_step() {
    Listing grown = foreign_->list();
    other_.enter();
    Listing made;
    std::string found;
    {
      Subject subject(family_);
      if (subject.full(list_of(services_), node_) != abi::Code::kOk) wrong("in one step: " + subject.errors());
      const auto kernel = std::move(open_table(family_).kernel);
      found = faults(*kernel, {}, &made);
      kernel->delete_table();
    }
    home_.enter();
    // The owner of a contested frontend, and its endpoints, depend on the history.
    if (!has_conflicts()) {
      for (const std::string& one : differ_in_size(grown, made)) found += one + "\n";
    }
    if (!found.empty()) wrong("in one step: " + found);
  }

  bool has_conflicts() const {
    std::set<std::string> endpoints_of;
    for (const auto& [name, spec] : services_) {
      const std::string suffix =
          ":" + std::to_string(spec.port) + "/" + std::to_string(static_cast<int>(spec.protocol));
      std::set<std::string> own;
      for (const auto* list : {&spec.external_ips, &spec.vips}) {
        for (const std::string& ip : *list) own.insert(ip + suffix);
      }
      if (spec.node_port != 0)
        own.insert(std::to_string(spec.node_port) + "/" + std::to_string(static_cast<int>(spec.protocol)));
      for (const std::string& one : own) {
        if (!endpoints_of.insert(one).second) return true;
      }
    }
    return false;
  }

  [[noreturn]] static void wrong(const std::string& what) { throw std::runtime_error(what); }

  const abi::Family family_;
  RandomServices random_;
  Namespace home_, other_;
  Subject subject_;
  std::unique_ptr<TableKernel> foreign_;
  NodeSpec node_;
  Services services_;
  std::string label_;
  unsigned step_ = 0, deltas_ = 0, fulls_ = 0, drifts_ = 0, refusals_ = 0;
};

bool run(const Wanted& wanted, abi::Family family, int number) {
  const char* const name = family == abi::Family::kIpv4 ? "IPv4" : "IPv6";
  History history(family, wanted.seed + (family == abi::Family::kIpv4 ? 0 : 1));
  std::string wrong;
  try {
    history.run(wanted.last != 0 ? wanted.last : wanted.steps);
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  std::printf("%s %d - %s: after each of %u random steps the table means what is asked for (seed %llu)\n",
              wrong.empty() ? "ok" : "not ok", number, name, wanted.steps,
              static_cast<unsigned long long>(wanted.seed));
  if (!wrong.empty()) {
    std::string text = history.where() + ": " + wrong;
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.replace(at, 1, "\n# ");
    std::printf("# %s\n", text.c_str());
  }
  std::printf("# %s\n", history.statistics().c_str());
  std::fflush(stdout);
  return wrong.empty();
}

Wanted parse(int argc, char** argv) {
  Wanted wanted;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const unsigned long long value = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--steps")
      wanted.steps = static_cast<unsigned>(value);
    else if (name == "--seed")
      wanted.seed = value;
    else if (name == "--last")
      wanted.last = static_cast<unsigned>(value);
    else if (name == "--family")
      (value == 4 ? wanted.six : wanted.four) = false;
    else
      throw std::invalid_argument("unknown option " + name);
  }
  if (argc % 2 == 0) throw std::invalid_argument("a value is missing");
  return wanted;
}

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
  if (::geteuid() != 0) {
    std::printf("1..0 # SKIP network namespaces need root\n");
    return 0;
  }
  try {
    const sluice::test::Wanted wanted = sluice::test::parse(argc, argv);
    int count = 0;
    bool good = true;
    if (wanted.four) good = sluice::test::run(wanted, sluice::abi::Family::kIpv4, ++count) && good;
    if (wanted.six) good = sluice::test::run(wanted, sluice::abi::Family::kIpv6, ++count) && good;
    std::printf("1..%d\n", count);
    return good ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("Bail out! %s\n", error.what());
    return 1;
  }
}
