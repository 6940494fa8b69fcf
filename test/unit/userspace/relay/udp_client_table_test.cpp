// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table of UDP clients: its order, its indices, and thousands of random histories
// against a model that keeps everything in one plain list.
#include "plugins/userspace/relay/udp_client_table.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <netinet/in.h>

#include <algorithm>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "test/unit/repetitions.hpp"
#include "test/unit/require.hpp"

namespace sluice::userspace {
namespace udp_client_table_test {

constexpr Nanoseconds kTimeout = 250;

UdpClientKey key_of(std::uint64_t owner, unsigned client, unsigned local = 1) {
  UdpClientKey key;
  key.owner = owner;
  key.family = AF_INET;
  key.client.bytes[0] = 10;
  key.client.bytes[3] = static_cast<std::uint8_t>(client);
  key.client_port = static_cast<std::uint16_t>(1000 + client / 256);
  key.local.bytes[3] = static_cast<std::uint8_t>(local);
  return key;
}

EndpointPtr endpoint_of(unsigned number) {
  return std::make_shared<Endpoint>(
      SocketAddress(abi::Family::kIpv4, abi::Address{}, static_cast<std::uint16_t>(number)));
}

// Uses the table as the relay does, without sockets.
class Users {
 public:
  Users(std::size_t most, std::uint64_t seed) : table_(most, kTimeout, seed) {}
  ~Users() {
    while (UdpClientTable::Entry* const entry = table_.idle_longest()) drop(*entry);
  }
  Users(const Users&) = delete;
  Users& operator=(const Users&) = delete;

  UdpClientTable& table() { return table_; }
  UdpClientTable::Entry* find(const UdpClientKey& key) { return table_.find(key, table_.hash(key)); }

  void datagram(const UdpClientKey& key, const EndpointPtr& endpoint, Nanoseconds now) {
    if (UdpClientTable::Entry* const entry = find(key)) {
      table_.renew(*entry, now);
      return;
    }
    while (table_.full()) drop(*table_.idle_longest());
    auto entry = std::make_unique<UdpClientTable::Entry>();
    table_.insert(*entry, key, endpoint, now);
    entry.release();
  }
  void expire(Nanoseconds now) {
    while (UdpClientTable::Entry* const entry = table_.expired(now)) drop(*entry);
  }
  template <class Of>
  void drop_all(const Of& of) {
    while (UdpClientTable::Entry* const entry = table_.any_of(of)) drop(*entry);
  }
  void drop(UdpClientTable::Entry& entry) {
    table_.erase(entry);
    delete &entry;
  }

 private:
  UdpClientTable table_;
};

// The model: clients in the order of their last datagram, oldest first.
struct Known {
  UdpClientKey key;
  EndpointPtr endpoint;
  Nanoseconds last;
};

class History {
 public:
  explicit History(unsigned seed)
      : random_(seed), most_(1 + one_of(150)), clients_(1 + one_of(300)), users_(most_, random_()) {
    for (unsigned i = 0; i < 1 + one_of(6); ++i) endpoints_.push_back(endpoint_of(i));
  }

  void step() {
    const unsigned what = one_of(100);
    if (what < 70) {
      const UdpClientKey key = any_key();
      const EndpointPtr endpoint = endpoints_[one_of(endpoints_.size())];
      users_.datagram(key, endpoint, now_);
      model_datagram(key, endpoint);
    } else if (what < 85) {
      reply(any_key());
    } else if (what < 96) {
      now_ += one_of(kTimeout / 4);
      users_.expire(now_);
      while (!model_.empty() && model_.front().last + kTimeout <= now_) model_.pop_front();
    } else if (what < 98) {
      EndpointPtr& gone = endpoints_[one_of(endpoints_.size())];
      users_.drop_all(static_cast<const Endpoint*>(gone.get()));
      model_.remove_if([&](const Known& known) { return known.endpoint == gone; });
      gone = endpoint_of(one_of(1000));
    } else if (what < 99) {
      const std::uint64_t owner = one_of(3);
      users_.drop_all(owner);
      model_.remove_if([&](const Known& known) { return known.key.owner == owner; });
    } else if (!model_.empty()) {  // no descriptors: evict the client that is idle longest
      users_.drop(*users_.table().idle_longest());
      model_.pop_front();
    }
    compare();
  }

  std::size_t most_clients() const { return most_seen_; }

 private:
  unsigned one_of(std::size_t count) { return static_cast<unsigned>(random_() % count); }
  UdpClientKey any_key() { return key_of(one_of(3), one_of(clients_), one_of(2)); }

  std::list<Known>::iterator known(const UdpClientKey& key) {
    return std::find_if(model_.begin(), model_.end(), [&](const Known& one) { return one.key == key; });
  }

  void model_datagram(const UdpClientKey& key, const EndpointPtr& endpoint) {
    const auto found = known(key);
    if (found != model_.end()) {
      found->last = now_;
      model_.splice(model_.end(), model_, found);
      return;
    }
    if (model_.size() == most_) model_.pop_front();
    model_.push_back({key, endpoint, now_});
  }

  void reply(const UdpClientKey& key) {
    UdpClientTable::Entry* const entry = users_.find(key);
    if (entry != nullptr) users_.table().renew(*entry, now_);
    const auto found = known(key);
    CPPUNIT_ASSERT_EQUAL(found != model_.end(), entry != nullptr);
    if (found == model_.end()) return;
    found->last = now_;
    model_.splice(model_.end(), model_, found);
  }

  void compare() {
    UdpClientTable& table = users_.table();
    most_seen_ = std::max(most_seen_, model_.size());
    CPPUNIT_ASSERT_EQUAL(model_.size(), table.size());
    CPPUNIT_ASSERT_EQUAL(model_.size() >= most_, table.full());
    for (const Known& one : model_) {
      const UdpClientTable::Entry* const entry = users_.find(one.key);
      SLUICE_REQUIRE(entry != nullptr, "a client that is known");
      SLUICE_REQUIRE(entry->key() == one.key, "a client that is known");
      SLUICE_REQUIRE(entry->endpoint() == one.endpoint, "a client that is known");
    }
    if (model_.empty()) {
      CPPUNIT_ASSERT(table.idle_longest() == nullptr);
    } else {
      CPPUNIT_ASSERT(table.idle_longest()->key() == model_.front().key);
      CPPUNIT_ASSERT_EQUAL(model_.front().last + kTimeout, table.next_expiry());
    }
    for (const EndpointPtr& endpoint : endpoints_) {
      const bool expected =
          std::any_of(model_.begin(), model_.end(), [&](const Known& one) { return one.endpoint == endpoint; });
      const UdpClientTable::Entry* const entry = table.any_of(endpoint.get());
      CPPUNIT_ASSERT_EQUAL(expected, entry != nullptr);
      if (entry != nullptr) CPPUNIT_ASSERT(entry->endpoint() == endpoint);
    }
    for (std::uint64_t owner = 0; owner < 3; ++owner) {
      const bool expected =
          std::any_of(model_.begin(), model_.end(), [&](const Known& one) { return one.key.owner == owner; });
      const UdpClientTable::Entry* const entry = table.any_of(owner);
      CPPUNIT_ASSERT_EQUAL(expected, entry != nullptr);
      if (entry != nullptr) CPPUNIT_ASSERT_EQUAL(owner, entry->key().owner);
    }
  }

  std::mt19937 random_;
  const std::size_t most_;
  const std::size_t clients_;
  Users users_;
  std::list<Known> model_;
  std::vector<EndpointPtr> endpoints_;
  Nanoseconds now_ = 1000;
  std::size_t most_seen_ = 0;
};

class UdpClientTableTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(UdpClientTableTest);
  CPPUNIT_TEST(a_silent_client_expires);
  CPPUNIT_TEST(a_datagram_from_either_side_renews_the_client);
  CPPUNIT_TEST(each_part_of_a_key_distinguishes_clients);
  CPPUNIT_TEST(an_endpoint_is_released_with_its_last_client);
  CPPUNIT_TEST(many_clients_are_found_again);
  CPPUNIT_TEST(a_shortage_lowers_the_limit_until_few_clients_remain);
  CPPUNIT_TEST(random_histories_agree_with_the_model);
  CPPUNIT_TEST_SUITE_END();

  const EndpointPtr endpoint_ = endpoint_of(1);

  void a_silent_client_expires() {
    Users users(10, 1);
    users.datagram(key_of(1, 1), endpoint_, 100);
    CPPUNIT_ASSERT_EQUAL(Nanoseconds{350}, users.table().next_expiry());
    CPPUNIT_ASSERT(users.table().expired(349) == nullptr);
    CPPUNIT_ASSERT(users.table().expired(350) != nullptr);
  }

  void a_shortage_lowers_the_limit_until_few_clients_remain() {
    Users users(1000, 1);
    for (unsigned i = 0; i < 80; ++i) users.datagram(key_of(1, i), endpoint_, i);
    CPPUNIT_ASSERT(!users.table().full());
    users.table().lower_limit();
    for (unsigned i = 80; i < 500; ++i) users.datagram(key_of(1, i), endpoint_, i);
    CPPUNIT_ASSERT_EQUAL(std::size_t{70}, users.table().size());
    CPPUNIT_ASSERT(users.find(key_of(1, 430)) != nullptr);  // those idle longest were dropped
    while (users.table().size() > 35) users.drop(*users.table().idle_longest());
    for (unsigned i = 0; i < 80; ++i) users.datagram(key_of(2, i), endpoint_, 500 + i);
    CPPUNIT_ASSERT_EQUAL(std::size_t{115}, users.table().size());
    Users last(10, 1);
    last.datagram(key_of(1, 1), endpoint_, 1);
    last.table().lower_limit();
    last.drop(*last.table().idle_longest());
    last.table().lower_limit();
    CPPUNIT_ASSERT(!last.table().full());
  }

  void a_datagram_from_either_side_renews_the_client() {
    Users users(10, 1);
    users.datagram(key_of(1, 1), endpoint_, 100);
    users.datagram(key_of(1, 2), endpoint_, 100);
    users.table().renew(*users.find(key_of(1, 1)), 300);
    users.expire(350);
    CPPUNIT_ASSERT(users.find(key_of(1, 1)) != nullptr);
    CPPUNIT_ASSERT(users.find(key_of(1, 2)) == nullptr);
    users.expire(550);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, users.table().size());
  }

  void each_part_of_a_key_distinguishes_clients() {
    Users users(100, 1);
    std::vector<UdpClientKey> keys(9, key_of(1, 1));
    keys[1].owner = 2;
    keys[2].client.bytes[15] = 1;
    keys[3].local.bytes[15] = 1;
    keys[4].client_scope = 1;
    keys[5].local_scope = 1;
    keys[6].client_port = 1;
    keys[7].family = AF_INET6;
    keys[8].client.bytes[0] = 1;
    for (const UdpClientKey& key : keys) users.datagram(key, endpoint_, 100);
    CPPUNIT_ASSERT_EQUAL(keys.size(), users.table().size());
  }

  void an_endpoint_is_released_with_its_last_client() {
    Users users(10, 1);
    EndpointPtr endpoint = endpoint_of(7);
    const std::weak_ptr<Endpoint> watched = endpoint;
    users.datagram(key_of(1, 1), endpoint, 100);
    users.datagram(key_of(1, 2), endpoint, 100);
    endpoint.reset();
    users.drop(*users.find(key_of(1, 1)));
    CPPUNIT_ASSERT(!watched.expired());
    users.drop(*users.find(key_of(1, 2)));
    CPPUNIT_ASSERT(watched.expired());
  }

  void many_clients_are_found_again() {
    Users users(20'000, 0);
    for (unsigned i = 0; i < 20'000; ++i) users.datagram(key_of(i % 5, i), endpoint_, i);
    CPPUNIT_ASSERT_EQUAL(std::size_t{20'000}, users.table().size());
    for (unsigned i = 0; i < 20'000; ++i) CPPUNIT_ASSERT(users.find(key_of(i % 5, i)) != nullptr);
    CPPUNIT_ASSERT(users.find(key_of(1, 5)) == nullptr);
  }

  void random_histories_agree_with_the_model() {
    const unsigned histories = test::repetitions(300, 20'000);
    std::size_t most = 0;
    for (unsigned seed = 1; seed <= histories; ++seed) {
      try {
        History history(seed);
        for (int i = 0; i < 300; ++i) history.step();
        most = std::max(most, history.most_clients());
      } catch (const CppUnit::Exception& failure) {
        CPPUNIT_FAIL("history " + std::to_string(seed) + ": " + failure.what());
      }
    }
    CPPUNIT_ASSERT(most > 64);  // so that the buckets have grown
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(UdpClientTableTest);

}  // namespace udp_client_table_test
}  // namespace sluice::userspace
