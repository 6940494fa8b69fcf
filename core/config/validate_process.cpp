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

namespace sluice::config {
namespace {

constexpr int kLeastOomScore = -1000;
constexpr int kMostOomScore = 1000;
// The release before the supported one, 1.36.
constexpr std::string_view kPreviousRelease = "1.35";

std::string effective(const Sourced<std::string>& address, const Sourced<int>& port) {
  return port.value == 0 ? "" : with_port(address.value, port.value);
}

void check_address(const std::string& address, const std::string& where, bool may_be_empty,
                   std::optional<base::SocketAddress>& out, Problems& problems) {
  if (address.empty()) {
    if (!may_be_empty) {
      problems.error(where, "turns the metrics server off, which kube-proxy does not allow; allowed: 1 to 65535");
    }
    return;
  }
  out = parse_listen_address(address);
  if (!out) {
    problems.error(where, "'" + address +
                              "' is no address to listen on; allowed: an IP address, or IP:port (IPv6 as [IP]:port) "
                              "with a port from 1 to 65535");
  }
}

// The setting that defines an address: a port setting never changes an address with a port.
const std::string& place_of(const Sourced<std::string>& address, const Sourced<int>& port) {
  const bool from_port = port.value == 0 || !address.given() || base::IpAddress::parse(address.value).has_value();
  return from_port && port.given() ? port.where : address.where;
}

void warn_ignored_port(const Sourced<std::string>& address, const Sourced<int>& port, Problems& problems) {
  if (!port.given() || port.value == 0 || base::IpAddress::parse(address.value)) return;
  if (parse_listen_address(address.value)->port == port.value) return;
  problems.warning(port.where, "has no effect: the address, " + address.value + ", has a port of its own");
}

void not_negative(const Sourced<int>& number, Problems& problems) {
  if (number.value < 0) problems.error(number.where, std::to_string(number.value) + " is negative; allowed: 0 or more");
}
void not_negative(const Sourced<Duration>& time, Problems& problems) {
  if (time.value.count() < 0) {
    problems.error(time.where, print_duration(time.value) + " is negative; allowed: 0 or more");
  }
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
  out.serve.bind_address_hard_fail = draft.bind_address_hard_fail.value;
  out.serve.profiling = draft.profiling.value;
  const Sourced<std::string>& shown = draft.show_hidden_metrics;
  if (shown.given() && shown.value != kPreviousRelease) {
    problems.error(shown.where, "'" + shown.value + "' is not the release before this one; allowed: " +
                                    std::string(kPreviousRelease) + ", or nothing");
  }
  const Sourced<int>& score = draft.oom_score_adj;
  if (score.value < kLeastOomScore || score.value > kMostOomScore) {
    problems.error(score.where, std::to_string(score.value) + " is no such score; allowed: -1000 to 1000");
  }
  out.oom_score_adj = score.value;
}

void validate_conntrack(const Draft& draft, Settings& out, Problems& problems) {
  const ConntrackDraft& from = draft.conntrack;
  for (const auto* number : {&from.max_per_core, &from.min}) not_negative(*number, problems);
  for (const auto* time :
       {&from.tcp_established_timeout, &from.tcp_close_wait_timeout, &from.udp_timeout, &from.udp_stream_timeout}) {
    not_negative(*time, problems);
  }
  out.conntrack = {.max_per_core = from.max_per_core.value,
                   .min = from.min.value,
                   .tcp_established_timeout = from.tcp_established_timeout.value,
                   .tcp_close_wait_timeout = from.tcp_close_wait_timeout.value,
                   .udp_timeout = from.udp_timeout.value,
                   .udp_stream_timeout = from.udp_stream_timeout.value,
                   .tcp_be_liberal = from.tcp_be_liberal.value};
}

void validate_feature_gates(const Draft& draft, Settings& out, Problems& problems) {
  std::optional<bool> all_beta;
  std::optional<bool> flagz;
  std::optional<bool> statusz;
  std::string place;
  std::set<std::string> without_effect;
  for (const auto& entry : draft.feature_gates) {
    const auto equals = entry.value.find('=');
    const std::string name(trimmed(entry.value.substr(0, equals)));
    const auto on = equals == std::string::npos
                        ? std::optional<bool>()
                        : parse_boolean(trimmed(std::string_view(entry.value).substr(equals + 1)));
    if (name.empty() && equals == std::string::npos) continue;  // a comma too many
    const bool wanted = on.value_or(false);
    const FeatureGate* gate = find_feature_gate(name);
    if (!on) {
      problems.error(entry.where, "'" + entry.value + "' is no gate with a boolean; allowed: " + name + "=true or " +
                                      name + "=false");
      continue;
    }
    if (gate == nullptr) {
      const std::string text = "'" + name + "' is no feature gate of Kubernetes 1.36";
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
    std::string names;
    for (const std::string& name : without_effect) names += (names.empty() ? "" : ", ") + name;
    problems.warning(place, "gates of other components, without effect here: " + names);
  }
  // A named gate takes precedence over AllBeta.
  out.serve.flagz = flagz.value_or(all_beta.value_or(out.serve.flagz));
  out.serve.statusz = statusz.value_or(all_beta.value_or(out.serve.statusz));
}

void validate_logging(const Draft& draft, Settings& out, Problems& problems) {
  if (draft.verbosity.value < 0) {
    problems.error(draft.verbosity.where,
                   std::to_string(draft.verbosity.value) + " is no verbosity; allowed: 0 or more");
  }
  if (draft.log_format.value != "text" && draft.log_format.value != "json") {
    problems.error(draft.log_format.where, "'" + draft.log_format.value + "' is no log format; allowed: text, json");
  }
  if (draft.log_flush_frequency.value.count() <= 0) {
    problems.error(draft.log_flush_frequency.where,
                   print_duration(draft.log_flush_frequency.value) + " is too short; allowed: more than 0");
  }
  for (const StreamDraft* stream : {&draft.log_text, &draft.log_json}) {
    if (!parse_quantity(stream->buffer.value)) {
      problems.error(stream->buffer.where,
                     "'" + stream->buffer.value + "' is no size; allowed: bytes, such as 65536, 64Ki or 1M");
    }
  }
  for (const auto& entry : draft.vmodule) {
    const auto equals = entry.value.rfind('=');
    const auto level = equals == std::string::npos ? std::optional<int>()
                                                   : parse_number(std::string_view(entry.value).substr(equals + 1));
    if (equals == 0 || !level || *level < 0) {
      problems.error(entry.where,
                     "'" + entry.value + "' is no pattern with a verbosity; allowed: PATTERN=LEVEL, such as sync=4");
    }
  }
  if (!draft.vmodule.empty() && draft.log_format.value == "json") {
    problems.error(draft.vmodule.back().where, "goes with log format text only; allowed: nothing with json");
  }
  out.log = draft.log();
}

}  // namespace sluice::config
