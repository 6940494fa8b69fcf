// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/chains.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "core/cleanup/nft_tables.hpp"
#include "plugins/common/netfilter/restore_program.hpp"
#include "plugins/common/netfilter/xtables_lock.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::cleanup {
namespace {

using netfilter::RestoreInput;
using netfilter::Table;

constexpr std::chrono::seconds kSaveTimeout(45);
constexpr std::chrono::seconds kLockTimeout(5);
constexpr std::chrono::milliseconds kLockPause(50);
// The time of nf_tables is quadratic in the chains of one transaction. The legacy variant writes the whole table each
// time, so it gets all chains at once.
constexpr std::size_t kChainsAtOnce = 1000;

constexpr abi::Family abi_family(lib::Family family) {
  return family == lib::Family::ipv4 ? abi::Family::kIpv4 : abi::Family::kIpv6;
}

// One line of iptables-restore input, or the two that remove a chain.
struct Step {
  enum class Kind { remove_jump, flush, remove_chain } kind;
  Table table;
  std::string chain;
  std::string rule{};  // remove_jump

  void write(RestoreInput& into) const {
    switch (kind) {
      case Kind::remove_jump:
        into.remove(table, chain, rule);
        break;
      case Kind::flush:
        into.declare(table, chain);
        break;
      case Kind::remove_chain:
        into.declare(table, chain);  // another process may have removed it meanwhile
        into.remove_chain(table, chain);
        break;
    }
  }
  std::string to_string() const {
    const std::string where = std::string(netfilter::table_name(table)) + " " + chain;
    if (kind == Kind::remove_jump) return "the rule \"" + rule + "\" of chain " + where;
    return (kind == Kind::flush ? "the rules of chain " : "chain ") + where;
  }
};
using Steps = std::vector<Step>;

// Whether the input was rejected, so that fewer lines may succeed.
bool may_be_bad_input(const lib::ProgramResult& outcome) {
  if (outcome.timed_out || outcome.signal != 0 || outcome.exit_code <= 0) return false;
  for (const char* word : {"xtables lock", "xtables.lock", "Permission denied", "Operation not permitted", "be root"}) {
    if (outcome.error_output.find(word) != std::string::npos) return false;
  }
  return true;
}

// Throws std::system_error if the program cannot be started.
lib::ProgramResult run_tool(const lib::Program& program) {
  auto result = lib::run_program(program);
  if (result) return std::move(*result);
  throw std::system_error(result.status().os_errno(), std::system_category(), "cannot start " + program.arguments[0]);
}

class Remover {
 public:
  Remover(const Selection& selection, lib::Family family, const netfilter::Tools& tools, Removal& into)
      : selection_(selection), family_(family), tools_(tools), into_(into) {}

  void run() {
    // A change that failed because another process wrote meanwhile succeeds after reading the rules again.
    for (int pass = 0; pass < 2; ++pass) {
      failures_.clear();
      ChainPlan plan;
      if (!read_rules(plan)) break;
      note(plan);
      carry_out(plan);
      if (failures_.empty()) break;
    }
    into_.failures.insert(into_.failures.end(), failures_.begin(), failures_.end());
    into_.notes.insert(into_.notes.end(), notes_.begin(), notes_.end());
  }

 private:
  // "ip6tables-legacy".
  std::string name() const {
    const std::string program = tools_.restore.substr(tools_.restore.rfind('/') + 1);
    return program.substr(0, program.rfind("-restore"));
  }

  bool read_rules(ChainPlan& plan) {
    ChainPlanner planner(selection_, family_);
    lib::Program command;
    command.arguments = {tools_.save};
    command.timeout = kSaveTimeout;
    command.on_output = [&](std::string_view piece) { planner.parse(piece); };
    const lib::ProgramResult outcome = run_tool(command);
    std::string why;
    if (!outcome.ok())
      why = netfilter::explain(tools_.save, outcome);
    else if (!planner.finish(plan))
      why = "its output is cut off";
    if (!why.empty()) failures_.push_back("cannot read the rules of " + tools_.save + ": " + why);
    return why.empty();
  }

  void note(const ChainPlan& plan) {
    notes_.clear();
    for (const auto& [chain, from] : plan.held) {
      notes_.push_back("chain " + std::string(netfilter::table_name(chain.table)) + " " + chain.name + " (" + name() +
                       ") flushed but not removed: a rule of another program in chain " + from + " refers to it");
    }
    check_unreadable_tables(plan);
  }

  // A table that iptables cannot show may contain chains to remove.
  void check_unreadable_tables(const ChainPlan& plan) {
    const std::string nft_family = family_ == lib::Family::ipv4 ? "ip" : "ip6";
    for (const std::string& table : plan.unreadable) {
      for (const std::string& chain : nft_chains(nft_family, table)) {
        if (!selection_.chain(family_, table, chain)) continue;
        failures_.push_back("chain " + table + " " + chain +
                            " cannot be removed: another program has added rules with nft to this table, which " +
                            tools_.save + " cannot show; remove it with: nft delete chain " + nft_family + " " + table +
                            " " + chain);
        break;
      }
    }
  }

  void carry_out(const ChainPlan& plan) {
    Steps steps;
    for (const auto& jump : plan.jumps) steps.push_back({Step::Kind::remove_jump, jump.table, jump.from, jump.rule});
    for (const auto& chain : plan.chains) steps.push_back({Step::Kind::flush, chain.table, chain.name});
    for (const auto& [chain, from] : plan.held) steps.push_back({Step::Kind::flush, chain.table, chain.name});
    if (!send(steps)) return;
    steps.clear();
    for (const auto& chain : plan.chains) steps.push_back({Step::Kind::remove_chain, chain.table, chain.name});
    send(steps);
  }

  // Applies every step that succeeds. False if further steps cannot succeed.
  bool send(const Steps& steps) {
    const std::size_t at_once = tools_.variant == netfilter::Variant::kNft ? kChainsAtOnce : steps.size();
    for (std::size_t begin = 0; begin < steps.size(); begin += at_once) {
      if (!send(steps.begin() + static_cast<std::ptrdiff_t>(begin),
                steps.begin() + static_cast<std::ptrdiff_t>(std::min(begin + at_once, steps.size())))) {
        return false;
      }
    }
    return true;
  }

  // Bisects rejected input to find the lines that fail.
  bool send(Steps::const_iterator begin, Steps::const_iterator end) {
    RestoreInput input;
    std::for_each(begin, end, [&](const Step& step) { step.write(input); });
    const lib::ProgramResult outcome = restore(input.text());
    if (outcome.ok()) {
      std::for_each(begin, end, [&](const Step& step) { count(step); });
      return true;
    }
    const std::string why = netfilter::explain(tools_.restore, outcome);
    if (!may_be_bad_input(outcome)) {
      failures_.push_back("cannot remove the " + std::string(lib::family_name(family_)) + " chains: " + why);
      return false;
    }
    if (end - begin == 1) {
      failures_.push_back("cannot remove " + begin->to_string() + " (" + name() + "): " + why);
      return true;
    }
    const auto middle = begin + (end - begin) / 2;
    return send(begin, middle) && send(middle, end);
  }

  lib::ProgramResult restore(const std::string& input) {
    netfilter::XtablesLock lock(netfilter::XtablesLock::default_place());
    if (tools_.wait == netfilter::RestoreWait::kNot && !lock.acquire(kLockTimeout, kLockPause)) {
      lib::ProgramResult busy;
      busy.exit_code = netfilter::kResourceProblem;
      busy.error_output = "another program holds the xtables lock";
      return busy;
    }
    return run_tool(netfilter::restore_command(tools_, input));
  }

  void count(const Step& step) {
    if (step.kind != Step::Kind::remove_chain) return;
    ++into_.chains;
    into_.modes |= selection_.mode_of_chain(netfilter::table_name(step.table), step.chain);
  }

  const Selection& selection_;
  const lib::Family family_;
  const netfilter::Tools& tools_;
  Removal& into_;
  std::vector<std::string> failures_;
  std::vector<std::string> notes_;
};

}  // namespace

void remove_chains(const Selection& selection, lib::Family family, const netfilter::Tools& tools, Removal& into) {
  try {
    Remover(selection, family, tools, into).run();
  } catch (const std::system_error& caught) {
    into.failures.push_back("cannot remove the " + std::string(lib::family_name(family)) +
                            " chains: " + caught.what());
  }
}

void remove_chains(const Selection& selection, lib::Family family, Removal& into) {
  std::vector<netfilter::Tools> found;
  try {
    found = netfilter::find_all_tools(abi_family(family), netfilter::NodePrograms::of_this_node());
  } catch (const sdk::Failure& failure) {
    into.failures.push_back("cannot remove the " + std::string(lib::family_name(family)) +
                            " chains: " + failure.what());
  }
  for (const netfilter::Tools& tools : found) remove_chains(selection, family, tools, into);
}

}  // namespace sluice::cleanup
