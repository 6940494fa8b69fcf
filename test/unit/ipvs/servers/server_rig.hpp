// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A ServerWriter on a kernel in memory, with stopped clocks, a state directory, and a recorded log.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/server_writer.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/ipvs/fake_server_kernel.hpp"

namespace sluice::ipvs {

inline abi::Address ipv4(const std::string& text) { return *sdk::parse_address(text, abi::Family::kIpv4); }
inline ServerKey server_key(const std::string& address, std::uint16_t port = 80,
                            abi::Protocol protocol = abi::Protocol::kTcp) {
  return {ipv4(address), port, protocol};
}
inline RealServer real(unsigned last, std::uint16_t port = 8080) {
  return {ipv4("10.1." + std::to_string(last / 250) + "." + std::to_string(last % 250 + 1)), port};
}
inline RealServers reals(const std::vector<unsigned>& numbers) {
  auto list = std::make_shared<std::vector<RealServer>>();
  for (const unsigned number : numbers) list->push_back(real(number));
  std::sort(list->begin(), list->end());
  return list;
}
inline WantedServer wanted(const ServerKey& key, RealServers list, const std::string& owner = "shop/cart:http") {
  return {{key, "rr", 0, 0}, std::move(list), owner};
}

class ServerRig {
 public:
  explicit ServerRig(WhenRemoved when = WhenRemoved::kKeep, bool with_folder = false) {
    options.family = abi::Family::kIpv4;
    options.when_removed = when;
    options.wall_clock = [this] { return wall; };
    if (with_folder) {
      // In memory if possible: thousands of steps would otherwise write to disk.
      std::error_code none;
      const bool memory = std::filesystem::is_directory("/dev/shm", none) && ::access("/dev/shm", W_OK) == 0;
      const std::filesystem::path parent = memory ? "/dev/shm" : std::filesystem::temp_directory_path();
      std::string pattern = (parent / "sluice-drains-XXXXXX").string();
      folder_ = ::mkdtemp(pattern.data());
      options.state_dir = folder_;
    }
    restart();
  }
  ~ServerRig() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  ServerRig(const ServerRig&) = delete;
  ServerRig& operator=(const ServerRig&) = delete;

  // As a new process: without memory.
  void restart() {
    writer = std::make_unique<ServerWriter>(kernel, options, [this] { return clock; }, sdk::Logger(&host));
    writer->refresh();
  }
  void pass(std::chrono::seconds time) {
    clock += static_cast<std::uint64_t>(time.count()) * 1'000'000'000;
    wall += time.count();
  }
  ServerWriter::Outcome put(const ServerKey& key, RealServers list) { return writer->put({wanted(key, std::move(list))}); }

  // Weight of a real server in the kernel; -1: missing.
  int weight(const ServerKey& key, unsigned number) {
    const auto* found = kernel.find(key, real(number));
    return found == nullptr ? -1 : found->weight;
  }
  std::uint64_t& connections(const ServerKey& key, unsigned number) { return kernel.find(key, real(number))->connections; }
  std::size_t warnings() const {
    std::size_t count = 0;
    for (const auto& [severity, line] : host.lines) count += severity == abi::Severity::kWarning ? 1 : 0;
    return count;
  }
  std::string file() const { return folder_ + "/ipvs-drains-ipv4"; }
  std::string read_file() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }

  FakeServerKernel kernel;
  test::FakeHost host;
  std::uint64_t clock = 5'000'000'000;
  std::int64_t wall = 1'800'000'000;
  ServerWriter::Options options;
  std::unique_ptr<ServerWriter> writer;

 private:
  std::string folder_;
};

}  // namespace sluice::ipvs
