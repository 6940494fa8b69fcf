// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Session affinity in a file that is mapped into memory, so that the next process continues with it, also
// after a kill. A copy: the process itself decides by its tables and never reads the file.
//
// The file has blocks of records. A block belongs to one list of endpoints. A record is valid only if its
// checksum is right, and the checksum is written last: a kill between two writes loses one client at most.
// The file is locked while its backend exists. A file without a lock was left by an earlier process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/fd.hpp"
#include "lib/mutex.hpp"
#include "plugins/userspace/socket_address.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

// Identifies a list of endpoints in the file. `local` is the kind of the listener.
std::uint64_t affinity_list(const std::string& service_port, abi::Protocol protocol, bool local) noexcept;

class AffinityFile {
 public:
  static constexpr std::size_t kRecords = 32;  // per block

  struct Record {
    abi::Address client;
    abi::Address endpoint;
    std::atomic<std::uint64_t> used;  // nanoseconds of CLOCK_MONOTONIC
    std::uint16_t port;
    std::uint16_t reserved;
    std::atomic<std::uint32_t> check;  // 0: free
  };
  struct Block {
    std::atomic<std::uint64_t> list;  // 0: free
    std::uint64_t reserved[7];
    Record records[kRecords];
  };
  static_assert(sizeof(Record) == 48 && sizeof(Block) == 1600);

  // Creates the file with the first block. Without a folder, or if the file cannot be written, there are no blocks, and
  // problem() says why.
  AffinityFile(std::string folder, abi::Family family);
  // Removes the file unless keep() was called.
  ~AffinityFile();
  AffinityFile(const AffinityFile&) = delete;
  AffinityFile& operator=(const AffinityFile&) = delete;

  // The following may be called from any thread.

  // Returns a block without records; null if there is no space.
  Block* take(std::uint64_t list);
  // `block` may be null.
  void give_back(Block* block) noexcept;
  // The process ends: the next one continues with the records, so blocks are not emptied any more. Removes the lock, since
  // a process in which connections continue shares it.
  void keep() noexcept;

  void write(Block& block, std::size_t record, const abi::Address& client, const SocketAddress& endpoint,
             std::uint64_t used) const noexcept;
  static void renew(Block& block, std::size_t record, std::uint64_t used) noexcept {
    block.records[record].used.store(used, std::memory_order_relaxed);
  }
  void erase(Block& block, std::size_t record) const noexcept;

  std::string problem() const;

  // Removes the files that earlier processes left.
  static void remove_all(const std::string& folder, abi::Family family);

 private:
  void create() SLUICE_REQUIRES(mutex_);
  void grow() SLUICE_REQUIRES(mutex_);
  void fail(int error) SLUICE_REQUIRES(mutex_);

  const std::string folder_;
  const abi::Family family_;
  const std::uint64_t seed_;
  std::atomic<bool> kept_{false};
  mutable lib::Mutex mutex_;
  std::string path_ SLUICE_GUARDED_BY(mutex_);
  lib::Fd file_ SLUICE_GUARDED_BY(mutex_);
  std::vector<void*> segments_ SLUICE_GUARDED_BY(mutex_);
  std::vector<Block*> free_ SLUICE_GUARDED_BY(mutex_);
  std::string problem_ SLUICE_GUARDED_BY(mutex_);
};

// The records of one list. Under the lock of its balancer.
class AffinityRecords {
 public:
  AffinityRecords(std::shared_ptr<AffinityFile> file, std::uint64_t list) noexcept
      : file_(std::move(file)), list_(list) {}
  ~AffinityRecords() { clear(); }
  AffinityRecords(const AffinityRecords&) = delete;
  AffinityRecords& operator=(const AffinityRecords&) = delete;

  // Makes room for records below (`block` + 1) * kRecords.
  void add_block(std::size_t block);
  void clear() noexcept;

  void write(std::size_t index, const abi::Address& client, const SocketAddress& endpoint,
             std::uint64_t used) noexcept {
    AffinityFile::Block* const at = block(index);
    if (at != nullptr) file_->write(*at, index % AffinityFile::kRecords, client, endpoint, used);
  }
  void renew(std::size_t index, std::uint64_t used) noexcept {
    if (AffinityFile::Block* const at = block(index)) AffinityFile::renew(*at, index % AffinityFile::kRecords, used);
  }
  void erase(std::size_t index) noexcept {
    if (AffinityFile::Block* const at = block(index)) file_->erase(*at, index % AffinityFile::kRecords);
  }

 private:
  // Null if the file had no space.
  AffinityFile::Block* block(std::size_t index) const noexcept { return blocks_[index / AffinityFile::kRecords]; }

  const std::shared_ptr<AffinityFile> file_;
  const std::uint64_t list_;
  std::vector<AffinityFile::Block*> blocks_;
};

// What earlier processes left. Not thread-safe.
class SavedAffinity {
 public:
  struct Client {
    abi::Address client;
    abi::Address endpoint;
    std::uint16_t port;
    std::uint64_t used;
  };

  // `now` is the time of CLOCK_MONOTONIC. Ignores files of another boot, and rejects files that are malformed or that
  // other users may write.
  SavedAffinity(const std::string& folder, abi::Family family, std::uint64_t now);

  // The clients of a list, several times if several files have them. Skips malformed records.
  std::vector<Client> clients(std::uint64_t list);
  // Removes the files.
  void discard() noexcept;

  // Why files or records were rejected; empty if none were.
  std::string problem() const;

 private:
  struct File {
    std::string path;
    lib::Fd descriptor;
    std::uint64_t seed;
  };
  struct Place {
    std::size_t file;
    std::int64_t offset;
  };

  std::string add(const std::string& path);
  void read(const Place& at, std::uint64_t list, std::vector<Client>& out);

  const std::uint64_t now_;
  std::vector<File> files_;
  std::unordered_multimap<std::uint64_t, Place> blocks_;
  std::string rejected_;
  std::size_t malformed_ = 0;
};

}  // namespace sluice::userspace
