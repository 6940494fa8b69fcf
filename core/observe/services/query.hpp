// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The query of `sluicectl services`: a Service, a namespace, or an address and port of a packet. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/snapshot/description.hpp"
#include "lib/status.hpp"

namespace sluice::observe {

class ServiceQuery {
 public:
  // Parses one of these forms; the error lists them.
  //   ""                                  everything
  //   shop/cart, shop/cart:http           a Service, or one port of it
  //   shop                                a namespace, or Services of this name in any namespace
  //   172.30.0.41, fd00::1                an address of a Service or of an endpoint
  //   172.30.0.41:80, [fd00::1]:80        the same with a port; for a node port, an address of the node
  //   :30080, 30080                       a node port
  // The last two may end with "/tcp", "/udp" or "/sctp", as pages print them.
  static lib::Result<ServiceQuery> parse(std::string_view text);

  // Whether a service port of this Service may match, judged by name only.
  bool may_match(const model::ObjectName& service) const;
  // `node` may be null; node ports then have no addresses.
  bool matches(const store::ExplainedPort& port, const snapshot::NodeFacts* node) const;

  bool everything() const { return std::holds_alternative<Everything>(form_); }
  // Names one Service or service port.
  bool one_service() const { return std::holds_alternative<OneService>(form_); }
  // Names Services, not addresses, so that Services without a service port match, too.
  bool by_name() const { return one_service() || std::holds_alternative<Word>(form_); }
  // "shop/cart" or "shop/cart:http" if it names one Service, otherwise empty.
  std::string service_name() const;
  // Whether a kernel line that belongs to no Service matches.
  bool wants_unwanted(std::string_view line) const;

 private:
  struct Everything {};
  struct OneService {
    std::string name_space, name;
    std::optional<std::string> port;
  };
  struct Word {
    std::string word;
  };
  struct Address {
    lib::IpAddress address;
    std::uint16_t port = 0;  // 0: any
  };
  struct NodePort {
    std::uint16_t port = 0;
  };
  using Form = std::variant<Everything, OneService, Word, Address, NodePort>;

  bool matches(const Everything&, const store::ExplainedPort&, const snapshot::NodeFacts*) const { return true; }
  bool matches(const OneService& form, const store::ExplainedPort& port, const snapshot::NodeFacts* node) const;
  bool matches(const Word& form, const store::ExplainedPort& port, const snapshot::NodeFacts* node) const;
  bool matches(const Address& form, const store::ExplainedPort& port, const snapshot::NodeFacts* node) const;
  bool matches(const NodePort& form, const store::ExplainedPort& port, const snapshot::NodeFacts* node) const;

  Form form_;
  std::optional<model::Protocol> protocol_;
};

// The addresses of this node that serve node ports; with `every`, all of them, and the list is empty.
struct NodePortAddresses {
  bool every = false;
  std::vector<lib::IpAddress> addresses;  // sorted
};
NodePortAddresses node_port_addresses(const snapshot::NodeFacts* node);

}  // namespace sluice::observe
