// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/drain_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lib/fd.hpp"
#include "lib/files.hpp"
#include "lib/number.hpp"
#include "lib/text.hpp"

namespace sluice::userspace {
namespace {

constexpr std::chrono::milliseconds kPollInterval{50};
constexpr const char* kName = "sluice-drain";
constexpr int kEndMilliseconds = 5000;  // SIGTERM ends such a process at once

// Listening sockets, and connections to the API server, the descriptor holder and clients of the daemon, must end with
// the daemon. Pipes and files of epoll belong to the relays or harm no other process.
void close_other_sockets(const std::set<int>& kept) {
  std::vector<int> open;
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) _exit(1);
  while (const dirent* const entry = readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (fd > STDERR_FILENO && fd != dirfd(folder)) open.push_back(fd);
  }
  closedir(folder);
  for (const int fd : open) {
    struct stat info {};
    if (fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) && !kept.contains(fd)) close(fd);
  }
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
}

[[noreturn]] void drain(const DrainWork& work) {
  setsid();
  close_other_sockets(work.sockets);
  sigset_t none;
  sigemptyset(&none);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) signal(number, SIG_DFL);
  const auto end = std::chrono::steady_clock::now() + work.timeout;
  work.start();
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  while (!work.done() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPollInterval);
  _exit(0);
}

// `process` is its folder in /proc.
bool is_drain_process(const std::filesystem::path& process) {
  const auto name = lib::read_file(process / "comm");
  struct stat info {};
  struct stat here {};
  struct stat there {};
  return name && *name == std::string(kName) + "\n" && stat(process.c_str(), &info) == 0 && info.st_uid == geteuid() &&
         stat("/proc/thread-self/ns/net", &here) == 0 && stat((process / "ns/net").c_str(), &there) == 0 &&
         here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

}  // namespace

bool can_be_outlived(const Surroundings& daemon) {
  if (daemon.process == 1) return false;
  // Lines such as "0::/system.slice/sluiced.service".
  for (const std::string& line : lib::split(daemon.cgroups, '\n')) {
    if (line.ends_with(".service")) return false;
  }
  // A container that shares the process IDs of the node: its cgroup has the name of a runtime, that of process 1 has not.
  const auto is_of = [](std::string_view text, std::string_view runtime) { return text.find(runtime) != text.npos; };
  for (const char* const runtime : {"kubepods", "docker", "libpod"}) {
    if (is_of(daemon.cgroups, runtime) && !is_of(daemon.cgroups_of_init, runtime)) return false;
  }
  for (const std::string& variable : lib::split(daemon.environment, '\0')) {
    if (variable.starts_with("NOTIFY_SOCKET=")) return false;
  }
  // The same in a cgroup namespace, where process 1 of the node is outside: "0::/../../init.scope".
  return daemon.cgroups_of_init.find(":/..") == std::string_view::npos;
}

bool can_be_outlived() {
  const auto content = [](const char* path) {
    const auto read = lib::read_file(path);
    return read ? *read : std::string();
  };
  const std::string cgroups = content("/proc/self/cgroup");
  const std::string cgroups_of_init = content("/proc/1/cgroup");
  const std::string environment = content("/proc/self/environ");
  return can_be_outlived({getpid(), cgroups, cgroups_of_init, environment});
}

bool drain_in_new_process(const DrainWork& work) noexcept {
  // The new process has its name from the beginning, so that --cleanup finds it.
  std::array<char, 16> name{};
  prctl(PR_GET_NAME, name.data(), 0, 0, 0);
  prctl(PR_SET_NAME, kName, 0, 0, 0);
  const pid_t child = fork();
  if (child == 0) {
    try {
      drain(work);
    } catch (...) {
      _exit(1);
    }
  }
  prctl(PR_SET_NAME, name.data(), 0, 0, 0);
  return child > 0;
}

std::size_t end_drain_processes() {
  std::vector<lib::Fd> ended;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const auto process = lib::parse_number<pid_t>(it->path().filename().native(), 1);
    if (!process) continue;
    // The descriptor is of the process whose name is checked after it, even if the number is used again.
    lib::Fd fd(static_cast<int>(syscall(SYS_pidfd_open, *process, 0)));
    if (!fd || !is_drain_process(it->path())) continue;
    if (syscall(SYS_pidfd_send_signal, fd.get(), SIGTERM, nullptr, 0) == 0) ended.push_back(std::move(fd));
  }
  for (const lib::Fd& fd : ended) {
    pollfd one{fd.get(), POLLIN, 0};
    poll(&one, 1, kEndMilliseconds);
  }
  return ended.size();
}

}  // namespace sluice::userspace
