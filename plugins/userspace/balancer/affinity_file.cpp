// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/balancer/affinity_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/sysctl.hpp"
#include "plugins/userspace/balancer/random.hpp"

namespace sluice::userspace {
namespace {

using Block = AffinityFile::Block;
using Record = AffinityFile::Record;

constexpr std::uint64_t kAffinityMagic = 0x3159544646414C53u;  // "SLAFFTY1"
// Multiples of every page size, so that segments can be mapped.
constexpr std::int64_t kHeaderRoom = 64 << 10;
constexpr std::int64_t kSegment = 256 << 10;
constexpr std::int64_t kBlocks = kSegment / static_cast<std::int64_t>(sizeof(Block));  // per segment
constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;
constexpr std::size_t kBootId = 36;

struct Header {
  std::uint64_t magic;
  std::uint64_t seed;
  char boot_id[40];
  std::uint64_t reserved;
};
static_assert(sizeof(Header) == 64);

std::string affinity_file_prefix(abi::Family family) { return family == abi::Family::kIpv6 ? "affinity-ipv6-" : "affinity-ipv4-"; }

Header header_of_this_boot(std::uint64_t seed) {
  Header header{kAffinityMagic, seed, {}, 0};
  const auto boot = lib::Sysctl().read("kernel/random/boot_id");
  if (boot) std::memcpy(header.boot_id, boot->data(), std::min(boot->size(), kBootId));
  return header;
}

std::uint64_t file_seed() noexcept {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == static_cast<ssize_t>(sizeof(seed))) return seed;
  // Soon after the boot of the node there may be no random bytes. The seed only has to differ from those of other files.
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

// Never 0.
std::uint32_t check_of(std::uint64_t seed, std::uint64_t list, const abi::Address& client, const abi::Address& endpoint,
                       std::uint16_t port) noexcept {
  std::uint64_t words[4];
  std::memcpy(&words[0], client.bytes, 16);
  std::memcpy(&words[2], endpoint.bytes, 16);
  std::uint64_t state = Random::mix(seed ^ list) ^ port;
  for (const std::uint64_t word : words) state = Random::mix(state ^ word);
  return static_cast<std::uint32_t>(state >> 32) | 1;
}

std::vector<std::string> files_in(const std::string& folder, abi::Family family) {
  std::vector<std::string> found;
  std::error_code ignored;  // without the folder there are no files
  for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    if (at->path().filename().string().starts_with(affinity_file_prefix(family))) found.push_back(at->path());
  }
  return found;
}

// Invalid if the backend that locks it still exists, or it is not a file.
lib::Fd open_left(const std::string& path) {
  lib::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file && flock(file.get(), LOCK_SH | LOCK_NB) != 0) file.reset();
  return file;
}

}  // namespace

std::uint64_t affinity_list(const std::string& service_port, abi::Protocol protocol, bool local) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : service_port) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return Random::mix(hash ^ static_cast<std::uint64_t>(protocol) << 1 ^ (local ? 1 : 0)) | 1;
}

AffinityFile::AffinityFile(std::string folder, abi::Family family)
    : folder_(std::move(folder)), family_(family), seed_(file_seed()) {}

AffinityFile::~AffinityFile() {
  const lib::Lock lock(mutex_);
  for (void* segment : segments_) munmap(segment, kSegment);
  if (file_ && !kept_.load()) unlink(path_.c_str());
}

Block* AffinityFile::take(std::uint64_t list) {
  const lib::Lock lock(mutex_);
  if (free_.empty()) grow();
  if (free_.empty()) return nullptr;
  Block* const block = free_.back();
  free_.pop_back();
  block->list.store(list, std::memory_order_release);
  return block;
}

void AffinityFile::give_back(Block* block) noexcept {
  if (block == nullptr || kept_.load()) return;
  block->list.store(0, std::memory_order_release);
  for (Record& record : block->records) record.check.store(0, std::memory_order_release);
  const lib::Lock lock(mutex_);
  free_.push_back(block);  // grow() has reserved the room
}

void AffinityFile::keep() noexcept {
  kept_.store(true);
  const lib::Lock lock(mutex_);
  if (file_) flock(file_.get(), LOCK_UN);
}

void AffinityFile::write(Block& block, std::size_t record, const abi::Address& client, const SocketAddress& endpoint,
                         std::uint64_t used) const noexcept {
  Record& written = block.records[record];
  written.check.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  written.client = client;
  written.endpoint = endpoint.address();
  written.port = endpoint.port();
  written.used.store(used, std::memory_order_relaxed);
  const std::uint64_t list = block.list.load(std::memory_order_relaxed);
  written.check.store(check_of(seed_, list, client, written.endpoint, written.port), std::memory_order_release);
}

void AffinityFile::erase(Block& block, std::size_t record) const noexcept {
  if (!kept_.load(std::memory_order_relaxed)) block.records[record].check.store(0, std::memory_order_relaxed);
}

std::string AffinityFile::problem() const {
  const lib::Lock lock(mutex_);
  return problem_;
}

void AffinityFile::remove_all(const std::string& folder, abi::Family family) {
  for (const std::string& path : files_in(folder, family)) {
    if (open_left(path)) unlink(path.c_str());
  }
}

void AffinityFile::create() {
  std::string path = folder_ + "/" + affinity_file_prefix(family_) + "XXXXXX";
  lib::Fd file(mkostemp(path.data(), O_CLOEXEC));
  if (!file) return fail(errno);
  const Header header = header_of_this_boot(seed_);
  const int error = flock(file.get(), LOCK_EX | LOCK_NB) != 0                                  ? errno
                    : pwrite(file.get(), &header, sizeof(header), 0) != ssize_t{sizeof(header)} ? ENOSPC
                                                                                                : 0;
  if (error != 0) {
    unlink(path.c_str());
    return fail(error);
  }
  path_ = std::move(path);
  file_ = std::move(file);
}

void AffinityFile::grow() {
  if (folder_.empty() || !problem_.empty()) return;
  if (!file_) create();
  if (!file_) return;
  free_.reserve((segments_.size() + 1) * kBlocks);
  segments_.reserve(segments_.size() + 1);
  const std::int64_t offset = kHeaderRoom + static_cast<std::int64_t>(segments_.size()) * kSegment;
  // Allocate the space now, since a later write to the mapping must not fail.
  if (const int error = posix_fallocate(file_.get(), offset, kSegment); error != 0) return fail(error);
  void* const memory = mmap(nullptr, kSegment, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), offset);
  if (memory == MAP_FAILED) return fail(errno);
  segments_.push_back(memory);
  auto* const blocks = static_cast<Block*>(memory);
  for (std::int64_t i = kBlocks; i-- > 0;) free_.push_back(&blocks[i]);
}

void AffinityFile::fail(int error) { problem_ = "in " + folder_ + ": " + std::strerror(error); }

void AffinityRecords::add_block(std::size_t block) {
  if (blocks_.size() <= block) blocks_.resize(block + 1);
  if (blocks_[block] == nullptr) blocks_[block] = file_->take(list_);
}

void AffinityRecords::clear() noexcept {
  for (Block* const block : blocks_) file_->give_back(block);
  blocks_.clear();
}

SavedAffinity::SavedAffinity(const std::string& folder, abi::Family family, std::uint64_t now) : now_(now) {
  if (folder.empty()) return;
  for (const std::string& path : files_in(folder, family)) {
    const std::string why = add(path);
    if (!why.empty() && rejected_.empty()) rejected_ = path + ": " + why;
  }
}

// Returns why the file was rejected.
std::string SavedAffinity::add(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISREG(status.st_mode)) {
    files_.push_back({path, {}, 0});
    return "not a regular file";
  }
  lib::Fd file = open_left(path);
  if (!file) return {};  // in use
  files_.push_back({path, std::move(file), 0});
  const int fd = files_.back().descriptor.get();
  if (fstat(fd, &status) != 0) return std::strerror(errno);
  if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "other users can write it";
  if (status.st_size == 0) return {};  // the process ended before it wrote
  if (status.st_size > kMostBytes) return "too large";
  Header header{};
  if (pread(fd, &header, sizeof(header), 0) != ssize_t{sizeof(header)} || header.magic != kAffinityMagic) return "malformed";
  const Header wanted = header_of_this_boot(header.seed);
  if (std::memcmp(header.boot_id, wanted.boot_id, sizeof(header.boot_id)) != 0) return {};
  files_.back().seed = header.seed;
  for (std::int64_t segment = kHeaderRoom; segment + kSegment <= status.st_size; segment += kSegment) {
    for (std::int64_t i = 0; i < kBlocks; ++i) {
      const std::int64_t offset = segment + i * static_cast<std::int64_t>(sizeof(Block));
      std::uint64_t list = 0;
      if (pread(fd, &list, sizeof(list), offset) != ssize_t{sizeof(list)}) return std::strerror(errno);
      if (list != 0) blocks_.emplace(list, Place{files_.size() - 1, offset});
    }
  }
  return {};
}

std::vector<SavedAffinity::Client> SavedAffinity::clients(std::uint64_t list) {
  std::vector<Client> found;
  const auto [from, to] = blocks_.equal_range(list);
  for (auto at = from; at != to; ++at) read(at->second, list, found);
  return found;
}

void SavedAffinity::read(const Place& at, std::uint64_t list, std::vector<Client>& out) {
  const File& file = files_[at.file];
  alignas(Block) unsigned char bytes[sizeof(Block)];
  if (pread(file.descriptor.get(), bytes, sizeof(bytes), at.offset) != ssize_t{sizeof(bytes)}) return;
  const auto* const block = reinterpret_cast<const Block*>(bytes);
  for (const Record& record : block->records) {
    const std::uint32_t check = record.check.load();
    if (check == 0) continue;
    const std::uint64_t used = record.used.load();
    if (check == check_of(file.seed, list, record.client, record.endpoint, record.port) && used <= now_) {
      out.push_back({record.client, record.endpoint, record.port, used});
    } else {
      ++malformed_;
    }
  }
}

void SavedAffinity::discard() noexcept {
  for (const File& file : files_) unlink(file.path.c_str());
  files_.clear();
  blocks_.clear();
}

std::string SavedAffinity::problem() const {
  if (!rejected_.empty()) return rejected_;
  return malformed_ == 0 ? "" : std::to_string(malformed_) + " malformed records";
}

}  // namespace sluice::userspace
