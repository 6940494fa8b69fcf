// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/explanation.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/userspace/portal/portal_path.hpp"
#include "plugins/userspace/relay/event_loop.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::userspace {
namespace {

using inspection::Explanation;
using inspection::Remarks;
using Verdict = abi::InspectedVerdict;

// How the packet would arrive at the proxy socket.
class ExplainedArrival final : public Arrival {
 public:
  ExplainedArrival(const inspection::Packet& packet, const ClientFacts& facts) : packet_(packet), facts_(facts) {}
  std::optional<Destination> destination() const noexcept override {
    return Destination{packet_.address, packet_.port};
  }
  std::string interface() const override { return packet_.of_pod ? facts_.detector_interface : std::string(); }

 private:
  const inspection::Packet& packet_;
  const ClientFacts& facts_;
};

std::string effect_of(const PathStep& step, std::uint16_t proxy_port) {
  const std::string why = step.comment.empty() ? std::string() : ": " + step.comment;
  if (step.target == "DROP") return "drops the packet" + why;
  if (step.target == "REJECT") return "rejects the packet" + why;
  if (step.target == "ACCEPT") return "accepts the packet";
  if (step.target == "RETURN") return "passes the packet on" + why;
  if (step.target == "DNAT" || step.target == "REDIRECT") {
    return "redirects to proxy port " + std::to_string(proxy_port) + " of " + step.comment;
  }
  return "jumps to " + step.target;
}

std::string choice_text(Balance balance, std::size_t endpoints) {
  if (endpoints == 1) return "connects to the only endpoint";
  const std::string number = std::to_string(endpoints);
  switch (balance) {
    case Balance::kLeastConnections:
      return "chooses the one of " + number + " endpoints with the fewest connections";
    case Balance::kTwoChoices:
      return "takes two of " + number + " endpoints at random and chooses the one with fewer connections";
    case Balance::kRoundRobin:
      break;
  }
  return "chooses one of " + number + " endpoints in turn";
}

class Explainer {
 public:
  Explainer(const ExplanationSources& from, Explanation& explanation)
      : from_(from), explanation_(explanation), packet_(explanation.packet()), facts_(from.clients.facts()) {}

  void explain() {
    const IsLocalAddress is_local = [&](const abi::Address& address) { return facts_->of_this_node(address); };
    const PortalListing kernel = from_.writer.read_rules();
    const PortalListing written = from_.writer.written_rules();
    const PortalPath path = follow(kernel, packet_, is_local);
    const PortalPath wanted = follow(written, packet_, is_local);
    note_missing_rules(wanted, kernel);
    for (const std::string& rule : path.unknown) inspection::add(remarks_, "not evaluated: rule " + rule);
    add_rules(path, kernel, written);
    if (path.end == PortalPath::End::kPassed) explain_socket(path);
  }

 private:
  // Whether the chain of the step contains the rule.
  static bool contains(const PortalListing& listing, const PathStep& step) {
    const netfilter::Chain* const chain = listing.rules.chain(netfilter::table_name(step.table), step.chain);
    return chain != nullptr && std::any_of(chain->rules.begin(), chain->rules.end(),
                                           [&](const netfilter::Rule& rule) { return rule.hash == step.rule->hash; });
  }

  void note_missing_rules(const PortalPath& wanted, const PortalListing& kernel) {
    for (const PathStep& step : wanted.steps) {
      if (!contains(kernel, step)) inspection::add(remarks_, "missing: rule " + text_of(step));
    }
  }

  void add_rules(const PortalPath& path, const PortalListing& kernel, const PortalListing& written) {
    for (const PathStep& step : path.steps) {
      Explanation::Step row{.object = "rule " + text_of(step), .effect = effect_of(step, path.proxy_port)};
      if (const auto counts = counts_of(kernel, step.table, step.chain, *step.rule)) {
        row.counted = true;
        row.packets = counts->packets;
        row.bytes = counts->bytes;
      }
      if (!contains(written, step)) row.remarks.push_back("not written by this backend");
      if (&step == &path.steps.back() && path.end != PortalPath::End::kPassed) {
        row.verdict = path.end == PortalPath::End::kDropped ? Verdict::kDropped : Verdict::kRejected;
        row.remarks.insert(row.remarks.end(), remarks_.begin(), remarks_.end());
      }
      explanation_.add(std::move(row));
    }
  }

  void explain_socket(const PortalPath& path) {
    const std::uint16_t port = path.proxy_port != 0 ? path.proxy_port : packet_.port;
    const std::optional<ServiceTable::BoundListener> at = path.to_this_node ? listener_at(port) : std::nullopt;
    if (path.proxy_port == 0 && (!at || !is_listened_at(packet_.address))) return explain_claim(path);
    const std::string object = "proxy socket " + protocol_port(port);
    if (!at) return end({.object = object, .effect = "is not open"}, Verdict::kRejected);
    const std::string problem = from_.table.socket_problem(*at);
    if (!problem.empty()) {
      remarks_.push_back(problem);
      return end({.object = object, .effect = "does not receive the packet"}, Verdict::kRejected);
    }
    const bool local = at->listener->kind() == ListenerKind::kLocal;
    explanation_.add({.object = object,
                      .effect = "receives clients of " + at->listener->name() +
                                (local ? ", for endpoints of this node" : ", for all endpoints")});
    explain_relay(*at->listener);
  }

  std::optional<ServiceTable::BoundListener> listener_at(std::uint16_t port) const {
    for (const ServiceTable::BoundListener& at : from_.table.bound_listeners()) {
      if (at.port == port && at.listener->protocol() == packet_.protocol) return at;
    }
    return std::nullopt;
  }

  bool is_listened_at(const abi::Address& address) const {
    return !from_.settings.listen_address || *from_.settings.listen_address == address;
  }

  // No rule redirects the packet.
  void explain_claim(const PortalPath& path) {
    const ClaimedAddress claimed{packet_.address, packet_.port, packet_.protocol};
    const ClaimArbiter& claims = from_.table.claims();
    const std::string holder = path.to_this_node ? claims.holder(claimed) : std::string();
    for (std::string& why : claims.refusals_at(claimed)) inspection::add(remarks_, std::move(why));
    if (holder.empty())
      return end({.object = "portal rules", .effect = "redirect no such packet"}, Verdict::kNotProxied);
    const bool udp = packet_.protocol == abi::Protocol::kUdp;
    end({.object = "claim socket " + protocol_port(packet_.port),
         .effect = "holds the port for " + holder + " and " + (udp ? "drops datagrams" : "does not listen")},
        udp ? Verdict::kDropped : Verdict::kRejected);
  }

  void explain_relay(Listener& listener) {
    const Nanoseconds now = EventLoop::clock();
    const std::vector<Balancer::Candidate> all = listener.balancer().candidates(now);
    Explanation::Step step{.object = "relay of " + listener.name()};
    if (all.empty()) {
      const bool udp = packet_.protocol == abi::Protocol::kUdp;
      step.effect = udp ? "drops the datagram: no endpoints" : "closes the connection: no endpoints";
      return end(std::move(step), udp ? Verdict::kDropped : Verdict::kRejected);
    }
    add_choice(listener.balancer(), all, now, step);
    add_client_address(listener, step);
    end(std::move(step), Verdict::kServed);
  }

  void add_choice(const Balancer& balancer, const std::vector<Balancer::Candidate>& all, Nanoseconds now,
                  Explanation::Step& step) const {
    const auto passed_over = std::count_if(all.begin(), all.end(), [](const auto& one) { return one.passed_over; });
    const bool any_usable = static_cast<std::size_t>(passed_over) != all.size();
    const std::optional<SocketAddress> bound = balancer.bound_to(packet_.client, now);
    bool is_bound = false;
    for (const Balancer::Candidate& one : all) {
      if (one.passed_over && any_usable) continue;
      step.targets.push_back({one.target.address(), one.target.port()});
      is_bound = is_bound || (bound && bound->address() == one.target.address() && bound->port() == one.target.port());
    }
    step.effect = choice_text(from_.settings.balancer.balance, step.targets.size());
    const std::string affinity = " (session affinity, " + std::to_string(balancer.affinity_seconds()) + " s)";
    if (is_bound) {
      step.effect = "chooses " + sdk::host_port(bound->address(), packet_.family, bound->port()) +
                    " as for an earlier connection of the client" + affinity;
      if (step.targets.size() > 1) step.effect += ", another endpoint if it does not answer";
    } else if (balancer.affinity_seconds() != 0) {
      step.effect += " and remembers it for the client" + affinity;
    }
    if (passed_over != 0) {
      step.remarks.push_back(std::to_string(passed_over) + " of " + std::to_string(all.size()) +
                             " endpoints passed over after failed connections");
    }
  }

  void add_client_address(const Listener& listener, Explanation::Step& step) const {
    const Listener::Client client = listener.client(packet_.client, ExplainedArrival(packet_, *facts_));
    const bool hidden = client.kept && !client.possible && !client.is_here;
    step.masquerades = !client.kept || hidden;
    step.effect += step.masquerades ? "; it sees an address of this node" : "; it sees the address of the client";
    if (hidden) step.remarks.push_back("this node cannot keep addresses of clients");
    if (listener.sends_proxy_header()) step.effect += ", and receives that of the client in the PROXY protocol";
  }

  std::string protocol_port(std::uint16_t port) const {
    return std::to_string(port) + "/" + std::string(sdk::protocol_name(packet_.protocol));
  }

  void end(Explanation::Step step, Verdict verdict) {
    step.verdict = verdict;
    step.remarks.insert(step.remarks.end(), remarks_.begin(), remarks_.end());
    explanation_.add(std::move(step));
  }

  const ExplanationSources& from_;
  Explanation& explanation_;
  const inspection::Packet& packet_;
  const std::shared_ptr<const ClientFacts> facts_;
  Remarks remarks_;  // of the step with the verdict
};

}  // namespace

void explain(const ExplanationSources& from, Explanation& explanation) { Explainer(from, explanation).explain(); }

}  // namespace sluice::userspace
