// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The ipvs backend on four fake parts of a kernel.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "plugins/ipvs/backend.hpp"
#include "sluice/sdk/address.hpp"
#include "test/unit/common/backend_rig.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/common/fake_kernel.hpp"
#include "test/unit/ipvs/fake_link_kernel.hpp"
#include "test/unit/ipvs/fake_server_kernel.hpp"
#include "test/unit/ipvs/fake_set_kernel.hpp"

namespace sluice::test {

class IpvsRig final : public BackendRig<FakeHost> {
 public:
  explicit IpvsRig(abi::Family family = abi::Family::kIpv4, BackendOptions options = {})
      : BackendRig(family, std::move(options)), sets(family) {
    node.local_addresses = {"127.0.0.1", "192.168.0.2"};
    if (family == abi::Family::kIpv6) {
      node.ip = "fd00:9::2";
      node.detector_cidr = "fd00:2::/64";
      node.local_addresses = {"::1", "fd00:9::2", "fe80::1"};
    }
    restart();
  }
  ~IpvsRig() { stop(); }

  // One line per client: "ns/name:port client endpoint:port seconds". `error`: the result of export_clients().
  std::string exported() {
    class Sink final : public abi::AffinitySink {
     public:
      explicit Sink(abi::Family family) : family_(family) {}
      void add(abi::ArrayView clients) noexcept override {
        for (const abi::AffinityClient& client : sdk::range<abi::AffinityClient>(clients)) {
          text += sdk::service_port_name(client.key) + " " + sdk::to_string(client.client, family_) + " " +
                  ipvs::to_string(ipvs::RealServer{client.endpoint, client.endpoint_port}, family_) + " " +
                  std::to_string(client.remaining_seconds) + "\n";
        }
      }
      std::string text;

     private:
      abi::Family family_;
    } sink(family_);
    clear_error();
    const abi::Code code = affinity().export_clients(&sink, &error);
    return code == abi::Code::kOk ? sink.text : "code " + std::to_string(static_cast<int>(code));
  }

  // Everything the kernel holds, as lines in an order that does not depend on history.
  std::string kernel_text() const { return servers_text() + sets.text() + links_text() + rules_text(); }
  // Drop rules stand in the order of their addition: sort them by text.
  std::string rules_text() const {
    std::string text;
    std::set<std::string> dropping;
    std::istringstream lines(rules.text());
    for (std::string line; std::getline(lines, line);) {
      if (line.find("--vaddr") != std::string::npos) {
        dropping.insert(line);
        continue;
      }
      text += line + "\n";
    }
    for (const std::string& line : dropping) text += line + "\n";
    return text;
  }
  std::string servers_text() const {
    std::string text;
    for (const auto& [key, server] : servers.held) {
      text += ipvs::to_string(key, family_) + " " + server.attributes.scheduler;
      if (server.attributes.flags != 0) {
        text += " flags " + std::to_string(server.attributes.flags) + " for " +
                std::to_string(server.attributes.persistence_seconds);
      }
      for (const auto& [real, state] : server.real) {
        text += " " + ipvs::to_string(real, family_) + "*" + std::to_string(state.weight);
      }
      text += "\n";
    }
    return text;
  }
  std::string links_text() const {
    std::string text;
    for (const auto& [name, link] : links.links) {
      text += name + " " + link.state.kind;
      const auto mine = link.addresses.find(family_);
      if (mine != link.addresses.end()) {
        for (const abi::Address& address : mine->second) text += " " + sdk::to_string(address, family_);
      }
      text += "\n";
    }
    return text;
  }
  std::size_t lines(const std::string& text) const {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  std::uint64_t messages() const { return servers.messages() + sets.messages() + links.messages(); }
  ipvs::ServerKey key(const std::string& address, std::uint16_t port,
                      abi::Protocol protocol = abi::Protocol::kTcp) const {
    return {*sdk::parse_address(address, family_), port, protocol};
  }
  std::string logged(abi::Severity severity) const {
    std::string text;
    for (const auto& [how, line] : host.lines) {
      if (how == severity) text += line + "\n";
    }
    return text;
  }

  FakeKernel rules;
  ipvs::FakeServerKernel servers;
  FakeSetKernel sets;
  ipvs::FakeLinkKernel links;
  std::vector<std::string> node_warnings;  // warnings that prepare() returns
  unsigned prepared = 0;
  unsigned prepared_lacking = 0;  // of these calls, after the kernel lacked a feature
  bool has_ipvs = true;           // the modules are loaded
  bool has_sets = true;
  bool addresses_unread = false;                     // the node's addresses, at a clean-up
  std::map<ipvs::ServerKey, std::string> listening;  // programs of the node
  std::vector<ipvs::ServerConnection> connections;   // of IPVS
  bool connections_readable = true;
  std::set<abi::Address> connected;  // source addresses of connections of this node
  std::optional<abi::Address> usual_source;
  netlink::OpenRawSocket tracking;  // of backends created later

 private:
  abi::Backend* create(const abi::CreateArgs& args) override { return new ipvs::IpvsBackend(args, kernels()); }
  void forget_writes() override { rules.restores.clear(); }

  class Servers final : public ipvs::ServerKernel {
   public:
    explicit Servers(ipvs::FakeServerKernel& kernel) : kernel_(kernel) {}
    std::vector<ipvs::VirtualServerState> servers() override { return kernel_.servers(); }
    std::vector<ipvs::RealServerState> real_servers(const ipvs::ServerKey& key) override {
      return kernel_.real_servers(key);
    }
    std::vector<int> execute(const std::vector<ipvs::ServerCommand>& commands) override {
      return kernel_.execute(commands);
    }
    void set_timeouts(const ipvs::IpvsTimeouts& timeouts) override { kernel_.set_timeouts(timeouts); }
    ipvs::IpvsTimeouts timeouts() override { return kernel_.timeouts(); }
    std::uint64_t messages() const override { return kernel_.messages(); }

   private:
    ipvs::FakeServerKernel& kernel_;
  };

  class Sets final : public ipvs::SetKernel {
   public:
    explicit Sets(FakeSetKernel& kernel) : kernel_(kernel) {}
    std::optional<ipvs::SetHeader> header(const std::string& name) override { return kernel_.header(name); }
    bool has_counts() override { return kernel_.has_counts(); }
    std::vector<ipvs::SetEntry> entries(const std::string& name, ipvs::SetType type) override {
      return kernel_.entries(name, type);
    }
    void create(const std::string& name, ipvs::SetType type, std::uint32_t maxelem) override {
      kernel_.create(name, type, maxelem);
    }
    std::vector<ipvs::RefusedEntry> add(const std::string& name, ipvs::SetType type,
                                        const std::vector<ipvs::SetEntry>& entries) override {
      return kernel_.add(name, type, entries);
    }
    void remove(const std::string& name, ipvs::SetType type, const std::vector<ipvs::SetEntry>& entries) override {
      kernel_.remove(name, type, entries);
    }
    void swap(const std::string& one, const std::string& other) override { kernel_.swap(one, other); }
    bool destroy(const std::string& name) override { return kernel_.destroy(name); }
    std::uint64_t messages() const override { return kernel_.messages(); }
    std::uint64_t waited() const override { return kernel_.waited(); }

   private:
    FakeSetKernel& kernel_;
  };

  class Links final : public ipvs::LinkKernel {
   public:
    explicit Links(ipvs::FakeLinkKernel& kernel) : kernel_(kernel) {}
    std::optional<ipvs::LinkState> find(const std::string& name) override { return kernel_.find(name); }
    void create(const std::string& name) override { kernel_.create(name); }
    void remove(int index) override { kernel_.remove(index); }
    std::vector<abi::Address> addresses(int index, abi::Family family) override {
      return kernel_.addresses(index, family);
    }
    std::vector<ipvs::RefusedAddress> bind(int index, abi::Family family,
                                           const std::vector<abi::Address>& addresses) override {
      return kernel_.bind(index, family, addresses);
    }
    void unbind(int index, abi::Family family, const std::vector<abi::Address>& addresses) override {
      kernel_.unbind(index, family, addresses);
    }
    void set_source(int index, const std::vector<abi::Address>& addresses, const abi::Address& source) override {
      kernel_.set_source(index, addresses, source);
    }
    void restore_source(int index, const std::vector<abi::Address>& addresses) override {
      kernel_.restore_source(index, addresses);
    }
    std::uint64_t messages() const override { return kernel_.messages(); }

   private:
    ipvs::FakeLinkKernel& kernel_;
  };

  ipvs::NodeKernels kernels() {
    ipvs::NodeKernels made;
    made.rules = rules.open();
    made.servers = std::make_unique<Servers>(servers);
    made.sets = std::make_unique<Sets>(sets);
    made.links = std::make_unique<Links>(links);
    made.prepare = [this](const ipvs::Settings&, ipvs::ServerKernel&, bool lacking) {
      ++prepared;
      prepared_lacking += lacking ? 1 : 0;
      return std::exchange(node_warnings, {});
    };
    made.has_ipvs = [this] { return has_ipvs; };
    made.has_sets = [this] { return has_sets; };
    made.local_addresses = [this] {
      if (addresses_unread) throw sdk::Failure(abi::Code::kRetry, "node addresses", "they cannot be read", EMFILE);
      std::set<abi::Address> found;
      for (const std::string& text : node.local_addresses) found.insert(*sdk::parse_address(text, family_));
      return found;
    };
    made.connections = [this](const ipvs::ConnectionVisitor& visitor, const ipvs::MoreTime& more) {
      for (const ipvs::ServerConnection& connection : connections) {
        if (!more() || !visitor(connection)) return false;
      }
      return connections_readable;
    };
    made.connected_addresses = [this] { return connected; };
    made.usual_source = [this] { return usual_source; };
    made.tracking = tracking;
    made.sockets.listeners = [this](abi::Protocol protocol) {
      std::vector<sockets::Listener> found;
      for (const auto& [key, program] : listening) {
        if (key.protocol == protocol) found.push_back({key.address, key.port});
      }
      return found;
    };
    made.sockets.holder = [this](abi::Protocol protocol, const sockets::Listener& listener) {
      return listening.at({listener.address, listener.port, protocol});
    };
    return made;
  }
};

}  // namespace sluice::test
