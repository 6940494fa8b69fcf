// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How a plugin is entered: one constant, readable before any of its code runs.
//
// The process is shared, with the daemon and with other plugins:
// - Threads that a plugin starts block all signals. It installs no handler of signals, and changes neither the working
//   directory, umask, locale, environment, credentials nor namespaces of the process. It may raise limits
//   (RLIMIT_NOFILE), never lower them.
// - SIGPIPE is ignored. The daemon waits for its own children only, and so does a plugin: waitpid() with a pid.
//   Descriptors are opened close-on-exec, on both sides.
// - Nothing is written to standard output, and no library for logging is set up: Host::log().
// - Sockets, and files below /proc/thread-self/net, are those of the network namespace of the thread that calls
//   create().
// - Static state of the library is shared by all its objects, those of both families and those that serve and retire,
//   which are on different threads: it takes a lock. It is not shared by two builds of one plugin, which may be mapped
//   at the same time; names in the kernel, ports and files are.
// - After release() of its last object the library may be unmapped: no thread, handler or destructor of a thread_local
//   variable may be left.
#pragma once

#include "sluice/abi/backend.hpp"

namespace sluice::abi {

// What a backend can do. A bit the daemon does not know is ignored. Every backend is given TCP, UDP and SCTP, and
// frontends of each kind: what it does not serve it tells by Host::service_port_failed.
enum Feature : std::uint64_t {
  kFeatureIpv4 = 1ull << 0,      // without it the family is not served
  kFeatureIpv6 = 1ull << 1,
  kFeatureDelta = 1ull << 2,     // accepts delta transactions; without it every one is full
  // Honours session affinity: when it is replaced it is asked who is bound, if it has Affinity.
  kFeatureAffinity = 1ull << 3,
  kFeatureServiceCidrs = 1ull << 4,  // uses NodeFacts::service_cidrs; without it they are not watched
  // Connections to frontends are not translated by the connection tracking of the node, whose entries say nothing of
  // them.
  kFeatureOwnConnections = 1ull << 5,
};

// What a backend cannot live without on the side of the daemon. None is defined yet:
// a bit the daemon does not know is a refusal with a sentence.
enum HostFeature : std::uint64_t { kHostFeatureNone = 0 };

// Flags of CreateArgs.
enum CreateFlag : std::uint32_t {
  // Another backend serves this family until this one's first apply() is in the kernel, and
  // is retired afterwards: the first apply() puts what leads new connections to this backend
  // in place last, at once, and deletes nothing it does not claim itself.
  kCreatePredecessorServes = 1u << 0,
};

// Growing. Valid for the call of create(); the backend copies what it keeps.
struct CreateArgs {
  std::uint32_t struct_size;
  Family family;
  std::uint8_t reserved[3];
  Host* host;                  // the daemon's; valid until release() returns
  // Option: the backend's own configuration section, and what kube-proxy's document says for its mode. Where a backend
  // only tries, or retires what an earlier process left, the latter may be missing.
  ArrayView options;
  // A folder for small state, shared by all objects of this backend id, of both families, and by processes one after
  // the other; exists, may be emptied at boot. Empty: none.
  StringView state_dir;
  std::uint32_t flags;         // CreateFlag
  std::uint16_t host_minor;    // kMinor of the daemon; the major is the same
  std::uint16_t reserved2;
  std::uint64_t host_features; // HostFeature
  StringView host_version;     // of the daemon, for people: "0.9.1"
};
static_assert(sizeof(CreateArgs) == 88 && offsetof(CreateArgs, host) == 8 && offsetof(CreateArgs, options) == 16 &&
              offsetof(CreateArgs, state_dir) == 40 && offsetof(CreateArgs, flags) == 56 &&
              offsetof(CreateArgs, host_minor) == 60 && offsetof(CreateArgs, host_features) == 64 &&
              offsetof(CreateArgs, host_version) == 72);

// Growing. The fields up to `minor` never move, in any major version; the others are those of this one. The daemon
// reads the numbers from the section of the file before it maps it, and refuses there: no code of a plugin for another
// major runs. Strings are NUL-terminated and static.
struct PluginEntry {
  std::uint32_t magic;
  std::uint16_t major;
  std::uint16_t minor;
  std::uint32_t struct_size;
  std::uint32_t reserved;
  std::uint64_t features;    // Feature
  std::uint64_t needs_host;  // HostFeature
  const char* id;            // what --proxy-mode names: "iptables", "com.example.dpu"
  const char* version;       // of the plugin
  const char* build;         // compiler and standard library, for diagnosis
  // [any thread, as often as needed] Makes a backend for one family. Leaves the node as it is. kInvalid: the options
  // are wrong, `error->object` is the key. On kOk `*out` is not null and
  // belongs to the caller until release(); otherwise it is null and `error` says why.
  // Limit: 10 s.
  Code (*create)(const CreateArgs* args, Backend** out, Error* error) noexcept;
};
static_assert(sizeof(PluginEntry) == 64 && offsetof(PluginEntry, features) == 16 && offsetof(PluginEntry, id) == 32 &&
              offsetof(PluginEntry, create) == 56);

}  // namespace sluice::abi

// The name of the section and of the only symbol a plugin exports.
#define SLUICE_ABI_SECTION "sluice_abi"
#define SLUICE_ABI_SYMBOL "sluice_plugin_entry"

// SLUICE_PLUGIN_ENTRY = { … }; in exactly one source file of a plugin. The value is a
// constant expression, so that it can be read before any code of the plugin runs.
#define SLUICE_PLUGIN_ENTRY                                                                      \
  extern "C" [[gnu::visibility("default"), gnu::section("sluice_abi")]]                          \
  const ::sluice::abi::PluginEntry sluice_plugin_entry;                                          \
  constexpr ::sluice::abi::PluginEntry sluice_plugin_entry
