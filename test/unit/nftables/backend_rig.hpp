// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A backend on a fake table, and the calls the daemon makes.
#pragma once

#include <cppunit/TestAssert.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/backend.hpp"
#include "sluice/abi/affinity.hpp"
#include "sluice/abi/inspection.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/common/world.hpp"
#include "test/unit/nftables/fake_table.hpp"

namespace sluice::test {

class NftablesRig {
 public:
  explicit NftablesRig(abi::Family family = abi::Family::kIpv4,
                       std::vector<std::pair<std::string, std::string>> options = {})
      : table(family), family_(family), options_(std::move(options)) {
    if (family == abi::Family::kIpv6) {
      node.ip = "fd00:9::2";
      node.detector_cidr = "fd00:2::/64";
    }
    restart();
  }
  ~NftablesRig() { backend_->release(); }
  NftablesRig(const NftablesRig&) = delete;
  NftablesRig& operator=(const NftablesRig&) = delete;

  // A new backend object, as after a restart of the daemon; the kernel stays.
  void restart(std::uint32_t flags = 0) {
    if (backend_ != nullptr) backend_->release();
    std::vector<abi::Option> given;
    for (const auto& [key, value] : options_) given.push_back({sdk::view(key), sdk::view(value)});
    abi::CreateArgs args{};
    args.struct_size = sizeof(args);
    args.family = family_;
    args.host = &host;
    args.options = sdk::array(given.data(), given.size());
    args.flags = flags;
    backend_ = new nftables::NftablesBackend(args, table.open());
  }
  void restart_with(std::vector<std::pair<std::string, std::string>> options) {
    options_ = std::move(options);
    restart();
  }

  abi::Code full(const std::vector<ServiceSpec>& services) {
    World world(family_);
    return apply(world.full(services, ++generation, node));
  }
  abi::Code delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed = {}) {
    World world(family_);
    return apply(world.delta(changed, removed, ++generation, node));
  }
  abi::Code apply(const abi::Transaction& transaction) {
    result = {};
    result.struct_size = sizeof(result);
    clear_error();
    table.batches.clear();
    host.failed.clear();
    return backend_->apply(&transaction, &result, &error);
  }
  abi::Code probe() {
    clear_error();
    return backend_->probe(&error);
  }
  abi::Code verify() {
    clear_error();
    table.batches.clear();
    return backend_->verify(&error);
  }
  abi::Code cleanup() {
    clear_error();
    return backend_->cleanup(&error);
  }
  abi::Code retire(const std::vector<std::string>& claims, std::uint32_t drain_seconds = 0) {
    std::vector<abi::StringView> views;
    for (const std::string& claim : claims) views.push_back(sdk::view(claim));
    abi::Handover handover{};
    handover.struct_size = sizeof(handover);
    handover.drain_seconds = drain_seconds;
    handover.claims = sdk::array(views.data(), views.size());
    clear_error();
    return backend_->retire(&handover, &error);
  }
  abi::Affinity& affinity() {
    return *static_cast<abi::Affinity*>(backend_->extension(sdk::view(abi::kAffinity)));
  }
  std::vector<std::string> claims() {
    Sink sink;
    backend_->claims(&sink, &error);
    return sink.found;
  }
  std::vector<std::string> inspect(const std::string& name = {}) {
    Sink sink;
    clear_error();
    auto* const inspection = static_cast<abi::Inspection*>(backend_->extension(sdk::view(abi::kInspection)));
    inspection->services(sdk::view(name), &sink, &error);
    return sink.found;
  }
  double metric(const std::string& name, const std::string& labels = {}) const {
    const std::string family = family_ == abi::Family::kIpv6 ? "ip_family=\"IPv6\"" : "ip_family=\"IPv4\"";
    const auto found = host.metrics.find(name + "{" + labels + family + "}");
    return found == host.metrics.end() ? -1 : found->second;
  }
  bool logged(abi::Severity severity, const std::string& part) const {
    for (const auto& [how, line] : host.lines) {
      if (how == severity && line.find(part) != std::string::npos) return true;
    }
    return false;
  }
  void pass(std::uint64_t seconds) { host.clock += seconds * 1'000'000'000; }

  FakeTable table;
  FakeHost host;
  NodeSpec node;
  abi::ApplyResult result{};
  abi::Error error{};
  std::uint64_t generation = 0;

 private:
  struct Sink final : abi::StringSink {
    void add(abi::StringView text) noexcept override { found.emplace_back(sdk::text(text)); }
    std::vector<std::string> found;
  };
  void clear_error() {
    error = {};
    error.struct_size = sizeof(error);
  }

  abi::Family family_;
  std::vector<std::pair<std::string, std::string>> options_;
  abi::Backend* backend_ = nullptr;
};

inline void ok(abi::Code code) { CPPUNIT_ASSERT_EQUAL(std::int32_t{0}, static_cast<std::int32_t>(code)); }
inline void ok(const NftablesRig& rig, abi::Code code) {
  CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, std::int32_t{0}, static_cast<std::int32_t>(code));
}
inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The key of its IPv4 cluster IP.
inline nftables::Key key(const ServiceSpec& service) {
  const auto address = *sdk::parse_address(service.cluster_ip, abi::Family::kIpv4);
  return nftables::frontend_key(abi::Family::kIpv4, {false, address, service.protocol, service.port});
}
inline bool is_of(const nftables::ElementWrite& write, const ServiceSpec& service) {
  return write.record.set == nftables::SetId::kServiceIps && write.record.key == key(service);
}

}  // namespace sluice::test
