// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which clients there are, in the order they were last heard of, and who of them belongs
// to an endpoint or to a listening place. No sockets, no clock: time is given. Owns
// nothing: entries are parts of objects of its user. One thread.
//
// Every operation costs the same however many clients there are, but that the buckets
// are doubled now and then.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/balancer/endpoint.hpp"

namespace sluice::userspace {

// Who sends, where to, and on whose socket. The address of this node belongs to it: a client that talks to two of them
// from one port must hear each from where it expects it. Without padding, so that it is compared and hashed as bytes.
struct UdpClientKey {
  std::uint64_t owner = 0;  // the serving it belongs to
  abi::Address client{};
  abi::Address local{};
  std::uint32_t client_scope = 0;  // interface of a link-local address; else 0
  std::uint32_t local_scope = 0;
  std::uint16_t client_port = 0;  // network byte order
  std::uint16_t family = 0;
  std::uint32_t zero = 0;
  bool operator==(const UdpClientKey& other) const noexcept;
};
static_assert(sizeof(UdpClientKey) == 56);

class UdpClientTable {
  struct OfEndpoint;

 public:
  class Entry {
   public:
    Entry() = default;
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    const UdpClientKey& key() const noexcept { return key_; }
    const EndpointPtr& endpoint() const noexcept;  // REQUIRES: in a table

   private:
    friend class UdpClientTable;
    using Hook = boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::safe_link>>;
    // Out of its list without knowing which that is.
    using OwnerHook = boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    UdpClientKey key_;
    Entry* chain_ = nullptr;  // next of the bucket
    OfEndpoint* group_ = nullptr;
    Nanoseconds last_ = 0;
    Hook order_;
    Hook of_endpoint_;
    OwnerHook of_owner_;
  };

  // `seed` keeps strangers from choosing addresses that share a bucket.
  UdpClientTable(std::size_t max_clients, Nanoseconds timeout, std::uint64_t seed);
  ~UdpClientTable();  // REQUIRES: empty
  UdpClientTable(const UdpClientTable&) = delete;
  UdpClientTable& operator=(const UdpClientTable&) = delete;

  std::uint64_t hash(const UdpClientKey& key) const noexcept;
  // Null when there is none. `hash` is that of `key`.
  Entry* find(const UdpClientKey& key, std::uint64_t hash) noexcept;

  // As the one heard of last. `now` never goes back. May exceed the limit: whoever inserts makes room before. Throws
  // std::bad_alloc, and then nothing has changed. REQUIRES: key is not in the table.
  void insert(Entry& entry, const UdpClientKey& key, EndpointPtr endpoint, Nanoseconds now);
  void erase(Entry& entry) noexcept;
  // A datagram came, from either side.
  void heard(Entry& entry, Nanoseconds now) noexcept;

  std::size_t size() const noexcept { return size_; }
  bool full() const noexcept { return size_ >= max_clients_; }

  // Null when there is none.
  Entry* idle_longest() noexcept { return order_.empty() ? nullptr : &order_.front(); }
  Entry* expired(Nanoseconds now) noexcept;  // one of them
  Entry* any_of(const Endpoint* endpoint) noexcept;
  Entry* any_of(std::uint64_t owner) noexcept;
  // When the next one expires if nobody is heard of. REQUIRES: not empty.
  Nanoseconds next_expiry() const noexcept { return order_.front().last_ + timeout_; }

 private:
  template <auto Member>
  using List = boost::intrusive::list<Entry, boost::intrusive::member_hook<Entry, typename Entry::Hook, Member>,
                                      boost::intrusive::constant_time_size<false>>;
  using OwnerList =
      boost::intrusive::list<Entry, boost::intrusive::member_hook<Entry, Entry::OwnerHook, &Entry::of_owner_>,
                             boost::intrusive::constant_time_size<false>>;
  struct OfEndpoint {
    EndpointPtr endpoint;
    List<&Entry::of_endpoint_> clients;
  };

  void grow();
  Entry** bucket(std::uint64_t hash) noexcept { return &buckets_[hash & (buckets_.size() - 1)]; }

  const std::size_t max_clients_;
  const Nanoseconds timeout_;
  const std::uint64_t seed_;
  std::size_t size_ = 0;
  std::vector<Entry*> buckets_;
  List<&Entry::order_> order_;  // idle longest first
  std::unordered_map<const Endpoint*, OfEndpoint> endpoints_;
  std::unordered_map<std::uint64_t, OwnerList> owners_;
};

}  // namespace sluice::userspace
