// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/kernel_settings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "lib/fd.hpp"
#include "lib/files.hpp"
#include "lib/number.hpp"

namespace sluice::node {
namespace {

constexpr std::uint64_t kMaxConntrack = 1u << 20;
constexpr const char* kFolder = "net/netfilter/";

std::string first_line(const std::string& file) {
  const auto text = lib::read_file(file, 4096);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

// The number of hash buckets is a setting of its own, besides the maximum number of entries.
lib::Status ensure_buckets(std::uint64_t wanted, const std::string& sys) {
  const std::string folder = sys + "/module/nf_conntrack/parameters";
  const auto now = lib::parse_number<std::uint64_t>(first_line(folder + "/hashsize"));
  if (!now || *now >= wanted) return {};
  return lib::Sysctl(folder).ensure("hashsize", std::to_string(wanted));
}

}  // namespace

unsigned count_processors(const std::string& sys) {
  unsigned out = 0;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(sys + "/devices/system/cpu", failed)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("cpu") || !lib::parse_number<std::uint64_t>(std::string_view(name).substr(3))) continue;
    // An offline processor has no topology.
    if (!first_line(entry.path().string() + "/topology/core_id").empty()) ++out;
  }
  return out != 0 ? out : std::max(1u, std::thread::hardware_concurrency());
}

std::uint64_t conntrack_max(const ConntrackSettings& settings, unsigned processors) {
  if (settings.max_per_core <= 0) return 0;
  const std::uint64_t scaled = std::uint64_t{static_cast<unsigned>(settings.max_per_core)} * processors;
  if (scaled > kMaxConntrack) return kMaxConntrack;
  return std::max(scaled, static_cast<std::uint64_t>(std::max(settings.min, 0)));
}

std::vector<std::string> apply_conntrack_settings(const ConntrackSettings& settings, const lib::Sysctl& sysctl,
                                                  const std::string& sys) {
  std::vector<std::pair<std::string, std::uint64_t>> wanted;
  const auto max = conntrack_max(settings, count_processors(sys));
  if (max > 0) wanted.emplace_back("nf_conntrack_max", max);
  const auto timeout = [&](const char* name, std::chrono::nanoseconds time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
    if (time.count() > 0) wanted.emplace_back(name, static_cast<std::uint64_t>(seconds));
  };
  timeout("nf_conntrack_tcp_timeout_established", settings.tcp_established_timeout);
  timeout("nf_conntrack_tcp_timeout_close_wait", settings.tcp_close_wait_timeout);
  if (settings.tcp_be_liberal) wanted.emplace_back("nf_conntrack_tcp_be_liberal", 1);
  timeout("nf_conntrack_udp_timeout", settings.udp_timeout);
  timeout("nf_conntrack_udp_timeout_stream", settings.udp_stream_timeout);

  std::vector<std::string> out;
  for (const auto& [name, value] : wanted) {
    auto status = sysctl.ensure(kFolder + name, std::to_string(value));
    // The buckets follow the maximum, so do not set them if that failed.
    if (status.ok() && name == "nf_conntrack_max") status = ensure_buckets(value / 4, sys);
    if (status.ok()) continue;
    if (status.code() == lib::StatusCode::not_found) {
      const std::string all = "connection tracking is not set up, as the kernel has no ";
      if (!sysctl.read(std::string(kFolder) + "nf_conntrack_max")) {
        return {all + "module nf_conntrack loaded; load it before the start (modprobe nf_conntrack)"};
      }
    }
    out.push_back(status.message());
  }
  return out;
}

lib::Result<bool> conntrack_tcp_be_liberal(const lib::Sysctl& sysctl) {
  const lib::Result<std::string> value = sysctl.read("net/netfilter/nf_conntrack_tcp_be_liberal");
  if (value) return *value != "0";
  if (value.status().code() == lib::StatusCode::not_found) return false;
  return value.status();
}

std::string check_bridge_netfilter(const lib::Sysctl& sysctl, bool pods_on_bridge) {
  const auto value = sysctl.read("net/bridge/bridge-nf-call-iptables");
  if (value && *value == "1") return {};
  if (!value && !pods_on_bridge) return {};
  return value ? "net.bridge.bridge-nf-call-iptables is " + *value +
                     ": packets between pods on one Linux bridge bypass the rules; set it to 1 if pods are on one"
               : std::string(
                     "the module br_netfilter is not loaded: packets between pods on one Linux bridge bypass "
                     "the rules; load it, and set net.bridge.bridge-nf-call-iptables to 1");
}

lib::Status set_oom_score(int score, const std::string& file) {
  const std::string action = "cannot set " + file + " to " + std::to_string(score);
  const lib::Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return lib::errno_status(action, errno);
  const std::string text = std::to_string(score);
  if (::write(fd.get(), text.data(), text.size()) < 0) return lib::errno_status(action, errno);
  return {};
}

}  // namespace sluice::node
