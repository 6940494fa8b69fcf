// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Settings of the process and its node: server addresses, connection tracking, feature gates, logging.
#include <optional>
#include <set>
#include <string>

#include "core/config/feature_gates.hpp"
#include "core/config/listen_address.hpp"
#include "core/config/validate_parts.hpp"
#include "core/config/values.hpp"
#include "lib/text.hpp"

namespace sluice::config {
namespace {

std::string effective(const Sourced<std::string>& address, const Sourced<int>& port) {
  return port.value == 0 ? "" : with_port(address.value, port.value);
}

void check_address(const std::string& address, const std::string& where, bool may_be_empty,
                   std::optional<lib::SocketAddress>& out, Problems& problems) {
  if (address.empty()) {
    if (!may_be_empty) {
      problems.error(where, "turns the metrics server off, which kube-proxy does not allow; allowed: 1 to 65535");
    }
    return;
  }
  out = parse_listen_address(address);
  if (!out) {
    problems.error(where,
                   "'" + address +
                       "' is not an address to listen on; allowed: an IP address, or IP:port (IPv6 as [IP]:port) "
                       "with a port from 1 to 65535");
  }
}

// The setting that defines an address: a port setting never changes an address with a port.
const std::string& place_of(const Sourced<std::string>& address, const Sourced<int>& port) {
  const bool from_port = port.value == 0 || !address.given() || lib::IpAddress::parse(address.value).has_value();
  return from_port && port.given() ? port.where : address.where;
}

void warn_ignored_port(const Sourced<std::string>& address, const Sourced<int>& port, Problems& problems) {
  if (!port.given() || port.value == 0 || lib::IpAddress::parse(address.value)) return;
  if (parse_listen_address(address.value)->port == port.value) return;
  problems.warning(port.where, "has no effect: the address, " + address.value + ", has a port of its own");
}

// The place of the list or map that contains the gate.
std::string place_of_gates(const std::string& where, const std::string& name) {
  const std::string suffix = "." + name;
  return where.ends_with(suffix) ? where.substr(0, where.size() - suffix.size()) : where;
}

}  // namespace

std::string effective_healthz(const Draft& draft) { return effective(draft.healthz_address, draft.healthz_port); }
std::string effective_metrics(const Draft& draft) { return effective(draft.metrics_address, draft.metrics_port); }

void validate_serving(const Draft& draft, Settings& out, Problems& problems) {
  check_address(effective_healthz(draft), place_of(draft.healthz_address, draft.healthz_port), true, out.serve.healthz,
                problems);
  check_address(effective_metrics(draft), place_of(draft.metrics_address, draft.metrics_port), false, out.serve.metrics,
                problems);
  if (out.serve.healthz) warn_ignored_port(draft.healthz_address, draft.healthz_port, problems);
  if (out.serve.metrics) warn_ignored_port(draft.metrics_address, draft.metrics_port, problems);
  check_options(FlagGroup::serving, draft, problems);
  check_options(FlagGroup::node, draft, problems);
}

void validate_feature_gates(const Draft& draft, Settings& out, Problems& problems) {
  std::optional<bool> all_beta;
  std::optional<bool> flagz;
  std::optional<bool> statusz;
  std::string place;
  std::set<std::string> without_effect;
  for (const auto& entry : draft.feature_gates) {
    const auto equals = entry.value.find('=');
    const std::string name(lib::trimmed(entry.value.substr(0, equals)));
    const auto on = equals == std::string::npos
                        ? std::optional<bool>()
                        : parse_boolean(lib::trimmed(std::string_view(entry.value).substr(equals + 1)));
    if (name.empty() && equals == std::string::npos) continue;  // a comma too many
    const bool wanted = on.value_or(false);
    const FeatureGate* gate = find_feature_gate(name);
    if (!on) {
      problems.error(entry.where, "'" + entry.value + "' is not a gate with a boolean; allowed: " + name + "=true or " +
                                      name + "=false");
      continue;
    }
    if (gate == nullptr) {
      const std::string text = "'" + name + "' is not a feature gate of Kubernetes 1.36";
      if (draft.strict)
        problems.error(entry.where, text + "; remove it");
      else
        problems.warning(entry.where, text + "; it is ignored");
      continue;
    }
    if (gate->locked && wanted != gate->default_on) {
      const std::string value = gate->default_on ? "true" : "false";
      problems.error(entry.where, "gate " + name + " is locked to " + value + "; remove it, or set it to " + value);
      continue;
    }
    const GateEffect effect = effect_of(*gate);
    if (!effect.any) {
      if (effect.instead.empty()) {
        place = place_of_gates(entry.where, name);
        without_effect.insert(name);
      } else if (wanted != gate->default_on) {
        problems.warning(entry.where, "gate " + name + " has no effect: " + std::string(effect.instead));
      }
    } else if (name == "AllBeta") {
      all_beta = wanted;
    } else if (name == "ComponentFlagz") {
      flagz = wanted;
    } else if (name == "ComponentStatusz") {
      statusz = wanted;
    } else {
      out.allow_external_ips = wanted;
    }
  }
  // Installers pass the gates of all components: one warning for all of them.
  if (!without_effect.empty()) {
    problems.warning(place, "gates of other components, without effect here: " + lib::joined(without_effect));
  }
  // A named gate takes precedence over AllBeta.
  out.serve.flagz = flagz.value_or(all_beta.value_or(out.serve.flagz));
  out.serve.statusz = statusz.value_or(all_beta.value_or(out.serve.statusz));
}

void validate_logging(const Draft& draft, Settings& out, Problems& problems) {
  check_options(FlagGroup::logging, draft, problems);
  for (const auto& entry : draft.vmodule) {
    const auto equals = entry.value.rfind('=');
    const auto level = equals == std::string::npos ? std::optional<int>()
                                                   : parse_number(std::string_view(entry.value).substr(equals + 1));
    if (equals == 0 || !level || *level < 0) {
      problems.error(entry.where,
                     "'" + entry.value + "' is not a pattern with a verbosity; allowed: PATTERN=LEVEL, such as sync=4");
    }
  }
  if (!draft.vmodule.empty() && draft.log_format.value == "json") {
    problems.error(draft.vmodule.back().where, "goes with log format text only; allowed: nothing with json");
  }
  out.log = draft.log();
}

}  // namespace sluice::config
