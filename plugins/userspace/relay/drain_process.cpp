// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/drain_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "lib/files.hpp"
#include "lib/text.hpp"

namespace sluice::userspace {
namespace {

constexpr std::chrono::milliseconds kPollInterval{50};

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
  prctl(PR_SET_NAME, "sluice-drain", 0, 0, 0);
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

}  // namespace

// Lines such as "0::/system.slice/sluiced.service".
bool can_be_outlived(pid_t process, std::string_view cgroups) {
  if (process == 1) return false;
  for (const std::string& line : lib::split(cgroups, '\n')) {
    if (line.ends_with(".service")) return false;
  }
  return true;
}

bool can_be_outlived() {
  const auto cgroups = lib::read_file("/proc/self/cgroup");
  return can_be_outlived(getpid(), cgroups ? std::string_view(*cgroups) : std::string_view());
}

bool drain_in_new_process(const DrainWork& work) noexcept {
  const pid_t child = fork();
  if (child == 0) {
    try {
      drain(work);
    } catch (...) {
      _exit(1);
    }
  }
  return child > 0;
}

}  // namespace sluice::userspace
