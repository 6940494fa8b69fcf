// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/holder_process.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "core/lifecycle/holder_server.hpp"
#include "lib/fd.hpp"
#include "lib/files.hpp"
#include "lib/number.hpp"
#include "lib/program.hpp"
#include "lib/text.hpp"

namespace sluice::lifecycle {
namespace {

constexpr std::string_view kOption = "--descriptor-holder";
constexpr std::chrono::seconds kHolderStartTimeout{10};
constexpr rlim_t kOpenFiles = 16384 + 64;

void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  // The first call needs CAP_SYS_RESOURCE.
  const rlimit more{kOpenFiles, std::max(kOpenFiles, limit.rlim_max)};
  if (limit.rlim_max < kOpenFiles && ::setrlimit(RLIMIT_NOFILE, &more) == 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// The holder needs no privilege but that of its user.
void drop_privileges() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  ::syscall(SYS_capset, &header, none);
}

// Nothing of the daemon stays in use: neither its session, nor its directory, nor its output.
void leave_daemon() {
  ::setsid();
  [[maybe_unused]] const int moved = ::chdir("/");
  const lib::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), fd);
  ::prctl(PR_SET_NAME, "sluice-holder", 0, 0, 0);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
}

// `report` receives an error; its end is the sign of success.
int hold(const std::string& path, std::chrono::milliseconds timeout, lib::Fd report) {
  leave_daemon();
  raise_open_files();
  HolderServer server({.path = path, .timeout = timeout, .users = {0, ::geteuid()}});
  if (const auto status = server.listen(); !status.ok()) {
    lib::write_all(report.get(), status.message());
    return 1;
  }
  drop_privileges();
  report.reset();
  server.run();
  return 0;
}

bool answers(const std::string& path) {
  const auto address = holding::address_of(path);
  const lib::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return address && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0;
}

}  // namespace

lib::Status hold_in_foreground(const std::string& path) {
  if (answers(path)) return lib::unavailable("another descriptor holder uses " + path + "; stop the daemon that started it");
  raise_open_files();
  // The kernel does not end process 1 of a container without a handler.
  for (const int number : {SIGTERM, SIGINT}) ::signal(number, [](int) { ::_exit(0); });
  ::signal(SIGPIPE, SIG_IGN);
  HolderServer server({.path = path, .timeout = {}, .users = {0, ::geteuid()}, .stays = true});
  if (auto status = server.listen(); !status.ok()) return status;
  drop_privileges();
  server.run();
  return lib::unavailable("the descriptor holder cannot wait for clients");
}

// The file of this process, which an upgrade may have replaced.
lib::Status start_holder(const std::string& path, std::chrono::milliseconds timeout) {
  const auto done = lib::run_program({.arguments = {"/proc/self/exe", std::string(kOption), path,
                                                    std::to_string(timeout.count())},
                                      .timeout = kHolderStartTimeout});
  if (!done) return done.status();
  if (done->ok()) return {};
  const std::string why(lib::trimmed(done->error_output));
  return lib::unavailable(done->timed_out ? "no answer in time" : why.empty() ? "it ended at once" : why);
}

std::optional<int> run_holder(std::span<char*> arguments) {
  if (arguments.size() != 4 || arguments[1] != kOption) return std::nullopt;
  const auto timeout = lib::parse_number<std::uint32_t>(arguments[3], 0);
  int ends[2];
  if (!timeout || ::pipe2(ends, O_CLOEXEC) != 0) return 1;
  lib::Fd reader(ends[0]);
  lib::Fd writer(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return 1;
  if (child == 0) {
    reader.reset();
    // Without destructors of the program, whose threads this process does not have.
    ::_exit(hold(arguments[2], std::chrono::milliseconds(*timeout), std::move(writer)));
  }
  writer.reset();
  char text[512];
  const ssize_t size = ::read(reader.get(), text, sizeof text);
  if (size <= 0) return 0;
  lib::write_all(STDERR_FILENO, std::string_view(text, static_cast<std::size_t>(size)));
  return 1;
}

}  // namespace sluice::lifecycle
