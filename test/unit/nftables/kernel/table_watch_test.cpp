// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/table_watch.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "plugins/nftables/kernel/attributes.hpp"
#include "plugins/nftables/kernel/encoder.hpp"
#include "plugins/nftables/kernel/event_reader.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/nftables/kernel/nft_socket.hpp"
#include "test/unit/patience.hpp"

namespace sluice::nftables {
namespace table_watch_test {

using abi::Family;
constexpr std::uint32_t kForeignPortId = 99, kOwnPortId = 7;

std::string event(int kind, std::uint32_t port_id, Family family,
                  const std::vector<std::pair<std::uint16_t, std::string>>& names) {
  std::string attributes;
  for (const auto& [type, name] : names) AttributeWriter(attributes).put_text(type, name);
  return netlink_message(message_type(kind), 0, 0, port_id, make_request_body(family, attributes));
}
std::string chain_gone(std::uint32_t port_id, Family family = Family::kIpv4, const std::string& table = kTableName) {
  return event(NFT_MSG_DELCHAIN, port_id, family, {{NFTA_CHAIN_TABLE, table}, {NFTA_CHAIN_NAME, "services"}});
}
std::string element_gone(const std::string& set) {
  return event(NFT_MSG_DELSETELEM, kForeignPortId, Family::kIpv4,
               {{NFTA_SET_ELEM_LIST_TABLE, kTableName}, {NFTA_SET_ELEM_LIST_SET, set}});
}
std::string generation(std::uint32_t port_id) {
  std::string attributes;
  AttributeWriter put(attributes);
  put.put_be32(NFTA_GEN_ID, 5);
  put.put_be32(NFTA_GEN_PROC_PID, 123);
  put.put_text(NFTA_GEN_PROC_NAME, "nft");
  return netlink_message(message_type(NFT_MSG_NEWGEN), 0, 0, port_id, make_request_body(Family::kIpv4, attributes));
}

// Notifications from tests.
struct Line {
  std::mutex mutex;
  std::deque<NftItem> items;
  bool is_done = true;           // the queue is empty, and its notifications were handled
  std::atomic<int> refusal = 0;  // of listening
  int ready = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  ~Line() { ::close(ready); }
  void put(std::string bytes, int error = 0) {
    {
      const std::lock_guard lock(mutex);
      items.push_back({std::move(bytes), error});
      is_done = false;
    }
    const std::uint64_t one = 1;
    CPPUNIT_ASSERT(::write(ready, &one, sizeof(one)) == sizeof(one));
  }
};

class ListenerSocket final : public lib::netlink::RawSocket {
 public:
  explicit ListenerSocket(std::shared_ptr<Line> line) : line_(std::move(line)) {}
  int send(std::string_view) noexcept override { return EOPNOTSUPP; }
  long receive(std::span<char> into, std::chrono::milliseconds) noexcept override {
    const std::lock_guard lock(line_->mutex);
    if (line_->items.empty()) return -EAGAIN;
    std::uint64_t one = 0;
    if (::read(line_->ready, &one, sizeof(one)) < 0) return -EAGAIN;
    const NftItem item = line_->items.front();
    line_->items.pop_front();
    if (item.error != 0) return -item.error;
    item.bytes.copy(into.data(), into.size());
    return static_cast<long>(item.bytes.size());
  }
  std::uint32_t port_id() const noexcept override { return 1; }
  int set_membership(std::uint32_t, bool on) noexcept override { return on ? line_->refusal.load() : 0; }
  // Called before each wait.
  int descriptor() const noexcept override {
    const std::lock_guard lock(line_->mutex);
    line_->is_done = line_->items.empty();
    return line_->ready;
  }

 private:
  std::shared_ptr<Line> line_;
};

class TableWatchTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TableWatchTest);
  CPPUNIT_TEST(names_the_change_and_the_process);
  CPPUNIT_TEST(ignores_other_tables_and_own_changes);
  CPPUNIT_TEST(lost_notifications_count_as_a_change);
  CPPUNIT_TEST(survives_any_notification);
  CPPUNIT_TEST(reports_once_until_rearmed);
  CPPUNIT_TEST(reports_failure_to_listen);
  CPPUNIT_TEST(finish_knows_whether_the_table_changed);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override { own_->opened(kOwnPortId); }

  void names_the_change_and_the_process() {
    EventReader reader(Family::kIpv4, *own_);
    reader.read(chain_gone(kForeignPortId));
    CPPUNIT_ASSERT(reader.changed() && !reader.complete());
    reader.read(generation(kForeignPortId + 1));  // of another transaction
    CPPUNIT_ASSERT(!reader.complete());
    reader.read(generation(kForeignPortId));
    CPPUNIT_ASSERT(reader.complete());
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy: chain services was removed by nft (pid 123)"), reader.take());
    CPPUNIT_ASSERT(!reader.changed());
    reader.read(element_gone("endpoints") + element_gone("endpoints") + element_gone("cluster-ips") +
                generation(kForeignPortId));
    CPPUNIT_ASSERT_EQUAL(
        std::string("table ip kube-proxy: an element of endpoints was removed, with 2 more changes, by nft (pid 123)"),
        reader.take());
    reader.read(event(NFT_MSG_DELFLOWTABLE, kForeignPortId, Family::kIpv4,
                      {{NFTA_FLOWTABLE_TABLE, kTableName}, {NFTA_FLOWTABLE_NAME, "service-flows"}}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("table ip kube-proxy: flowtable service-flows or an interface of it was removed"), reader.take());
    reader.read(event(NFT_MSG_DELTABLE, kForeignPortId, Family::kIpv4, {{NFTA_TABLE_NAME, kTableName}}));
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy was removed"), reader.take());
  }

  void ignores_other_tables_and_own_changes() {
    EventReader reader(Family::kIpv4, *own_);
    reader.read(chain_gone(kOwnPortId) + generation(kOwnPortId));
    reader.read(chain_gone(kForeignPortId, Family::kIpv6) + chain_gone(kForeignPortId, Family::kIpv4, "other"));
    reader.read(element_gone("affinity") + generation(kForeignPortId));
    CPPUNIT_ASSERT(!reader.changed());
    own_->closing(kOwnPortId);  // the port ID may belong to another process now
    own_->opened(kOwnPortId + 1);
    reader.read(chain_gone(kOwnPortId));
    CPPUNIT_ASSERT(reader.changed());
  }

  void lost_notifications_count_as_a_change() {
    EventReader reader(Family::kIpv6, *own_);
    reader.read(chain_gone(kForeignPortId, Family::kIpv6).substr(0, 25));
    CPPUNIT_ASSERT_EQUAL(std::string("table ip6 kube-proxy may have been changed, as notifications were lost"), reader.take());
    reader.missed();
    CPPUNIT_ASSERT(reader.complete());
  }

  void survives_any_notification() {
    EventReader reader(Family::kIpv4, *own_);
    std::mt19937 random(3);
    std::size_t total_size = 0;
    for (int i = 0; i < 20000; ++i) {
      std::string bytes = chain_gone(kForeignPortId) + element_gone("endpoints") + generation(kForeignPortId);
      for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      bytes.resize(random() % (bytes.size() + 1));
      reader.read(bytes);
      if (reader.changed()) total_size += reader.take().size();
    }
    CPPUNIT_ASSERT(total_size > 0);
  }

  void reports_once_until_rearmed() {
    const auto line = std::make_shared<Line>();
    NetlinkWatch watch(Family::kIpv4, [&] { return std::make_unique<ListenerSocket>(line); }, own_);
    watch.start([this](const std::string& sentence) { report(sentence); });
    watch.start({});
    line->put(chain_gone(kOwnPortId) + generation(kOwnPortId));
    line->put(chain_gone(kForeignPortId) + generation(kForeignPortId));
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy: chain services was removed by nft (pid 123)"), next());
    line->put(chain_gone(kForeignPortId) + generation(kForeignPortId));
    CPPUNIT_ASSERT(test::wait_until([&] { return is_done(*line); }));
    watch.rearm();
    line->put({}, ENOBUFS);
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy may have been changed, as notifications were lost"), next());
    watch.rearm();
    own_->missed();
    CPPUNIT_ASSERT_EQUAL(
        std::string("table ip kube-proxy may have been changed by another process while many elements were written"),
        next());
    watch.rearm();
    // After a timeout, the change is reported without the process.
    line->put(chain_gone(kForeignPortId));
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy: chain services was removed"), next());
  }

  void reports_failure_to_listen() {
    const auto line = std::make_shared<Line>();
    NetlinkWatch watch(Family::kIpv4, [&] { return std::make_unique<ListenerSocket>(line); }, own_);
    line->refusal = EPERM;
    CPPUNIT_ASSERT_THROW(watch.start({}), sdk::Failure);
    line->refusal = 0;
    watch.start([this](const std::string& sentence) { report(sentence); });
    // As before and after a large transaction.
    line->refusal = ENOMEM;
    own_->set_listening(false);
    own_->set_listening(true);
    CPPUNIT_ASSERT_EQUAL(
        std::string("table ip kube-proxy may be changed unnoticed, as the kernel refuses notifications of "
                    "nf_tables: Cannot allocate memory (ENOMEM)"),
        next());
    watch.rearm();
    own_->set_listening(false);
    own_->set_listening(true);
    // It retries by itself; changes in the meantime are unknown.
    line->refusal = 0;
    CPPUNIT_ASSERT_EQUAL(
        std::string("table ip kube-proxy may have been changed by another process while many elements were written"),
        next());
    watch.rearm();
    line->put(chain_gone(kForeignPortId) + generation(kForeignPortId));
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy: chain services was removed by nft (pid 123)"), next());
  }

  void finish_knows_whether_the_table_changed() {
    const auto finishes = [this](const auto& happens) {
      const auto line = std::make_shared<Line>();
      NetlinkWatch watch(Family::kIpv4, [&] { return std::make_unique<ListenerSocket>(line); }, own_);
      watch.start([this](const std::string& sentence) { report(sentence); });
      happens(watch, *line);
      return watch.finish();
    };
    CPPUNIT_ASSERT(finishes([](auto&, auto&) {}));
    CPPUNIT_ASSERT(finishes([](auto&, auto& line) {
      line.put(chain_gone(kOwnPortId) + generation(kOwnPortId));
      line.put(chain_gone(kForeignPortId, Family::kIpv6));
    }));
    CPPUNIT_ASSERT(!finishes([](auto&, auto& line) { line.put(chain_gone(kForeignPortId)); }));
    CPPUNIT_ASSERT(!finishes([](auto&, auto& line) {
      for (int i = 0; i < 100; ++i) line.put(chain_gone(kForeignPortId, Family::kIpv6));
      line.put(chain_gone(kForeignPortId));
    }));
    CPPUNIT_ASSERT(!finishes([](auto&, auto& line) { line.put({}, ENOBUFS); }));
    CPPUNIT_ASSERT(!finishes([](auto&, auto& line) { line.put({}, EIO); }));
    CPPUNIT_ASSERT(!finishes([this](auto&, auto&) { own_->missed(); }));
    reported_.clear();
    CPPUNIT_ASSERT(!finishes([this](auto&, auto& line) {
      line.put(chain_gone(kForeignPortId) + generation(kForeignPortId));
      next();
    }));
    CPPUNIT_ASSERT(finishes([this](auto& watch, auto& line) {
      line.put(chain_gone(kForeignPortId) + generation(kForeignPortId));
      next();
      watch.rearm();
    }));
    const auto line = std::make_shared<Line>();
    NetlinkWatch watch(Family::kIpv4, [&] { return std::make_unique<ListenerSocket>(line); }, own_);
    CPPUNIT_ASSERT_MESSAGE("it did not watch", !watch.finish());
  }

 private:
  static bool is_done(Line& line) {
    const std::lock_guard lock(line.mutex);
    return line.is_done;
  }
  void report(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    reported_.push_back(sentence);
    changed_.notify_all();
  }
  std::string next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, test::stretched(std::chrono::seconds(60)), [&] { return !reported_.empty(); }))
      return "nothing";
    const std::string sentence = reported_.front();
    reported_.pop_front();
    return sentence;
  }

  std::shared_ptr<OwnSenders> own_ = std::make_shared<OwnSenders>();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> reported_;
};
CPPUNIT_TEST_SUITE_REGISTRATION(TableWatchTest);

}  // namespace table_watch_test
}  // namespace sluice::nftables
