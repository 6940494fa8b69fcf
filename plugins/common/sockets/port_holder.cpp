// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/sockets/port_holder.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include "plugins/common/sockets/socket_table.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::sockets {
namespace {

constexpr const char* kUnknown = "a program of this node";
constexpr int kTimeWait = 6;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// Sockets of the other family count only if unspecified: [::] without IPV6_V6ONLY holds the port of 0.0.0.0, too.
void read_rows(const std::string& table, std::uint16_t port, bool other_family, const abi::Address& address,
               std::vector<Socket>& rows) {
  each_socket(table, [&](const Socket& row) {
    if (row.port != port) return true;
    const bool any = sdk::is_unspecified(row.address);
    const bool overlaps = other_family ? any : any || sdk::is_unspecified(address) || row.address == address;
    if (overlaps) rows.push_back(row);
    return true;
  });
}

std::string name_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/comm");
  std::string name;
  std::getline(file, name);
  return name.empty() ? "a program" : name;
}

bool holds(const std::string& pid, const std::set<std::string>& links) {
  const std::string path = "/proc/" + pid + "/fd";
  const Folder folder(opendir(path.c_str()));
  if (folder == nullptr) return false;
  while (const dirent* entry = readdir(folder.get())) {
    std::array<char, 64> target;
    const ssize_t size = readlinkat(dirfd(folder.get()), entry->d_name, target.data(), target.size());
    if (size > 0 && links.contains(std::string(target.data(), static_cast<std::size_t>(size)))) return true;
  }
  return false;
}

std::string find_process(const std::set<std::string>& links) {
  const Folder processes(opendir("/proc"));
  if (processes == nullptr) return kUnknown;
  while (const dirent* entry = readdir(processes.get())) {
    const std::string pid = entry->d_name;
    if (pid.find_first_not_of("0123456789") != std::string::npos || !holds(pid, links)) continue;
    if (pid == std::to_string(getpid())) return "this process";
    return name_of(pid) + " (process " + pid + ")";
  }
  return kUnknown;
}

}  // namespace

std::string find_port_holder(abi::Family family, abi::Protocol protocol, const abi::Address& address,
                             std::uint16_t port) {
  const bool v6 = family == abi::Family::kIpv6;
  const bool tcp = protocol == abi::Protocol::kTcp;
  std::vector<Socket> rows;
  read_rows(tcp ? "tcp" : "udp", port, v6, address, rows);
  read_rows(tcp ? "tcp6" : "udp6", port, !v6, address, rows);
  std::set<std::string> links;
  for (const Socket& row : rows) {
    if (row.inode != 0) links.insert("socket:[" + std::to_string(row.inode) + "]");
  }
  if (!links.empty()) return find_process(links);
  const bool closing =
      tcp && std::any_of(rows.begin(), rows.end(), [](const Socket& row) { return row.state == kTimeWait; });
  return closing ? "a connection that is still closing" : kUnknown;
}

}  // namespace sluice::sockets
