// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/kernel.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>

#include "plugins/common/sysctl/sysctl.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::iptables {
namespace {

// apply() as a whole has 60 s; a restore waits up to 5 s for the lock.
constexpr std::chrono::seconds kLimit(45);

// Some complaints come on two lines, the first of which only names the program.
std::string in_one_line(std::string_view complaint) {
  std::string line;
  bool blank = false;
  for (const char c : complaint) {
    if (c == '\n' || c == '\r' || c == ' ') {
      blank = !line.empty();
      continue;
    }
    if (blank) line.push_back(' ');
    blank = false;
    line.push_back(c);
  }
  const std::size_t hint = line.find(" Try `");
  return line.substr(0, hint);
}

}  // namespace

const netfilter::Tools& NodeKernel::tools() {
  if (!tools_) tools_ = netfilter::find_tools(family_, netfilter::Surroundings::of_this_node());
  return *tools_;
}

process::Outcome NodeKernel::save(std::optional<netfilter::Table> only,
                                  const std::function<void(std::string_view)>& sink) {
  process::Command command;
  command.arguments = {tools().save};
  if (only) {
    command.arguments.emplace_back("-t");
    command.arguments.emplace_back(netfilter::table_name(*only));
  }
  command.limit = kLimit;
  command.on_output = sink;
  return run(command);
}

process::Outcome NodeKernel::run(const process::Command& command) {
  try {
    return process::run(command);
  } catch (const std::system_error& caught) {
    tools_.reset();  // removed or replaced while we run: looked for again next time
    throw sdk::Failure(abi::Code::kKernel, {}, caught.what(), caught.code().value());
  }
}

process::Command NodeKernel::restore_command(std::string_view input) {
  process::Command command;
  command.arguments = {tools().restore};
  if (tools().restore_waits()) command.arguments.insert(command.arguments.end(), {"-w", "5"});
  command.arguments.emplace_back("--noflush");
  command.input = input;
  command.limit = kLimit;
  return command;
}

process::Outcome NodeKernel::restore(std::string_view input) { return run(restore_command(input)); }

process::Outcome NodeKernel::try_restore(std::string_view input) {
  process::Command command = restore_command(input);
  command.scratch_network = true;
  try {
    return process::run(command);
  } catch (const std::system_error& caught) {
    if (caught.code().value() != EPERM) throw;
  }
  command.scratch_network = false;
  return run(command);
}

std::optional<std::uint32_t> NodeKernel::generation() {
  return tools().variant == netfilter::Variant::kNft ? generation_.read() : std::nullopt;
}

int NodeKernel::allow_localnet_routing() { return sysctl::ensure("net/ipv4/conf/all/route_localnet", "1"); }

std::string explain(const std::string& program, const process::Outcome& outcome) {
  const std::string name = program.substr(program.rfind('/') + 1);
  if (outcome.timed_out) return name + " did not end in time and was killed";
  if (outcome.signal != 0) return name + " was ended by signal " + std::to_string(outcome.signal);
  const std::string complaint = in_one_line(outcome.complaint);
  if (complaint.empty()) return name + " ended with status " + std::to_string(outcome.exit_code);
  return complaint.starts_with(name) ? complaint : name + ": " + complaint;
}

void throw_failure(const std::string& program, const process::Outcome& outcome,
                   const netfilter::RestoreInput* input) {
  abi::Code code = abi::Code::kKernel;
  // iptables-nft ends with the status of a lock problem whenever the kernel refuses
  // something, but then it names a line.
  const auto line_number = netfilter::failed_line(outcome.complaint);
  if (outcome.exit_code == netfilter::kResourceProblem && !line_number) code = abi::Code::kRetry;
  if (outcome.complaint.find("you must be root") != std::string::npos) code = abi::Code::kDenied;
  std::string object;
  std::string refused;
  if (input != nullptr && line_number) {
    if (const auto line = input->find_line(*line_number)) {
      object = line->owner;
      refused = "the line \"" + line->text + "\": ";
    }
  }
  throw sdk::Failure(code, object, refused + explain(program, outcome));
}

}  // namespace sluice::iptables
