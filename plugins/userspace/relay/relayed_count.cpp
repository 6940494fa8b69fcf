// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/relayed_count.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>
#include <vector>

namespace sluice::userspace {
namespace {

constexpr std::uint64_t kCountMagic = 0x31594C5245434C53u;  // "SLCERLY1"
constexpr std::uint64_t kMostPlaces = 65536;

std::string count_file_prefix(abi::Family family) { return family == abi::Family::kIpv6 ? "relayed-ipv6-" : "relayed-ipv4-"; }

}  // namespace

// Layout of the file: the header, then the counts of each thread.
struct alignas(64) RelayedCount::Header {
  std::uint64_t magic;
  std::uint64_t places;
  Counter connections;  // from record_lost()
  Counter flows;
};

RelayedCount::RelayedCount(unsigned threads, const std::string& folder, abi::Family family)
    : threads_(threads == 0 ? 1 : threads), size_(sizeof(Header) + threads_ * sizeof(ThreadCounts)) {
  static_assert(sizeof(Header) == 64 && sizeof(ThreadCounts) == 64);
  const bool shared = !folder.empty() && open_file(folder, family);
  memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
                 shared ? file_.get() : -1, 0);
  if (memory_ == MAP_FAILED) throw std::bad_alloc();
  new (memory_) Header{kCountMagic, threads_, {}, {}};
  thread_counts_ = reinterpret_cast<ThreadCounts*>(static_cast<std::byte*>(memory_) + sizeof(Header));
  for (unsigned i = 0; i < threads_; ++i) new (&thread_counts_[i]) ThreadCounts{};
}

RelayedCount::~RelayedCount() {
  const bool left = now().any() || header().connections.get() != 0 || header().flows.get() != 0;
  munmap(memory_, size_);
  if (!left && file_) unlink(path_.c_str());
}

void RelayedCount::remove_file() noexcept {
  if (file_) unlink(path_.c_str());
  file_.reset();
}

RelayedCount::Header& RelayedCount::header() noexcept { return *static_cast<Header*>(memory_); }

bool RelayedCount::open_file(const std::string& folder, abi::Family family) {
  std::string path = folder + "/" + count_file_prefix(family) + "XXXXXX";
  lib::Fd file(mkostemp(path.data(), O_CLOEXEC));
  // Allocate the blocks now, since a later write to the mapping must not fail.
  const int error = !file ? errno
                    : flock(file.get(), LOCK_EX | LOCK_NB) != 0
                        ? errno
                        : posix_fallocate(file.get(), 0, static_cast<off_t>(size_));
  if (error == 0) {
    path_ = std::move(path);
    file_ = std::move(file);
    return true;
  }
  if (file) unlink(path.c_str());
  problem_ = "in " + folder + ": " + std::strerror(error);
  return false;
}

RelayedNow RelayedCount::now() const noexcept {
  RelayedNow sum;
  for (unsigned i = 0; i < threads_; ++i) {
    sum.connections += thread_counts_[i].connections.get();
    sum.flows += thread_counts_[i].flows.get();
  }
  return sum;
}

std::uint64_t RelayedCount::datagrams() const noexcept {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < threads_; ++i) sum += thread_counts_[i].datagrams.get();
  return sum;
}

void RelayedCount::record_lost(const RelayedNow& lost) noexcept {
  header().connections.add(lost.connections);
  header().flows.add(lost.flows);
}

RelayedNow RelayedCount::take_lost(const std::string& folder, abi::Family family) {
  RelayedNow lost;
  if (folder.empty()) return lost;
  std::error_code ignored;  // without the folder there are no files
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    if (at->path().filename().string().starts_with(count_file_prefix(family))) files.push_back(at->path());
  }
  for (const std::filesystem::path& path : files) {
    const lib::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file || flock(file.get(), LOCK_SH | LOCK_NB) != 0) continue;  // in use
    struct stat status {};
    Header header{};
    if (fstat(file.get(), &status) == 0 && pread(file.get(), &header, sizeof(header), 0) == sizeof(header) &&
        header.magic == kCountMagic && header.places <= kMostPlaces &&
        static_cast<std::uint64_t>(status.st_size) >= sizeof(Header) + header.places * sizeof(ThreadCounts)) {
      lost.connections += header.connections.get();
      lost.flows += header.flows.get();
      for (std::uint64_t i = 0; i < header.places; ++i) {
        ThreadCounts thread_counts{};
        const auto at = static_cast<off_t>(sizeof(Header) + i * sizeof(ThreadCounts));
        if (pread(file.get(), &thread_counts, sizeof(thread_counts), at) != sizeof(thread_counts)) break;
        lost.connections += thread_counts.connections.get();
        lost.flows += thread_counts.flows.get();
      }
    }
    unlink(path.c_str());
  }
  return lost;
}

}  // namespace sluice::userspace
