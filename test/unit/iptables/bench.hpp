// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A backend on a fake kernel, with the calls that the daemon makes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/iptables/backend.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/common/fake_kernel.hpp"
#include "test/unit/common/tracer.hpp"
#include "test/unit/common/world.hpp"
#include "test/unit/iptables/fake_recent_lists.hpp"

namespace sluice::test {

class Bench {
 public:
  explicit Bench(abi::Family family = abi::Family::kIpv4) : family_(family) { restart(); }
  ~Bench() { backend_->release(); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // Replaces the backend object, as a restart of the daemon does; the kernel stays.
  void restart(std::uint32_t flags = 0) {
    if (backend_ != nullptr) backend_->release();
    abi::CreateArgs args{};
    args.struct_size = sizeof(args);
    args.family = family_;
    args.host = &host;
    args.flags = flags;
    auto given = std::make_unique<Shared>(kernel);
    backend_ = new iptables::IptablesBackend(args, std::move(given), recent.open());
  }

  abi::Code full(const std::vector<ServiceSpec>& services, const NodeSpec& node = {}) {
    World world(family_);
    return apply(world.full(services, ++generation, node));
  }
  abi::Code delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed = {},
                  const NodeSpec& node = {}) {
    World world(family_);
    return apply(world.delta(changed, removed, ++generation, node));
  }
  abi::Code apply(const abi::Transaction& transaction) {
    result = {};
    result.struct_size = sizeof(result);
    clear_error();
    host.failed.clear();
    kernel.restores.clear();
    return backend_->apply(&transaction, &result, &error);
  }
  abi::Code verify() {
    clear_error();
    return backend_->verify(&error);
  }
  abi::Code cleanup() {
    clear_error();
    kernel.restores.clear();
    return backend_->cleanup(&error);
  }
  abi::Code retire(const std::vector<std::string>& claims, std::uint32_t drain_seconds = 0) {
    clear_error();
    kernel.restores.clear();
    std::vector<abi::StringView> views;
    for (const std::string& claim : claims) views.push_back(sdk::view(claim));
    abi::Handover handover{};
    handover.struct_size = sizeof(handover);
    handover.drain_seconds = drain_seconds;
    handover.claims = sdk::array(views.data(), views.size());
    return backend_->retire(&handover, &error);
  }
  std::vector<std::string> claims() {
    struct Sink final : abi::StringSink {
      void add(abi::StringView text) noexcept override { found.emplace_back(sdk::text(text)); }
      std::vector<std::string> found;
    } sink;
    backend_->claims(&sink, &error);
    return sink.found;
  }
  abi::Code prepare(const abi::NodeFacts& node) {
    clear_error();
    return static_cast<abi::Preparation*>(backend_->extension(sdk::view(abi::kPreparation)))->prepare(&node, &error);
  }
  abi::Affinity& affinity() {
    return *static_cast<abi::Affinity*>(backend_->extension(sdk::view(abi::kAffinity)));
  }
  // Empty, with `error` set, if the call fails.
  std::vector<std::string> inspect(const std::string& name = {}) {
    struct Sink final : abi::StringSink {
      void add(abi::StringView text) noexcept override { found.emplace_back(sdk::text(text)); }
      std::vector<std::string> found;
    } sink;
    clear_error();
    auto* const inspection = static_cast<abi::Inspection*>(backend_->extension(sdk::view(abi::kInspection)));
    inspected = inspection->services(sdk::view(name), &sink, &error);
    return sink.found;
  }
  Tracer tracer(std::set<std::string> local = {"192.168.0.2", "192.168.1.2"}) const {
    return Tracer(kernel.tables, std::move(local));
  }

  FakeKernel kernel;
  FakeRecentLists recent;
  FakeHost host;
  abi::ApplyResult result{};
  abi::Error error{};
  std::uint64_t generation = 0;
  abi::Code inspected = abi::Code::kOk;

 private:
  // Forwards to the kernel of the bench, for a backend that owns its kernel.
  class Shared final : public netfilter::Kernel {
   public:
    explicit Shared(FakeKernel& kernel) : kernel_(kernel) {}
    const netfilter::Tools& tools() override { return kernel_.tools(); }
    lib::ProgramResult save(std::optional<netfilter::Table> only,
                            const std::function<void(std::string_view)>& sink) override {
      return kernel_.save(only, sink);
    }
    netfilter::Restored restore(std::string_view input) override { return kernel_.restore(input); }
    lib::ProgramResult try_restore(std::string_view input) override { return kernel_.try_restore(input); }
    std::optional<std::uint32_t> generation() override { return kernel_.generation(); }
    netfilter::ForeignChanges& foreign_changes() override { return kernel_.foreign_changes(); }
    int allow_localnet_routing() override { return kernel_.allow_localnet_routing(); }
    int ensure_counter(const std::string& name) override { return kernel_.ensure_counter(name); }
    std::optional<std::uint64_t> counted_packets(const std::string& name) override {
      return kernel_.counted_packets(name);
    }

   private:
    FakeKernel& kernel_;
  };
  void clear_error() {
    error = {};
    error.struct_size = sizeof(error);
  }

  abi::Family family_;
  abi::Backend* backend_ = nullptr;
};

}  // namespace sluice::test
