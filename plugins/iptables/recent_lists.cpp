// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/recent_lists.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "lib/fd.hpp"
#include "lib/number.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::iptables {
namespace {

// thread-self, because /proc/self/net shows the namespace of the main thread.
constexpr char kFolder[] = "/proc/thread-self/net/xt_recent/";
constexpr char kCapacity[] = "/sys/module/xt_recent/parameters/ip_list_tot";
constexpr std::size_t kUsualCapacity = 100;
constexpr unsigned long kBillion = 1'000'000'000;

// Jiffies start five minutes before their low 32 bits overflow (INITIAL_JIFFIES). The resolution of the coarse clock is
// one tick.
Jiffies kernel_clock() {
  timespec tick{};
  timespec up{};
  ::clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
  ::clock_gettime(CLOCK_MONOTONIC, &up);
  const auto length = static_cast<unsigned long>(tick.tv_nsec);
  const unsigned long per_second = length == 0 ? 1 : (kBillion + length / 2) / length;
  const auto first = static_cast<unsigned long>(0u - static_cast<unsigned>(300 * per_second));
  const auto seconds = static_cast<unsigned long>(up.tv_sec);
  return {first + seconds * per_second + static_cast<unsigned long>(up.tv_nsec) / (kBillion / per_second), per_second};
}

// The text between `before` and the next blank.
std::string_view word_behind(std::string_view line, std::string_view before) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + before.size());
  return line.substr(0, line.find(' '));
}

}  // namespace

std::optional<RecentClient> parse_recent(std::string_view line, abi::Family family, const Jiffies& clock) {
  const auto address = sdk::parse_address(std::string(word_behind(line, "src=")), family);
  const auto last = lib::parse_number<unsigned long>(word_behind(line, "last_seen: "));
  if (!address || !last) return std::nullopt;
  // The counter may overflow, and kernel_clock() may lag behind it.
  const unsigned long ticks = clock.now - *last;
  const bool in_future = ticks > ~0ul / 2;
  return RecentClient{*address, std::chrono::seconds(in_future ? 0 : ticks / clock.per_second)};
}

bool KernelRecentLists::available() { return ::access(kFolder, X_OK) == 0; }

std::optional<std::vector<RecentClient>> KernelRecentLists::read(const std::string& list, abi::Family family) {
  std::ifstream file(kFolder + list);
  if (!file) return std::nullopt;
  const Jiffies clock = kernel_clock();
  std::vector<RecentClient> clients;
  for (std::string line; std::getline(file, line);) {
    if (const auto client = parse_recent(line, family, clock)) clients.push_back(*client);
  }
  return clients;
}

std::size_t KernelRecentLists::capacity() {
  std::size_t entries = 0;
  return std::ifstream(kCapacity) >> entries ? entries : kUsualCapacity;
}

RecentLists::Added KernelRecentLists::add(const std::string& list, const std::vector<abi::Address>& clients,
                                          abi::Family family) {
  const lib::Fd file(::open((kFolder + list).c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return {clients.size(), errno};
  Added added;
  for (const abi::Address& client : clients) {
    const std::string line = "+" + sdk::to_string(client, family) + "\n";
    if (::write(file.get(), line.data(), line.size()) >= 0) continue;
    ++added.failed;
    added.error = errno;
  }
  return added;
}

}  // namespace sluice::iptables
