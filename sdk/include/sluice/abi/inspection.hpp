// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends that can describe the programmed state, as text or as values.
#pragma once

#include "sluice/abi/backend.hpp"

namespace sluice::abi {

// The id for Backend::extension(), which returns an `Inspection*`. It is valid until the backend is released.
inline constexpr char kInspection[] = "sluice.backend.inspection/1";

// "sluice.backend.inspection/1".
//
// `sluicectl services` prints it. The text is for people and may change. This class never grows.
class Inspection {
 public:
  // Adds one line for each frontend that exists in the kernel. The backend must read it from the kernel during the call,
  // not from its memory. The format allows a comparison with the delivered state (`sluicectl services --no-kernel`):
  //
  //   NAME FRONTEND[ at ADDRESSES][ sticky for N s][ masqueraded] -> TARGETS
  //     [; from this node -> TARGETS][; else REASON][; only for PREFIX, PREFIX]
  //
  // NAME       "shop/cart:http", or "shop/cart" for an unnamed port
  // FRONTEND   "172.30.0.41:80/tcp", "[fd00::1]:80/udp"; a node port is ":30080/tcp"
  // ADDRESSES  for node ports only, sorted as text: "192.0.2.7, 198.51.100.1",
  //            "every address of this node" or "no address"
  // TARGETS    "10.180.0.1:80, 10.180.2.1:80", sorted as text. Deviations in the kernel are in
  //            parentheses after a target or after the list
  // REASON     "rejected, no endpoints", "dropped, no endpoints on this node"
  //
  // Without targets for clients outside of the node, the line is "NAME FRONTEND from this
  // node -> TARGETS; else REASON"; without any targets it is "NAME FRONTEND -> REASON". Objects
  // that belong to no service port come last, each prefixed by "not wanted by any Service: ".
  //
  // `name` selects the lines that begin with that name, "shop/cart" or "shop/cart:http"; empty: all lines. Must return
  // kRetry before the first successful apply(). An incomplete listing is an error, and no line must be added then.
  // Called on the apply thread. Limit: 10 s.
  virtual Code services(StringView name, StringSink* lines, Error* error) noexcept = 0;

 protected:
  ~Inspection() = default;
};

// Since minor 1. The id for Backend::extension(), which returns an `InspectionRows*`. It is valid until the backend is
// released.
inline constexpr char kInspectionRows[] = "sluice.backend.inspection/2";

// Since minor 1. What InspectionRows::inspect() lists. A backend must return kUnsupported for an unknown kind.
enum class InspectionKind : std::uint32_t {
  kInspectFrontends = 1,    // the rows are InspectedFrontend: what is served, and by which endpoints
  kInspectCounters = 2,     // InspectedCounters: the traffic that the data plane has counted
  kInspectDrift = 3,        // InspectedDrift: where the kernel differs from the last successful apply()
  kInspectExplanation = 4,  // InspectedStep: what happens to InspectionQuery::packet
};

// Since minor 1. Flags of an InspectedPacket. Neither: the client is outside of this node.
enum InspectedPacketFlag : std::uint32_t {
  kPacketOfNode = 1u << 0,  // sent by a process of this node that is in no pod
  kPacketOfPod = 1u << 1,   // sent by a pod of this node
};

// Growing. Since minor 1. The first packet of a new connection.
struct InspectedPacket {
  std::uint32_t struct_size;
  std::uint32_t flags;  // InspectedPacketFlag
  Address client;
  Address address;  // the destination
  std::uint16_t port;
  Protocol protocol;
  std::uint8_t reserved[5];
};
static_assert(sizeof(InspectedPacket) == 48 && offsetof(InspectedPacket, client) == 8 &&
              offsetof(InspectedPacket, address) == 24 && offsetof(InspectedPacket, port) == 40 &&
              offsetof(InspectedPacket, protocol) == 42);

// Growing. Since minor 1. The argument of InspectionRows::inspect().
struct InspectionQuery {
  std::uint32_t struct_size;
  InspectionKind kind;
  // Only rows of this Service, "shop/cart", or service port, "shop/cart:http"; empty: all rows.
  StringView name;
  const InspectedPacket* packet;  // with kInspectExplanation, and `name` is empty then; otherwise null
};
static_assert(sizeof(InspectionQuery) == 32 && offsetof(InspectionQuery, kind) == 4 &&
              offsetof(InspectionQuery, name) == 8 && offsetof(InspectionQuery, packet) == 24);

// Since minor 1. Flags of an InspectedTarget.
enum InspectedTargetFlag : std::uint16_t {
  kTargetUnknown = 1u << 0,   // the address cannot be read: `object` names what stands for it
  kTargetDraining = 1u << 1,  // receives no new connections
};

// Growing. Since minor 1. An endpoint that receives packets of a frontend.
struct InspectedTarget {
  Address address;
  std::uint16_t port;
  std::uint16_t flags;  // InspectedTargetFlag
  std::uint32_t reserved;
  StringView object;   // a name of the data plane, such as a chain; may be empty
  StringView remarks;  // deviations from what the backend wrote, separated by ", "; may be empty
};
static_assert(sizeof(InspectedTarget) == 56 && offsetof(InspectedTarget, port) == 16 &&
              offsetof(InspectedTarget, flags) == 18 && offsetof(InspectedTarget, object) == 24 &&
              offsetof(InspectedTarget, remarks) == 40);

// Fixed. Since minor 1. Where packets of one group of clients go.
struct InspectedTargets {
  ArrayView targets;   // InspectedTarget, in any order
  StringView instead;  // without targets: where the packets go instead, for example "nowhere"; empty: no such clients
  StringView remarks;  // as InspectedTarget::remarks
};
static_assert(sizeof(InspectedTargets) == 56 && offsetof(InspectedTargets, instead) == 24 &&
              offsetof(InspectedTargets, remarks) == 40);

// Since minor 1. Flags of an InspectedFrontend.
enum InspectedFlag : std::uint32_t {
  kInspectedNotWanted = 1u << 0,     // no service port needs it
  kInspectedNodePort = 1u << 1,      // a node port: `address` is zero
  kInspectedEveryAddress = 1u << 2,  // of a node port: served on every address of this node, and `addresses` is empty
  kInspectedMasqueraded = 1u << 3,   // targets see an address of this node as the client
  kInspectedRejected = 1u << 4,      // packets that reach no target are rejected
  kInspectedDropped = 1u << 5,       // packets that reach no target are dropped
  kInspectedRestricted = 1u << 6,    // serves only clients in `source_ranges`
};

// Growing. Since minor 1. An address and port that the data plane serves, or any other object that no service port needs.
struct InspectedFrontend {
  ServicePortKey key;  // with kInspectedNotWanted the names are empty
  Address address;
  std::uint16_t port;
  std::uint8_t reserved[2];
  std::uint32_t flags;             // InspectedFlag
  ArrayView addresses;             // Prefix; of a node port. A single address has the full length
  std::uint32_t affinity_seconds;  // 0: no session affinity
  std::uint32_t reserved2;
  InspectedTargets targets;       // of all clients; if `node_targets` is not empty, of clients outside of this node
  InspectedTargets node_targets;  // of pods and processes of this node, if their targets differ
  StringView otherwise;           // what happens to packets that reach no target, with deviations; empty: nothing is known
  ArrayView source_ranges;        // Prefix, with kInspectedRestricted
  StringView ranges_instead;      // without ranges: which clients are served, for example "no source"
  StringView ranges_remarks;      // as InspectedTarget::remarks
  StringView object;              // not a frontend: the object, with kInspectedNotWanted; all else is zero
  StringView remarks;             // about the way to the frontend, as InspectedTarget::remarks
};
static_assert(sizeof(InspectedFrontend) == 328 && offsetof(InspectedFrontend, address) == 56 &&
              offsetof(InspectedFrontend, port) == 72 && offsetof(InspectedFrontend, flags) == 76 &&
              offsetof(InspectedFrontend, addresses) == 80 && offsetof(InspectedFrontend, affinity_seconds) == 104 &&
              offsetof(InspectedFrontend, targets) == 112 && offsetof(InspectedFrontend, node_targets) == 168 &&
              offsetof(InspectedFrontend, otherwise) == 224 && offsetof(InspectedFrontend, source_ranges) == 240 &&
              offsetof(InspectedFrontend, ranges_instead) == 264 && offsetof(InspectedFrontend, ranges_remarks) == 280 &&
              offsetof(InspectedFrontend, object) == 296 && offsetof(InspectedFrontend, remarks) == 312);

// Since minor 1. What an InspectedCounters describes, and which of its values are known. Unknown values are 0.
enum InspectedCountersFlag : std::uint32_t {
  kCountedFrontend = 1u << 0,  // the traffic of `address` and `port`; otherwise of all frontends of the service port
  kCountedNodePort = 1u << 1,  // with kCountedFrontend: a node port, and `address` is zero
  kCountedTarget = 1u << 2,    // the traffic to `target` and `target_port`; otherwise to all endpoints
  kCountedBothDirections = 1u << 3,  // `packets` and `bytes` include those to clients
  kKnownConnections = 1u << 8,
  kKnownPackets = 1u << 9,
  kKnownBytes = 1u << 10,
  kKnownReplyPackets = 1u << 11,
  kKnownReplyBytes = 1u << 12,
  kKnownActive = 1u << 13,
  kKnownRefused = 1u << 14,
};

// Growing. Since minor 1. Counted traffic of a service port. The values grow from the time at which the object of the
// data plane was made, and restart at 0 when it is made again. Rows of one service port may overlap: the rows of its
// frontends and those of its endpoints each sum up to the row of the service port, if the data plane counts all three.
struct InspectedCounters {
  ServicePortKey key;
  Address address;
  Address target;
  std::uint16_t port;
  std::uint16_t target_port;
  std::uint32_t flags;               // InspectedCountersFlag
  std::uint64_t connections;         // new connections; of UDP: flows
  std::uint64_t packets;             // from clients
  std::uint64_t bytes;               // from clients, as the data plane counts them: with or without headers
  std::uint64_t reply_packets;       // to clients
  std::uint64_t reply_bytes;         // to clients
  std::uint64_t active_connections;  // now
  std::uint64_t refused;             // connections or first packets that were rejected or dropped
};
static_assert(sizeof(InspectedCounters) == 152 && offsetof(InspectedCounters, address) == 56 &&
              offsetof(InspectedCounters, target) == 72 && offsetof(InspectedCounters, port) == 88 &&
              offsetof(InspectedCounters, target_port) == 90 && offsetof(InspectedCounters, flags) == 92 &&
              offsetof(InspectedCounters, connections) == 96 && offsetof(InspectedCounters, packets) == 104 &&
              offsetof(InspectedCounters, bytes) == 112 && offsetof(InspectedCounters, reply_packets) == 120 &&
              offsetof(InspectedCounters, reply_bytes) == 128 &&
              offsetof(InspectedCounters, active_connections) == 136 && offsetof(InspectedCounters, refused) == 144);

// Since minor 1. How an object in the kernel differs from the last successful apply(). An unknown kind is treated as
// kDriftChanged.
enum class DriftKind : std::uint32_t {
  kDriftMissing = 1,  // apply() wrote it, and it is gone
  kDriftChanged = 2,  // it is there, but not as written
  kDriftExtra = 3,    // in the place of this backend, and not wanted; the next full transaction removes it
  kDriftForeign = 4,  // of others, and it may affect the traffic of this backend; no transaction removes it
};

// Growing. Since minor 1. One object in the kernel that differs.
struct InspectedDrift {
  ServicePortKey key;   // the names are empty if no single service port needs the object; `protocol` is 0 then
  DriftKind kind;
  std::uint32_t count;  // objects that this row stands for, at least 1
  StringView object;    // what it is and where, for example "element 10.0.0.1 . tcp . 80 of service-ips"
  StringView wanted;    // its content as written; empty if `object` says all
  StringView found;     // its content in the kernel; empty if `object` says all
};
static_assert(sizeof(InspectedDrift) == 112 && offsetof(InspectedDrift, kind) == 56 &&
              offsetof(InspectedDrift, count) == 60 && offsetof(InspectedDrift, object) == 64 &&
              offsetof(InspectedDrift, wanted) == 80 && offsetof(InspectedDrift, found) == 96);

// Since minor 1. What a step does with the packet.
enum class InspectedVerdict : std::uint32_t {
  kContinues = 0,   // the next row follows
  kServed = 1,      // one of the targets of this step receives the packet
  kRejected = 2,    // the client receives an error
  kDropped = 3,     // neither an endpoint nor the client receives anything
  kNotProxied = 4,  // this backend does not handle the packet: it goes where it would go without it
};

// Since minor 1. Flags of an InspectedStep.
enum InspectedStepFlag : std::uint32_t {
  kStepCounted = 1u << 0,      // `packets` and `bytes` are known
  kStepMasquerades = 1u << 1,  // targets will see an address of this node as the client
};

// Growing. Since minor 1. An object in the kernel that the packet reaches. Rows are in the order in which the packet
// reaches them; exactly the last one has a verdict other than kContinues.
struct InspectedStep {
  StringView object;         // as InspectedDrift::object
  StringView effect;         // what it does with this packet, for example "chooses one of 2 endpoints at random"
  StringView remarks;        // as InspectedTarget::remarks
  ArrayView targets;         // InspectedTarget; the endpoints that may receive the packet, if this step chooses
  InspectedVerdict verdict;
  std::uint32_t flags;    // InspectedStepFlag
  std::uint64_t packets;  // all packets that the object has matched so far
  std::uint64_t bytes;
};
static_assert(sizeof(InspectedStep) == 96 && offsetof(InspectedStep, effect) == 16 &&
              offsetof(InspectedStep, remarks) == 32 && offsetof(InspectedStep, targets) == 48 &&
              offsetof(InspectedStep, verdict) == 72 && offsetof(InspectedStep, flags) == 76 &&
              offsetof(InspectedStep, packets) == 80 && offsetof(InspectedStep, bytes) == 88);

// Since minor 1. Receives rows. Implemented by the daemon, valid during the call that receives it. This class never grows.
class InspectionSink {
 public:
  // `rows`: elements of the type that the kind of the query names. The backend may add them in batches of any size. The
  // daemon copies them. Returns 0 if the daemon wants no further rows, because its bound is reached: the backend should
  // then return kOk.
  virtual std::int32_t add(ArrayView rows) noexcept = 0;

 protected:
  ~InspectionSink() = default;
};

// Since minor 1. "sluice.backend.inspection/2".
//
// What Inspection prints, as values, and more. If a backend has both, the daemon calls only this one, and makes the text
// of `sluicectl services` from the rows. This class never grows.
class InspectionRows {
 public:
  // Adds a row for each object of this kind. The backend must read it from the kernel during the call, not from its
  // memory, and must not change anything. Rows of one service port must follow each other; objects that no service port
  // needs come last, and a backend should add at most 1,000 of them. Must return kRetry before the first successful
  // apply(), and kUnsupported for a kind that it does not have. After a failure the daemon discards the rows. Called on
  // the apply thread. Limit: 10 s.
  virtual Code inspect(const InspectionQuery* query, InspectionSink* sink, Error* error) noexcept = 0;

 protected:
  ~InspectionRows() = default;
};

}  // namespace sluice::abi
