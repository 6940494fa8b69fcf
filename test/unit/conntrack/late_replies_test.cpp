// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/late_replies.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/conntrack/fakes.hpp"

namespace sluice::conntrack {
namespace late_replies_test {

using namespace std::chrono_literals;
using test::at;

class ConntrackLateRepliesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConntrackLateRepliesTest);
  CPPUNIT_TEST(scans_follow_a_removal_for_ten_seconds);
  CPPUNIT_TEST(a_stream_of_removals_does_not_postpone_the_scan);
  CPPUNIT_TEST(old_clients_make_room_during_a_stream);
  CPPUNIT_TEST(only_the_opposite_untranslated_entry_matches);
  CPPUNIT_TEST_SUITE_END();

  const lib::SocketAddress vip_ = at("172.30.0.10", 53);
  LateReplies late_;
  const lib::Clock::Time begin_ = lib::Clock::Time(100s);

  static Flow entry(const lib::SocketAddress& from, const lib::SocketAddress& to, const lib::SocketAddress& server) {
    Flow flow;
    flow.source = flow.reply_destination = from;
    flow.destination = to;
    flow.reply_source = server;
    return flow;
  }
  void remove(std::uint16_t port, lib::Clock::Time now) { late_.note(entry(at("10.0.0.2", port), vip_, vip_), now); }
  bool matches(std::uint16_t port) const {
    const auto client = at("10.0.0.2", port);
    return late_.created(entry(vip_, client, client));
  }

 public:
  void scans_follow_a_removal_for_ten_seconds() {
    CPPUNIT_ASSERT(!late_.next_scan());
    remove(1, begin_);
    for (const lib::Clock::Duration delay : {lib::Clock::Duration(300ms), lib::Clock::Duration(1s),
                                             lib::Clock::Duration(3s), lib::Clock::Duration(10s)}) {
      CPPUNIT_ASSERT(late_.next_scan() == begin_ + delay);
      CPPUNIT_ASSERT(matches(1));
      late_.scanned(begin_ + delay - 1ms);
      CPPUNIT_ASSERT(late_.next_scan() == begin_ + delay);
      late_.scanned(begin_ + delay);
    }
    CPPUNIT_ASSERT(!late_.next_scan() && !matches(1));
  }

  void a_stream_of_removals_does_not_postpone_the_scan() {
    for (int i = 0; i < 10; ++i) remove(static_cast<std::uint16_t>(i + 1), begin_ + i * 100ms);
    CPPUNIT_ASSERT(late_.next_scan() == begin_ + 300ms);
    late_.scanned(begin_ + 900ms);
    CPPUNIT_ASSERT(late_.next_scan() == begin_ + 1s);
    remove(20, begin_ + 950ms);
    CPPUNIT_ASSERT(late_.next_scan() == begin_ + 1250ms);
  }

  void old_clients_make_room_during_a_stream() {
    for (std::size_t i = 0; i < LateReplies::kMost; ++i) remove(static_cast<std::uint16_t>(i + 1), begin_);
    remove(9999, begin_);
    CPPUNIT_ASSERT(matches(1) && !matches(9999));
    for (auto now = begin_ + 400ms; now < begin_ + 11s; now += 400ms) {
      remove(1, now);
      late_.scanned(now + 300ms);
    }
    CPPUNIT_ASSERT(matches(1) && !matches(2));
    remove(9999, begin_ + 11s);
    CPPUNIT_ASSERT(matches(9999));
  }

  void only_the_opposite_untranslated_entry_matches() {
    const auto client = at("10.0.0.2", 1), other = at("10.0.0.2", 2), server = at("10.180.0.1", 53);
    remove(1, begin_);
    CPPUNIT_ASSERT(late_.created(entry(vip_, client, client)));
    CPPUNIT_ASSERT(!late_.created(entry(vip_, client, server)));
    CPPUNIT_ASSERT(!late_.created(entry(client, vip_, vip_)));
    CPPUNIT_ASSERT(!late_.created(entry(vip_, other, other)));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConntrackLateRepliesTest);

}  // namespace late_replies_test
}  // namespace sluice::conntrack
