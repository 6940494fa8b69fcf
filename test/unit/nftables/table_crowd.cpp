// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table on a real kernel that other processes use as well: their transactions are committed between any two
// datagrams. In a network namespace of its own.
//   nftables_crowd          TAP; needs root
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/netlink_table.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/kernel/table_watch.hpp"
#include "plugins/nftables/kernel/transaction.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/patience.hpp"

namespace sluice::test {
namespace {

using namespace nftables;
using abi::Family;
using std::chrono::milliseconds;

constexpr std::uint32_t kElements = 20000;  // some seventy datagrams
constexpr milliseconds kLong{20000};

// A socket that runs a hook before each batch and each part of a dump.
struct Hooks {
  std::function<void()> before_batch;
  std::function<void()> before_part;  // of a dump
  std::uint64_t dumps = 0;
};
class HookedSocket final : public lib::netlink::RawSocket {
 public:
  explicit HookedSocket(Hooks& hooks) : hooks_(hooks), socket_(netlink::open_raw_socket(NETLINK_NETFILTER)) {}
  int send(std::string_view datagram) noexcept override {
    nlmsghdr header{};
    std::memcpy(&header, datagram.data(), sizeof(header));
    const bool batch = header.nlmsg_type == NLMSG_MIN_TYPE;
    dumping_ = !batch && (header.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    if (dumping_) ++hooks_.dumps;
    // Not before an empty batch.
    if (batch && datagram.size() > 2 * NLMSG_SPACE(sizeof(nfgenmsg)) && hooks_.before_batch) hooks_.before_batch();
    return socket_->send(datagram);
  }
  long receive(std::span<char> into, milliseconds timeout) noexcept override {
    if (dumping_ && hooks_.before_part) hooks_.before_part();
    return socket_->receive(into, timeout);
  }
  std::uint32_t port_id() const noexcept override { return socket_->port_id(); }
  int grow_send_buffer(std::size_t bytes) noexcept override { return socket_->grow_send_buffer(bytes); }
  int set_membership(std::uint32_t group, bool on) noexcept override { return socket_->set_membership(group, on); }
  int descriptor() const noexcept override { return socket_->descriptor(); }

 private:
  Hooks& hooks_;
  std::unique_ptr<lib::netlink::RawSocket> socket_;
  bool dumping_ = false;
};

netlink::OpenRawSocket hooked(Hooks& hooks) {
  return [&hooks] { return std::make_unique<HookedSocket>(hooks); };
}
std::unique_ptr<lib::netlink::RawSocket> plain() { return netlink::open_raw_socket(NETLINK_NETFILTER); }

ElementWrite service(Family family, std::uint32_t n, bool remove = false) {
  FrontendKey key;
  const std::size_t size = family == Family::kIpv6 ? 16 : 4;
  key.address.bytes[0] = family == Family::kIpv6 ? 0xfd : 172;
  for (std::size_t i = 0; i < 3; ++i) key.address.bytes[size - 1 - i] = static_cast<std::uint8_t>(n >> 8 * i);
  key.protocol = abi::Protocol::kTcp;
  key.port = 80;
  ElementWrite made;
  made.record = {SetId::kServiceIps, frontend_key(family, key), number_data(3)};
  made.comment = "ns/svc" + std::to_string(n) + ":p80";
  made.remove = remove;
  return made;
}

Batch whole_table(Family family, std::uint32_t elements) {
  Batch batch;
  batch.create_table = true;
  batch.create_sets = all_sets(family, true, 1000);
  LayoutFacts facts;
  facts.family = family;
  facts.masquerade_mark = 0x4000;
  for (const bool base : {false, true}) {
    for (const ChainSpec& chain : fixed_chains(facts)) {
      if (chain.is_base == base) batch.chains.push_back({chain, true});
    }
  }
  for (std::uint32_t n = 0; n < elements; ++n) batch.elements.push_back(service(family, n));
  return batch;
}

// Another process, with a table of its own.
class ForeignWriter {
 public:
  explicit ForeignWriter(Family family)
      : family_(family), socket_(family, plain, std::make_shared<OwnSenders>(), NetlinkTable::kTimeout) {
    Batch batch;
    batch.create_table = true;
    batch.create_sets = {set_spec(family, SetId::kServiceIps)};
    good_ = socket_.run(batch, kTheirs, TransactionSocket::Mode::kCommit).empty();
  }
  // Adds or removes an element, in a transaction of its own.
  void busy() { toggle(kTheirs, 1, there_); }
  void meddle() { toggle(kTableName, 90000, in_ours_); }
  void remove_first(std::uint32_t count) {
    Batch batch;
    for (std::uint32_t n = 0; n < count; ++n) batch.elements.push_back(service(family_, n, true));
    write(kTableName, batch);
  }
  bool good() const noexcept { return good_; }
  std::uint64_t transactions() const noexcept { return transactions_; }

 private:
  static constexpr char kTheirs[] = "sluice-crowd";
  void toggle(const char* table, std::uint32_t n, bool& there) {
    Batch batch;
    batch.elements = {service(family_, n, there)};
    write(table, batch);
    there = !there;
  }
  void write(const char* table, const Batch& batch) {
    good_ = socket_.run(batch, table, TransactionSocket::Mode::kCommit).empty() && good_;
    ++transactions_;
  }
  Family family_;
  TransactionSocket socket_;
  bool there_ = false, in_ours_ = false, good_ = false;
  std::uint64_t transactions_ = 0;
};

// Receives the reports of a watch.
class ReportQueue {
 public:
  void add(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    sentence_ = sentence;
    changed_.notify_all();
  }
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stretched(kLong), [&] { return !sentence_.empty(); });
    return std::exchange(sentence_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string sentence_;
};

class Checks {
 public:
  int run() {
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      family_ = family;
      lists_during_foreign_writes();
      lists_foreign_changes();
      gives_up_in_the_end();
      ignores_the_other_family();
      reports_foreign_changes_while_muted();
    }
    std::printf("1..%d\n", count_);
    return failed_ ? 1 : 0;
  }

 private:
  void check(bool good, const std::string& what, const std::string& why = "") {
    std::printf("%s %d - %s: %s\n", good ? "ok" : "not ok", ++count_, family_ == Family::kIpv6 ? "IPv6" : "IPv4", what.c_str());
    if (!good) std::printf("# %s\n", why.c_str());
    failed_ = failed_ || !good;
    std::fflush(stdout);
  }

  struct Scene {
    explicit Scene(Family family)
        : table(family, hooked(hooks), std::make_shared<OwnSenders>()),
          foreign_writer(family),
          whole(whole_table(family, kElements)) {
      good = table.commit(whole).empty();
    }
    ~Scene() { table.delete_table(); }
    Hooks hooks;
    NetlinkTable table;
    ForeignWriter foreign_writer;
    Batch whole;
    bool good;
  };

  std::string list(Scene& scene, Listing& listing) {
    try {
      listing = scene.table.list();
    } catch (const sdk::Failure& failure) {
      return std::string(failure.code() == abi::Code::kRetry ? "kRetry: " : "not kRetry: ") + failure.what();
    }
    return {};
  }

  std::string differs(const Listing& listing, const Batch& whole, std::size_t removed = 0) {
    if (listing.sets.size() != whole.create_sets.size()) return std::to_string(listing.sets.size()) + " sets";
    if (listing.chains.size() != whole.chains.size()) return std::to_string(listing.chains.size()) + " chains";
    for (const ChainWrite& chain : whole.chains) {
      const auto found = listing.chains.find(chain.spec.name);
      if (found == listing.chains.end() || found->second.rules != chain.spec.rules) return "chain " + chain.spec.name;
    }
    const RecordTable& records = listing.records[index(SetId::kServiceIps)];
    if (records.size() != whole.elements.size() - removed) return std::to_string(records.size()) + " elements";
    for (std::size_t n = removed; n < whole.elements.size(); ++n) {
      if (!records.find(whole.elements[n].record.key)) return "element " + std::to_string(n);
    }
    return {};
  }

  void lists_during_foreign_writes() {
    Scene scene(family_);
    Listing listing;
    std::string why = list(scene, listing);
    if (why.empty()) why = differs(listing, scene.whole);
    check(scene.good && why.empty(), "a table of many elements is listed", why);
    const std::uint64_t once = std::exchange(scene.hooks.dumps, 0);
    scene.hooks.before_part = [&] { scene.foreign_writer.busy(); };
    why = list(scene, listing);
    if (why.empty()) why = differs(listing, scene.whole);
    scene.hooks.before_part = {};
    check(why.empty() && scene.foreign_writer.good() && scene.foreign_writer.transactions() > 60,
          "another table changes between any two parts of the listing",
          why + ", after " + std::to_string(scene.foreign_writer.transactions()) + " transactions");
    check(scene.hooks.dumps <= 3 * once, "which needs few more dumps",
          std::to_string(scene.hooks.dumps) + " dumps, not " + std::to_string(once));
    std::size_t counts = 1;
    scene.hooks.before_part = [&] { scene.foreign_writer.busy(); };
    try {
      counts = scene.table.traffic().size();
    } catch (const sdk::Failure& failure) {
      why = failure.what();
    }
    check(why.empty() && counts == 0, "traffic is listed meanwhile", why);
  }

  void lists_foreign_changes() {
    Scene scene(family_);
    constexpr std::uint64_t kLast = 40;  // of some eighty parts, most of which are of one set
    std::uint64_t part = 0;
    constexpr std::uint32_t kGone = 30;
    // Another table changes all the time, so the generation never matches. Elements are removed in the order of a
    // hash: with probability 1 - 2 ^ -30 some of them have been listed already.
    scene.hooks.before_part = [&] {
      scene.foreign_writer.busy();
      if (++part == kLast) scene.foreign_writer.remove_first(kGone);
    };
    Listing listing;
    std::string why = list(scene, listing);
    if (why.empty()) why = differs(listing, scene.whole, kGone);
    check(why.empty() && part > kLast, "a foreign change during the listing is in it",
          why + ", " + std::to_string(part));
  }

  void gives_up_in_the_end() {
    Scene scene(family_);
    scene.hooks.before_part = [&] { scene.foreign_writer.meddle(); };
    Listing listing;
    const std::string why = list(scene, listing);
    scene.hooks.before_part = {};
    check(why.starts_with("kRetry: ") && why.find("table kube-proxy") != why.npos,
          "a table that changes all the time is given up", why);
  }

  // Voluntary context switches of the threads of this process.
  static std::map<std::string, std::uint64_t> wakings() {
    std::map<std::string, std::uint64_t> all;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream status(task.path() / "status");
      for (std::string word; status >> word;) {
        if (word == "voluntary_ctxt_switches:") status >> all[task.path().filename()];
      }
    }
    return all;
  }
  Family other_family() const { return family_ == Family::kIpv6 ? Family::kIpv4 : Family::kIpv6; }

  void ignores_the_other_family() {
    ReportQueue reports;
    Table ours = open_table(family_), other = open_table(other_family());
    const auto before = wakings();
    ours.watch->start([&](const std::string& sentence) { reports.add(sentence); });
    std::string listener;
    for (const auto& [task, count] : wakings()) {
      if (!before.contains(task)) listener = task;
    }
    bool good = ours.kernel->commit(whole_table(family_, 10)).empty() &&
                other.kernel->commit(whole_table(other_family(), 10)).empty();
    // The listener has finished its start.
    ForeignWriter foreign_writer(family_);
    foreign_writer.meddle();
    const std::string sentence = reports.wait();
    check(good && sentence.find("an element of service-treatments was added") != sentence.npos,
          "a foreign change is reported", sentence);
    constexpr std::uint32_t kBatches = 200;
    const std::uint64_t from = wakings()[listener];
    for (std::uint32_t i = 0; i < kBatches; ++i) {
      Batch one;
      one.elements = {service(other_family(), 1000 + i)};
      good = other.kernel->commit(one).empty() && good;
    }
    const std::uint64_t woken = wakings()[listener] - from;
    check(good && woken < kBatches / 20, "transactions of the other family do not wake the listener",
          std::to_string(woken) + " times in " + std::to_string(kBatches));
    ours.kernel->delete_table();
    other.kernel->delete_table();
  }

  void reports_foreign_changes_while_muted() {
    ReportQueue reports;
    Hooks hooks;
    const auto own = std::make_shared<OwnSenders>();
    NetlinkTable ours(family_, plain, own), other(other_family(), hooked(hooks), own);
    NetlinkWatch watch(family_, plain, own);
    watch.start([&](const std::string& sentence) { reports.add(sentence); });
    bool good = ours.commit(whole_table(family_, 10)).empty() && other.commit(whole_table(other_family(), 10)).empty();
    Batch load;
    for (std::uint32_t n = 0; n < 2 * NetlinkTable::kMuteThreshold; ++n) {
      load.elements.push_back(service(other_family(), 1000 + n));
    }
    ForeignWriter foreign_writer(family_);
    hooks.before_batch = [&] { foreign_writer.meddle(); };
    good = other.commit(load).empty() && good;
    hooks.before_batch = {};
    const std::string sentence = reports.wait();
    check(good && sentence.find("may have been changed by another process while many elements were written") !=
                      sentence.npos,
          "a foreign change while the other family mutes notifications is reported", sentence);
    watch.rearm();
    foreign_writer.meddle();
    const std::string later = reports.wait();
    check(later.find("an element of service-treatments was removed") != later.npos, "and a later one is named", later);
    ours.delete_table();
    other.delete_table();
  }

  Family family_ = Family::kIpv4;
  int count_ = 0;
  bool failed_ = false;
};

}  // namespace
}  // namespace sluice::test

int main() {
  if (::unshare(CLONE_NEWNET) != 0) {
    std::printf("1..0 # SKIP a network namespace of its own needs root\n");
    return 0;
  }
  try {
    return sluice::test::Checks().run();
  } catch (const sluice::sdk::Failure& caught) {
    if (caught.code() == sluice::abi::Code::kUnsupported) {
      std::printf("1..0 # SKIP this kernel has no nf_tables\n");
      return 0;
    }
    std::printf("Bail out! %s\n", caught.what());
  } catch (const std::exception& caught) {
    std::printf("Bail out! %s\n", caught.what());
  }
  return 1;
}
