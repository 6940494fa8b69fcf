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
#include "test/unit/nftables/nft_wire.hpp"

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
  CPPUNIT_TEST(leaves_out_all_of_this_process);
  CPPUNIT_TEST(knows_who_does_not_listen_again);
  CPPUNIT_TEST_SUITE_END();

 public:
  // What a listener of a test is told, and asked for.
  struct Ear {
    explicit Ear(OwnSenders& senders) : own(senders), wire(line.opener()()) {
      line.joined = [this](std::uint32_t group, bool on) {
        heard += group == NFNLGRP_NFTABLES ? (on ? "+" : "-") : "?";
        return on ? refusal : 0;
      };
      CPPUNIT_ASSERT_EQUAL(0, own.listen(*wire, [this](int error) { missed.push_back(error); }));
    }
    ~Ear() { own.leave(*wire); }
    OwnSenders& own;
    NftLine line;
    std::unique_ptr<netlink::Wire> wire;
    std::string heard;
    int refusal = 0;
    std::vector<int> missed;
  };

  void does_not_listen_to_large_transactions() {
    // One of this family and one of the other.
    Ear one(*own_), other(*own_);
    CPPUNIT_ASSERT(table_.commit(elements(10)).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("+"), one.heard);
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    for (const Ear* ear : {&one, &other}) {
      CPPUNIT_ASSERT_EQUAL(std::string("+-+"), ear->heard);
      CPPUNIT_ASSERT(ear->missed.empty());
    }
    // What is under way when the generation is asked for is told while there is somebody to hear it.
    one.line.joined = [&](std::uint32_t, bool on) {
      told_before_ = told_before_ || (!on && line_.empty == 2);
      return 0;
    };
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    CPPUNIT_ASSERT(told_before_ && one.missed.empty() && other.missed.empty());
    // Somebody else was faster.
    line_.refuse = [&](std::size_t index, int, std::string_view) {
      if (index == 0) ++line_.generation;
      return 0;
    };
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("+-+-+-+"), other.heard);
    for (const Ear* ear : {&one, &other}) CPPUNIT_ASSERT(ear->missed == std::vector<int>{0});
  }

  void leaves_out_all_of_this_process() {
    NftLine line;
    line.port = kNftPort + 1;
    auto other = std::make_unique<NetlinkTable>(Family::kIpv6, line.opener(), own_, kShort);
    Ear ear(*own_);
    CPPUNIT_ASSERT(table_.commit(elements(1)).empty());
    CPPUNIT_ASSERT(other->commit(elements(1)).empty());
    CPPUNIT_ASSERT((ear.line.left_out == std::vector<std::uint32_t>{kNftPort, kNftPort + 1}));
    // A port that was closed is anybody's. It is given up before.
    line_.closed = [this] { closed_while_ours_ = own_->is(kNftPort); };
    line_.spoil = [](std::deque<NftItem>& items) { items.clear(); };
    CPPUNIT_ASSERT_THROW(table_.commit(elements(1)), sdk::Failure);
    line_.closed = {};
    CPPUNIT_ASSERT(!closed_while_ours_);
    CPPUNIT_ASSERT(!own_->is(kNftPort) && own_->is(kNftPort + 1));
    CPPUNIT_ASSERT(ear.line.left_out == std::vector<std::uint32_t>{kNftPort + 1});
    other.reset();
    CPPUNIT_ASSERT(ear.line.left_out.empty());
  }

  void knows_who_does_not_listen_again() {
    Ear deaf(*own_), well(*own_);
    deaf.refusal = EPERM;
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    CPPUNIT_ASSERT(deaf.missed == std::vector<int>{EPERM});
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());  // once is enough
    own_->missed();
    own_->listen_again(*deaf.wire);
    CPPUNIT_ASSERT(deaf.missed == std::vector<int>{EPERM});
    CPPUNIT_ASSERT(well.missed == std::vector<int>{0});
    deaf.refusal = 0;
    own_->listen_again(*well.wire);
    own_->listen_again(*deaf.wire);
    own_->listen_again(*deaf.wire);
    CPPUNIT_ASSERT((deaf.missed == std::vector<int>{EPERM, 0}));  // what was done meanwhile
    CPPUNIT_ASSERT(well.missed == std::vector<int>{0});
    deaf.refusal = ENOMEM;
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    deaf.refusal = 0;
    CPPUNIT_ASSERT(table_.commit(elements(5000)).empty());
    CPPUNIT_ASSERT((deaf.missed == std::vector<int>{EPERM, 0, ENOMEM, 0}));
  }
 private:
  bool closed_while_ours_ = false;
  bool told_before_ = false;
  NftLine line_;
  std::shared_ptr<OwnSenders> own_ = std::make_shared<OwnSenders>();
  NetlinkTable table_{Family::kIpv4, line_.opener(), own_, kShort};
};
CPPUNIT_TEST_SUITE_REGISTRATION(OwnSendersTest);

}  // namespace own_senders_test
}  // namespace sluice::nftables
