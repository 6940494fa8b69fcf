// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends that can tell which endpoint a client is bound to by session affinity, or
// can be told: so that affinity survives the exchange of one backend for another.
#pragma once

#include "sluice/abi/backend.hpp"

namespace sluice::abi {

// The id for Backend::extension(); what it returns is an `Affinity*`, valid as long as the
// backend.
inline constexpr char kAffinity[] = "sluice.backend.affinity/1";

// Growing. One client that a service port with session affinity has sent to one endpoint.
struct AffinityClient {
  ServicePortKey key;
  Address client;
  Address endpoint;
  std::uint16_t endpoint_port;
  std::uint8_t reserved[2];
  // How long it stays bound when nothing more is heard of it, 1 or more; at most
  // ServicePort::affinity_seconds.
  std::uint32_t remaining_seconds;
};
static_assert(sizeof(AffinityClient) == 96 && offsetof(AffinityClient, client) == 56 &&
              offsetof(AffinityClient, endpoint_port) == 88 && offsetof(AffinityClient, remaining_seconds) == 92);

// Receives clients. Implemented by the daemon, valid for the call it is passed to. Complete
// as it is: it will never grow.
class AffinitySink {
 public:
  // `clients`: AffinityClient; as many at a time as is convenient. Copied.
  virtual void add(ArrayView clients) noexcept = 0;

 protected:
  ~AffinitySink() = default;
};

// "sluice.backend.affinity/1".
//
// Asked of backends that have kFeatureAffinity, too. Both methods are called on the apply thread. A backend that can do
// one of the two answers kUnsupported to the other. Complete as it is: it will never grow.
class Affinity {
 public:
  // The clients that are bound now, in any order, of every service port that was applied. May be called more than once:
  // the later one counts. Limit: 10 s.
  virtual Code export_clients(AffinitySink* sink, Error* error) noexcept = 0;

  // `clients`: AffinityClient, of another backend. Called before the first apply(): the
  // backend keeps a copy, and what that apply() writes binds them, from the first packet on.
  // May be called once more after it, with those that have come meanwhile: they are bound
  // where nobody was bound by then. Clients of a service port or endpoint that does not
  // exist, or has no affinity, are passed over. Limit: 10 s.
  virtual Code import_clients(ArrayView clients, Error* error) noexcept = 0;

 protected:
  ~Affinity() = default;
};

}  // namespace sluice::abi
