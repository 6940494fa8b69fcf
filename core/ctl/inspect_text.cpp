// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/inspect_text.hpp"

#include <array>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ctl/fields.hpp"
#include "core/ctl/columns.hpp"
#include "lib/ip.hpp"
#include "lib/text.hpp"

namespace sluice::ctl {
namespace {

using nlohmann::json;

// Adds the page of each family that has rows; `show` returns the text below the heading.
InspectPage by_family(const json& reply, const std::function<std::string(const json& family)>& show) {
  InspectPage out;
  const json& families = member(reply, "families");
  if (!families.is_array()) {
    out.errors = "the answer of sluiced is not understood; are daemon and sluicectl of the same version?\n";
    return out;
  }
  for (const json& family : families) {
    if (const std::string error = text(family, "error"); error != "-") {
      out.errors += text(family, "family") + ": " + error + "\n";
      continue;
    }
    out.text += (out.text.empty() ? "" : "\n") + show(family);
  }
  return out;
}

std::string family_heading(const json& family) { return text(family, "family") + ", backend " + text(family, "backend"); }

bool is_true(const json& object, std::string_view key) {
  const json& value = member(object, key);
  return value.is_boolean() && value.get<bool>();
}

// "shop/cart:http/tcp", or "-".
std::string service_port(const json& row) {
  if (!member(row, "service").is_string()) return "-";
  const std::string port = text(row, "port_name");
  return text(row, "service") + (port.empty() || port == "-" ? "" : ":" + port) + "/" + text(row, "protocol");
}

// "10.0.0.1:80"; the text of the daemon if it is not an address.
std::string address_and_port(const json& of) {
  const std::string address = text(of, "address");
  const auto parsed = lib::IpAddress::parse(address);
  return parsed && parsed->family() == lib::Family::ipv6 ? "[" + address + "]:" + text(of, "port")
                                                         : address + ":" + text(of, "port");
}

std::string drift_rows(const json& family) {
  const json& rows = member(family, "rows");
  if (rows.empty()) return family_heading(family) + ": no differences\n";
  Columns table({"KIND", "SERVICE PORT", "OBJECT"});
  for (const json& row : rows) {
    const json& count = member(row, "count");
    const bool several = count.is_number() && count != json(1);
    table.add({text(row, "kind"), service_port(row), (several ? text(count) + " × " : "") + text(row, "object")});
    for (const char* const key : {"wanted", "found"}) {
      if (const std::string content = text(row, key); content != "-") {
        table.add_note("  " + std::string(key) + ": " + content);
      }
    }
  }
  return family_heading(family) + ":\n" + table.text();
}

constexpr std::array<const char*, 7> kCounters{"connections",        "packets", "bytes", "reply_packets", "reply_bytes",
                                               "active_connections", "refused"};

std::string counter_text(const json& row, std::string_view counter) {
  // Some data planes count both directions together.
  if (!is_true(row, "both_directions") || !counter.starts_with("reply_")) return text(row, counter);
  return counter == "reply_packets" ? "in PACKETS" : "in BYTES";
}

std::string counter_rows(const json& family, bool endpoints) {
  Columns table({"SERVICE PORT", "FRONTEND", "ENDPOINT", "CONNECTIONS", "PACKETS", "BYTES", "REPLY-PACKETS",
               "REPLY-BYTES", "ACTIVE", "REFUSED"},
              3);
  bool any = false;
  for (const json& row : member(family, "rows")) {
    const json& frontend = member(row, "frontend");
    const json& endpoint = member(row, "endpoint");
    if (endpoint.is_object() && !endpoints) continue;
    const bool node_port = is_true(frontend, "node_port");
    std::vector<std::string> cells{service_port(row),
                                   !frontend.is_object() ? "all"
                                   : node_port           ? ":" + text(frontend, "port")
                                                         : address_and_port(frontend),
                                   endpoint.is_object() ? address_and_port(endpoint) : "all"};
    for (const char* const counter : kCounters) cells.push_back(counter_text(row, counter));
    table.add(std::move(cells));
    any = true;
  }
  return family_heading(family) + (any ? ":\n" + table.text() : ": nothing is counted\n");
}

std::string with_remarks(std::string of, const json& from) {
  const std::string remarks = text(from, "remarks");
  return remarks.empty() || remarks == "-" ? of : of + " (" + remarks + ")";
}

std::string target_text(const json& target) {
  const std::string address = text(target, "address");
  std::string out = address.empty() || address == "-" ? text(target, "object") : address_and_port(target);
  if (is_true(target, "draining")) out += " (draining)";
  return with_remarks(std::move(out), target);
}

std::string targets_text(const json& step) {
  std::vector<std::string> all;
  for (const json& target : member(step, "endpoints")) all.push_back(target_text(target));
  return lib::joined(all);
}

std::string step_text(const json& step) {
  std::string out = with_remarks(text(step, "object") + ": " + text(step, "effect"), step);
  if (const std::string targets = targets_text(step); !targets.empty()) out += ": " + targets;
  if (member(step, "packets").is_number()) out += " [" + text(step, "packets") + " packets so far]";
  return out;
}

std::string verdict_text(const json& rows) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kVerdicts{
      {{"Served", "served"},
       {"Rejected", "rejected: the client gets an error"},
       {"Dropped", "dropped: the client gets no answer"},
       {"NotProxied", "not proxied: the packet goes where it would go without sluiced"}}};
  const std::string verdict = rows.empty() ? "-" : text(rows.back(), "verdict");
  for (const auto& [value, phrase] : kVerdicts) {
    if (value != verdict) continue;
    std::string out(phrase);
    const std::string targets = verdict == "Served" ? targets_text(rows.back()) : std::string();
    if (!targets.empty()) out += " by " + targets;
    for (const json& step : rows) {
      if (verdict == "Served" && is_true(step, "masquerades"))
        return out + "; the endpoint sees an address of this node";
    }
    return out;
  }
  return verdict;
}

std::string packet_text(const json& packet) {
  const std::string from = text(packet, "from");
  const std::string client = text(packet, "client");
  return address_and_port(packet) + "/" + text(packet, "protocol") + " from " +
         (from == "node"  ? "this node (" + client + ")"
          : from == "pod" ? "a pod of this node (" + client + ")"
                          : "outside (" + client + ")");
}

}  // namespace

InspectPage diff_page(const json& reply) { return by_family(reply, drift_rows); }

bool has_drift(const json& reply) {
  for (const json& family : member(reply, "families")) {
    for (const json& row : member(family, "rows")) {
      if (text(row, "kind") != "Foreign") return true;
    }
  }
  return false;
}

InspectPage counters_page(const json& reply, bool endpoints) {
  return by_family(reply, [endpoints](const json& family) { return counter_rows(family, endpoints); });
}

InspectPage explanation_page(const json& reply) {
  return by_family(reply, [](const json& family) {
    const json& rows = member(family, "rows");
    std::string out = packet_text(member(family, "packet")) + ", " + family_heading(family) + ":\n";
    std::size_t number = 0;
    for (const json& step : rows) out += "  " + std::to_string(++number) + ". " + step_text(step) + "\n";
    return out + "  => " + verdict_text(rows) + "\n";
  });
}

}  // namespace sluice::ctl
