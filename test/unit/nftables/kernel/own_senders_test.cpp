// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/own_senders.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <linux/netfilter/nfnetlink.h>

#include <cerrno>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/netlink_table.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/nftables/kernel/nft_socket.hpp"

namespace sluice::nftables {
namespace own_senders_test {

using abi::Family;
constexpr std::chrono::milliseconds kShort{1};

Batch elements(std::uint32_t count) {
  Batch batch;
  for (std::uint32_t i = 0; i < count; ++i) {
    FrontendKey key;
    key.address.bytes[2] = static_cast<std::uint8_t>(i >> 8);
    key.address.bytes[3] = static_cast<std::uint8_t>(i);
    ElementWrite element;
    element.record = {SetId::kServiceIps, frontend_key(Family::kIpv4, key), number_data(3)};
    batch.elements.push_back(std::move(element));
  }
  return batch;
}

class OwnSendersTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OwnSendersTest);
  CPPUNIT_TEST(does_not_listen_to_large_transactions);
  CPPUNIT_TEST(filters_all_senders_of_this_process);
  CPPUNIT_TEST(reports_failed_listeners);
  CPPUNIT_TEST_SUITE_END();

 public:
  // A listener, with what it receives.
  struct Listener {
    explicit Listener(OwnSenders& senders) : own(senders), socket(line.opener()()) {
      line.joined = [this](std::uint32_t group, bool on) {
        heard += group == NFNLGRP_NFTABLES ? (on ? "+" : "-") : "?";
        return on ? refusal : 0;
      };
      CPPUNIT_ASSERT_EQUAL(0, own.listen(*socket, [this](int error) { missed.push_back(error); }));
    }
    ~Listener() { own.leave(*socket); }
    OwnSenders& own;
    NftLine line;
    std::unique_ptr<lib::netlink::RawSocket> socket;
    std::string heard;
    int refusal = 0;
    std::vector<int> missed;
  };

  void does_not_listen_to_large_transactions() {
    // One listener of this family, one of the other.
    Listener one(*own_), other(*own_);
    CPPUNIT_ASSERT(table_.commit(elements(10)).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("+"), one.heard);
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    for (const Listener* listener : {&one, &other}) {
      CPPUNIT_ASSERT_EQUAL(std::string("+-+"), listener->heard);
      CPPUNIT_ASSERT(listener->missed.empty());
    }
    // Earlier notifications are flushed before the listener is switched off.
    one.line.joined = [&](std::uint32_t, bool on) {
      flushed_before_ = flushed_before_ || (!on && line_.empty == 2);
      return 0;
    };
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    CPPUNIT_ASSERT(flushed_before_ && one.missed.empty() && other.missed.empty());
    // Another process writes first.
    line_.refuse = [&](std::size_t index, int, std::string_view) {
      if (index == 0) ++line_.generation;
      return 0;
    };
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("+-+-+-+"), other.heard);
    for (const Listener* listener : {&one, &other}) CPPUNIT_ASSERT(listener->missed == std::vector<int>{0});
  }

  void filters_all_senders_of_this_process() {
    NftLine line;
    line.port_id = kNftPortId + 1;
    auto other = std::make_unique<NetlinkTable>(Family::kIpv6, line.opener(), own_, kShort);
    Listener listener(*own_);
    CPPUNIT_ASSERT(table_.commit(elements(1)).empty());
    CPPUNIT_ASSERT(other->commit(elements(1)).empty());
    CPPUNIT_ASSERT((listener.line.filtered_port_ids == std::vector<std::uint32_t>{kNftPortId, kNftPortId + 1}));
    // The port ID of a closed socket may be reused by another process, so it is unregistered before.
    line_.closed = [this] { closed_while_ours_ = own_->contains(kNftPortId); };
    line_.spoil = [](std::deque<NftItem>& items) { items.clear(); };
    CPPUNIT_ASSERT_THROW(table_.commit(elements(1)), sdk::Failure);
    line_.closed = {};
    CPPUNIT_ASSERT(!closed_while_ours_);
    CPPUNIT_ASSERT(!own_->contains(kNftPortId) && own_->contains(kNftPortId + 1));
    CPPUNIT_ASSERT(listener.line.filtered_port_ids == std::vector<std::uint32_t>{kNftPortId + 1});
    other.reset();
    CPPUNIT_ASSERT(listener.line.filtered_port_ids.empty());
  }

  void reports_failed_listeners() {
    Listener failing(*own_), well(*own_);
    failing.refusal = EPERM;
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    CPPUNIT_ASSERT(failing.missed == std::vector<int>{EPERM});
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());  // reported once
    own_->missed();
    own_->listen_again(*failing.socket);
    CPPUNIT_ASSERT(failing.missed == std::vector<int>{EPERM});
    CPPUNIT_ASSERT(well.missed == std::vector<int>{0});
    failing.refusal = 0;
    own_->listen_again(*well.socket);
    own_->listen_again(*failing.socket);
    own_->listen_again(*failing.socket);
    CPPUNIT_ASSERT((failing.missed == std::vector<int>{EPERM, 0}));  // changes in the meantime are unknown
    CPPUNIT_ASSERT(well.missed == std::vector<int>{0});
    failing.refusal = ENOMEM;
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    failing.refusal = 0;
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    CPPUNIT_ASSERT((failing.missed == std::vector<int>{EPERM, 0, ENOMEM, 0}));
  }

 private:
  bool closed_while_ours_ = false;
  bool flushed_before_ = false;
  NftLine line_;
  std::shared_ptr<OwnSenders> own_ = std::make_shared<OwnSenders>();
  NetlinkTable table_{Family::kIpv4, line_.opener(), own_, kShort};
};
CPPUNIT_TEST_SUITE_REGISTRATION(OwnSendersTest);

}  // namespace own_senders_test
}  // namespace sluice::nftables
