// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The libipset session. libipset keeps types and a cache of sets per process and is not thread-safe, so both families
// share one session behind a lock; it stays open while a user exists.
#pragma once

#include <libipset/data.h>
#include <libipset/linux_ip_set.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "lib/mutex.hpp"

struct ipset_session;
struct ipset_type;

namespace sluice::ipvs {

// libipset also has a function of that name.
using IpsetCommand = enum ipset_cmd;

enum class IpsetTrouble {
  kNone,
  kNoSet,   // in a swap, perhaps the second set
  kExists,  // with other properties
  kInUse,   // by a rule, another set, or a process that lists it
  kFull,
  kMismatch,  // types of two sets differ
  kElement,   // no set of this type can hold the entry
  kNoType,    // the kernel lacks this set type
  kNoIpset,   // the kernel has no ipset
  kDenied,
  kShortage,  // of memory or descriptors; the outcome is unknown
  kLost,      // the outcome is unknown
  kRefused,   // any other error, see the text
};

struct IpsetReply {
  IpsetTrouble trouble = IpsetTrouble::kNone;
  std::string text;      // of libipset, one line
  std::size_t line = 0;  // the failed command of ipset_cmd(); 0: unknown
  bool ok() const noexcept { return trouble == IpsetTrouble::kNone; }
};

// From libipset's report. `os_errno`: errno of the last call, or 0. Pure except for strerror(3).
IpsetReply classify_report(std::string_view report, int os_errno);

// Held while an IpsetCommands exists.
extern lib::Mutex session_mutex;

// The session may stay open while one of these exists. Any thread.
class IpsetUser {
 public:
  IpsetUser() noexcept;
  ~IpsetUser();
  IpsetUser(const IpsetUser&) = delete;
  IpsetUser& operator=(const IpsetUser&) = delete;
};

// The locked session, for some commands. REQUIRES: an IpsetUser. Any thread, but one object per thread. Set the data
// before the command, in any order, except that kFamily precedes addresses.
class SLUICE_SCOPED_CAPABILITY IpsetCommands {
 public:
  // Adds the nanoseconds spent waiting for the lock to `waited`.
  explicit IpsetCommands(std::atomic<std::uint64_t>& waited) SLUICE_ACQUIRE(session_mutex);
  ~IpsetCommands() SLUICE_RELEASE();
  IpsetCommands(const IpsetCommands&) = delete;
  IpsetCommands& operator=(const IpsetCommands&) = delete;

  // Opens the session unless it is open. Call it first, and after a reply of kLost or kShortage.
  IpsetReply open() SLUICE_REQUIRES(session_mutex);

  void set(ipset_opt option, const void* value) noexcept SLUICE_REQUIRES(session_mutex);
  void set(ipset_opt option, const std::string& text) noexcept SLUICE_REQUIRES(session_mutex) {
    set(option, text.c_str());
  }
  // For CREATE by type name, for ADD and DEL from the kernel's answer about the set; null: see `reply`.
  const ipset_type* type(IpsetCommand command, IpsetReply& reply) SLUICE_REQUIRES(session_mutex);
  // The family type() found.
  std::uint8_t family() const noexcept SLUICE_REQUIRES(session_mutex);

  // Sent at once. ADD and DEL with a `line` are batched and sent by commit(), or earlier when the message is full.
  IpsetReply run(IpsetCommand command, std::uint32_t line = 0) SLUICE_REQUIRES(session_mutex);
  IpsetReply commit() SLUICE_REQUIRES(session_mutex);
  // Passes libipset's listing of this set to `sink`, in pieces. Exceptions of `sink` propagate.
  IpsetReply list(const std::string& name, bool header_only, const std::function<void(std::string_view)>& sink)
      SLUICE_REQUIRES(session_mutex);

 private:
  IpsetReply outcome(int status) SLUICE_REQUIRES(session_mutex);
  static void close() noexcept SLUICE_REQUIRES(session_mutex);
  friend class IpsetUser;
};

}  // namespace sluice::ipvs
