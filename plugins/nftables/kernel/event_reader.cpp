// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/event_reader.hpp"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <utility>

#include "lib/netlink/error.hpp"
#include "plugins/nftables/kernel/attributes.hpp"
#include "plugins/nftables/kernel/encoder.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"

namespace sluice::nftables {
namespace {

// Clients in this map are not drift. The packet path adds and removes them without notifications; other processes may
// cause some.
constexpr char kAffinityMapName[] = "affinity";

std::string text(std::string_view value) { return std::string(text_of(value)); }

}  // namespace

EventReader::EventReader(abi::Family family, const OwnSenders& own)
    : family_(protocol_family(family)),
      own_(own),
      table_(table_text(family)) {}

void EventReader::read(std::string_view datagram) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto* const message = reinterpret_cast<const nlmsghdr*>(datagram.data());
    if (message->nlmsg_len < sizeof(nlmsghdr) || message->nlmsg_len > datagram.size()) return lost();
    take(message);
    datagram.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(message->nlmsg_len), datagram.size()));
  }
  if (!datagram.empty()) lost();
}

void EventReader::lost() {
  add(0, "may have been changed, as notifications were lost");
  complete_ = true;
}

void EventReader::missed() {
  add(0, "may have been changed by another process while many elements were written");
  complete_ = true;
}

void EventReader::listening_failed(int error) {
  add(0, "may be changed unnoticed, as the kernel refuses notifications of nf_tables: " + lib::netlink::error_text(error));
  complete_ = true;
}

void EventReader::add(std::uint32_t port_id, std::string what) {
  if (changes_++ != 0) return;
  first_ = std::move(what);
  port_id_ = port_id;
}

void EventReader::take(const nlmsghdr* message) {
  if (message->nlmsg_type == NLMSG_OVERRUN) return lost();
  if (message->nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES || own_.contains(message->nlmsg_pid)) return;
  const int kind = message->nlmsg_type & 0xff;
  const std::string_view attributes = attributes_of(message);
  if (kind == NFT_MSG_NEWGEN) {
    generation_ = be32_of(find_attribute(attributes, NFTA_GEN_ID));
    if (changes_ == 0 || complete_ || message->nlmsg_pid != port_id_) return;
    const std::string name = text(find_attribute(attributes, NFTA_GEN_PROC_NAME));
    const std::uint32_t process = be32_of(find_attribute(attributes, NFTA_GEN_PROC_PID));
    if (process != 0)
      process_ = " by " + (name.empty() ? "an unnamed process" : name) + " (pid " + std::to_string(process) + ")";
    complete_ = true;
    return;
  }
  if (family_of(message) != family_) return;
  chains_changed_ = chains_changed_ || kind == NFT_MSG_NEWCHAIN || kind == NFT_MSG_DELCHAIN || kind == NFT_MSG_DELTABLE;
  // In messages of each kind, the name of the table has the same number.
  if (text_of(find_attribute(attributes, NFTA_TABLE_NAME)) != kTableName) return;
  std::string what;
  switch (kind) {
    case NFT_MSG_NEWTABLE:
      what = "was added or changed";
      break;
    case NFT_MSG_DELTABLE:
      what = "was removed";
      break;
    case NFT_MSG_NEWCHAIN:
      what = "chain " + text(find_attribute(attributes, NFTA_CHAIN_NAME)) + " was added or changed";
      break;
    case NFT_MSG_DELCHAIN:
      what = "chain " + text(find_attribute(attributes, NFTA_CHAIN_NAME)) + " was removed";
      break;
    case NFT_MSG_NEWRULE:
      what = "a rule of chain " + text(find_attribute(attributes, NFTA_RULE_CHAIN)) + " was added";
      break;
    case NFT_MSG_DELRULE:
      what = "a rule of chain " + text(find_attribute(attributes, NFTA_RULE_CHAIN)) + " was removed";
      break;
    case NFT_MSG_NEWSET:
      what = "set " + text(find_attribute(attributes, NFTA_SET_NAME)) + " was added or changed";
      break;
    case NFT_MSG_DELSET:
      what = "set " + text(find_attribute(attributes, NFTA_SET_NAME)) + " was removed";
      break;
    case NFT_MSG_NEWSETELEM:
    case NFT_MSG_DELSETELEM: {
      const std::string set = text(find_attribute(attributes, NFTA_SET_ELEM_LIST_SET));
      if (set == kAffinityMapName) return;
      what = "an element of " + set + (kind == NFT_MSG_NEWSETELEM ? " was added" : " was removed");
      break;
    }
    case NFT_MSG_NEWFLOWTABLE:
      what = "flowtable " + text(find_attribute(attributes, NFTA_FLOWTABLE_NAME)) + " was added or changed";
      break;
    case NFT_MSG_DELFLOWTABLE:
      what = "flowtable " + text(find_attribute(attributes, NFTA_FLOWTABLE_NAME)) + " or an interface of it was removed";
      break;
    default:
      return;  // objects, which our table does not use
  }
  add(message->nlmsg_pid, std::move(what));
}

std::string EventReader::take() {
  std::string sentence = table_;
  // A change of the table itself names no object.
  if (!first_.starts_with("was ") && !first_.starts_with("may ")) sentence += ':';
  sentence += ' ' + first_;
  if (changes_ > 1) sentence += ", with " + std::to_string(changes_ - 1) + (changes_ == 2 ? " more change," : " more changes,");
  sentence += process_;
  if (sentence.back() == ',') sentence.pop_back();
  forget();
  return sentence;
}

void EventReader::forget() noexcept {
  changes_ = 0;
  first_.clear();
  process_.clear();
  port_id_ = 0;
  complete_ = false;
}

}  // namespace sluice::nftables
