// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/validate.hpp"

#include <algorithm>
#include <array>

#include "core/config/flag_table.hpp"
#include "core/config/mode_table.hpp"
#include "core/config/option_readers.hpp"
#include "core/config/render.hpp"
#include "core/config/validate_parts.hpp"
#include "core/config/values.hpp"
#include "core/kube/http/content_type.hpp"
#include "core/node/node_ips.hpp"
#include "lib/text.hpp"

namespace sluice::config {
namespace {

constexpr std::size_t kInterfaceNameLimit = 15;    // IFNAMSIZ without the NUL
constexpr std::size_t kInterfacePrefixLimit = 14;  // rules add a "+"
constexpr std::string_view kPrimary = "primary";
constexpr std::string_view kAuto = "auto";

class Validator {
 public:
  Validator(const Draft& draft, const HostEnvironment& environment, Problems& problems)
      : draft_(draft), environment_(environment), problems_(problems) {}

  Settings run() {
    out_ = draft_.settings;
    out_.config_file = draft_.config_file;
    out_.flags = draft_.flags;
    for (const auto& [id, section] : draft_.sections) out_.sections[id] = section.value;
    out_.plugins = draft_.plugins();
    source();
    recording();
    client();
    node_name();
    backend();
    masquerading_and_periods();
    node_ports();
    local_detector();
    bind_address();
    folders();
    validate_serving(draft_, out_, problems_);
    check_options(FlagGroup::conntrack, draft_, problems_);
    validate_feature_gates(draft_, out_, problems_);
    validate_mode_options(draft_, out_, problems_);
    option_places();
    backend_options();
    validate_logging(draft_, out_, problems_);
    warn_without_effect(draft_, out_, problems_);
    out_.kube_proxy_configuration = kube_proxy_json(draft_, out_);
    return std::move(out_);
  }

 private:
  void source() {
    // kubeconfig and master form one source: credentials and address.
    const Sourced<std::string>& api = draft_.kubeconfig.given() ? draft_.kubeconfig : draft_.master;
    const Sourced<std::string>* first = nullptr;
    for (const auto* one : {&api, &draft_.manifests, &draft_.replay}) {
      if (!one->given()) continue;
      if (first != nullptr) {
        problems_.error(one->where, "names a second source of Services, beside " + first->where +
                                        "; allowed: one of an API server, manifests and a recording");
        return;
      }
      first = one;
    }
    out_.source.kubeconfig = draft_.kubeconfig.value;
    out_.source.master = draft_.master.value;
    out_.source.manifests = draft_.manifests.value;
    out_.source.replay = draft_.replay.value;
    out_.source.kind = draft_.replay.given()      ? SourceKind::replay
                       : draft_.manifests.given() ? SourceKind::manifests
                       : api.given()              ? SourceKind::api
                                                  : SourceKind::in_cluster;
  }

  void recording() {
    const Sourced<double>& speed = draft_.replay_speed;
    if (speed.given() && !draft_.replay.given()) {
      problems_.error(speed.where, "applies to a replay only; add --replay or remove it");
    } else if (speed.value < 0) {
      problems_.error(speed.where, "is negative; allowed: 0 (without waiting), or a factor such as 1, 0.5 or 10");
    }
    if (draft_.record.given() && draft_.replay.given()) {
      problems_.error(draft_.record.where, "would record what " + draft_.replay.where +
                                               " plays back, which is a recording already; leave one of them out");
    }
    out_.source.replay_speed = speed.value;
    out_.source.record = draft_.record.value;
  }

  void client() {
    // 0 means the default, as in kube-proxy, whose tools write such fields.
    if (draft_.burst.value < 0) {
      problems_.error(draft_.burst.where, std::to_string(draft_.burst.value) + " is negative; allowed: 0 or more");
    }
    ClientSettings& client = out_.source.client;
    if (draft_.qps.value != 0) client.qps = draft_.qps.value;
    if (draft_.burst.value > 0) client.burst = draft_.burst.value;
    content_types(client);
  }

  void content_types(ClientSettings& client) {
    const auto readable = [](std::string_view type) { return type == kube::kJsonType || type == kube::kProtobufType; };
    const std::string allowed = std::string("; allowed: ") + kube::kProtobufType + ", " + kube::kJsonType;
    const Sourced<std::string>& type = draft_.content_type;
    if (!type.value.empty() && !readable(type.value)) {
      problems_.error(type.where, "'" + type.value + "' is not a content type that the daemon reads" + allowed);
    }
    client.content_type = type.value.empty() ? kube::kProtobufType : type.value;
    const Sourced<std::string>& accept = draft_.accept_content_types;
    for (const std::string& part : lib::split(accept.value, ',')) {
      // A type may have parameters, such as q=0.9.
      const bool is_line = part.find_first_of("\r\n") == std::string::npos;
      if (accept.value.empty() || (is_line && readable(lib::trimmed(part.substr(0, part.find(';')))))) continue;
      problems_.error(accept.where, "'" + accept.value + "' names a content type that the daemon does not read" +
                                        allowed + ", or both");
      break;
    }
    client.accept_content_types = accept.value;
  }

  void node_name() {
    // A name of blanks is a mistake that the host name would hide.
    if (draft_.host_name.given() && lib::trimmed(draft_.host_name.value).empty()) {
      problems_.error(draft_.host_name.where, "is only blanks; allowed: the name of the Node object");
      return;
    }
    out_.node_name = node::normalized_node_name(draft_.host_name.value, environment_.host_name);
    if (out_.node_name.empty()) {
      problems_.error("--hostname-override", "is needed, because this machine has no host name");
    }
  }

  void backend() {
    const Sourced<std::string>& chosen = draft_.backend.given() ? draft_.backend : draft_.mode;
    out_.backend = chosen.given() ? chosen.value : std::string(kDefaultMode);
    const auto& installed = environment_.installed_backends;
    if (out_.backend == kAuto)
      choose_backend(chosen.where);
    else if (std::find(installed.begin(), installed.end(), out_.backend) == installed.end()) {
      const auto listed = [](const auto& words) { return words.empty() ? "none" : lib::joined(words); };
      problems_.error(chosen.given() ? chosen.where : "--proxy-mode",
                      "backend '" + out_.backend + "' is not installed in " + listed(draft_.plugins().folders) +
                          "; installed: " + listed(installed) + "; install it or set --plugin-dir");
    }
    for (const auto& [id, section] : draft_.sections) {
      if (std::find(installed.begin(), installed.end(), id) == installed.end()) {
        problems_.warning(section.where, "settings of backend '" + id + "', which is not installed");
      }
    }
  }

  void choose_backend(const std::string& where) {
    if (!environment_.choose_backend) {
      problems_.error(where, "the backend cannot be chosen here; allowed: the id of an installed one");
      return;
    }
    const auto choice = environment_.choose_backend(draft_.plugins());
    if (!choice) {
      problems_.error(where, choice.status().message());
      return;
    }
    out_.backend = choice->id;
    out_.backend_reason = choice->reason;
  }

  void option_places() {
    for (const auto& [key, text] : out_.backend_options()) {
      out_.option_places[key] = place_of_option(key);
      const std::string name = key.substr(0, key.find('['));
      if (name != key) out_.option_places.emplace(name, place_of_option(name));
    }
  }

  void backend_options() {
    if (!environment_.check_options) return;
    CheckedOptions checked = environment_.check_options(out_.plugins, out_.backend, out_.backend_options());
    for (auto& [key, text] : checked.problems) {
      std::string where = place_of_option(key);
      const auto reported = [&](const Problem& problem) {
        return problem.severity == Problem::Severity::error && problem.where == where;
      };
      // The check of a flag or field of kube-proxy precedes.
      if (std::any_of(problems_.all().begin(), problems_.all().end(), reported)) continue;
      problems_.error(std::move(where), std::move(text));
    }
    out_.restart_options = std::move(checked.restart_options);
  }

  std::string place_of_option(const std::string& key) const {
    if (const auto section = draft_.section_places.find(out_.backend); section != draft_.section_places.end()) {
      if (const auto place = section->second.find(key); place != section->second.end()) return place->second;
      // Only the elements of a list have places.
      if (const auto first = section->second.find(key + "[0]"); first != section->second.end()) {
        return first->second.substr(0, first->second.size() - std::string_view("[0]").size());
      }
    }
    for (const Option& option : options()) {
      if (option.backend_option != key) continue;
      const std::string where = value_of(option, draft_).where;
      return where.empty() ? "--" + std::string(option.flag) : where;
    }
    return "backends." + out_.backend + "." + key;
  }

  void masquerading_and_periods() {
    const ModeFacts& facts = mode_facts(out_.backend);
    const ModeDraft& mode = draft_.*facts.periods;
    const ModeDraft& masquerade = draft_.*facts.masquerading;
    check_bit(draft_.iptables.masquerade_bit);
    if (&masquerade != &draft_.iptables) check_bit(masquerade.masquerade_bit);
    out_.masquerade_bit = masquerade.masquerade_bit.value;
    out_.masquerade_all = masquerade.masquerade_all.value;

    const auto& sync = mode.sync_period;
    const auto& least = mode.min_sync_period;
    if (sync.value.count() <= 0) {
      problems_.error(sync.where, print_duration(sync.value) + " is too short; allowed: more than 0");
    }
    if (least.value.count() < 0) {
      problems_.error(least.where, print_duration(least.value) + " is negative; allowed: 0 or more");
    }
    if (sync.value.count() > 0 && least.value > sync.value) {
      problems_.error(least.where,
                      "the minimum sync period, " + print_duration(least.value) + ", is longer than the sync period, " +
                          print_duration(sync.value) + "; allowed: at most the sync period");
    }
    out_.sync_period = sync.value;
    if (least.given()) out_.min_sync_period = least.value;
    check_options(FlagGroup::source, draft_, problems_);
  }

  void check_bit(const Sourced<int>& bit) {
    if (bit.value < 0 || bit.value > 31) {
      problems_.error(bit.where, std::to_string(bit.value) + " is not a bit of a packet mark; allowed: 0 to 31");
    }
  }

  void node_ports() {
    const auto& given = draft_.node_port_addresses;
    if (given.empty()) out_.node_ports.primary = mode_facts(out_.backend).primary_node_ports;
    for (const auto& entry : given) {
      if (entry.value == kPrimary) {
        if (given.size() > 1) {
          problems_.error(entry.where,
                          "primary is combined with other entries; allowed: the single word primary, or CIDRs");
        }
        out_.node_ports.primary = true;
      } else if (const auto prefix = lib::IpPrefix::parse(entry.value)) {
        out_.node_ports.ranges.push_back(*prefix);
      } else {
        problems_.error(entry.where, "'" + entry.value +
                                         "' is not a CIDR; allowed: CIDRs such as 10.0.0.0/8 or fd00::/8, or the "
                                         "single word primary");
      }
    }
  }

  void local_detector() {
    node::LocalDetectorSettings& detector = out_.local_detector;
    if (draft_.detect_local_mode.given()) {
      if (const auto mode = node::parse_detect_local_mode(draft_.detect_local_mode.value)) {
        detector.mode = *mode;
      } else {
        problems_.error(
            draft_.detect_local_mode.where,
            "'" + draft_.detect_local_mode.value +
                "' is not a detection mode; allowed: ClusterCIDR, NodeCIDR, BridgeInterface, InterfaceNamePrefix");
        return;
      }
    }
    cluster_cidrs(detector);
    using enum node::DetectLocalMode;
    if (detector.mode == bridge_interface) {
      detector.bridge_interface = interface_name(
          draft_.bridge_interface, "--pod-bridge-interface or detectLocal.bridgeInterface", kInterfaceNameLimit);
    } else if (detector.mode == interface_name_prefix) {
      detector.interface_name_prefix =
          interface_name(draft_.interface_name_prefix, "--pod-interface-name-prefix or detectLocal.interfaceNamePrefix",
                         kInterfacePrefixLimit);
    }
  }

  void cluster_cidrs(node::LocalDetectorSettings& detector) {
    const Sourced<std::string>& cidr = draft_.cluster_cidr;
    if (!cidr.given()) return;
    constexpr std::string_view kAllowed = "; allowed: one CIDR, or one of each family with a comma between";
    // The other modes ignore it, so an invalid value must not prevent the start, as in kube-proxy.
    const bool used = detector.mode == node::DetectLocalMode::cluster_cidr;
    const auto report = [&](const std::string& what) {
      if (used) {
        problems_.error(cidr.where, what + std::string(kAllowed));
      } else {
        problems_.warning(cidr.where, what + ", and is not used in this detect-local mode");
      }
    };
    const std::vector<std::string> parts = split_list(cidr.value);
    for (const std::string& part : parts) {
      const auto prefix = lib::IpPrefix::parse(part);
      if (!prefix) return report("'" + part + "' is not a CIDR");
      detector.cluster_cidrs.push_back(*prefix);
    }
    if (parts.size() > 2) return report("'" + cidr.value + "' has more than two CIDRs");
    if (parts.size() == 2 && detector.cluster_cidrs[0].family() == detector.cluster_cidrs[1].family()) {
      report("'" + cidr.value + "' has two CIDRs of one family");
    }
  }

  std::string interface_name(const Sourced<std::string>& name, std::string_view setting, std::size_t limit) {
    if (name.value.empty()) {
      problems_.error(draft_.detect_local_mode.where,
                      draft_.detect_local_mode.value + " needs " + std::string(setting));
      return {};
    }
    // Names that the kernel accepts.
    const bool bad_letter = std::any_of(name.value.begin(), name.value.end(), [](char c) {
      return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '/' || c == ':';
    });
    if (name.value.size() > limit || bad_letter) {
      problems_.error(name.where, "'" + name.value + "' is not an interface name; allowed: 1 to " +
                                      std::to_string(limit) + " characters, no blank, slash or colon");
    }
    return name.value;
  }

  void bind_address() {
    const auto address = lib::IpAddress::parse(draft_.bind_address.value);
    if (address) {
      out_.bind_address = *address;
    } else {
      problems_.error(draft_.bind_address.where, "'" + draft_.bind_address.value +
                                                     "' is not an IP address; allowed: an address of this node, or "
                                                     "0.0.0.0 or ::");
    }
  }

  void folders() {
    for (const auto& folder : draft_.plugin_dirs) {
      if (!folder.value.starts_with('/')) {
        problems_.error(folder.where,
                        "'" + folder.value + "' is not an absolute path; allowed: a path that begins with /");
      }
    }
    check_options(FlagGroup::backend, draft_, problems_);
    check_options(FlagGroup::general, draft_, problems_);
  }

  const Draft& draft_;
  const HostEnvironment& environment_;
  Problems& problems_;
  Settings out_;
};

}  // namespace

void check_option(const Option& option, const Draft& draft, Problems& problems) {
  if (option.check == nullptr) return;
  const auto check = [&](const Value& value, const std::string& where) {
    if (std::string error = option.check(value); !error.empty()) problems.error(where, std::move(error));
  };
  const Sourced<Value> setting = value_of(option, draft);
  const auto* texts = std::get_if<Texts>(&setting.value);
  if (texts == nullptr) return check(setting.value, setting.where);
  for (const auto& entry : *texts) check(entry.value, entry.where);
}

void check_options(FlagGroup group, const Draft& draft, Problems& problems) {
  for (const Option* option : options_in_help_order()) {
    if (option->group == group) check_option(*option, draft, problems);
  }
}

Settings validate(const Draft& draft, const HostEnvironment& environment, Problems& problems) {
  return Validator(draft, environment, problems).run();
}

}  // namespace sluice::config
