// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The UDP clients of one thread, indexed by key, endpoint and listening socket, in the order of their last
// datagram. Has no sockets and no clock: the caller passes the time. Intrusive: entries are owned by
// the caller. Single-threaded.
//
// All operations take constant time, except that the buckets double now and then.
#pragma once

#include <algorithm>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/balancer/endpoint.hpp"

namespace sluice::userspace {

// Identifies a client: its address, the local address and the listening socket. The local address is part of the key, since a
// client that sends to two of them from one port needs replies from each. No padding: compared and hashed as bytes.
struct UdpClientKey {
  std::uint64_t owner = 0;  // id of the listening socket
  abi::Address client{};
  abi::Address local{};
  std::uint32_t client_scope = 0;  // interface of a link-local address; otherwise 0
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
    // auto_unlink: erase() need not find the list.
    using OwnerHook = boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    UdpClientKey key_;
    Entry* chain_ = nullptr;  // next in the bucket
    OfEndpoint* group_ = nullptr;
    Nanoseconds last_ = 0;
    Hook order_;
    Hook of_endpoint_;
    OwnerHook of_owner_;
  };

  // The hash is seeded, so that clients cannot choose addresses that share a bucket.
  UdpClientTable(std::size_t max_clients, Nanoseconds timeout, std::uint64_t seed);
  ~UdpClientTable();  // REQUIRES: empty
  UdpClientTable(const UdpClientTable&) = delete;
  UdpClientTable& operator=(const UdpClientTable&) = delete;

  std::uint64_t hash(const UdpClientKey& key) const noexcept;
  // Null if there is none. `hash` is that of `key`.
  Entry* find(const UdpClientKey& key, std::uint64_t hash) noexcept;

  // Inserts as the most recent client. `now` must never go back. Does not enforce the limit: the caller evicts before.
  // Throws std::bad_alloc, and then nothing has changed. REQUIRES: key is not in the table
  void insert(Entry& entry, const UdpClientKey& key, EndpointPtr endpoint, Nanoseconds now);
  void erase(Entry& entry) noexcept;
  // A datagram was received from either side.
  void renew(Entry& entry, Nanoseconds now) noexcept;

  std::size_t size() const noexcept { return size_; }
  bool full() const noexcept { return size_ >= limit_; }
  // The node is out of ports, descriptors or memory: lowers the limit below the present number, until far fewer clients
  // remain. Leaves some of the resource to others, and one shortage then makes room for many clients.
  void lower_limit() noexcept { limit_ = std::max<std::size_t>(size_ - size_ / 8, 1); }

  // The following return null if there is none.
  Entry* idle_longest() noexcept { return order_.empty() ? nullptr : &order_.front(); }
  Entry* expired(Nanoseconds now) noexcept;  // any expired one
  Entry* any_of(const Endpoint* endpoint) noexcept;
  Entry* any_of(std::uint64_t owner) noexcept;
  // When the next client expires if no datagram is received. REQUIRES: not empty
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
  std::size_t limit_;
  const Nanoseconds timeout_;
  const std::uint64_t seed_;
  std::size_t size_ = 0;
  std::vector<Entry*> buckets_;
  List<&Entry::order_> order_;  // idle longest first
  std::unordered_map<const Endpoint*, OfEndpoint> endpoints_;
  std::unordered_map<std::uint64_t, OwnerList> owners_;
};

}  // namespace sluice::userspace
