// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table on a real kernel; nft makes foreign changes and listings. Needs a network namespace of its own
// (test/system/nftables_kernel_test.sh).
//   nftables_roundtrip 4|6          TAP
//   nftables_roundtrip measure N    what a listener costs a transaction of N elements
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <vector>

#include "lib/program.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/kernel/table_watch.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/patience.hpp"

namespace sluice::test {
namespace {

using namespace nftables;
using abi::Family;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Run {
  int status = 0;
  std::string output;
};
Run nft(std::vector<std::string> arguments, const std::string& input = {}) {
  lib::Program command;
  command.arguments = std::move(arguments);
  command.arguments.insert(command.arguments.begin(), lib::find_program("nft"));
  command.input = std::move(input);
  const lib::ProgramResult outcome = *lib::run_program(command);
  return {outcome.exit_code, outcome.output + outcome.error_output};
}

// Receives the reports of the watch.
class ReportQueue {
 public:
  void add(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    sentence_ = sentence;
    ++count_;
    changed_.notify_all();
  }
  // The next report; empty if none comes.
  std::string wait(std::chrono::nanoseconds patience) {
    std::unique_lock lock(mutex_);
    const int before = taken_;
    changed_.wait_for(lock, patience, [&] { return count_ != before; });
    if (count_ == before) return {};
    taken_ = count_;
    return sentence_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string sentence_;
  int count_ = 0;
  int taken_ = 0;
};

class Checks {
 public:
  explicit Checks(Family family) : family_(family), ip_(family == Family::kIpv6 ? "ip6" : "ip"), table_(open_table(family)) {
    facts_.family = family;
    facts_.masquerade_mark = 0x4000;
    facts_.counters = true;
  }

  int run() {
    knows_when_there_is_none();
    makes_a_dry_run();
    writes_everything();
    reads_back_what_it_wrote();
    is_nft_text();
    replaces_and_removes();
    names_refusals();
    reports_foreign_changes();
    reads_foreign_shapes();
    counts_traffic();
    writes_affinity_clients();
    removes_base_chains();
    refuses_an_existing_table();
    deletes();
    std::printf("1..%d\n", count_);
    return failed_ ? 1 : 0;
  }

 private:
  static constexpr std::chrono::milliseconds kLong{20000};
  static constexpr std::chrono::milliseconds kShort{1500};
  static constexpr std::chrono::milliseconds kPoll{200};

  void check(bool good, const std::string& what, const std::string& why = "") {
    std::printf("%s %d - %s\n", good ? "ok" : "not ok", ++count_, what.c_str());
    if (!good) std::printf("# %s\n", why.c_str());
    failed_ = failed_ || !good;
    std::fflush(stdout);
  }
  static std::string words(const std::vector<Refusal>& refusals) {
    std::string text;
    for (const Refusal& refusal : refusals) {
      text += std::to_string(refusal.owner) + " " + std::to_string(refusal.error) + " " + refusal.what + "; ";
    }
    return text;
  }
  void accepted(const std::vector<Refusal>& refusals, const std::string& what) {
    check(refusals.empty(), what, words(refusals));
  }
  std::string listed() const { return nft({"list", "table", ip_, kTableName}).output; }

  FrontendKey frontend(std::uint32_t n, bool node_port = false) const {
    FrontendKey key;
    key.node_port = node_port;
    key.address.bytes[0] = family_ == Family::kIpv6 ? 0xfd : 172;
    const std::size_t size = family_ == Family::kIpv6 ? 16 : 4;
    if (!node_port) {
      for (std::size_t i = 0; i < 3; ++i) key.address.bytes[size - 1 - i] = static_cast<std::uint8_t>(n >> 8 * i);
    }
    key.protocol = abi::Protocol::kTcp;
    key.port = static_cast<std::uint16_t>(node_port ? 30000 + n : 80);
    return key;
  }
  EndpointAddress endpoint(std::uint32_t n) const {
    EndpointAddress made;
    made.address.bytes[0] = family_ == Family::kIpv6 ? 0xfc : 10;
    const std::size_t size = family_ == Family::kIpv6 ? 16 : 4;
    made.address.bytes[size - 1] = static_cast<std::uint8_t>(n);
    made.port = 8080;
    return made;
  }
  ElementWrite write(SetId set, Key key, Data data = {}, std::string comment = {}) const {
    ElementWrite made;
    made.record = {set, key, data};
    made.comment = std::move(comment);
    return made;
  }
  static ElementWrite removed(ElementWrite write) {
    write.remove = true;
    return write;
  }
  ElementWrite service(std::uint32_t n) const {
    return write(SetId::kServiceIps, frontend_key(family_, frontend(n)), number_data(3), "ns/svc" + std::to_string(n) + ":p80");
  }

  // The whole table, with an element in each set.
  Batch everything() const {
    Batch batch;
    batch.create_table = true;
    batch.create_sets = all_sets(family_, true, 2000);
    ServiceClass two, sticky;
    two.cluster = 2;
    sticky.cluster = 2;
    sticky.affinity_seconds = 10800;
    // Fixed chains that shared chains refer to come first, base chains last.
    std::vector<ChainSpec> fixed = fixed_chains(facts_);
    for (const ChainSpec& chain : fixed) {
      if (!chain.is_base) batch.chains.push_back({chain, true});
    }
    batch.chains.push_back({class_chain(facts_, two), true});
    batch.chains.push_back({class_chain(facts_, sticky), true});
    for (const ChainSpec& chain : fixed) {
      if (chain.is_base) batch.chains.push_back({chain, true});
    }
    batch.dispatch.push_back({false, 3, chain_name(two), false});
    batch.dispatch.push_back({false, 4, chain_name(sticky), false});
    const Key key = frontend_key(family_, frontend(1));
    const Key port = frontend_key(family_, frontend(1, true));
    const FrontendKey with_slot = frontend(1);
    const std::string comment = "ns/svc1:p80";
    batch.elements = {
        write(SetId::kClusterIps, address_key(family_, frontend(1).address)),
        write(SetId::kNodePortIps, address_key(family_, endpoint(9).address)),
        write(SetId::kHairpin, hairpin_key(family_, endpoint(1), abi::Protocol::kTcp)),
        write(SetId::kServiceIps, key, number_data(3), comment),
        write(SetId::kServiceNodePorts, port, number_data(3), comment),
        write(SetId::kEndpoints, slot_key(family_, with_slot, 0), endpoint_data(family_, endpoint(1))),
        write(SetId::kEndpoints, slot_key(family_, with_slot, 1), endpoint_data(family_, endpoint(2))),
        write(SetId::kEndpoints, slot_key(family_, with_slot, kLocalSlots), endpoint_data(family_, endpoint(2))),
        write(SetId::kNodePortEndpoints, slot_key(family_, frontend(1, true), 0), endpoint_data(family_, endpoint(1))),
        write(SetId::kNoEndpointServices, frontend_key(family_, frontend(2)), {}, std::string(200, 'x')),
        write(SetId::kNoEndpointNodePorts, frontend_key(family_, frontend(2, true)), {}, comment),
        write(SetId::kNoLocalServices, frontend_key(family_, frontend(3)), {}, comment),
        write(SetId::kNoLocalNodePorts, frontend_key(family_, frontend(3, true)), {}, comment),
        write(SetId::kFirewallIps, key, number_data(1), comment),
        write(SetId::kAffinityServices, key, number_data(0x10000)),
        write(SetId::kAffinityNodePorts, port, number_data(0x10000)),
        write(SetId::kAffinitySlots, affinity_slot_key(0x10000, 0), number_data(0x10001)),
        write(SetId::kAffinityEndpoints, token_key(abi::Protocol::kTcp, 0x10001), endpoint_data(family_, endpoint(1))),
        write(SetId::kAffinityLocalEndpoints, token_key(abi::Protocol::kTcp, 0x10001), endpoint_data(family_, endpoint(1))),
        write(SetId::kServiceTraffic, key),
        write(SetId::kNodePortTraffic, port),
    };
    return batch;
  }

  // The rule that nft 1.0.6 makes of our listing: for IPv6 it puts the data of map affinity into a word that the key
  // needs (docs/decisions/0021-nftables.md). Nothing else changes.
  std::string loaded_by_nft(const std::string& text) const {
    if (family_ != Family::kIpv6) return text;
    static const std::regex kData("=> reg 3\n(dynset [a-z]+ reg_key 1 set affinity sreg_data) 3 ");
    return std::regex_replace(text, kData, "=> reg 2\n$1 2 ");
  }
  enum class By { kOurs, kNft };
  std::string other_rule(const std::vector<Rule>& is, const std::vector<Rule>& wanted, By writer) const {
    if (is.size() != wanted.size()) return std::to_string(is.size()) + " of them";
    for (std::size_t i = 0; i < is.size(); ++i) {
      const std::string text = writer == By::kNft ? loaded_by_nft(wanted[i].text) : wanted[i].text;
      if (is[i].comment == wanted[i].comment && is[i].text == text) continue;
      return is[i].text + " (" + is[i].comment + ") instead of " + text + " (" + wanted[i].comment + ")";
    }
    return {};
  }

  // Differences between a listing and the batch that made the table; empty if there are none.
  std::string differs(const Listing& listing, const Batch& batch, By writer = By::kOurs) const {
    std::string why;
    if (!listing.exists) return "no table";
    if (listing.sets.size() != batch.create_sets.size()) why += "sets: " + std::to_string(listing.sets.size()) + "; ";
    for (const SetSpec& set : batch.create_sets) {
      const auto found = listing.sets.find(set.name);
      if (found == listing.sets.end()) {
        why += "no set " + set.name + "; ";
        continue;
      }
      const SetSpec& is = found->second;
      if (is.flags != set.flags || is.key_type != set.key_type || is.key_size != set.key_size || is.data_type != set.data_type ||
          is.data_size != set.data_size || is.capacity != set.capacity || is.timeout_ms != set.timeout_ms ||
          is.counters != set.counters || is.userdata != set.userdata) {
        why += "set " + set.name + " is another one; ";
      }
    }
    if (listing.chains.size() != batch.chains.size()) why += "chains: " + std::to_string(listing.chains.size()) + "; ";
    for (const ChainWrite& chain : batch.chains) {
      const auto found = listing.chains.find(chain.spec.name);
      if (found == listing.chains.end()) {
        why += "no chain " + chain.spec.name + "; ";
        continue;
      }
      const KnownChain& is = found->second;
      if (is.is_base != chain.spec.is_base || (is.is_base && is.hook != chain.spec.hook)) {
        why += "hook of " + chain.spec.name + "; ";
      }
      if (const std::string rule = other_rule(is.rules, chain.spec.rules, writer); !rule.empty()) {
        why += "rules of " + chain.spec.name + ": " + rule + "; ";
      }
    }
    if (listing.dispatch.size() != batch.dispatch.size()) why += "dispatch: " + std::to_string(listing.dispatch.size()) + "; ";
    for (const DispatchWrite& wanted : batch.dispatch) {
      bool there = false;
      for (const DispatchWrite& is : listing.dispatch) {
        there = there || (is.number == wanted.number && is.chain == wanted.chain && is.firewall == wanted.firewall);
      }
      if (!there) why += "no dispatch of " + wanted.chain + "; ";
    }
    std::size_t count = 0;
    for (const RecordTable& records : listing.records) count += records.size();
    if (count != batch.elements.size()) why += "elements: " + std::to_string(count) + "; ";
    for (const ElementWrite& element : batch.elements) {
      const RecordTable& records = listing.records[index(element.record.set)];
      const auto place = records.find(element.record.key);
      if (!place || records.data(*place) != element.record.data || records.comment(*place) != comment_hash(element.comment)) {
        why += "an element of set " + std::to_string(index(element.record.set)) + "; ";
      }
    }
    return why;
  }

  void knows_when_there_is_none() {
    const Listing listing = table_.kernel->list();
    check(!listing.exists && listing.sets.empty(), "a missing table is listed as missing");
    check(!table_.kernel->delete_table(), "and cannot be deleted");
  }

  void makes_a_dry_run() {
    ReportQueue reports;
    // A watch that does not filter our own writes.
    NetlinkWatch other(
        family_, [] { return netlink::open_raw_socket(NETLINK_NETFILTER); }, std::make_shared<OwnSenders>());
    other.start([&](const std::string& sentence) { reports.add(sentence); });
    const std::uint32_t before = table_.kernel->list().generation;
    Batch batch = everything();
    accepted(table_.kernel->dry_run(batch), "a dry run accepts everything");
    check(nft({"list", "ruleset"}).output.empty(), "which leaves nothing", nft({"list", "ruleset"}).output);
    check(table_.kernel->list().generation == before, "and is no generation of its own");
    // An expression that the kernel does not have, in any rule.
    std::string& expressions = batch.chains.front().spec.rules.empty() ? batch.chains.back().spec.rules.front().expressions
                                                                       : batch.chains.front().spec.rules.front().expressions;
    const std::string expression("\x14\0\x01\x80\x0e\0\x01\0unknown1x\0\0\0", 20);
    expressions += expression;
    std::vector<Refusal> refusals = table_.kernel->dry_run(batch);
    check(refusals.size() == 1 && refusals[0].error == ENOENT && has(refusals[0].what, "rule 1 of chain "),
          "an expression the kernel does not have is named", words(refusals));
    batch = everything();
    check(nft({"list", "ruleset"}).output.empty(), "and nothing is left of that either");
    check(reports.wait(kShort).empty(), "a dry run causes no notification");
    nft({"add", "table", ip_, kTableName});
    check(!reports.wait(stretched(kLong)).empty(), "but a change does");
    nft({"delete", "table", ip_, kTableName});
  }

  void writes_everything() {
    written_ = everything();
    accepted(table_.kernel->commit(written_), "the whole table is written in one transaction");
    const KernelStatistics& statistics = table_.kernel->statistics();
    check(statistics.commits == 1 && statistics.refused == 1 && statistics.writes > written_.elements.size() &&
              statistics.bytes != 0,
          "transactions are counted", std::to_string(statistics.commits) + " " + std::to_string(statistics.refused));
  }

  void reads_back_what_it_wrote() {
    const std::string why = differs(table_.kernel->list(), written_);
    check(why.empty(), "it is read back as it was written", why);
  }

  void is_nft_text() {
    const Run listing = nft({"list", "table", ip_, kTableName});
    check(listing.status == 0, "nft lists it", listing.output);
    check(has(listing.output, "ns/svc1:p80") && has(listing.output, std::string(128, 'x')) &&
              !has(listing.output, std::string(129, 'x')),
          "comments are shown, of at most 128 characters", listing.output);
    check(has(listing.output, "comment \"rules for kube-proxy\""), "the table has its comment", listing.output);
    // Counters are in the listing; a table that was loaded again has the same.
    nft({"delete", "table", ip_, kTableName});
    const Run load = nft({"-f", "-"}, listing.output);
    check(load.status == 0, "and loads what it listed", load.output);
    check(listed() == listing.output, "with the same result", listed());
    const std::string why = differs(table_.kernel->list(), written_, By::kNft);
    check(why.empty(), "in which we see no difference", why);
  }

  void replaces_and_removes() {
    Batch batch;
    const FrontendKey with_slot = frontend(1);
    // The addition comes before the removal of another key; the replacement comes after its removal.
    batch.elements = {write(SetId::kEndpoints, slot_key(family_, with_slot, 2), endpoint_data(family_, endpoint(3))),
                      removed(write(SetId::kEndpoints, slot_key(family_, with_slot, 1))),
                      write(SetId::kEndpoints, slot_key(family_, with_slot, 1), endpoint_data(family_, endpoint(4))),
                      removed(write(SetId::kNoEndpointServices, frontend_key(family_, frontend(2))))};
    batch.dispatch = {{false, 3, "", true}, {false, 3, written_.dispatch[1].chain, false}, {false, 4, "", true}};
    batch.remove_chains = {written_.dispatch[0].chain};
    // The sticky chain may refer to it: its rules are replaced by none.
    accepted(table_.kernel->commit(batch), "elements are replaced and removed, and a chain");
    const Listing listing = table_.kernel->list();
    const RecordTable& endpoints = listing.records[index(SetId::kEndpoints)];
    const auto one = endpoints.find(slot_key(family_, with_slot, 1));
    check(endpoints.size() == 4 && one && endpoints.data(*one) == endpoint_data(family_, endpoint(4)),
          "an element has its new data");
    check(listing.records[index(SetId::kNoEndpointServices)].size() == 0 && listing.dispatch.size() == 1 &&
              listing.dispatch[0].number == 3 && listing.dispatch[0].chain == written_.dispatch[1].chain &&
              listing.chains.count(written_.dispatch[0].chain) == 0,
          "and what was removed is gone");
    Batch replacement;
    ChainSpec chain;
    for (const ChainWrite& made : written_.chains) {
      if (made.spec.name == written_.dispatch[1].chain) chain = made.spec;
    }
    chain.rules.pop_back();
    replacement.chains.push_back({chain, false});
    accepted(table_.kernel->commit(replacement), "rules of a chain are replaced");
    check(table_.kernel->list().chains[chain.name].rules == chain.rules, "by those that were given");
    table_.kernel->delete_table();
    accepted(table_.kernel->commit(written_), "and all of it is written again");
    Batch whole = written_;
    whole.delete_table = true;
    accepted(table_.kernel->commit(whole), "a table is replaced by another one in one transaction");
    const std::string why = differs(table_.kernel->list(), written_);
    check(why.empty(), "as which it is read", why);
  }

  void names_refusals() {
    Batch batch;
    batch.owners = {"", "first", "second", "third"};
    for (std::uint32_t i = 0; i < 700; ++i) batch.elements.push_back(service(1000 + i));
    for (ElementWrite& element : batch.elements) element.owner = 1;
    // Two elements exist with other data, each in the middle of a message.
    Batch before;
    before.elements = {service(1100), service(1600)};
    for (ElementWrite& element : before.elements) element.record.data = number_data(77);
    accepted(table_.kernel->commit(before), "two foreign elements");
    batch.elements[100].owner = 2;
    batch.elements[600].owner = 3;
    std::vector<Refusal> refusals = table_.kernel->commit(batch);
    const std::string one = to_string(family_, frontend(1100)), other = to_string(family_, frontend(1600));
    check(refusals.size() == 2 && refusals[0].owner == 2 && refusals[0].error == EEXIST &&
              refusals[0].what == "element " + one + " of service-treatments" && refusals[1].owner == 3 &&
              refusals[1].what == "element " + other + " of service-treatments",
          "each element that is refused is named, in a transaction of 700", words(refusals));
    check(table_.kernel->list().records[index(SetId::kServiceIps)].size() == 3, "of which nothing was carried out");

    batch = {};
    batch.dispatch = {{false, 8, "nowhere", false}};
    refusals = table_.kernel->commit(batch);
    check(refusals.size() == 1 && refusals[0].error == ENOENT &&
              refusals[0].what == "element 8 (nowhere) of service-chains",
          "a missing chain is reported", words(refusals));
    batch = {};
    batch.dispatch = {{false, 9, "services", false}};
    refusals = table_.kernel->commit(batch);
    check(refusals.size() == 1 && (refusals[0].error == EMLINK || refusals[0].error == ELOOP) &&
              refusals[0].what == "element 9 (services) of service-chains",
          "a loop of chains is reported", words(refusals));
    batch = {};
    batch.elements = {removed(service(5))};
    batch.elements[0].owner = 0;
    refusals = table_.kernel->commit(batch);
    check(refusals.size() == 1 && refusals[0].error == ENOENT && has(refusals[0].what, "the removal of element "),
          "an element that is not there cannot be removed", words(refusals));
    batch = {};
    batch.remove_chains = {"services"};
    refusals = table_.kernel->commit(batch);
    check(refusals.size() == 1 && refusals[0].error == EBUSY && refusals[0].what == "the removal of chain services",
          "a chain in use cannot be removed", words(refusals));
    batch = {};
    batch.create_sets = {set_spec(family_, SetId::kEndpoints)};
    refusals = table_.kernel->commit(batch);
    check(refusals.size() == 1 && refusals[0].error == EEXIST && refusals[0].what == "set endpoints",
          "a set is not created twice", words(refusals));
    // As many refusals as one batch may have.
    batch = {};
    for (std::uint32_t i = 0; i < 20000; ++i) batch.elements.push_back(removed(service(2000 + i)));
    refusals = table_.kernel->commit(batch);
    check(refusals.size() >= 20, "of very many refusals many are named", std::to_string(refusals.size()));
    batch = {};
    for (std::uint32_t i = 0; i < 20000; ++i) batch.dispatch.push_back({false, 100 + i, "", true});
    refusals = table_.kernel->commit(batch);
    check(!refusals.empty(), "if answers are lost, the received ones are reported");
    accepted(table_.kernel->commit([&] {
      Batch good;
      good.elements = {service(3000)};
      return good;
    }()),
             "after which the next transaction is carried out");
  }

  void reports_foreign_changes() {
    ReportQueue& reports = reports_;
    table_.watch->start([&](const std::string& sentence) { reports.add(sentence); });
    nft({"add", "table", ip_, "other"});
    // While the table is small: a slow machine must see the client before it expires.
    const std::string client = family_ == Family::kIpv6 ? "fd00::1" : "10.0.0.1";
    const auto timeout =
        std::chrono::ceil<std::chrono::seconds>(stretched_at_most(std::chrono::seconds(5), std::chrono::seconds(60)));
    nft({"add", "element", ip_, kTableName, "affinity",
         "{ 0001:0000 . " + client + " timeout " + std::to_string(timeout.count()) + "s : 0001:0001 }"});
    const auto remembered = [&] { return has(nft({"list", "map", ip_, kTableName, "affinity"}).output, "expires"); };
    check(remembered(), "another process adds a client with a timeout", "it is not there");
    Batch batch;
    for (std::uint32_t i = 0; i < 5000; ++i) batch.elements.push_back(service(10000 + i));
    accepted(table_.kernel->commit(batch), "5,000 elements are written while there is a watch");
    std::string none;
    const auto end = std::chrono::steady_clock::now() + timeout + stretched(kLong);
    while (none.empty() && remembered() && std::chrono::steady_clock::now() < end) none = reports.wait(kPoll);
    check(!remembered(), "which expires");
    if (none.empty()) none = reports.wait(kShort);
    check(none.empty(), "own changes, changes of other tables and expired clients are not reported", none);
    const std::string table = "table " + ip_ + " kube-proxy";
    nft({"add", "chain", ip_, kTableName, "foreign"});
    std::string sentence = reports.wait(stretched(kLong));
    check(sentence.starts_with(table + ": chain foreign was added or changed by nft (pid "),
          "a foreign chain is reported", sentence);
    nft({"delete", "chain", ip_, kTableName, "foreign"});
    sentence = reports.wait(kShort);
    check(sentence.empty(), "only once", sentence);
    table_.watch->rearm();
    nft({"flush", "chain", ip_, kTableName, "services"});
    sentence = reports.wait(stretched(kLong));
    check(sentence.starts_with(table + ": a rule of chain services was removed"), "a removed rule is reported",
          sentence);
    table_.watch->rearm();
    nft({"flush", "map", ip_, kTableName, "endpoints"});
    sentence = reports.wait(stretched(kLong));
    check(sentence.starts_with(table + ": an element of endpoints was removed"), "removed elements are reported",
          sentence);
    table_.watch->rearm();
    nft({"delete", "table", ip_, kTableName});
    sentence = reports.wait(stretched(kLong));
    check(sentence.starts_with(table), "the removal of the table is reported", sentence);
    table_.watch->rearm();
    accepted(table_.kernel->commit(written_), "what was removed is written again");
    check(reports.wait(kShort).empty(), "which is not reported");
    nft({"delete", "table", ip_, "other"});
  }

  void reads_foreign_shapes() {
    nft({"delete", "table", ip_, kTableName});
    const std::string address = family_ == Family::kIpv6 ? "ipv6_addr" : "ipv4_addr";
    const Run load = nft({"-f", "-"}, "table " + ip_ + " kube-proxy {\n map service-treatments { type " + address +
                                          " . inet_proto . inet_service : verdict; }\n" +
                                          " set cluster-ips { type " + address + "; elements = { " +
                                          (family_ == Family::kIpv6 ? "fd00::7" : "10.0.0.7") + " } }\n chain foreign {\n" +
                                          "  type filter hook input priority 5; policy drop;\n  counter accept comment \"x\"\n }\n}\n");
    check(load.status == 0, "a foreign table is loaded", load.output);
    Listing listing = table_.kernel->list();
    check(listing.exists && listing.sets["service-treatments"].data_type == NFT_DATA_VERDICT &&
              listing.records[index(SetId::kServiceIps)].size() == 0 &&
              listing.records[index(SetId::kClusterIps)].size() == 1,
          "a map of another shape is listed without elements");
    check(listing.chains["foreign"].is_base && listing.chains["foreign"].hook.priority == 5 &&
              has(listing.chains["foreign"].hook.type, "policy drop") && listing.chains["foreign"].rules.size() == 1 &&
              listing.chains["foreign"].rules[0].comment == "x",
          "a foreign chain is listed");
    Batch whole = written_;
    whole.delete_table = true;
    accepted(table_.kernel->commit(whole), "and all of it is replaced in one transaction");
    nft({"add", "table", ip_, kTableName, "{ flags dormant; }"});
    listing = table_.kernel->list();
    bool dormant = true;
    for (const auto& [name, chain] : listing.chains) dormant = dormant && (!chain.is_base || has(chain.hook.type, "dormant"));
    check(dormant, "base chains of a dormant table have another shape");
    nft({"add", "table", ip_, kTableName, "{ }"});
    table_.kernel->delete_table();
    accepted(table_.kernel->commit(written_), "it is written again");
  }

  void counts_traffic() {
    const std::vector<TrafficCount> counts = table_.kernel->traffic();
    check(counts.size() == 2 && !counts[0].frontend.node_port && counts[0].frontend.port == 80 &&
              counts[1].frontend.node_port && counts[1].frontend.port == 30001 && counts[0].packets == 0,
          "traffic is listed for each frontend", std::to_string(counts.size()));
  }

  // A client that has used up a part of its timeout.
  RememberedClient client(std::uint32_t n) const {
    return {7u << 16, frontend(n).address, 7u << 16 | 1, 10800, 100 + n};
  }

  void writes_affinity_clients() {
    Batch batch;
    for (std::uint32_t i = 1; i <= 1500; ++i) batch.clients.push_back(client(i));
    accepted(table_.kernel->commit(batch), "clients with affinity are written, in more than one message");
    std::vector<RememberedClient> clients = table_.kernel->clients();
    // Not compared by time, as seconds pass during the listing.
    std::sort(clients.begin(), clients.end(), [](const auto& a, const auto& b) { return a.client < b.client; });
    bool good = clients.size() == 1500;
    for (std::uint32_t i = 1; good && i <= 1500; ++i) {
      const RememberedClient& one = clients[i - 1];
      good = one.id == 7u << 16 && one.token == (7u << 16 | 1) && one.client == client(i).client &&
             one.remaining <= 100 + i && one.remaining + 60 >= 100 + i;
    }
    check(good, "and read as they were written, with the time that is left", std::to_string(clients.size()));
    accepted(table_.kernel->commit(batch), "the same again is no harm");
    const std::string text = nft({"list", "map", ip_, kTableName, "affinity"}).output;
    check(has(text, "expires 1m4") || has(text, "timeout 3h"), "nft shows them", text.substr(0, 500));
    Batch other;
    other.clients.push_back(client(1));
    other.clients[0].token = 7u << 16 | 2;
    const std::vector<Refusal> refusals = table_.kernel->commit(other);
    check(refusals.size() == 1 && refusals[0].error == EEXIST && refusals[0].what == "1 clients of affinity",
          "one that is bound elsewhere is refused", words(refusals));
  }

  void removes_base_chains() {
    Batch batch;
    for (const ChainSpec& spec : fixed_chains(facts_)) {
      if (spec.is_base && spec.name != "nat-postrouting") batch.remove_chains.push_back(spec.name);
    }
    accepted(table_.kernel->commit(batch), "base chains with rules are removed");
    const std::string text = listed();
    check(has(text, "hook postrouting") && !has(text, "hook prerouting") && !has(text, "hook output"),
          "and only what masquerades is left", text.substr(0, 500));
  }

  void refuses_an_existing_table() {
    Table other = open_table(family_);
    std::vector<Refusal> refusals = other.kernel->commit(written_);
    check(!refusals.empty() && refusals[0].error == EEXIST && refusals[0].what == "the table",
          "a table that is there is not created", words(refusals));
  }

  void deletes() {
    check(table_.kernel->delete_table(), "the table is deleted");
    check(nft({"list", "ruleset"}).output.empty(), "and nothing is left", nft({"list", "ruleset"}).output);
  }

  Family family_;
  std::string ip_;
  ReportQueue reports_;  // outlives the watch
  Table table_;
  LayoutFacts facts_;
  Batch written_;
  int count_ = 0;
  bool failed_ = false;
};

// Times of one transaction of `count` elements, alternately with and without a listener.
int measure(std::uint32_t count) {
  constexpr int kRounds = 7;
  Table writer = open_table(Family::kIpv4);
  Batch sets;
  sets.create_table = true;
  sets.create_sets = all_sets(Family::kIpv4, false, 1000);
  if (!writer.kernel->commit(sets).empty()) return 1;
  Batch add, remove;
  for (std::uint32_t i = 0; i < count; ++i) {
    FrontendKey key;
    key.address.bytes[0] = 172;
    for (std::size_t k = 0; k < 3; ++k) key.address.bytes[3 - k] = static_cast<std::uint8_t>(i >> 8 * k);
    key.port = 80;
    ElementWrite element;
    element.record = {SetId::kServiceIps, frontend_key(Family::kIpv4, key), number_data(3)};
    element.comment = "namespace-1/service-" + std::to_string(i) + ":p80";
    add.elements.push_back(element);
    element.remove = true;
    remove.elements.push_back(element);
  }
  // The kernel serves a request in the thread that makes it: its CPU time does not depend on other load.
  const auto spent = [](const auto& body) {
    timespec begin{}, end{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    body();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return static_cast<double>(end.tv_sec - begin.tv_sec) * 1e3 + static_cast<double>(end.tv_nsec - begin.tv_nsec) / 1e6;
  };
  for (int round = 0; round < kRounds; ++round) {
    for (const bool listens : {false, true}) {
      std::atomic<bool> reported = false;
      if (listens) writer.watch->start([&](const std::string&) { reported = true; });
      bool good = true;
      const double added = spent([&] { good = writer.kernel->commit(add).empty(); });
      const double listed = spent([&] { writer.kernel->list(); });
      const double removed = spent([&] { good = writer.kernel->commit(remove).empty() && good; });
      std::printf("%s %d: %u elements added in %.1f ms, listed in %.1f ms, removed in %.1f ms%s\n",
                  listens ? "listener" : "none    ", round, count, added, listed, removed, good ? "" : " REFUSED");
      if (listens) {
        writer = open_table(Family::kIpv4);
        if (reported) std::printf("our own changes were REPORTED\n");
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace sluice::test

int main(int count, char** arguments) {
  using sluice::abi::Family;
  const std::string what = count >= 2 ? arguments[1] : "";
  try {
    if (what == "4" || what == "6") return sluice::test::Checks(what == "6" ? Family::kIpv6 : Family::kIpv4).run();
    if (what == "measure" && count == 3) return sluice::test::measure(static_cast<std::uint32_t>(std::atol(arguments[2])));
  } catch (const std::exception& caught) {
    std::printf("Bail out! %s\n", caught.what());
    return 1;
  }
  std::fprintf(stderr, "usage: %s 4|6|measure ELEMENTS\n", arguments[0]);
  return 2;
}
