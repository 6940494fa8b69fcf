// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// load_plugin FILE ID [run [STATE-DIR]]: loads a plugin as the daemon does and, with `run`, makes the calls of a backend's
// life cycle with a small cluster. Prints the first failure and exits with 1.
#include <cstring>
#include <iostream>
#include <stdexcept>

#include "core/plugin/backend_handle.hpp"
#include "sluice/sdk/sdk.hpp"

namespace {

using namespace sluice;

// Throws on a failure, so that main() handles all failures in one place.
void require(const plugin::Outcome& outcome, const plugin::BackendHandle& handle, const char* call) {
  if (!outcome.ok()) throw std::runtime_error(outcome.status(handle.name(), call).message());
}

void run(const std::shared_ptr<const plugin::Plugin>& plugin, lib::Family family, const char* state_dir) {
  const lib::SteadyClock clock;
  plugin::BackendSettings settings;
  settings.family = family;
  settings.state_dir = state_dir;
  auto made = plugin::BackendHandle::create(plugin, settings, nullptr, nullptr, clock);
  if (!made) throw std::runtime_error(made.status().message());
  plugin::BackendHandle& handle = *made.value();

  abi::NodeFacts node{};
  node.struct_size = sizeof(node);
  node.name = sdk::view("worker-1");
  abi::Frontend frontend{};
  frontend.kind = abi::FrontendKind::kClusterIp;
  frontend.port = 80;
  abi::Endpoint endpoint{};
  endpoint.port = 8080;
  endpoint.flags = abi::kEndpointInCluster | abi::kEndpointReady | abi::kEndpointServing;
  abi::ServicePort port{};
  port.key = {sdk::view("shop"), sdk::view("cart"), sdk::view("http"), abi::Protocol::kTcp, {}};
  port.frontends = sdk::array(&frontend, 1);
  port.endpoints = sdk::array(&endpoint, 1);
  port.flags = abi::kUsesClusterEndpoints | abi::kHasAnyEndpoint;
  abi::Transaction transaction{};
  transaction.struct_size = sizeof(transaction);
  transaction.generation = 1;
  transaction.node = &node;
  transaction.service_ports = sdk::array(&port, 1);

  require(handle.probe(), handle, "probe");
  require(handle.apply(transaction), handle, "apply");
  if (plugin->has(abi::kFeatureDelta)) {
    abi::Transaction delta = transaction;
    delta.kind = abi::TransactionKind::kDelta;
    delta.base_generation = 1;
    delta.generation = 2;
    delta.service_ports = {};
    delta.removed = sdk::array(&port.key, 1);
    require(handle.apply(delta), handle, "apply");
  }
  require(handle.verify(), handle, "verify");
  require(handle.claims(), handle, "claims");
  require(handle.retire({}, std::chrono::seconds(0)), handle, "retire");
  require(handle.cleanup(), handle, "cleanup");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: load_plugin FILE ID [run [STATE-DIR]]\n";
    return 2;
  }
  try {
    plugin::LoadRequest request;
    request.file = std::filesystem::absolute(argv[1]);
    request.id = argv[2];
    request.rules.folders = {request.file.parent_path()};
    request.rules.relax_ownership = true;
    const auto plugin = plugin::load_plugin(request);
    if (!plugin) throw std::runtime_error(plugin.status().message());
    std::cout << "loaded " << plugin.value()->id() << " " << plugin.value()->version() << "\n";
    if (argc > 3 && std::strcmp(argv[3], "run") == 0) {
      for (const lib::Family family : lib::kFamilies) {
        if (plugin.value()->supports(family)) run(plugin.value(), family, argc > 4 ? argv[4] : "");
      }
    }
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << "\n";
    return 1;
  }
}
