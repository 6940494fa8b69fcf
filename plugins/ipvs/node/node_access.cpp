// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/node/node_access.hpp"

#include <linux/capability.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "lib/program.hpp"
#include "lib/sysctl.hpp"

namespace sluice::ipvs {
namespace {

// modprobe waits for the disk only.
constexpr std::chrono::seconds kLimit(10);

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string modules_folder() {
  utsname name{};
  if (uname(&name) != 0) return {};
  return std::string("/lib/modules/") + name.release;
}

bool may_load_modules() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("CapEff:")) continue;
    return (std::strtoull(line.c_str() + 7, nullptr, 16) >> CAP_SYS_MODULE & 1) != 0;
  }
  return true;  // unknown
}

}  // namespace

std::optional<std::string> RealNode::sysctl(const std::string& name) {
  const auto value = lib::Sysctl().read(name);
  return value ? std::optional(*value) : std::nullopt;
}

int RealNode::set_sysctl(const std::string& name, const std::string& value) {
  return lib::Sysctl().ensure(name, value).os_errno();
}

bool RealNode::has_module(const std::string& name) { return exists("/sys/module/" + name); }

bool RealNode::modprobe(const std::vector<std::string>& arguments) {
  const std::string program = lib::find_program("modprobe");
  if (program.empty()) return false;
  lib::Program command;
  command.arguments = {program};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.timeout = kLimit;
  const auto result = lib::run_program(command);
  return result && result->ok();
}

std::string RealNode::why_modules_cannot_load() {
  if (sysctl("kernel/modules_disabled") == "1") {
    return "kernel.modules_disabled is 1, so no module can be loaded until the next boot";
  }
  const std::string folder = modules_folder();
  if (!exists(folder)) {
    return folder +
           " is not there: install the modules of the running kernel, boot the kernel that is installed, or, in a "
           "container, load them on the node";
  }
  // The kernel loads modules through its own helper, whatever the privileges of this process.
  const auto helper = sysctl("kernel/modprobe");
  if (helper && !helper->empty() && exists(*helper)) return {};
  if (lib::find_program("modprobe").empty()) return "there is no modprobe: load the modules on the node";
  if (!may_load_modules()) return "this process lacks the capability CAP_SYS_MODULE: load the modules on the node";
  return {};
}

}  // namespace sluice::ipvs
