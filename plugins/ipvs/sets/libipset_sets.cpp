// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/sets/libipset_sets.hpp"

#include <libipset/types.h>
#include <sys/socket.h>

#include <cerrno>
#include <stdexcept>

#include "plugins/ipvs/sets/set_listing.hpp"

namespace sluice::ipvs {
namespace {

constexpr unsigned kAttempts = 3;

// Entries that surely fit into one message, so that it is known which entries are sent and which one an error
// concerns.
constexpr std::size_t kBatchIpv4 = 60;
constexpr std::size_t kBatchIpv6 = 44;

constexpr std::uint32_t kHashSize = 1024;  // BEH 6.7; the kernel grows it

const char* module_of(std::optional<SetType> type) noexcept {
  if (!type) return "ip_set";
  switch (*type) {
    case SetType::kIpPortIp:
      return "ip_set_hash_ipportip";
    case SetType::kIpPort:
      return "ip_set_hash_ipport";
    case SetType::kIpPortNet:
      return "ip_set_hash_ipportnet";
    case SetType::kPorts:
      return "ip_set_bitmap_port";
    case SetType::kIp:
      return "ip_set_hash_ip";
  }
  return "ip_set";
}

const char* family_name(abi::Family family) noexcept { return family == abi::Family::kIpv6 ? "IPv6" : "IPv4"; }

void check_name(const std::string& name) {
  // An empty name would mean every set.
  if (name.empty() || name.size() >= IPSET_MAXNAMELEN) {
    throw sdk::Failure(abi::Code::kInternal, name, "\"" + name + "\" cannot be the name of a set: 1 to 31 characters");
  }
}

void set_entry(IpsetCommands& commands, SetType type, const SetEntry& entry) SLUICE_REQUIRES(session_mutex) {
  if (type != SetType::kPorts) commands.set(IPSET_OPT_IP, entry.address.bytes);
  if (type == SetType::kIp) return;
  commands.set(IPSET_OPT_PORT, &entry.port);
  if (type == SetType::kPorts) return;
  commands.set(IPSET_OPT_PROTO, &entry.protocol);
  if (type == SetType::kIpPort) return;
  commands.set(IPSET_OPT_IP2, entry.other.bytes);
  if (type == SetType::kIpPortNet) commands.set(IPSET_OPT_CIDR2, &entry.other_length);
}

std::string as_type(const Listing& listing) {
  return listing.options.empty() ? listing.type : listing.type + " with" + listing.options;
}

}  // namespace

std::optional<SetHeader> LibipsetSets::header(const std::string& name) {
  Listing listing;
  if (!list(name, true, listing)) return std::nullopt;
  if (!listing.count) counts_ = false;
  return SetHeader{as_type(listing), listing.family, listing.maxelem, listing.count.value_or(0)};
}

bool LibipsetSets::has_counts() { return counts_; }

std::vector<SetEntry> LibipsetSets::entries(const std::string& name, SetType type) {
  for (unsigned attempt = 1;; ++attempt) {
    Listing listing;
    if (!list(name, false, listing)) {
      fail({IpsetTrouble::kNoSet, "The set with the given name does not exist", 0},
           {"cannot list set " + name, name, type});
    }
    if (listing.type != type_name(type)) {
      throw sdk::Failure(abi::Code::kKernel, name,
                         "set " + name + " is of type " + listing.type + " and not " + std::string(type_name(type)) +
                             ": another program recreated it; all sets are read again");
    }
    if (!listing.count || *listing.count == listing.entries.size() + listing.unread) return std::move(listing.entries);
    // Another process writes it, or the answer was truncated.
    if (attempt == kAttempts) {
      throw sdk::Failure(abi::Code::kRetry, name,
                         "set " + name + " has " + std::to_string(*listing.count) + " entries, of which " +
                             std::to_string(listing.entries.size() + listing.unread) +
                             " were listed, several times: another program changes it all the time, or answers of the "
                             "kernel are cut off");
    }
  }
}

bool LibipsetSets::list(const std::string& name, bool header_only, Listing& listing) {
  check_name(name);
  const IpsetReply reply = repeated([&](IpsetCommands& commands) SLUICE_REQUIRES(session_mutex) {
    listing = Listing();
    ListingParser parser(listing);
    IpsetReply listed = commands.list(name, header_only, [&](std::string_view piece) { parser.append(piece); });
    parser.finish();
    if (listed.ok() && listing.name != name) listed = {IpsetTrouble::kLost, "the answer is about another set", 0};
    return listed;
  });
  if (reply.trouble == IpsetTrouble::kNoSet) return false;
  if (!reply.ok()) fail(reply, {"cannot list set " + name, name, std::nullopt});
  return true;
}

void LibipsetSets::create(const std::string& name, SetType type, std::uint32_t maxelem) {
  check_name(name);
  const auto number = static_cast<std::uint8_t>(sdk::socket_family(family_));
  const IpsetReply reply = repeated([&](IpsetCommands& commands) SLUICE_REQUIRES(session_mutex) {
    IpsetReply made;
    commands.set(IPSET_SETNAME, name);
    commands.set(IPSET_OPT_TYPENAME, std::string(type_name(type)));
    if (type != SetType::kPorts) commands.set(IPSET_OPT_FAMILY, &number);
    if (commands.type(IPSET_CMD_CREATE, made) == nullptr) return made;
    if (type == SetType::kPorts) {
      const std::uint16_t first = 0, last = 65535;
      commands.set(IPSET_OPT_PORT, &first);
      commands.set(IPSET_OPT_PORT_TO, &last);
    } else {
      commands.set(IPSET_OPT_HASHSIZE, &kHashSize);
      commands.set(IPSET_OPT_MAXELEM, &maxelem);
    }
    ++messages_;
    return commands.run(IPSET_CMD_CREATE);
  });
  if (!reply.ok()) {
    fail(reply, {"cannot create set " + name + " of type " + std::string(type_name(type)), name, type});
  }
}

std::vector<RefusedEntry> LibipsetSets::add(const std::string& name, SetType type,
                                            const std::vector<SetEntry>& entries) {
  return change(IPSET_CMD_ADD, name, type, entries);
}

void LibipsetSets::remove(const std::string& name, SetType type, const std::vector<SetEntry>& entries) {
  (void)change(IPSET_CMD_DEL, name, type, entries);  // an invalid element cannot be in the set
}

std::vector<RefusedEntry> LibipsetSets::change(IpsetCommand command, const std::string& name, SetType type,
                                               const std::vector<SetEntry>& entries) {
  std::vector<RefusedEntry> refused;
  if (entries.empty()) return refused;
  check_name(name);
  const IpsetReply reply = repeated([&](IpsetCommands& commands) SLUICE_REQUIRES(session_mutex) {
    return send(commands, command, name, type, entries, refused);
  });
  if (reply.ok()) return refused;
  const bool adds = command == IPSET_CMD_ADD;
  const std::string entry = reply.line != 0 && reply.line <= entries.size()
                                ? to_string(entries[reply.line - 1], type, family_)
                            : entries.size() == 1 ? to_string(entries[0], type, family_)
                                                  : std::to_string(entries.size()) + " entries";
  fail(reply,
       {(adds ? "cannot add " + entry + " to set " : "cannot remove " + entry + " from set ") + name, name, type});
}

IpsetReply LibipsetSets::send(IpsetCommands& commands, IpsetCommand command, const std::string& name, SetType type,
                              const std::vector<SetEntry>& entries, std::vector<RefusedEntry>& refused) {
  refused.clear();
  IpsetReply reply;
  commands.set(IPSET_SETNAME, name);
  const ipset_type* const found = commands.type(IPSET_CMD_ADD, reply);
  if (found == nullptr) return reply;
  const std::uint8_t number = commands.family();
  // A set of another type would use the fields it knows and ignore the rest.
  if (found->name != type_name(type) || (type != SetType::kPorts && number != sdk::socket_family(family_))) {
    const std::string of = type == SetType::kPorts ? "" : std::string(" for ") + family_name(family_);
    return {IpsetTrouble::kMismatch,
            "it is of type " + std::string(found->name) + " and not " + std::string(type_name(type)) + of +
                ": another program recreated it",
            0};
  }
  const std::size_t batch = family_ == abi::Family::kIpv6 ? kBatchIpv6 : kBatchIpv4;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    commands.set(IPSET_SETNAME, name);
    commands.set(IPSET_OPT_FAMILY, &number);
    commands.set(IPSET_OPT_TYPE, found);
    set_entry(commands, type, entries[i]);
    reply = commands.run(command, static_cast<std::uint32_t>(i + 1));
    if (reply.ok() && ((i + 1) % batch == 0 || i + 1 == entries.size())) {
      ++messages_;
      reply = commands.commit();
    }
    if (reply.trouble == IpsetTrouble::kElement && reply.line != 0 && reply.line <= i + 1) {
      // Entries before it are in place; those after it have not been processed.
      i = reply.line - 1;
      refused.push_back({entries[i], "cannot add " + to_string(entries[i], type, family_) + " to set " + name + ": " +
                                         reply.text});
      reply = {};
    }
    if (!reply.ok()) return reply;
  }
  return reply;
}

void LibipsetSets::swap(const std::string& one, const std::string& other) {
  check_name(one);
  check_name(other);
  IpsetReply reply;
  {
    IpsetCommands commands(waited_);
    reply = commands.open();
    if (reply.ok()) {
      commands.set(IPSET_SETNAME, one);
      commands.set(IPSET_OPT_SETNAME2, other);
      ++messages_;
      reply = commands.run(IPSET_CMD_SWAP);
    }
  }
  if (!reply.ok()) fail(reply, {"cannot swap sets " + one + " and " + other, one, std::nullopt});
}

bool LibipsetSets::destroy(const std::string& name) {
  check_name(name);
  const IpsetReply reply = repeated([&](IpsetCommands& commands) SLUICE_REQUIRES(session_mutex) {
    commands.set(IPSET_SETNAME, name);
    return commands.run(IPSET_CMD_DESTROY);
  });
  if (reply.ok()) ++messages_;
  if (reply.trouble == IpsetTrouble::kInUse) return false;
  if (!reply.ok() && reply.trouble != IpsetTrouble::kNoSet) {
    fail(reply, {"cannot destroy set " + name, name, std::nullopt});
  }
  return true;
}

IpsetReply LibipsetSets::repeated(const std::function<IpsetReply(IpsetCommands&)>& body) {
  for (unsigned attempt = 1;; ++attempt) {
    IpsetCommands commands(waited_);
    IpsetReply reply = commands.open();
    if (reply.ok()) reply = body(commands);
    const bool passes = reply.trouble == IpsetTrouble::kLost || reply.trouble == IpsetTrouble::kShortage;
    if (!passes || attempt == kAttempts) return reply;
  }
}

void LibipsetSets::fail(const IpsetReply& reply, const Operation& operation) const {
  const std::string text = operation.what + ": " + reply.text;
  switch (reply.trouble) {
    case IpsetTrouble::kNoSet:
      throw sdk::Failure(abi::Code::kKernel, operation.set,
                         text +
                             "; another program destroyed it; it is created again, but find the program that changes "
                             "ipsets on this node",
                         ENOENT);
    case IpsetTrouble::kExists:
      throw sdk::Failure(abi::Code::kKernel, operation.set,
                         text + "; another program created it with other options; it is read again", EEXIST);
    case IpsetTrouble::kMismatch:
      throw sdk::Failure(abi::Code::kKernel, operation.set,
                         text + "; destroy it (ipset destroy " + operation.set +
                             "), after the rules that name it, unless it is replaced by itself",
                         EINVAL);
    case IpsetTrouble::kFull:
      throw sdk::Failure(abi::Code::kKernel, operation.set,
                         text + "; another program fills it; it is read again and made larger", ENOSPC);
    case IpsetTrouble::kNoType:
      throw sdk::Failure(abi::Code::kUnsupported, operation.set,
                         text + "; load the kernel module " + module_of(operation.type) +
                             " (modprobe, a kernel that has it; containers cannot load it themselves)",
                         EOPNOTSUPP);
    case IpsetTrouble::kNoIpset:
      throw sdk::Failure(abi::Code::kUnsupported, operation.set,
                         text + "; the kernel has no ipset: load the kernel modules ip_set and " +
                             std::string(operation.type ? module_of(operation.type) : "ip_set_hash_ip") +
                             " on the node",
                         EOPNOTSUPP);
    case IpsetTrouble::kDenied:
      throw sdk::Failure(abi::Code::kDenied, operation.set, text + "; it takes CAP_NET_ADMIN in this network namespace",
                         EPERM);
    case IpsetTrouble::kShortage:
    case IpsetTrouble::kLost:
      throw sdk::Failure(abi::Code::kRetry, operation.set,
                         text + "; the kernel is short of memory or busy; retrying", EAGAIN);
    case IpsetTrouble::kInUse:
      throw sdk::Failure(abi::Code::kKernel, operation.set, text + "; delete the rules that name it", EBUSY);
    case IpsetTrouble::kNone:
    case IpsetTrouble::kElement:
    case IpsetTrouble::kRefused:
      break;
  }
  throw sdk::Failure(abi::Code::kKernel, operation.set,
                     text + "; kernel and libipset may be incompatible, or the entry is invalid");
}

}  // namespace sluice::ipvs
