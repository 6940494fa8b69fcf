// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/kernel.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "lib/program.hpp"
#include "lib/sysctl.hpp"
#include "plugins/common/netfilter/restore_program.hpp"
#include "plugins/common/netfilter/xtables_lock.hpp"

namespace sluice::netfilter {
namespace {

// For iptables-save that hangs.
constexpr std::chrono::seconds kSaveTimeout(45);

struct LockPatience {
  std::chrono::milliseconds limit;
  std::chrono::milliseconds pause;
};
constexpr LockPatience kToolWithLock{std::chrono::seconds(5), std::chrono::milliseconds(50)};
constexpr LockPatience kToolWithoutLock{std::chrono::seconds(2), std::chrono::milliseconds(200)};

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return text.find(part) != text.npos; });
}

// iptables-nft exits with the status of a lock problem whenever the kernel rejects something,
// so the error text is checked as well.
bool is_lock_problem(const lib::ProgramResult& outcome) {
  return outcome.exit_code == kResourceProblem &&
         contains_any(outcome.error_output, {"xtables lock", "xtables.lock", "Resource temporarily unavailable"});
}

bool lacks_privilege(const lib::ProgramResult& outcome) {
  return contains_any(outcome.error_output, {"you must be root", "Permission denied", "Operation not permitted"});
}

}  // namespace

const Tools& NodeKernel::tools() {
  if (!tools_) tools_ = find_tools(family_, NodePrograms::of_this_node());
  return *tools_;
}

lib::ProgramResult NodeKernel::save(const SaveOptions& options, const std::function<void(std::string_view)>& sink) {
  lib::Program command;
  command.arguments = {tools().save};
  if (options.counters) command.arguments.emplace_back("-c");
  if (options.only) {
    command.arguments.emplace_back("-t");
    command.arguments.emplace_back(table_name(*options.only));
  }
  command.timeout = kSaveTimeout;
  command.on_output = sink;
  return run(command, [this] { return deadline().cancelled(); });
}

lib::ProgramResult NodeKernel::run(const lib::Program& command, const std::function<bool()>& stopped) {
  auto result = lib::run_program(command, stopped);
  if (result) return std::move(*result);
  deadline().check();
  tools_.reset();  // removed or replaced at run time: find the tools again next time
  throw sdk::Failure(abi::Code::kKernel, {}, result.status().message(), result.status().os_errno());
}

Restored NodeKernel::restore(std::string_view input) {
  if (tools().variant == Variant::kNft) return {run(restore_command(tools(), input))};
  // A tool that waits by itself does not report how long, so wait here and then start it. A
  // tool without locking runs while the daemon holds the lock.
  const bool tool_without_lock = tools().wait == RestoreWait::kNot;
  XtablesLock::Place place = XtablesLock::default_place();
  if (!tool_without_lock) place.socket.clear();
  XtablesLock lock(std::move(place));
  const LockPatience& patience = tool_without_lock ? kToolWithoutLock : kToolWithLock;
  bool held = !tool_without_lock;
  try {
    held = lock.acquire(patience.limit, patience.pause, [this] { return deadline().remaining().count() == 0; });
  } catch (const std::system_error& caught) {
    if (tool_without_lock) throw sdk::Failure(abi::Code::kKernel, {}, caught.what(), caught.code().value());
  }
  if (!held) {
    deadline().check();
    lib::ProgramResult busy;
    busy.exit_code = kResourceProblem;
    busy.error_output =
        "another program holds the xtables lock; waited " + std::to_string(lock.waited().count()) + " ms";
    return {std::move(busy), lock.waited()};
  }
  if (!tool_without_lock) lock.release();
  return {run(restore_command(tools(), input)), lock.waited()};
}

lib::ProgramResult NodeKernel::try_restore(std::string_view input) {
  lib::Program command = restore_command(tools(), input);
  command.scratch_network = true;
  auto result = lib::run_program(command);
  if (result) return std::move(*result);
  command.scratch_network = result.status().os_errno() != EPERM;
  return run(command);
}

std::optional<std::uint32_t> NodeKernel::generation() {
  return tools().variant == Variant::kNft ? generation_.read() : std::nullopt;
}

ForeignChanges& NodeKernel::foreign_changes() {
  static ForeignChanges changes;  // all families of this process share one node
  return changes;
}

std::set<abi::Address> NodeKernel::local_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    throw sdk::Failure(abi::Code::kRetry, {}, "the addresses of this node cannot be read", errno);
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, [](ifaddrs* all) { freeifaddrs(all); });
  std::set<abi::Address> found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != sdk::socket_family(family_)) continue;
    abi::Address address{};
    if (family_ == abi::Family::kIpv4) {
      std::memcpy(address.bytes, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, 4);
    } else {
      std::memcpy(address.bytes, &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, 16);
    }
    found.insert(address);
  }
  return found;
}

int NodeKernel::allow_localnet_routing() {
  return lib::Sysctl().ensure("net/ipv4/conf/all/route_localnet", "1").os_errno();
}

sdk::Failure failure_of(const std::string& program, const lib::ProgramResult& outcome) {
  abi::Code code = abi::Code::kKernel;
  if (is_lock_problem(outcome)) code = abi::Code::kRetry;
  if (lacks_privilege(outcome)) code = abi::Code::kDenied;
  return {code, {}, explain(program, outcome)};
}

bool may_be_the_rules(const lib::ProgramResult& outcome) {
  if (outcome.timed_out || outcome.signal != 0 || outcome.exit_code <= 0) return false;
  if (is_lock_problem(outcome) || lacks_privilege(outcome)) return false;
  return !contains_any(outcome.error_output, {"Cannot allocate memory", "Memory allocation problem", "Out of memory"});
}

}  // namespace sluice::netfilter
