// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/limits.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "lib/number.hpp"
#include "lib/sysctl.hpp"
#include "plugins/common/log_ids.hpp"

namespace sluice::userspace {
namespace {

// The kernel's limit of open files for any process.
std::optional<rlim_t> read_nr_open() {
  const auto text = lib::Sysctl().read("fs/nr_open");
  return text ? lib::parse_number<rlim_t>(*text) : std::nullopt;
}

std::string text_of(rlim_t limit) { return limit == RLIM_INFINITY ? "without limit" : std::to_string(limit); }

void raise_open_files(const sdk::Logger& log) {
  rlimit before{};
  if (getrlimit(RLIMIT_NOFILE, &before) != 0) {
    log.warning(log_id::kOpenFilesUnreadable, std::string("read the limit of open files: ") + std::strerror(errno));
    return;
  }
  rlimit now = before;
  const auto most = read_nr_open();
  if (most && *most > before.rlim_max) {
    const rlimit wanted{*most, *most};  // needs CAP_SYS_RESOURCE
    if (setrlimit(RLIMIT_NOFILE, &wanted) == 0) now = wanted;
  }
  if (now.rlim_cur < now.rlim_max) {
    const rlimit wanted{now.rlim_max, now.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &wanted) == 0) now = wanted;
  }
  const std::string was = now.rlim_cur == before.rlim_cur ? "" : ", was " + text_of(before.rlim_cur);
  log.info(
      log_id::kOpenFiles,
      "open files: " + text_of(now.rlim_cur) + was +
          "; a service port takes one or two for TCP, a connection two, four more while it is busy, a UDP client one");
}

// When a client closes first, the relay closes first towards the endpoint and keeps a port in TIME_WAIT for a minute:
// 470 connections a second to one endpoint use up 28,000 ports. With 1 the kernel reuses such a port after a second if
// both ends send timestamps, which rule out old packets (RFC 6191).
void reuse_closing_ports(const sdk::Logger& log) {
  const int failure = lib::Sysctl().ensure("net/ipv4/tcp_tw_reuse", "1").os_errno();
  if (failure == 0) return;
  log.warning(log_id::kTwReuseFailed,
              std::string("set net.ipv4.tcp_tw_reuse to 1: ") + std::strerror(failure) +
                  "; more than some 400 short connections a second to one endpoint can run out of ports");
}

}  // namespace

void raise_limits(const sdk::Logger& log) {
  static std::once_flag once;  // a thread of the other family waits here
  std::call_once(once, [&] {
    raise_open_files(log);
    reuse_closing_ports(log);
  });
}

}  // namespace sluice::userspace
