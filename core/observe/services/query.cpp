// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/query.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/number.hpp"
#include "lib/text.hpp"

namespace sluice::observe {
namespace {

constexpr std::size_t kMaxQueryLength = 512;  // bytes; a name, a namespace and a port name are 63 + 63 + 15 of them

lib::Status not_understood(std::string_view text) {
  return lib::invalid("invalid query '" + std::string(text.substr(0, kMaxQueryLength)) +
                      "': use NAMESPACE/NAME[:PORT], NAMESPACE, NAME, IP, IP:PORT, [IPv6]:PORT or :NODEPORT");
}

// Removes "/tcp", "/udp" or "/sctp" from the end.
std::optional<model::Protocol> take_protocol(std::string_view& text) {
  using Named = std::pair<std::string_view, model::Protocol>;
  static constexpr std::array<Named, 3> kAll{Named{"/tcp", model::Protocol::tcp}, Named{"/udp", model::Protocol::udp},
                                             Named{"/sctp", model::Protocol::sctp}};
  for (const auto& [suffix, protocol] : kAll) {
    if (!text.ends_with(suffix)) continue;
    text.remove_suffix(suffix.size());
    return protocol;
  }
  return std::nullopt;
}

std::optional<std::uint16_t> parse_port(std::string_view text) { return lib::parse_number<std::uint16_t>(text, 1); }

bool is_object_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  });
}

}  // namespace

lib::Result<ServiceQuery> ServiceQuery::parse(std::string_view text) {
  ServiceQuery out;
  if (text.empty()) return out;
  if (text.size() > kMaxQueryLength) return not_understood(text);
  std::string_view rest = text;
  const auto protocol = take_protocol(rest);
  // Addresses and ports first, because the rest may be a name.
  if (const auto address = lib::IpAddress::parse(rest)) {
    out.form_ = Address{*address, 0};
  } else if (const auto port = parse_port(rest.starts_with(':') ? rest.substr(1) : rest)) {
    out.form_ = NodePort{*port};
  } else if (const auto at = lib::SocketAddress::parse(rest); at && at->port != 0) {
    out.form_ = Address{at->address, at->port};
  }
  if (!out.everything()) {
    out.protocol_ = protocol;
    return out;
  }
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) {
    if (!is_object_name(text)) return not_understood(text);
    out.form_ = Word{std::string(text)};
    return out;
  }
  OneService one;
  one.name_space = text.substr(0, slash);
  std::string_view name = text.substr(slash + 1);
  if (const auto colon = name.find(':'); colon != std::string_view::npos) {
    one.port = name.substr(colon + 1);
    name = name.substr(0, colon);
  }
  one.name = name;
  if (!is_object_name(one.name_space) || !is_object_name(one.name) || (one.port && !is_object_name(*one.port)))
    return not_understood(text);
  out.form_ = std::move(one);
  return out;
}

bool ServiceQuery::may_match(const model::ObjectName& service) const {
  if (const auto* one = std::get_if<OneService>(&form_)) {
    return service.name == one->name && service.name_space.text() == one->name_space;
  }
  if (const auto* word = std::get_if<Word>(&form_)) {
    return service.name == word->word || service.name_space.text() == word->word;
  }
  return true;
}

bool ServiceQuery::matches(const store::ExplainedPort& port, const snapshot::NodeFacts* node) const {
  if (protocol_ && port.port.key.protocol != *protocol_) return false;
  return std::visit([&](const auto& form) { return matches(form, port, node); }, form_);
}

bool ServiceQuery::matches(const OneService& form, const store::ExplainedPort& port, const snapshot::NodeFacts*) const {
  return may_match(port.port.key.service) && (!form.port || port.port.key.port_name.text() == *form.port);
}

bool ServiceQuery::matches(const Word&, const store::ExplainedPort& port, const snapshot::NodeFacts*) const {
  return may_match(port.port.key.service);
}

bool ServiceQuery::matches(const Address& form, const store::ExplainedPort& port,
                           const snapshot::NodeFacts* node) const {
  const auto is_port = [&](std::uint16_t number) { return form.port == 0 || form.port == number; };
  if (port.port.family != form.address.family()) return false;
  for (const store::Frontend& frontend : port.port.frontends) {
    if (!is_port(frontend.port)) continue;
    if (frontend.kind != store::FrontendKind::node_port) {
      if (frontend.address == form.address) return true;
      continue;
    }
    if (form.port == 0 || node == nullptr) continue;
    const auto& own = node->node_ports_match_all ? node->local_addresses : node->node_port_addresses;
    if (lib::contains(own, form.address)) return true;
  }
  return std::any_of(port.endpoints.begin(), port.endpoints.end(), [&](const store::ExplainedEndpoint& one) {
    return is_port(one.endpoint.port) && one.endpoint.address == form.address.bytes();
  });
}

bool ServiceQuery::matches(const NodePort& form, const store::ExplainedPort& port, const snapshot::NodeFacts*) const {
  return std::any_of(port.port.frontends.begin(), port.port.frontends.end(), [&](const store::Frontend& frontend) {
    return frontend.kind == store::FrontendKind::node_port && frontend.port == form.port;
  });
}

std::string ServiceQuery::service_name() const {
  const auto* one = std::get_if<OneService>(&form_);
  return one == nullptr ? std::string() : one->name_space + "/" + one->name + (one->port ? ":" + *one->port : "");
}

bool ServiceQuery::wants_unwanted(std::string_view line) const {
  if (everything()) return true;
  if (const auto* address = std::get_if<Address>(&form_)) {
    const std::string text =
        address->port == 0 ? address->address.to_string() : lib::host_port(address->address, address->port);
    return line.find(text) != std::string_view::npos;
  }
  if (const auto* port = std::get_if<NodePort>(&form_)) {
    return line.find(" :" + std::to_string(port->port) + "/") != std::string_view::npos;
  }
  return false;
}

NodePortAddresses node_port_addresses(const snapshot::NodeFacts* node) {
  NodePortAddresses out;
  if (node == nullptr) return out;
  out.every = node->node_ports_match_all;
  if (!out.every) out.addresses = node->node_port_addresses;
  std::sort(out.addresses.begin(), out.addresses.end());
  return out;
}

}  // namespace sluice::observe
