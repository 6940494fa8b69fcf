// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Common parts of the zoo plugins: a backend and a descriptor without faults, of which plugins modify one part.
#pragma once

#include "sluice/sdk/sdk.hpp"

namespace zoo {

namespace abi = sluice::abi;
namespace sdk = sluice::sdk;

class PlainBackend : public sdk::BackendBase {
 public:
  explicit PlainBackend(const abi::CreateArgs& args) : BackendBase(args) {}

 protected:
  abi::Code do_probe(abi::Error*) override { return abi::Code::kOk; }
  abi::Code do_apply(const abi::Transaction&, const abi::NodeFacts&, abi::ApplyResult&, abi::Error*) override {
    return abi::Code::kOk;
  }
  abi::Code do_verify(abi::Error*) override { return abi::Code::kOk; }
  abi::Code do_claims(abi::StringSink&, abi::Error*) override { return abi::Code::kOk; }
  abi::Code do_retire(const abi::Handover&, abi::Error*) override { return abi::Code::kOk; }
  abi::Code do_cleanup(abi::Error*) override { return abi::Code::kOk; }
};

inline constexpr std::uint64_t kAllFeatures =
    abi::kFeatureIpv4 | abi::kFeatureIpv6 | abi::kFeatureDelta | abi::kFeatureAffinity;

// One source may be built as several versions.
#ifndef ZOO_VERSION
#define ZOO_VERSION "1.2.3"
#endif

constexpr abi::PluginEntry entry(const char* id, decltype(abi::PluginEntry::create) create,
                                 abi::ArrayView options = {}, abi::ArrayView metrics = {}) {
  return {abi::kMagic,           abi::kMajor, abi::kMinor, sizeof(abi::PluginEntry), 0, kAllFeatures,
          abi::kHostFeatureNone, id,          ZOO_VERSION, __VERSION__,              create, options, metrics, {}};
}

constexpr abi::PluginEntry plain_entry(const char* id) { return entry(id, &sdk::create<PlainBackend>); }

}  // namespace zoo
