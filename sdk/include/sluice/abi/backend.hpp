// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The interface that a backend implements. One object serves one IP family of one node.
#pragma once

#include "sluice/abi/host.hpp"
#include "sluice/abi/transaction.hpp"

namespace sluice::abi {

// Receives strings, for example the claims of a backend. Implemented by the daemon, valid during the call that receives
// it. The daemon copies each string. This class never grows.
class StringSink {
 public:
  virtual void add(StringView text) noexcept = 0;

 protected:
  ~StringSink() = default;
};

// Growing. The argument of retire().
struct Handover {
  std::uint32_t struct_size;
  // How long established connections may continue, in seconds from this call on; computed again for each call. 0: do
  // not drain; the backend must close remaining connections now.
  std::uint32_t drain_seconds;
  // Elements are StringView: the artifacts that the new backend owns from now on. The backend must not remove them.
  ArrayView claims;
};
static_assert(sizeof(Handover) == 32 && offsetof(Handover, claims) == 8);

// Threads: all methods, including those of extensions, are called on one thread, the apply thread of this object, never
// concurrently or re-entrantly. A backend may own threads; they must end before release() returns.
// Order: the life cycle of an object. extension() may be called any number of times after create(), and release() may follow
// in every state.
//
//     create()
//        |
//        v
//     created ----- cleanup() ---------------------------------------------> released    a single action
//        |
//        |  probe()
//        v
//     probed ------ nothing, or prepare() ---------------------------------> released    a check; --init-only
//        |
//        +--------- retire(): leftover state of an earlier process --------> retiring
//        |
//        |  claims(), [import_clients()], apply(), [import_clients()]
//        v
//     active ------ apply(), verify(), claims(), services(), inspect(), export_clients(): any number of times
//        |
//        |  retire(): another backend is active, or the first apply() is rolled back
//        v
//     retiring ---- retire() again, within a second after kRetry or a failure; no other call but release()
//        |
//        |  kOk, then release()
//        v
//     released      the library may be unmapped after the release() of its last object
//
// The contract of each call. A failure is any code but kOk, unless the row says otherwise.
//
//     call            state before        limit   effect of a failure
//     create          none                 10 s   the backend is rejected: a start ends, a reload keeps the active backend
//     probe           created              10 s   the same
//     prepare         probed               10 s   --init-only fails
//     claims          probed, active        1 s   at a start or swap it fails; later logged, and called again
//     import_clients  probed, active       10 s   session affinity is lost, and the swap continues
//     apply           probed, active       60 s   a full transaction follows, later each time; a swap is rolled back.
//                                                 kNeedFull for a delta is no failure: it follows at once.
//                                                 kRetry of a cancelled call is no failure
//     verify          active               10 s   kNeedFull: a full transaction follows. Otherwise logged
//     services        active               10 s   sluicectl prints the error
//     inspect         active               10 s   the same
//     export_clients  active               10 s   session affinity is lost, and the swap continues
//     retire          probed to retiring   60 s   called again within a second. kRetry is no failure
//     cleanup         created              60 s   --cleanup prints the error, and fails
//     extension       created to retiring         cannot fail
//     release         each                  5 s   cannot fail
//
// Several objects of one backend and family may exist at the same time, even of two builds: an active one, draining ones,
// and one that only probes.
// Failure: a method must not throw. It fills `error` and returns a Code. After a failed apply(), the next transaction is
// full.
// Time: each method states its limit. If a call exceeds it, the daemon reports itself as unhealthy and keeps waiting.
class Backend {
 public:
  // Checks whether this node can run the backend in this family. It must try the required operations instead of comparing
  // versions, name every missing tool, module or kernel option in `error`, and leave no state behind. Limit: 10 s.
  virtual Code probe(Error* error) noexcept = 0;

  // Programs `transaction` into the kernel. Must be idempotent. Must create objects before references to them, and delete
  // objects after. `result` and `error` are never null. Limit: 60 s. The daemon cannot stop or swap backends before it
  // returns, so a call that may be long should check Transaction::cancelled between its steps.
  virtual Code apply(const Transaction* transaction, ApplyResult* result, Error* error) noexcept = 0;

  // Checks the kernel for drift since the last apply(). Returns kOk, or kNeedFull and describes the drift in `error`.
  // Must be cheap: while the backend is active, the daemon calls it once per sync period and at least every 20 s, after a
  // failed apply(), and when a resync was requested; but not while the backend is held because the new backend writes
  // the same objects. A backend may also do periodic work here. Limit: 10 s.
  virtual Code verify(Error* error) noexcept = 0;

  // Adds every artifact that this backend owns or may have left behind, as "kind/name". The result must be the same before
  // and after apply(), because the daemon records it before the backend may write. The daemon can remove these kinds
  // without the plugin:
  //   iptables/<filter|nat|mangle>/<chain>   and ip6tables/… for IPv6
  //   ipset/<set>, link/<interface>, ipvs/virtual-servers
  //   nft/<ip|ip6|inet|arp|bridge|netdev>/<table>
  // A "*" at the end of a chain or a set matches any suffix; at least five characters must precede it. Names must not
  // contain "/" or a space. The daemon never removes shared objects, such as chains of kubelet and tables of
  // iptables-nft. Other kinds must begin with the reverse domain of their author, "com.example.dpu/…"; only their plugin
  // removes them. Claims are case-sensitive and at most 250 bytes long. Limit: 1 s.
  virtual Code claims(StringSink* sink, Error* error) noexcept = 0;

  // Another backend is active from now on: the backend must delete every object that `handover->claims` does not list.
  // It must first remove the objects that direct new connections to it, then the unused ones, so that no packet meets a
  // half of either backend. kOk: the backend is retired, and release() may follow.
  // kRetry: new connections are no longer directed to the backend, and established ones still need its remaining
  // objects. The daemon calls retire() again within a second with the remaining drain time, finally with 0, so a call
  // must not wait for connections. The claims may differ between calls, because the active backend may change.
  // Also called to roll back an apply(), whether complete or not, with the claims of the active backend and the drain
  // time; the latter is 0 if another build of the same backend is active. Called again after a failure. Limit: 60 s.
  virtual Code retire(const Handover* handover, Error* error) noexcept = 0;

  // Removes all objects that this backend created in this family, including those of earlier processes, and no others.
  // Missing objects are not an error. Limit: 60 s.
  virtual Code cleanup(Error* error) noexcept = 0;

  // Returns an extension by id ("sluice.backend.<name>/<revision>"), or null if the id is unknown. The id determines the
  // type of the pointer. It must be the same for each call, and valid until release().
  virtual void* extension(StringView id) noexcept = 0;

  // Destroys the object: the backend must join its threads and close its descriptors, and keep kernel state in place.
  // Limit: 5 s.
  virtual void release() noexcept = 0;

 protected:
  ~Backend() = default;
};

}  // namespace sluice::abi
