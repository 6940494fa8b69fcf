// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/port_holder.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
namespace {

constexpr const char* kUnknown = "a program of this node";
constexpr int kTimeWait = 6;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

struct Row {
  abi::Address address{};
  std::uint16_t port = 0;
  int state = 0;
  std::uint64_t inode = 0;
};

// The kernel prints addresses as 32-bit words of its own byte order.
std::optional<abi::Address> parse_words(const std::string& hex) {
  abi::Address address{};
  if (hex.size() % 8 != 0 || hex.size() / 2 > sizeof(address.bytes)) return std::nullopt;
  for (std::size_t at = 0; at < hex.size(); at += 8) {
    std::uint32_t word = 0;
    const auto [end, error] = std::from_chars(hex.data() + at, hex.data() + at + 8, word, 16);
    if (error != std::errc() || end != hex.data() + at + 8) return std::nullopt;
    std::memcpy(address.bytes + at / 2, &word, sizeof(word));
  }
  return address;
}

// "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0 12345 …"
std::optional<Row> parse_row(const std::string& line) {
  std::istringstream words(line);
  std::string number, local, remote, state, queues, timer, retransmits, user, timeout;
  Row row;
  if (!(words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >>
        row.inode)) {
    return std::nullopt;
  }
  const std::size_t colon = local.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto address = parse_words(local.substr(0, colon));
  if (!address) return std::nullopt;
  row.address = *address;
  const char* const end = local.data() + local.size();
  if (std::from_chars(local.data() + colon + 1, end, row.port, 16).ec != std::errc()) return std::nullopt;
  if (std::from_chars(state.data(), state.data() + state.size(), row.state, 16).ec != std::errc()) return std::nullopt;
  return row;
}

// A socket of the other family counts where it may serve both: [::] without IPV6_V6ONLY has the port of 0.0.0.0 too.
void read_rows(const char* table, std::uint16_t port, bool other_family, const abi::Address& address,
               std::vector<Row>& rows) {
  std::ifstream file(std::string("/proc/thread-self/net/") + table);
  std::string line;
  std::getline(file, line);  // titles
  while (std::getline(file, line)) {
    const auto row = parse_row(line);
    if (!row || row->port != port) continue;
    const bool any = sdk::is_unspecified(row->address);
    const bool overlaps = other_family ? any : any || sdk::is_unspecified(address) || row->address == address;
    if (overlaps) rows.push_back(*row);
  }
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
  std::vector<Row> rows;
  read_rows(tcp ? "tcp" : "udp", port, v6, address, rows);
  read_rows(tcp ? "tcp6" : "udp6", port, !v6, address, rows);
  std::set<std::string> links;
  for (const Row& row : rows) {
    if (row.inode != 0) links.insert("socket:[" + std::to_string(row.inode) + "]");
  }
  if (!links.empty()) return find_process(links);
  const bool closing =
      tcp && std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.state == kTimeWait; });
  return closing ? "a connection that is still closing" : kUnknown;
}

}  // namespace sluice::userspace
