// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/process_statistics.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <system_error>
#include <vector>

#include "config.h"

namespace sluice::observe {
namespace {

// Indexes into the fields of /proc/self/stat after the name, which may contain spaces; in
// proc(5), the first of them, state, is number 3.
constexpr std::size_t kUserTime = 14 - 3;
constexpr std::size_t kSystemTime = 15 - 3;
constexpr std::size_t kStartTime = 22 - 3;
constexpr std::size_t kVirtualSize = 23 - 3;
constexpr std::size_t kResidentPages = 24 - 3;

std::vector<std::string> stat_fields() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const auto end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return {};
  std::istringstream fields(text.substr(end_of_name + 1));
  return {std::istream_iterator<std::string>(fields), std::istream_iterator<std::string>()};
}

// Cached, so that the start time does not change when the clock is set.
std::optional<double> boot_time() {
  static const std::optional<double> seconds = []() -> std::optional<double> {
    std::ifstream file("/proc/stat");
    for (std::string word; file >> word;) {
      double value = 0;
      if (word == "btime" && file >> value) return value;
      file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return std::nullopt;
  }();
  return seconds;
}

std::optional<double> count_fds() {
  struct stat folder {};
  // Since Linux 6.2, st_size is the number of open descriptors.
  if (::stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0) return static_cast<double>(folder.st_size);
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end; it.increment(error)) {
    ++count;
  }
  if (error) return std::nullopt;
  return count - 1;  // without the descriptor of the iterator
}

std::optional<double> limit(decltype(RLIMIT_NOFILE) which) {
  rlimit found{};
  if (::getrlimit(which, &found) != 0) return std::nullopt;
  // RLIM_INFINITY is 18446744073709551615, as in Go's collector.
  return static_cast<double>(found.rlim_cur);
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

constexpr const char* platform() {
#if defined(__x86_64__)
  return "linux/amd64";
#elif defined(__aarch64__)
  return "linux/arm64";
#else
  return "linux/other";
#endif
}

}  // namespace

// Each section has two lines, names and values, both with the section name in front.
std::optional<double> netstat_counter(std::string_view text, std::string_view section, std::string_view name) {
  std::istringstream lines{std::string(text)};
  std::string first, second;
  while (std::getline(lines, first) && std::getline(lines, second)) {
    std::istringstream names(first), numbers(second);
    std::string one, value;
    if (!(names >> one) || one != std::string(section) + ":" || !(numbers >> value) || value != one) continue;
    while (names >> one && numbers >> value) {
      if (one == name) return std::strtod(value.c_str(), nullptr);
    }
  }
  return std::nullopt;
}

ProcessStatistics process_statistics() {
  ProcessStatistics out;
  const std::string netstat = text_of("/proc/self/net/netstat");
  out.received_bytes = netstat_counter(netstat, "IpExt", "InOctets");
  out.sent_bytes = netstat_counter(netstat, "IpExt", "OutOctets");
  out.open_fds = count_fds();
  out.max_fds = limit(RLIMIT_NOFILE);
  out.max_virtual_bytes = limit(RLIMIT_AS);
  const std::vector<std::string> fields = stat_fields();
  if (fields.size() <= kResidentPages) return out;
  const auto field = [&](std::size_t index) { return std::strtod(fields[index].c_str(), nullptr); };
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  out.cpu_seconds = (field(kUserTime) + field(kSystemTime)) / ticks;
  out.virtual_bytes = field(kVirtualSize);
  out.resident_bytes = field(kResidentPages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (const auto boot = boot_time()) out.start_time = *boot + field(kStartTime) / ticks;
  return out;
}

std::chrono::system_clock::time_point process_start() {
  using Clock = std::chrono::system_clock;
  const auto found = process_statistics().start_time;
  if (!found) return Clock::now();
  return Clock::time_point(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*found)));
}

BuildInfo build_info() {
  BuildInfo out;
  out.version = PACKAGE_VERSION;
#if defined(__clang__)
  out.compiler = "clang " __clang_version__;
#else
  out.compiler = "gcc " __VERSION__;
#endif
  out.platform = platform();
  out.kubernetes_major = "1";
  out.kubernetes_minor = "36";
  out.kubernetes_version = "v1.36.0+sluice." + out.version;
  return out;
}

}  // namespace sluice::observe
