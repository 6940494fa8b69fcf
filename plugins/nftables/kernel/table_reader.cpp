// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/table_reader.hpp"

#include <libnftnl/rule.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "lib/files.hpp"
#include "lib/netlink/message.hpp"
#include "plugins/common/netlink/error.hpp"
#include "plugins/nftables/kernel/attributes.hpp"
#include "plugins/nftables/kernel/encoder.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {
namespace {

lib::netlink::Message request(abi::Family family, int message, std::uint16_t flags, std::string_view attributes) {
  const std::string body = make_request_body(family, attributes);
  return lib::netlink::make_message(message_type(message), flags, body.data(), body.size());
}

std::string names(std::uint16_t type, std::string_view name, std::uint16_t second = 0, std::string_view second_name = {}) {
  std::string attributes;
  AttributeWriter put(attributes);
  put.put_text(type, name);
  if (!second_name.empty()) put.put_text(second, second_name);
  return attributes;
}

// The comment in the userdata of an element, as nft writes it: type, length, text with its NUL.
std::string_view element_comment(std::string_view userdata) {
  while (userdata.size() >= 2) {
    const auto type = static_cast<std::uint8_t>(userdata[0]);
    const auto size = static_cast<std::uint8_t>(userdata[1]);
    userdata.remove_prefix(2);
    if (size > userdata.size()) break;
    if (type == NFTNL_UDATA_SET_ELEM_COMMENT) return text_of(userdata.substr(0, size));
    userdata.remove_prefix(size);
  }
  return {};
}

SetSpec read_set(std::string_view attributes) {
  SetSpec set;
  each_attribute(attributes, [&](std::uint16_t type, std::string_view value) {
    switch (type) {
      case NFTA_SET_NAME:
        set.name = text_of(value);
        break;
      case NFTA_SET_FLAGS:
        set.flags = be32_of(value);
        break;
      case NFTA_SET_KEY_TYPE:
        set.key_type = be32_of(value);
        break;
      case NFTA_SET_KEY_LEN:
        set.key_size = be32_of(value);
        break;
      case NFTA_SET_DATA_TYPE:
        set.data_type = be32_of(value);
        break;
      case NFTA_SET_DATA_LEN:
        set.data_size = be32_of(value);
        break;
      case NFTA_SET_DESC:
        set.capacity = be32_of(find_attribute(value, NFTA_SET_DESC_SIZE));
        break;
      case NFTA_SET_TIMEOUT:
        set.timeout_ms = be64_of(value);
        break;
      case NFTA_SET_USERDATA:
        set.userdata = value;
        break;
      case NFTA_SET_EXPR:
        set.counters = text_of(find_attribute(value, NFTA_EXPR_NAME)) == "counter";
        break;
      default:
        break;
    }
  });
  return set;
}

// libnftnl requires that each expression has a name.
bool has_names(std::string_view expressions) {
  bool named = true;
  const bool whole = each_attribute(expressions, [&](std::uint16_t, std::string_view expression) {
    const std::string_view name = find_attribute(expression, NFTA_EXPR_NAME);
    named = named && !name.empty() && name.back() == '\0';
  });
  return whole && named;
}

// Reads packets and bytes of a counter expression.
bool read_count(std::string_view expression, TrafficCount& count) {
  if (text_of(find_attribute(expression, NFTA_EXPR_NAME)) != "counter") return false;
  const std::string_view data = find_attribute(expression, NFTA_EXPR_DATA);
  count.bytes = be64_of(find_attribute(data, NFTA_COUNTER_BYTES));
  count.packets = be64_of(find_attribute(data, NFTA_COUNTER_PACKETS));
  return true;
}

}  // namespace

bool same_shape(const SetSpec& a, const SetSpec& b) noexcept {
  return a.flags == b.flags && a.key_type == b.key_type && a.key_size == b.key_size && a.data_type == b.data_type &&
         a.data_size == b.data_size && a.counters == b.counters;
}

TableReader::TableReader(abi::Family family, netlink::OpenRawSocket open, std::chrono::milliseconds timeout)
    : family_(family), open_(open), timeout_(timeout), socket_(std::move(open), kNfTables, timeout) {}

std::uint32_t TableReader::generation() {
  std::uint32_t generation = 0;
  const int error = socket_.request(request(family_, NFT_MSG_GETGEN, 0, {}), [&](nlmsghdr* answer) {
    if (answer->nlmsg_type == message_type(NFT_MSG_NEWGEN)) {
      generation = be32_of(find_attribute(attributes_of(answer), NFTA_GEN_ID));
    }
  });
  if (error != 0) netlink::fail(error, kNfTables, "cannot ask nf_tables for its generation");
  return generation;
}

// The generation is read last: if it is still the same later, so is the table.
std::optional<TableState> TableReader::state() {
  const auto boot = lib::read_file("/proc/sys/kernel/random/boot_id", 64);
  if (!boot) return std::nullopt;
  std::uint64_t network = 0;
  socklen_t size = sizeof(network);
  const std::unique_ptr<lib::netlink::RawSocket> socket = open_();
  if (getsockopt(socket->descriptor(), SOL_SOCKET, SO_NETNS_COOKIE, &network, &size) != 0) return std::nullopt;
  std::uint64_t handle = 0;
  const int error =
      socket_.request(request(family_, NFT_MSG_GETTABLE, 0, names(NFTA_TABLE_NAME, kTableName)), [&](nlmsghdr* answer) {
        if (answer->nlmsg_type != message_type(NFT_MSG_NEWTABLE)) return;
        handle = be64_of(find_attribute(attributes_of(answer), NFTA_TABLE_HANDLE));
      });
  if (error == ENOENT) return std::nullopt;
  if (error != 0) netlink::fail(error, kNfTables, "cannot ask for the table kube-proxy");
  std::string place = "boot " + *boot + " network " + std::to_string(network) + " table " + std::to_string(handle);
  return TableState{std::move(place), generation()};
}

// Any transaction interrupts a dump; the kernel continues at the object with the same count. It counts only objects
// of our table, so the dump is complete if our table did not change; but chains are counted in all tables of a
// family.
template <class Begin, class Take>
bool TableReader::dump(int message, std::string_view attributes, const Begin& begin, const Take& take, bool* interrupted) {
  const std::uint8_t family = protocol_family(family_);
  const auto sort_out = [&](nlmsghdr* answer) {
    const std::string_view received = attributes_of(answer);
    // In all four kinds of answers, the name of the table has the same number.
    constexpr std::uint16_t kTable = NFTA_CHAIN_TABLE;
    static_assert(kTable == std::uint16_t{NFTA_RULE_TABLE} && kTable == std::uint16_t{NFTA_SET_TABLE} &&
                  kTable == std::uint16_t{NFTA_SET_ELEM_LIST_TABLE});
    if (family_of(answer) == family && text_of(find_attribute(received, kTable)) == kTableName) take(answer, received);
  };
  netlink::Socket::InterruptibleDump loose;
  // Stops a dump that is invalid already. If another process adds and removes an element all the time, a dump may
  // never end.
  if (change_monitor_) loose.stop = [this] { return change_monitor_->poll(); };
  const int error = socket_.dump(request(family_, message, 0, attributes), begin, sort_out, &loose);
  if (interrupted != nullptr) *interrupted = loose.interrupted;
  if (error == ENOENT || error == ECANCELED) return false;
  if (error != 0) netlink::fail(error, kNfTables, "cannot read the table kube-proxy");
  return true;
}

template <class Begin, class Take>
bool TableReader::read_elements(const std::string& set, const Begin& begin, const Take& take) {
  return dump(NFT_MSG_GETSETELEM, names(NFTA_SET_ELEM_LIST_TABLE, kTableName, NFTA_SET_ELEM_LIST_SET, set), begin,
              [&](const nlmsghdr*, std::string_view attributes) {
                if (text_of(find_attribute(attributes, NFTA_SET_ELEM_LIST_SET)) != set) return;
                each_attribute(find_attribute(attributes, NFTA_SET_ELEM_LIST_ELEMENTS),
                               [&](std::uint16_t, std::string_view element) { take(element); });
              });
}

bool TableReader::read_table(Listing& listing, bool& dormant) {
  listing.exists = false;
  const int error =
      socket_.request(request(family_, NFT_MSG_GETTABLE, 0, names(NFTA_TABLE_NAME, kTableName)), [&](nlmsghdr* answer) {
        if (answer->nlmsg_type != message_type(NFT_MSG_NEWTABLE)) return;
        listing.exists = true;
        dormant = (be32_of(find_attribute(attributes_of(answer), NFTA_TABLE_FLAGS)) & NFT_TABLE_F_DORMANT) != 0;
      });
  if (error != 0 && error != ENOENT) netlink::fail(error, kNfTables, "cannot ask for the table kube-proxy");
  return listing.exists;
}

bool TableReader::read_sets(Listing& listing) {
  return dump(
      NFT_MSG_GETSET, names(NFTA_SET_TABLE, kTableName), [&] { listing.sets.clear(); },
      [&](const nlmsghdr*, std::string_view attributes) {
        SetSpec set = read_set(attributes);
        std::string name = set.name;
        listing.sets.insert_or_assign(std::move(name), std::move(set));
      });
}

bool TableReader::read_chains(Listing& listing, bool dormant) {
  const auto take = [&](const nlmsghdr*, std::string_view attributes) {
    KnownChain chain;
    const std::string_view hook = find_attribute(attributes, NFTA_CHAIN_HOOK);
    chain.is_base = hook.data() != nullptr;
    if (chain.is_base) {
      chain.hook.hook = be32_of(find_attribute(hook, NFTA_HOOK_HOOKNUM));
      chain.hook.priority = static_cast<std::int32_t>(be32_of(find_attribute(hook, NFTA_HOOK_PRIORITY)));
      chain.hook.type = text_of(find_attribute(attributes, NFTA_CHAIN_TYPE));
      // Our chains accept and are not dormant. Others have another shape.
      if (be32_of(find_attribute(attributes, NFTA_CHAIN_POLICY)) != NF_ACCEPT) chain.hook.type += ", policy drop";
      if (dormant) chain.hook.type += ", dormant";
    }
    listing.chains.insert_or_assign(std::string(text_of(find_attribute(attributes, NFTA_CHAIN_NAME))),
                                    std::move(chain));
  };
  for (int attempt = 0; attempt < kChainTries; ++attempt) {
    bool interrupted = false;
    if (!dump(NFT_MSG_GETCHAIN, names(NFTA_CHAIN_TABLE, kTableName), [&] { listing.chains.clear(); }, take, &interrupted)) {
      return false;
    }
    chains_in_doubt_ = interrupted;
    if (!interrupted) break;
  }
  return true;
}

bool TableReader::read_rules(Listing& listing) {
  return dump(
      NFT_MSG_GETRULE, names(NFTA_RULE_TABLE, kTableName),
      [&] {
        for (auto& [name, chain] : listing.chains) chain.rules.clear();
      },
      [&](const nlmsghdr* answer, std::string_view attributes) {
        const auto chain = listing.chains.find(text_of(find_attribute(attributes, NFTA_RULE_CHAIN)));
        if (chain == listing.chains.end()) return;
        const std::unique_ptr<nftnl_rule, decltype(&nftnl_rule_free)> rule(nftnl_rule_alloc(), &nftnl_rule_free);
        if (!rule) throw std::bad_alloc();
        if (has_names(find_attribute(attributes, NFTA_RULE_EXPRESSIONS)) &&
            nftnl_rule_nlmsg_parse(answer, rule.get()) == 0) {
          chain->second.rules.push_back(read_rule(rule.get()));
        } else {
          // An expression of a newer program that libnftnl does not know: not one of ours.
          chain->second.rules.push_back(Rule{"unknown", {}, {}});
        }
      });
}

bool TableReader::read_dispatch(Listing& listing, bool firewall) {
  const SetSpec wanted = firewall ? firewall_chains_spec(family_) : service_chains_spec(family_);
  const auto set = listing.sets.find(wanted.name);
  if (set == listing.sets.end() || !same_shape(set->second, wanted)) return true;
  const std::size_t before = listing.dispatch.size();
  bool valid = true;
  const bool there = read_elements(
      wanted.name, [&] { listing.dispatch.resize(before); },
      [&](std::string_view element) {
        const std::string_view key = find_attribute(find_attribute(element, NFTA_SET_ELEM_KEY), NFTA_DATA_VALUE);
        const std::string_view verdict = find_attribute(find_attribute(element, NFTA_SET_ELEM_DATA), NFTA_DATA_VERDICT);
        DispatchWrite write;
        write.firewall = firewall;
        if (key.size() != sizeof(write.number)) {
          valid = false;
          return;
        }
        std::memcpy(&write.number, key.data(), sizeof(write.number));
        // Another verdict: no chain has an empty name, so the element is removed.
        if (be32_of(find_attribute(verdict, NFTA_VERDICT_CODE)) == static_cast<std::uint32_t>(NFT_GOTO)) {
          write.chain = text_of(find_attribute(verdict, NFTA_VERDICT_CHAIN));
        }
        listing.dispatch.push_back(std::move(write));
      });
  if (!valid) set->second.flags = kForeignShape;
  return there;
}

bool TableReader::read_records(Listing& listing, SetId id) {
  const SetSpec wanted = set_spec(family_, id);
  const auto set = listing.sets.find(wanted.name);
  RecordTable& records = listing.records[index(id)];
  if (set == listing.sets.end() || !same_shape(set->second, wanted)) {
    records = RecordTable();
    return true;
  }
  bool valid = true;
  const bool there = read_elements(
      wanted.name, [&] { records = RecordTable(wanted.key_size, wanted.data_size); },
      [&](std::string_view element) {
        std::string_view key, data, comment;
        each_attribute(element, [&](std::uint16_t type, std::string_view value) {
          if (type == NFTA_SET_ELEM_KEY) key = find_attribute(value, NFTA_DATA_VALUE);
          if (type == NFTA_SET_ELEM_DATA) data = find_attribute(value, NFTA_DATA_VALUE);
          if (type == NFTA_SET_ELEM_USERDATA) comment = element_comment(value);
        });
        if (key.size() != wanted.key_size || data.size() != wanted.data_size) {
          valid = false;
          return;
        }
        records.add(key.data(), data.data(), comment_hash(comment));
      });
  records.sort();
  if (!valid) {
    set->second.flags = kForeignShape;
    records = RecordTable();
  }
  return there;
}

bool TableReader::read(Listing& listing) {
  chains_in_doubt_ = false;
  bool dormant = false;
  if (!read_table(listing, dormant)) return true;
  if (!read_sets(listing) || !read_chains(listing, dormant) || !read_rules(listing)) return false;
  for (const bool firewall : {false, true}) {
    if (!read_dispatch(listing, firewall)) return false;
  }
  for (std::size_t i = 0; i < kSetCount; ++i) {
    if (!read_records(listing, static_cast<SetId>(i))) return false;
  }
  return true;
}

Listing TableReader::list() {
  using Clock = std::chrono::steady_clock;
  struct Leave {
    std::unique_ptr<ChangeMonitor>& change_monitor;
    ~Leave() { change_monitor.reset(); }
  };
  const Leave leave{change_monitor_};
  const auto end = Clock::now() + std::min(kTryFor, timeout_);
  std::string last;
  int attempt = 0;
  for (; attempt < kTries || Clock::now() < end; ++attempt) {
    change_monitor_.reset();
    try {
      change_monitor_ = std::make_unique<ChangeMonitor>(family_, open_, timeout_);
    } catch (const sdk::Failure& failure) {
      last = failure.what();  // without it, only a listing within one generation is consistent
    }
    const std::uint32_t before = generation();
    Listing listing;
    const bool whole = read(listing);
    listing.generation = generation();
    if (listing.generation == before) {
      if (whole) return listing;
      last = "a part of it was not there any more";
      continue;
    }
    if (!change_monitor_) continue;
    if (!change_monitor_->untouched(listing.generation)) {
      last = change_monitor_->take();
    } else if (!whole) {
      last = "a part of it was not there any more";
    } else if (chains_in_doubt_ && change_monitor_->chains_changed()) {
      last = "chains of other tables came and went while its own were read";
    } else {
      return listing;
    }
  }
  throw sdk::Failure(abi::Code::kRetry, kNfTables,
                     "cannot read the table kube-proxy: nf_tables changed during each of " + std::to_string(attempt) +
                         " attempts, last: " + last);
}

std::vector<TrafficCount> TableReader::traffic() {
  std::vector<TrafficCount> counts;
  for (const SetId id : {SetId::kServiceTraffic, SetId::kNodePortTraffic}) {
    const SetSpec wanted = set_spec(family_, id);
    const std::size_t before = counts.size();
    read_elements(
        wanted.name, [&] { counts.resize(before); },
        [&](std::string_view element) {
          const std::string_view bytes = find_attribute(find_attribute(element, NFTA_SET_ELEM_KEY), NFTA_DATA_VALUE);
          TrafficCount count;
          // A single expression has an attribute of its own, several are a list.
          bool counted = read_count(find_attribute(element, NFTA_SET_ELEM_EXPR), count);
          each_attribute(find_attribute(element, NFTA_SET_ELEM_EXPRESSIONS),
                         [&](std::uint16_t, std::string_view one) { counted = counted || read_count(one, count); });
          if (!counted || bytes.size() != wanted.key_size) return;
          Key key;
          key.append(bytes.data(), bytes.size());
          count.frontend = read_frontend(family_, key, id == SetId::kNodePortTraffic);
          counts.push_back(count);
        });
  }
  return counts;
}

std::vector<RememberedClient> TableReader::clients() {
  const SetSpec wanted = affinity_spec(family_, 0);
  std::vector<RememberedClient> clients;
  read_elements(
      wanted.name, [&] { clients.clear(); },
      [&](std::string_view element) {
        const std::string_view key = find_attribute(find_attribute(element, NFTA_SET_ELEM_KEY), NFTA_DATA_VALUE);
        const std::string_view data = find_attribute(find_attribute(element, NFTA_SET_ELEM_DATA), NFTA_DATA_VALUE);
        const std::uint64_t left = be64_of(find_attribute(element, NFTA_SET_ELEM_EXPIRATION));
        if (key.size() != wanted.key_size || data.size() != wanted.data_size) return;
        RememberedClient client;
        std::memcpy(&client.id, key.data(), sizeof(client.id));
        std::memcpy(client.client.bytes, key.data() + sizeof(client.id), key.size() - sizeof(client.id));
        std::memcpy(&client.token, data.data(), sizeof(client.token));
        client.remaining = static_cast<std::uint32_t>(std::min<std::uint64_t>(left / 1000, UINT32_MAX));
        clients.push_back(client);
      });
  return clients;
}

std::optional<std::vector<std::string>> TableReader::flowtable_interfaces() {
  std::optional<std::vector<std::string>> interfaces;
  const std::string wanted = names(NFTA_FLOWTABLE_TABLE, kTableName, NFTA_FLOWTABLE_NAME, kFlowtableName);
  const int error = socket_.request(request(family_, NFT_MSG_GETFLOWTABLE, 0, wanted), [&](nlmsghdr* answer) {
    if (answer->nlmsg_type != message_type(NFT_MSG_NEWFLOWTABLE)) return;
    interfaces.emplace();
    const std::string_view hook = find_attribute(attributes_of(answer), NFTA_FLOWTABLE_HOOK);
    each_attribute(find_attribute(hook, NFTA_FLOWTABLE_HOOK_DEVS), [&](std::uint16_t type, std::string_view value) {
      if (type == NFTA_DEVICE_NAME) interfaces->emplace_back(text_of(value));
    });
  });
  if (error != 0 && error != ENOENT) netlink::fail(error, kNfTables, "cannot read the flowtable");
  return interfaces;
}

}  // namespace sluice::nftables
