// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/private_copy.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lib/files.hpp"

namespace sluice::plugin {
namespace {

namespace fs = std::filesystem;
using lib::Status;

constexpr std::size_t kChunk = 64u << 10;
constexpr std::size_t kMaxName = 200;      // the limit of the kernel is 249
constexpr unsigned kExecutable = 0x0010;   // MFD_EXEC of <linux/memfd.h>, since Linux 6.3

Status failed(const fs::path& file, const std::string& what, int error) {
  return lib::errno_status("plugin " + file.string() + ": copy check: " + what, error);
}

// Named after the plugin, so that /proc/PID/maps and debuggers show its name.
int make_memory(const fs::path& file) {
  const std::string name = file.filename().string().substr(0, kMaxName);
  const int made = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING | kExecutable);
  if (made >= 0 || errno != EINVAL) return made;
  return memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

Status copy_content(const fs::path& file, int from, int to) {
  std::vector<char> chunk(kChunk);
  for (;;) {
    const ssize_t got = read(from, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(file, "read", errno);
    if (got == 0) return {};
    const std::string_view piece(chunk.data(), static_cast<std::size_t>(got));
    if (lib::write_all(to, piece) < piece.size()) return failed(file, "write to memory", errno);
  }
}

// Descriptor numbers are reused, but the dynamic linker returns the old library for a known path. So each path is made
// unique: it contains the bits of a counter as "./" or "/", which do not change its meaning.
fs::path path_of(int memory) {
  static std::atomic<unsigned> count{0};
  std::string path = "/proc/self/fd/";
  for (unsigned rest = ++count; rest != 0; rest >>= 1) path += (rest & 1) != 0 ? "./" : "/";
  return path + std::to_string(memory);
}

}  // namespace

int seal_against_changes(int memory) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (;;) {
    if (fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return 0;
    const int error = errno;
    if (error != EBUSY || std::chrono::steady_clock::now() > until) return error;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

lib::Result<PrivateCopy> PrivateCopy::make(const fs::path& file) {
  const lib::Fd from(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from.valid()) return failed(file, "open", errno);
  lib::Fd memory(make_memory(file));
  if (!memory.valid()) {
    return failed(file, "make memory for it (memfd_create; see the sysctl vm.memfd_noexec, which has to be 0 or 1)", errno);
  }
  if (Status status = copy_content(file, from.get(), memory.get()); !status.ok()) return status;
  if (const int error = seal_against_changes(memory.get()); error != 0) return failed(file, "seal the memory", error);
  fs::path path = path_of(memory.get());
  return PrivateCopy(std::move(memory), std::move(path));
}

}  // namespace sluice::plugin
