// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The entry of a plugin: one constant that the daemon reads before any code of the plugin runs.
//
// A plugin shares the process with the daemon and other plugins:
// - Threads of a plugin must block all signals. A plugin must not install signal handlers, nor change the working
//   directory, umask, locale, environment, credentials or namespaces of the process. It may raise resource limits
//   (RLIMIT_NOFILE), but must not lower them.
// - SIGPIPE is ignored. The daemon waits for its own child processes only, and a plugin must do the same: call waitpid()
//   with a pid. Daemon and plugins must open descriptors with close-on-exec.
// - A plugin must not write to standard output or configure a logging library. It must use Host::log().
// - Sockets, and files below /proc/thread-self/net, belong to the network namespace of the thread that calls create().
// - All objects of the library share its static state: those of both families, active or draining, on different threads.
//   Access to it must be locked. Two builds of one plugin may be mapped at the same time. They do not share static
//   state, but they share kernel object names, ports and files.
// - After release() of its last object the library may be unmapped: no thread, handler or destructor of a thread_local
//   variable may remain.
#pragma once

#include "sluice/abi/backend.hpp"
#include "sluice/abi/metrics.hpp"
#include "sluice/abi/options.hpp"

namespace sluice::abi {

// Features of a backend. The daemon ignores unknown bits. Every backend receives service ports of TCP, UDP and SCTP, and
// frontends of each kind. It must report those that it does not serve with Host::service_port_failed().
enum Feature : std::uint64_t {
  kFeatureIpv4 = 1ull << 0,      // serves IPv4
  kFeatureIpv6 = 1ull << 1,      // serves IPv6
  kFeatureDelta = 1ull << 2,     // accepts delta transactions; without it every transaction is full
  // Supports session affinity. Before a swap the daemon exports its bindings, if it implements Affinity.
  kFeatureAffinity = 1ull << 3,
  kFeatureServiceCidrs = 1ull << 4,  // uses NodeFacts::service_cidrs; without it the daemon does not watch them
  // Connections to frontends do not use the connection tracking of the node, so the daemon does not evaluate its
  // entries.
  kFeatureOwnConnections = 1ull << 5,
  // Since minor 1. Without them the daemon keeps none of the data.
  kFeatureServiceDetails = 1ull << 6,   // uses ServicePort::service_uid, app_protocol, session_key and service_type
  kFeatureEndpointDetails = 1ull << 7,  // uses ServicePort::endpoint_details
};

// Features of the daemon that a backend requires. None is defined yet. The daemon rejects a plugin with unknown bits.
enum HostFeature : std::uint64_t { kHostFeatureNone = 0 };

// Flags of CreateArgs.
enum CreateFlag : std::uint32_t {
  // Another backend serves this family until the first apply() of this one has succeeded, and is retired afterwards. The
  // first apply() must create the objects that direct new connections to this backend last and atomically, and must not
  // delete objects that this backend does not claim.
  kCreatePredecessorServes = 1u << 0,
};

// Growing. Valid during create(); the backend must copy the data that it keeps.
struct CreateArgs {
  std::uint32_t struct_size;
  Family family;
  std::uint8_t reserved[3];
  Host* host;                  // owned by the daemon; valid until release() returns
  // Elements are Option: the configuration section of the backend, and the settings of kube-proxy's document for its
  // mode. The latter may be missing if the object only probes, or retires leftover state of an earlier process.
  // Since minor 1: if the plugin declares options, all keys are declared ones with valid values, elements of a list are in
  // order, and declared keys that the configuration does not contain follow with their defaults.
  ArrayView options;
  // An existing folder for small state. All objects of this backend id share it, in both families and in consecutive
  // processes. It may be emptied at boot. Empty: no folder is available.
  StringView state_dir;
  std::uint32_t flags;         // CreateFlag
  std::uint16_t host_minor;    // kMinor of the daemon; the major is the same
  std::uint16_t reserved2;
  std::uint64_t host_features; // HostFeature
  StringView host_version;     // the version of the daemon as text: "0.9.1"
};
static_assert(sizeof(CreateArgs) == 88 && offsetof(CreateArgs, host) == 8 && offsetof(CreateArgs, options) == 16 &&
              offsetof(CreateArgs, state_dir) == 40 && offsetof(CreateArgs, flags) == 56 &&
              offsetof(CreateArgs, host_minor) == 60 && offsetof(CreateArgs, host_features) == 64 &&
              offsetof(CreateArgs, host_version) == 72);

// Growing. The fields up to `minor` have the same place in every major version; the others belong to this major. The
// daemon reads the numbers from the section of the file before it maps it, so no code of a plugin for another major runs.
// Strings are NUL-terminated and must be static.
struct PluginEntry {
  std::uint32_t magic;
  std::uint16_t major;
  std::uint16_t minor;
  std::uint32_t struct_size;
  std::uint32_t reserved;
  std::uint64_t features;    // Feature
  std::uint64_t needs_host;  // HostFeature
  const char* id;            // the value of --proxy-mode: "iptables", "com.example.dpu"
  const char* version;       // of the plugin
  const char* build;         // compiler and standard library, for diagnosis
  // [any thread, any number of times] Creates a backend for one family. It must not change the node. kInvalid: an option
  // is invalid, and `error->object` is its key. With kOk, `*out` must not be null, and the caller owns it until
  // release(). Otherwise `*out` must be null, and `error` has the reason. Limit: 10 s.
  Code (*create)(const CreateArgs* args, Backend** out, Error* error) noexcept;
  // Since minor 1. Data of these arrays must be static.
  // OptionSpec. Null: create() validates all options itself. Not null, with the count 0: the backend has no options.
  ArrayView options;
  ArrayView metrics;  // MetricSpec: those that HostMetrics offers
  // StringView: the daemon passes annotations of Services whose keys begin with one of these: "example.com/". Each must
  // contain a "/" after a domain. Empty: none. A Service whose selected annotations exceed 16 KiB is passed without them.
  ArrayView annotation_prefixes;
};
static_assert(sizeof(PluginEntry) == 136 && offsetof(PluginEntry, features) == 16 && offsetof(PluginEntry, id) == 32 &&
              offsetof(PluginEntry, create) == 56 && offsetof(PluginEntry, options) == 64 &&
              offsetof(PluginEntry, metrics) == 88 && offsetof(PluginEntry, annotation_prefixes) == 112);

}  // namespace sluice::abi

// The name of the section and of the only symbol a plugin exports.
#define SLUICE_ABI_SECTION "sluice_abi"
#define SLUICE_ABI_SYMBOL "sluice_plugin_entry"

// SLUICE_PLUGIN_ENTRY = { … }; must be in exactly one source file of a plugin. The value must be a constant expression, so
// that the daemon can read it before any code of the plugin runs.
#define SLUICE_PLUGIN_ENTRY                                                                      \
  extern "C" [[gnu::visibility("default"), gnu::section("sluice_abi")]]                          \
  const ::sluice::abi::PluginEntry sluice_plugin_entry;                                          \
  constexpr ::sluice::abi::PluginEntry sluice_plugin_entry
