// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "lib/fd.hpp"

namespace sluice::lib {

Result<std::string> read_file(const std::string& path, std::size_t limit, bool only_regular) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (only_regular ? O_NOFOLLOW | O_NONBLOCK : 0)));
  if (!fd.valid()) return errno_status("cannot read " + path, errno);
  if (only_regular) {
    struct stat facts{};
    if (::fstat(fd.get(), &facts) != 0) return errno_status("cannot read " + path, errno);
    if (!S_ISREG(facts.st_mode)) return invalid("cannot read " + path + ": it is not a regular file");
  }
  std::string out;
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_status("cannot read " + path, errno);
    if (n == 0) return out;
    if (out.size() + static_cast<std::size_t>(n) > limit) {
      return invalid("cannot read " + path + ": larger than " + std::to_string(limit) + " bytes");
    }
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

std::size_t write_all(int fd, std::string_view content) {
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Status write_file_atomically(const std::string& path, std::string_view content, unsigned mode) {
  const std::string temporary = path + ".new";
  const auto failed = [&](const std::string& action) {
    Status status = errno_status(action, errno);
    ::unlink(temporary.c_str());
    return status;
  };
  ::unlink(temporary.c_str());  // left by a crash
  {
    const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!fd.valid() || write_all(fd.get(), content) < content.size() || ::fsync(fd.get()) != 0) {
      return failed("cannot write " + temporary);
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return failed("cannot replace " + path);
  const auto folder = std::filesystem::path(path).parent_path();
  const Fd dir(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dir.valid() && ::fsync(dir.get()) != 0) return errno_status("cannot sync " + folder.string(), errno);
  return {};
}

}  // namespace sluice::lib
