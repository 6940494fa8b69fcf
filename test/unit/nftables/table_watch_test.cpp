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
#include "test/unit/nftables/nft_wire.hpp"
#include "test/unit/patience.hpp"

namespace sluice::nftables {
namespace table_watch_test {

using abi::Family;
constexpr std::uint32_t kSomebody = 99, kUs = 7;

std::string event(int kind, std::uint32_t port, Family family, const std::vector<std::pair<std::uint16_t, std::string>>& names) {
  std::string attributes;
  for (const auto& [type, name] : names) AttributeWriter(attributes).put_text(type, name);
  return netlink_message(message_type(kind), 0, 0, port, make_question_body(family, attributes));
}
std::string chain_gone(std::uint32_t port, Family family = Family::kIpv4, const std::string& table = kTableName) {
  return event(NFT_MSG_DELCHAIN, port, family, {{NFTA_CHAIN_TABLE, table}, {NFTA_CHAIN_NAME, "services"}});
}
std::string element_gone(const std::string& set) {
  return event(NFT_MSG_DELSETELEM, kSomebody, Family::kIpv4,
               {{NFTA_SET_ELEM_LIST_TABLE, kTableName}, {NFTA_SET_ELEM_LIST_SET, set}});
}
std::string generation(std::uint32_t port) {
  std::string attributes;
  AttributeWriter put(attributes);
  put.put_be32(NFTA_GEN_ID, 5);
  put.put_be32(NFTA_GEN_PROC_PID, 123);
  put.put_text(NFTA_GEN_PROC_NAME, "nft");
  return netlink_message(message_type(NFT_MSG_NEWGEN), 0, 0, port, make_question_body(Family::kIpv4, attributes));
}

// Notifications that tests put in.
struct Line {
  std::mutex mutex;
  std::deque<NftItem> items;
  bool is_done = true;  // nothing is there, and what came of it was told
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

class ListenerWire final : public netlink::Wire {
 public:
  explicit ListenerWire(std::shared_ptr<Line> line) : line_(std::move(line)) {}
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
  std::uint32_t port() const noexcept override { return 1; }
  int listen(std::uint32_t, bool on) noexcept override { return on ? line_->refusal.load() : 0; }
  // It is asked for before each wait.
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
  CPPUNIT_TEST(says_what_was_changed_and_by_whom);
  CPPUNIT_TEST(leaves_out_what_is_not_ours_or_our_doing);
  CPPUNIT_TEST(counts_what_is_lost_as_a_change);
  CPPUNIT_TEST(survives_any_notification);
  CPPUNIT_TEST(tells_once_until_it_is_armed_again);
  CPPUNIT_TEST(tells_when_it_can_no_longer_listen);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override { own_->opened(kUs); }

  void says_what_was_changed_and_by_whom() {
    EventReader reader(Family::kIpv4, *own_);
    reader.read(chain_gone(kSomebody));
    CPPUNIT_ASSERT(reader.changed() && !reader.complete());
    reader.read(generation(kSomebody + 1));  // of another transaction
    CPPUNIT_ASSERT(!reader.complete());
    reader.read(generation(kSomebody));
    CPPUNIT_ASSERT(reader.complete());
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy: chain services was removed by nft (pid 123)"), reader.take());
    CPPUNIT_ASSERT(!reader.changed());
    reader.read(element_gone("endpoints") + element_gone("endpoints") + element_gone("service-treatments") + generation(kSomebody));
    CPPUNIT_ASSERT_EQUAL(
        std::string("table ip kube-proxy: an element of endpoints was removed, with 2 more changes, by nft (pid 123)"),
        reader.take());
    reader.read(event(NFT_MSG_DELTABLE, kSomebody, Family::kIpv4, {{NFTA_TABLE_NAME, kTableName}}));
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy was removed"), reader.take());
  }

  void leaves_out_what_is_not_ours_or_our_doing() {
    EventReader reader(Family::kIpv4, *own_);
    reader.read(chain_gone(kUs) + generation(kUs));
    reader.read(chain_gone(kSomebody, Family::kIpv6) + chain_gone(kSomebody, Family::kIpv4, "other"));
    reader.read(element_gone("affinity") + generation(kSomebody));
    CPPUNIT_ASSERT(!reader.changed());
    own_->closing(kUs);  // whoever gets the port is somebody else
    own_->opened(kUs + 1);
    reader.read(chain_gone(kUs));
    CPPUNIT_ASSERT(reader.changed());
  }

  void counts_what_is_lost_as_a_change() {
    EventReader reader(Family::kIpv6, *own_);
    reader.read(chain_gone(kSomebody, Family::kIpv6).substr(0, 25));
    CPPUNIT_ASSERT_EQUAL(std::string("table ip6 kube-proxy may have been changed, as notifications were lost"), reader.take());
    reader.missed();
    CPPUNIT_ASSERT(reader.complete());
  }

  void survives_any_notification() {
    EventReader reader(Family::kIpv4, *own_);
    std::mt19937 random(3);
    std::size_t told = 0;
    for (int i = 0; i < 20000; ++i) {
      std::string bytes = chain_gone(kSomebody) + element_gone("endpoints") + generation(kSomebody);
      for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      bytes.resize(random() % (bytes.size() + 1));
      reader.read(bytes);
      if (reader.changed()) told += reader.take().size();
    }
    CPPUNIT_ASSERT(told > 0);
  }

  void tells_once_until_it_is_armed_again() {
    const auto line = std::make_shared<Line>();
    NetlinkWatch watch(Family::kIpv4, [&] { return std::make_unique<ListenerWire>(line); }, own_);
    watch.start([this](const std::string& sentence) { tell(sentence); });
    watch.start({});
    line->put(chain_gone(kUs) + generation(kUs));
    line->put(chain_gone(kSomebody) + generation(kSomebody));
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy: chain services was removed by nft (pid 123)"), next());
    line->put(chain_gone(kSomebody) + generation(kSomebody));
    CPPUNIT_ASSERT(test::wait_until([&] { return is_done(*line); }));
    watch.rearm();
    line->put({}, ENOBUFS);
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy may have been changed, as notifications were lost"), next());
    watch.rearm();
    own_->missed();
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy may have been changed by somebody while many elements were written"),
                         next());
    watch.rearm();
    // Without a name it is told all the same, after a while.
    line->put(chain_gone(kSomebody));
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy: chain services was removed"), next());
  }

  void tells_when_it_can_no_longer_listen() {
    const auto line = std::make_shared<Line>();
    NetlinkWatch watch(Family::kIpv4, [&] { return std::make_unique<ListenerWire>(line); }, own_);
    line->refusal = EPERM;
    CPPUNIT_ASSERT_THROW(watch.start({}), sdk::Failure);
    line->refusal = 0;
    watch.start([this](const std::string& sentence) { tell(sentence); });
    // As around a large load.
    line->refusal = ENOMEM;
    own_->hear(false);
    own_->hear(true);
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy may be changed unnoticed, as the kernel lets nobody listen to changes "
                                     "of nf_tables: Cannot allocate memory (ENOMEM)"),
                         next());
    watch.rearm();
    own_->hear(false);
    own_->hear(true);
    // It tries again by itself; what was done meanwhile is not known.
    line->refusal = 0;
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy may have been changed by somebody while many elements were written"),
                         next());
    watch.rearm();
    line->put(chain_gone(kSomebody) + generation(kSomebody));
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy: chain services was removed by nft (pid 123)"), next());
  }

 private:
  static bool is_done(Line& line) {
    const std::lock_guard lock(line.mutex);
    return line.is_done;
  }
  void tell(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    told_.push_back(sentence);
    changed_.notify_all();
  }
  std::string next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, test::stretched(std::chrono::seconds(60)), [&] { return !told_.empty(); })) return "nothing";
    const std::string sentence = told_.front();
    told_.pop_front();
    return sentence;
  }

  std::shared_ptr<OwnSenders> own_ = std::make_shared<OwnSenders>();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> told_;
};
CPPUNIT_TEST_SUITE_REGISTRATION(TableWatchTest);

}  // namespace table_watch_test
}  // namespace sluice::nftables
