// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// libipset's session. The library keeps types and a cache of sets for the whole process and knows no threads, so there
// is one session behind one lock, for both families; it is open as long as one user is there.
#pragma once

#include <libipset/data.h>
#include <libipset/linux_ip_set.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

struct ipset_session;
struct ipset_type;

namespace sluice::ipvs {

// libipset has a function of that name, too.
using IpsetCommand = enum ipset_cmd;

enum class IpsetTrouble {
  kNone,
  kNoSet,   // of two that are to be swapped: the second one may be meant
  kExists,  // as something else
  kInUse,   // by a rule, another set, or somebody who is listing it
  kFull,
  kMismatch,  // types of two sets
  kElement,   // the entry can be in no set of this type
  kNoType,    // the kernel has no sets of this type
  kNoIpset,   // the kernel has none at all
  kDenied,
  kShortage,  // of memory or descriptors; it is not known what was done
  kLost,      // it is not known what was done
  kRefused,   // anything else, see the text
};

struct IpsetReply {
  IpsetTrouble trouble = IpsetTrouble::kNone;
  std::string text;      // of libipset, one line
  std::size_t line = 0;  // number of the command of ipset_cmd() it is about; 0: not told
  bool ok() const noexcept { return trouble == IpsetTrouble::kNone; }
};

// From libipset's report. `os_errno` is what the last call left, 0 for none. Pure but for the words of strerror(3).
IpsetReply classify_report(std::string_view report, int os_errno);

// As long as one of these lives the session may stay open. Any thread.
class IpsetUser {
 public:
  IpsetUser() noexcept;
  ~IpsetUser();
  IpsetUser(const IpsetUser&) = delete;
  IpsetUser& operator=(const IpsetUser&) = delete;
};

// The session, locked, for some commands. REQUIRES: an IpsetUser. Any thread; not two in one thread.
// A command has the data set before it, in any order but for kFamily, which comes before addresses.
class IpsetCommands {
 public:
  // Adds the nanoseconds it waits for others to `waited`.
  explicit IpsetCommands(std::atomic<std::uint64_t>& waited);
  ~IpsetCommands();
  IpsetCommands(const IpsetCommands&) = delete;
  IpsetCommands& operator=(const IpsetCommands&) = delete;

  // Opens it unless it is open. Before anything else, and after a reply of kLost or kShortage.
  IpsetReply open();

  void set(ipset_opt option, const void* value) noexcept;
  void set(ipset_opt option, const std::string& text) noexcept { set(option, text.c_str()); }
  // For CREATE by the type's name, for ADD and DEL by the kernel's answer about the set; null: see `reply`.
  const ipset_type* type(IpsetCommand command, IpsetReply& reply);
  // The family type() found.
  std::uint8_t family() const noexcept;

  // Sent at once; with a `line`, ADD and DEL are sent by commit(), or by one of the commands before that fill a
  // message.
  IpsetReply run(IpsetCommand command, std::uint32_t line = 0);
  IpsetReply commit();
  // What libipset prints of this set, in pieces as they come. An exception of `sink` comes out.
  IpsetReply list(const std::string& name, bool header_only, const std::function<void(std::string_view)>& sink);

 private:
  IpsetReply outcome(int status);
  static void close() noexcept;
  friend class IpsetUser;
};

}  // namespace sluice::ipvs
