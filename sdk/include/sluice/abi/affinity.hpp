// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends that can export or import session affinity bindings, so that affinity survives a swap of backends.
#pragma once

#include "sluice/abi/backend.hpp"

namespace sluice::abi {

// The id for Backend::extension(), which returns an `Affinity*`. It is valid until the backend is released.
inline constexpr char kAffinity[] = "sluice.backend.affinity/1";

// Growing. A session affinity binding: a service port sends this client to this endpoint.
struct AffinityClient {
  ServicePortKey key;
  Address client;
  Address endpoint;
  std::uint16_t endpoint_port;
  std::uint8_t reserved[2];
  // The seconds until the binding expires without further connections: at least 1, at most
  // ServicePort::affinity_seconds.
  std::uint32_t remaining_seconds;
};
static_assert(sizeof(AffinityClient) == 96 && offsetof(AffinityClient, client) == 56 &&
              offsetof(AffinityClient, endpoint_port) == 88 && offsetof(AffinityClient, remaining_seconds) == 92);

// Receives clients. Implemented by the daemon, valid during the call that receives it. This class never grows.
class AffinitySink {
 public:
  // `clients`: elements are AffinityClient. The backend may add them in batches of any size. The daemon copies them.
  virtual void add(ArrayView clients) noexcept = 0;

 protected:
  ~AffinitySink() = default;
};

// "sluice.backend.affinity/1".
//
// Used only for backends that also have kFeatureAffinity. Both methods are called on the apply thread. A backend that
// supports one of them only must return kUnsupported from the other. This class never grows.
class Affinity {
 public:
  // Must add the current bindings of all applied service ports, in any order. May be called more than once; the last
  // result is used. Limit: 10 s.
  virtual Code export_clients(AffinitySink* sink, Error* error) noexcept = 0;

  // `clients`: elements are AffinityClient, exported by another backend. Called before the first apply(): the backend
  // must keep a copy, and that apply() must program the bindings so that they hold from the first packet on. May be
  // called again after the first apply() with newer bindings: the backend must add those of clients that have no binding
  // yet. Bindings of a service port or endpoint that does not exist or has no affinity must be ignored. Limit: 10 s.
  virtual Code import_clients(ArrayView clients, Error* error) noexcept = 0;

 protected:
  ~Affinity() = default;
};

}  // namespace sluice::abi
