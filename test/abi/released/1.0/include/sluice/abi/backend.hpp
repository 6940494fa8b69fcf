// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a backend implements. One object serves one IP family of one node.
#pragma once

#include "sluice/abi/host.hpp"
#include "sluice/abi/transaction.hpp"

namespace sluice::abi {

// Receives strings, e.g. the artifacts a backend owns. Implemented by the daemon,
// valid for the call it is passed to. Complete as it is: it will never grow.
class StringSink {
 public:
  virtual void add(StringView text) noexcept = 0;

 protected:
  ~StringSink() = default;
};

// Growing. Passed to retire(): the backend leaves everything in `claims` in place.
struct Handover {
  std::uint32_t struct_size;
  // How long, from this call on, established connections may live on, computed anew for each
  // call; 0 = not at all: what is left ends now.
  std::uint32_t drain_seconds;
  ArrayView claims;             // StringView: artifacts the successor owns from now on
};
static_assert(sizeof(Handover) == 32 && offsetof(Handover, claims) == 8);

// Threads: all methods, and those of its extensions, are called from one thread (the apply thread of this object),
// never concurrently, never re-entrantly. A backend may own threads; they end before release() returns.
// Order: create(), then extension() as often as anybody likes, and one of
//   probe, claims, [import], apply, [import], (apply | verify | claims | services | export)*, retire*
//                                       serves
//   probe  |  probe, prepare  |  cleanup
//                                       tries whether it would, or does one thing
//   probe, retire*                      ends what an earlier process left
// and release() at any point. After the first retire() nothing comes but retire() and release().
// Several objects of one backend and family may exist at once, also of two builds of it: one that serves, one that
// retires, one that only tries.
// Failure: no exception leaves a method. The callee fills `error` and returns a
// Code. After any failed apply() the next transaction is full.
// Time: each method states its limit; past it the daemon's health turns red, nobody
// kills the thread.
class Backend {
 public:
  // Can this node run the backend in this family? Tries, rather than guesses from
  // versions; names every missing tool, module or kernel option in `error`. Leaves
  // nothing behind. Limit: 10 s.
  virtual Code probe(Error* error) noexcept = 0;

  // Brings the kernel to `transaction`. Idempotent. Creates before it references,
  // deletes after. `result` and `error` are never null. Limit: 60 s.
  virtual Code apply(const Transaction* transaction, ApplyResult* result, Error* error) noexcept = 0;

  // Is the kernel still as the last apply() left it? kOk, or kNeedFull with what is
  // damaged in `error`. Cheap: called as often as the sync period says and every 20 s at least while the backend
  // serves, but not while it is held because a successor writes the same names; also after a failed apply(), and when a
  // resync was asked for. It is the place for work that time brings. Limit: 10 s.
  virtual Code verify(Error* error) noexcept = 0;

  // Names every artifact this backend owns or may have left, one "kind/name" a call. The same before and after apply():
  // the daemon writes them down before it lets the backend write. Kinds the daemon can remove by itself when the plugin
  // is gone:
  //   iptables/<filter|nat|mangle>/<chain>   and ip6tables/… for IPv6
  //   ipset/<set>, link/<interface>, ipvs/virtual-servers
  //   nft/<ip|ip6|inet|arp|bridge|netdev>/<table>
  // A "*" at the end of a chain or a set stands for any rest; five characters at least stand before it. Names have
  // neither "/" nor a space. What belongs to others too (chains of kubelet, tables that iptables-nft keeps) is never
  // removed. Other kinds begin with the reverse domain of their author, "com.example.dpu/…": only their plugin removes
  // them. Lower and upper case differ. At most 250 bytes each. Limit: 1 s.
  virtual Code claims(StringSink* sink, Error* error) noexcept = 0;

  // Another backend serves from now on: removes what that one did not claim. First what
  // leads new connections here, then what nobody uses any more, so that no packet on its way
  // meets half of either. kOk: it is done, and release() may follow.
  // kRetry: no new connection comes here any more, and established ones still
  // need what is left; retire() is called again, once a second at the latest, with the
  // seconds that remain, at the end with 0. So no call waits for connections. The claims may
  // be others than the last time: who serves may have changed.
  // Also called, with the claims of who serves, to take back an apply() that is given up,
  // complete or not, with the time that its connections may have; 0 where a build of the same
  // backend serves. After a failure it is called again. Limit: 60 s.
  virtual Code retire(const Handover* handover, Error* error) noexcept = 0;

  // Removes everything this backend ever made in this family, also in an earlier
  // process; leaves everything else alone. What does not exist is fine. Limit: 60 s.
  virtual Code cleanup(Error* error) noexcept = 0;

  // Further interfaces by id ("sluice.backend.<name>/<revision>"); null when unknown. The same pointer each time, valid
  // until release(); the id names its type.
  virtual void* extension(StringView id) noexcept = 0;

  // Ends the object, on the apply thread: threads joined, descriptors closed, kernel
  // state left in place. Limit: 5 s.
  virtual void release() noexcept = 0;

 protected:
  ~Backend() = default;
};

}  // namespace sluice::abi
