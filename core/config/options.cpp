// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <map>
#include <utility>

#include "core/config/mode_table.hpp"
#include "core/config/option.hpp"
#include "core/config/option_readers.hpp"
#include "core/config/validate_parts.hpp"
#include "core/config/values.hpp"
#include "core/node/node_ips.hpp"
#include "lib/number.hpp"
#include "lib/text.hpp"

namespace sluice::config {
namespace {

constexpr int kLeastOomScore = -1000;
constexpr int kMostOomScore = 1000;
// sun_path holds 107 bytes, including "/control.sock" or "/holder.sock.new".
constexpr std::size_t kStateDirLimit = 90;
// Maximum drain timeout.
constexpr std::chrono::hours kLongestDrain{24 * 7};
constexpr std::chrono::hours kLongestHolderTimeout{1};
constexpr std::string_view kAdaptive = "adaptive";  // shown; no value of the flag
// The release before the supported one, 1.36.
constexpr std::string_view kPreviousRelease = "1.35";

std::string unless(bool valid, const std::string& error) { return valid ? std::string() : error; }

// Checks of single values: each returns the error with the allowed values, or an empty text.
namespace checks {

std::string not_negative(const Value& value) {
  const auto* number = std::get_if<int>(&value);
  const bool negative = number != nullptr ? *number < 0 : std::get<Duration>(value).count() < 0;
  return unless(!negative, (number != nullptr ? std::to_string(*number) : print_duration(std::get<Duration>(value))) +
                               " is negative; allowed: 0 or more");
}

std::string positive(const Value& value) {
  const auto time = std::get<Duration>(value);
  return unless(time.count() > 0, print_duration(time) + " is too short; allowed: more than 0");
}

std::string buffer_size(const Value& value) {
  const auto& text = std::get<std::string>(value);
  return unless(parse_quantity(text).has_value(),
                "'" + text + "' is not a size; allowed: bytes, such as 65536, 64Ki or 1M");
}

std::string cidr(const Value& value) {
  const auto& text = std::get<std::string>(value);
  return unless(lib::IpPrefix::parse(text).has_value(),
                "'" + text + "' is not a CIDR; allowed: CIDRs such as 10.0.0.0/8 or fd00::/8");
}

std::string drain_timeout(const Value& value) {
  const auto time = std::get<Duration>(value);
  return unless(time.count() >= 0 && time <= kLongestDrain,
                print_duration(time) + " is out of range; allowed: 0s to " + print_duration(kLongestDrain));
}

std::string holder_timeout(const Value& value) {
  const auto time = std::get<Duration>(value);
  return unless(time.count() >= 0 && time <= kLongestHolderTimeout,
                print_duration(time) + " is out of range; allowed: 0s to " + print_duration(kLongestHolderTimeout));
}

std::string log_format(const Value& value) {
  const auto& text = std::get<std::string>(value);
  return unless(text == "text" || text == "json", "'" + text + "' is not a log format; allowed: text, json");
}

std::string oom_score(const Value& value) {
  const int score = std::get<int>(value);
  return unless(score >= kLeastOomScore && score <= kMostOomScore,
                std::to_string(score) + " is not an OOM score; allowed: -1000 to 1000");
}

std::string port_range(const Value& value) {
  const auto& text = std::get<std::string>(value);
  return unless(lib::parse_port_range(text).has_value(),
                "'" + text + "' is not a port range; allowed: such as 30000-32767 or 30000+500");
}

std::string previous_release(const Value& value) {
  const auto& text = std::get<std::string>(value);
  return unless(
      text.empty() || text == kPreviousRelease,
      "'" + text + "' is not the release before this one; allowed: " + std::string(kPreviousRelease) + ", or nothing");
}

std::string state_dir(const Value& value) {
  const auto& folder = std::get<std::string>(value);
  return unless(folder.starts_with('/') && folder.size() <= kStateDirLimit,
                "'" + folder + "' is not a valid state directory; allowed: an absolute path of at most " +
                    std::to_string(kStateDirLimit) + " bytes, so that a socket fits in it");
}

std::string verbosity(const Value& value) {
  const int level = std::get<int>(value);
  return unless(level >= 0, std::to_string(level) + " is not a verbosity; allowed: 0 or more");
}

}  // namespace checks

// Effective values that are not those of a member.
namespace effective_values {

Value if_true(bool value) { return value ? Value(true) : Value(); }

// The valid gates; the last of a repeated gate wins.
Value gates(const Draft& draft, const Settings&) {
  std::map<std::string, bool> out;
  for (const auto& entry : draft.feature_gates) {
    const auto equals = entry.value.find('=');
    if (equals == std::string::npos) continue;
    const auto on = parse_boolean(lib::trimmed(std::string_view(entry.value).substr(equals + 1)));
    if (on) out[std::string(lib::trimmed(entry.value.substr(0, equals)))] = *on;
  }
  return out.empty() ? Value() : Value(std::move(out));
}

Value vmodule(const Draft& draft, const Settings&) {
  auto modules = draft.log().vmodule;
  return modules.empty() ? Value() : Value(std::move(modules));
}

std::string mode(const Draft& draft) { return draft.mode.given() ? draft.mode.value : std::string(kDefaultMode); }

Value node_port_addresses(const Draft& draft, const Settings& settings) {
  const bool primary = draft.node_port_addresses.empty() && mode_facts(mode(draft)).primary_node_ports &&
                       settings.node_ports.primary;
  return primary ? Texts{{"primary", {}}} : draft.node_port_addresses;
}

}  // namespace effective_values

constexpr const char* kRestart = "; restart sluiced (this closes only connections relayed in userspace mode)";

lib::Family primary_family(const Settings& settings) {
  return node::choose_node_ips({}, settings.bind_address).primary;
}

bool starts_or_ends_replay(const Settings& from, const Settings& to) {
  return (from.source.kind == SourceKind::replay) != (to.source.kind == SourceKind::replay);
}

bool replay_differs(const Settings& from, const Settings& to) {
  return starts_or_ends_replay(from, to) || from.source.replay != to.source.replay;
}

bool replay_speed_differs(const Settings& from, const Settings& to) {
  return !starts_or_ends_replay(from, to) && from.source.replay_speed != to.source.replay_speed;
}

// Reasons why a change cannot be applied live.
namespace refusals {

std::string host_name(const Settings& from, const Settings& to) {
  return "the node is " + from.node_name + ", and rules and Services were chosen for it; restart sluiced to make it " +
         to.node_name;
}

std::string primary_family(const Settings& from, const Settings& to) {
  const auto old_family = config::primary_family(from);
  const auto new_family = config::primary_family(to);
  if (old_family == new_family) return {};
  return "the primary family is " + std::string(lib::family_name(old_family)) + " and cannot become " +
         std::string(lib::family_name(new_family)) + " while it runs" + kRestart;
}

std::string recording(const Settings&, const Settings&) {
  return std::string("a recording must begin with the full state") + kRestart;
}

std::string replay(const Settings& from, const Settings& to) {
  return std::string(starts_or_ends_replay(from, to) ? "a replay must start with an empty daemon"
                                                     : "a running replay cannot be changed") +
         kRestart;
}

std::string state_dir(const Settings& from, const Settings&) {
  return "the saved state is in " + from.state_dir + kRestart;
}

}  // namespace refusals

namespace table {  // keeps the short names to the table

using enum FlagKind;
using enum FlagGroup;
using namespace checks;
using namespace option_readers;
using node::ConntrackSettings;
using Part = SettingsPart;
using D = const Draft&;
using S = const Settings&;
template <auto Member>
constexpr SettingsDiffer in_source = differs_in<&Settings::source, Member>;

// clang-format off
constexpr std::array kOptions = std::to_array<Option>({
    {.flag = "config", .beats_file = true, .value_name = "FILE",
     .help = "Configuration file: a KubeProxyConfiguration, optionally followed by a SluiceConfiguration. The "
             "daemon then ignores every flag that the file covers.", .allowed = "path",
     .flag_note = "See sluiced.conf(5).",
     .change = {1, Part::none, differs_in<&Settings::config_file>, "config"}},
    {.flag = "write-config-to", .beats_file = true, .value_name = "FILE",
     .help = "Write the effective configuration, with every default, to a file for --config, then exit.",
     .allowed = "path",
     .flag_note = "A daemon that reads this file behaves as with these flags. A warning names flags that no field "
                  "can express: --boot-id-file, --machine-id-file, --healthz-port=0, and "
                  "--iptables-min-sync-period=0, which in a file means adaptive."},
    {.flag = "check", .kind = boolean, .beats_file = true,
     .help = "Validate the configuration, report every error, then exit.",
     .flag_note = "Loads the backend, and checks the kubeconfig, the manifests or the recording. Prints errors to "
                  "standard error. Treats warnings about fields of the file as errors. Changes nothing on the node."},
    {.flag = "init-only", .kind = boolean, .beats_file = true,
     .help = "Apply privileged settings such as sysctls, then exit.",
     .flag_note = "Writes no rule and does not contact the API server. The exit status is 1, with one error, if a "
                  "start would fail on this node."},
    {.flag = "cleanup", .kind = boolean, .beats_file = true,
     .help = "Remove everything that Sluice or kube-proxy programmed on this node, then exit.",
     .flag_note = "Covers every installed backend, earlier processes, and all modes of kube-proxy. Stop the daemon "
                  "first. Do not run it while kube-proxy serves on this node, which is not checked: its rules have "
                  "the same names and are removed too."},
    {.flag = "hold-descriptors", .kind = boolean, .beats_file = true,
     .help = "Keep the listening sockets of userspace mode for daemons with this state directory, until SIGTERM.",
     .flag_note = "For a container of its own, beside daemons that are process 1 of their container; other daemons "
                  "start this process by themselves. Needs no privileges and no API server."},
    {.field = "stateDir", .document = Document::sluice, .flag = "state-dir", .beats_file = true, .value_name = "DIR",
     .shown_default = "/run/sluice",
     .help = "Directory for the control socket and for state that survives a restart.",
     .allowed = "absolute path of at most 90 bytes", .note = "One daemon at a time can use it.",
     .reload = "Rejected: the records about the kernel are in this directory. Restart the daemon.",
     .setting = in_settings<&Settings::state_dir>, .check = state_dir,
     .change = {.order = 8, .refusal = refusals::state_dir}},
    {.field = "featureGates", .flag = "feature-gates", .kind = list, .value_name = "NAME=BOOL,...",
     .help = "Feature gates of Kubernetes 1.36. AllowServiceExternalIPs=false ignores spec.externalIPs of Services.",
     .allowed = "names with true or false",
     .note = "ComponentFlagz=false and ComponentStatusz=false close /flagz and /statusz on the metrics address. "
             "AllBeta=false closes those of them that are not named. All other gates of Kubernetes 1.36 are "
             "ignored, with any value that kube-proxy accepts. An unknown name is a warning, and an error with "
             "--check.",
     .field_note = "A map of names to true or false.",
     .reload = "AllowServiceExternalIPs: the daemon evaluates the affected Services again. ComponentFlagz and "
               "ComponentStatusz: applied to the next request.",
     .draft = in_draft<&Draft::feature_gates>, .read = read_feature_gates, .effective = effective_values::gates},
    {.flag = "version", .beats_file = true, .value_name = "[=raw|vX.Y.Z]", .shown_default = "false",
     .help = "Print the version and exit; =raw prints the number alone. =vX.Y.Z runs the daemon, which reports that "
             "Kubernetes version.",
     .flag_note = "The metric kubernetes_build_info has the reported version."},
    {.flag = "help", .kind = boolean, .beats_file = true,
     .help = "Print this help and exit."},

    {.field = "clientConnection.kubeconfig", .flag = "kubeconfig", .group = source, .value_name = "FILE",
     .help = "Kubeconfig file: address of the API server, and credentials.", .allowed = "path",
     .note = "Credentials are tokens, client certificates, credential programs (exec) and impersonation. The daemon "
             "reads the files that it names again when they change.",
     .flag_note = "The environment may name a proxy.",
     .reload = "The daemon lists the new source and writes only differences; it rejects a source that it cannot use.",
     .draft = in_draft<&Draft::kubeconfig>,
     .change = {4, Part::source, in_source<&SourceSettings::kubeconfig>}},
    {.field = "master", .document = Document::sluice, .flag = "master", .group = source, .beats_file = true,
     .value_name = "URL",
     .help = "URL of the API server; overrides the address in the kubeconfig.", .allowed = "URL",
     .note = "Without a kubeconfig, the daemon connects without credentials.",
     .reload = "The daemon lists the new source and writes only differences; it rejects a source that it cannot "
               "use. The flag needs a restart.",
     .draft = in_draft<&Draft::master>, .change = {4, Part::source, in_source<&SourceSettings::master>}},
    {.field = "manifests", .document = Document::sluice, .flag = "manifests", .group = source, .beats_file = true,
     .value_name = "DIR|FILE",
     .help = "Read Services, EndpointSlices, Nodes and ServiceCIDRs from a directory or file instead of an API "
             "server.", .allowed = "path",
     .note = "The files are YAML or JSON. The daemon follows their changes. Naming an API server too is an error.",
     .reload = "The daemon lists the new source and writes only differences; it rejects a source that it cannot use.",
     .draft = in_draft<&Draft::manifests>, .change = {4, Part::source, in_source<&SourceSettings::manifests>}},
    {.field = "replay", .document = Document::sluice, .flag = "replay", .group = source, .beats_file = true,
     .value_name = "FILE",
     .help = "Replay a recording instead of connecting to an API server. The recording names the node, unless "
             "--hostname-override is set.", .allowed = "path",
     .note = "The daemon checks the whole file before the replay begins. A corrupt line is an error; a truncated "
             "last line is a warning. After the last event, the daemon continues to run with the last state. Naming "
             "an API server or manifests too is an error.",
     .reload = "Rejected: a replay has no other source and runs to the end of its recording. Restart the daemon.",
     .draft = in_draft<&Draft::replay>,
     .change = {3, Part::none, replay_differs, "", refusals::replay}},
    {.field = "replaySpeed", .document = Document::sluice, .flag = "replay-speed", .kind = decimal, .group = source,
     .beats_file = true, .value_name = "FACTOR",
     .help = "Speed of --replay as a factor of the recorded speed; 0 replays without delays.", .allowed = "0 or more",
     .reload = "Rejected, as with replay. Restart the daemon.",
     .draft = in_draft<&Draft::replay_speed>, .change = {3, Part::none, replay_speed_differs, "", refusals::replay}},
    {.field = "record", .document = Document::sluice, .flag = "record", .group = source, .beats_file = true,
     .value_name = "FILE",
     .help = "Record the events of the source to a file for --replay. An existing recording is renamed to FILE.old.",
     .allowed = "path",
     .note = "The file has mode 0600, no credentials, and only those fields of objects that the daemon uses. A file "
             "that is not a recording is an error. The daemon does not follow symbolic links. If the disk is full "
             "or too slow, the recording ends and the daemon continues.",
     .reload = "Rejected: a recording begins with all objects. Restart the daemon.",
     .draft = in_draft<&Draft::record>,
     .change = {4, Part::none, in_source<&SourceSettings::record>, "", refusals::recording}},
    {.field = "clientConnection.acceptContentTypes", .group = source,
     .help = "Content types that the daemon accepts from the API server, separated by commas; overrides contentType.",
     .allowed = "application/vnd.kubernetes.protobuf, application/json, or both",
     .reload = "The daemon lists the new source and writes only differences; it rejects a source that it cannot use.",
     .draft = in_draft<&Draft::accept_content_types>,
     .change = {4, Part::source,
                differs_in<&Settings::source, &SourceSettings::client, &ClientSettings::accept_content_types>}},
    {.field = "clientConnection.contentType", .flag = "kube-api-content-type", .group = source, .help_order = 1,
     .value_name = "TYPE",
     .help = "Encoding of lists and watches: application/vnd.kubernetes.protobuf, with JSON from a server that does "
             "not offer it, or application/json.",
     .allowed = "application/vnd.kubernetes.protobuf, application/json",
     .note = "Events that the daemon writes are JSON.",
     .reload = "The daemon lists the new source and writes only differences; it rejects a source that it cannot use.",
     .draft = in_draft<&Draft::content_type>,
     .change = {4, Part::source, differs_in<&Settings::source, &SourceSettings::client, &ClientSettings::content_type>}},
    {.field = "clientConnection.qps", .flag = "kube-api-qps", .kind = decimal, .group = source,
     .value_name = "NUMBER",
     .help = "Maximum requests per second to the API server; negative means unlimited, 0 means the default.",
     .allowed = "number",
     .reload = "The daemon lists the new source and writes only differences; it rejects a source that it cannot use.",
     .draft = in_draft<&Draft::qps>, .effective = [](D, S settings) -> Value { return settings.source.client.qps; },
     .change = {4, Part::source, differs_in<&Settings::source, &SourceSettings::client, &ClientSettings::qps>}},
    {.field = "clientConnection.burst", .flag = "kube-api-burst", .kind = number, .group = source,
     .value_name = "NUMBER",
     .help = "Maximum number of requests in a burst to the API server; 0 means the default.", .allowed = "0 or more",
     .reload = "The daemon lists the new source and writes only differences; it rejects a source that it cannot use.",
     .draft = in_draft<&Draft::burst>,
     .effective = [](D, S settings) -> Value { return settings.source.client.burst; },
     .change = {4, Part::source, differs_in<&Settings::source, &SourceSettings::client, &ClientSettings::burst>}},

    {.field = "logging.format", .flag = "logging-format", .group = logging, .beats_file = true, .help_order = 1,
     .value_name = "text|json",
     .help = "Format of log lines: text (klog format) or json (one object per line).", .allowed = "text, json",
     .note = "Text lines have the name of the component where klog has the source file. JSON objects have the keys "
             "ts (milliseconds), level, logger (the component), caller, pid, msg, v, id, and the keys of the message.",
     .field_note = "The flag overrides it.", .reload = "The next log line.",
     .draft = in_draft<&Draft::log_format>,
     .check = log_format, .change = {18, Part::logging, differs_in<&Settings::log>, "logging"}},
    {.field = "logging.flushFrequency", .flag = "log-flush-frequency", .kind = duration, .group = logging,
     .beats_file = true, .help_order = 1, .value_name = "DURATION",
     .help = "Maximum delay before buffered log lines are written.", .allowed = "more than 0s",
     .field_note = "A number without a unit counts nanoseconds. The flag overrides it.",
     .reload = "The next log line.",
     .setting = in_settings<&Settings::log, &LogSettings::flush_frequency>, .read = read_flush_frequency,
     .check = positive},
    {.field = "logging.verbosity", .flag = "v", .kind = number, .group = logging, .beats_file = true,
     .value_name = "LEVEL",
     .help = "Log verbosity: 1 logs all flags, 4 and higher logs debug lines.", .allowed = "0 or more",
     .field_note = "The flag overrides it.", .reload = "The next log line.",
     .setting = in_settings<&Settings::log, &LogSettings::verbosity>, .check = verbosity},
    {.field = "logging.vmodule", .flag = "vmodule", .kind = list, .group = logging, .beats_file = true,
     .value_name = "PATTERN=LEVEL,...",
     .help = "Log verbosity of single components, such as sync=4. The component is the word before ] in a log line. "
             "Text format only.", .allowed = "PATTERN=LEVEL",
     .note = "Applies if it is higher than --v. In patterns, * and ? stand for letters. Components are names such "
             "as sync, kube or plugin.iptables; kube-proxy compares with names of its source files.",
     .flag_note = "May be repeated, and adds to the list of the file.",
     .field_note = "A list of maps of filePattern and verbosity.", .reload = "The next log line.",
     .draft = in_draft<&Draft::vmodule>, .flag_appends = true, .read = read_vmodule,
     .effective = effective_values::vmodule},
    {.field = "logging.options.text.splitStream", .flag = "log-text-split-stream", .kind = boolean, .group = logging,
     .beats_file = true, .help_order = 1,
     .help = "In text format, write info lines to standard output, and warnings and errors to standard error.",
     .reload = "The next log line.",
     .draft = in_draft<&Draft::log_text, &StreamDraft::split>,
     .effective = [](D draft, S) { return effective_values::if_true(draft.log_text.split.value); }},
    {.field = "logging.options.text.infoBufferSize", .flag = "log-text-info-buffer-size", .group = logging,
     .beats_file = true, .help_order = 1, .value_name = "BYTES",
     .help = "With --log-text-split-stream: size of the buffer for info lines in bytes, such as 64Ki; 0 writes each "
             "line at once.", .allowed = "bytes, with a suffix such as Ki or M",
     .reload = "The next log line.",
     .draft = in_draft<&Draft::log_text, &StreamDraft::buffer>, .check = buffer_size},
    {.field = "logging.options.json.splitStream", .flag = "log-json-split-stream", .kind = boolean, .group = logging,
     .beats_file = true, .help_order = 1,
     .help = "In json format, write info lines to standard output, and warnings and errors to standard error.",
     .reload = "The next log line.",
     .draft = in_draft<&Draft::log_json, &StreamDraft::split>,
     .effective = [](D draft, S) { return effective_values::if_true(draft.log_json.split.value); }},
    {.field = "logging.options.json.infoBufferSize", .flag = "log-json-info-buffer-size", .group = logging,
     .beats_file = true, .help_order = 1, .value_name = "BYTES",
     .help = "With --log-json-split-stream: size of the buffer for info lines in bytes, such as 64Ki; 0 writes each "
             "line at once.", .allowed = "bytes, with a suffix such as Ki or M",
     .reload = "The next log line.",
     .draft = in_draft<&Draft::log_json, &StreamDraft::buffer>, .check = buffer_size},

    {.field = "hostnameOverride", .flag = "hostname-override", .group = node, .beats_file = true,
     .value_name = "NAME",
     .help = "Name of this node's Node object, instead of the host name.", .allowed = "name",
     .note = "Blanks around it are removed, and letters are converted to lower case.",
     .field_note = "The flag overrides it.",
     .reload = "Rejected: rules and Services were selected for this node. Restart the daemon.",
     .draft = in_draft<&Draft::host_name>,
     .effective = [](D draft, S) -> Value {
       return draft.host_name.given() ? node::normalized_node_name(draft.host_name.value, "") : std::string();
     }, .change = {5, Part::none, differs_in<&Settings::node_name>, "", refusals::host_name}},
    {.field = "bindAddress", .flag = "bind-address", .group = node, .value_name = "IP",
     .help = "Override the node's IP address and primary address family; 0.0.0.0 or :: take both from the Node "
             "object.", .allowed = "IP address",
     .note = "Only userspace mode binds it: its proxy listens there.",
     .reload = "The daemon selects the node's address again. Rejected if the primary address family would change. "
               "In userspace mode, a new instance of the backend becomes active.",
     .draft = in_draft<&Draft::bind_address>, .backend_option = "userspace.listenAddress",
     .change = {13, Part::backend, differs_in<&Settings::bind_address>, "", refusals::primary_family}},
    {.field = "healthzBindAddress", .flag = "healthz-bind-address", .group = serving, .value_name = "IP[:PORT]",
     .help = "Address and port of the health server: /healthz, /livez, /readyz and /sync.",
     .allowed = "IP or IP:port", .note = "The default is [::]:10256 if the bind address is IPv6.",
     .field_note = "No value turns the server off.",
     .reload = "The daemon binds the new address, then closes the old one. It rejects an address that it cannot "
               "bind.",
     .draft = in_draft<&Draft::healthz_address>,
     .effective = [](D draft, S) -> Value { return effective_healthz(draft); },
     .change = {15, Part::serve, differs_in<&Settings::serve, &ServeSettings::healthz>}},
    {.flag = "healthz-port", .kind = number, .group = serving, .value_name = "PORT",
     .help = "Deprecated. Port of the health server, if --healthz-bind-address has no port; 0 turns the server off.",
     .allowed = "0 to 65535",
     .draft = in_draft<&Draft::healthz_port>},
    {.field = "metricsBindAddress", .flag = "metrics-bind-address", .group = serving, .value_name = "IP[:PORT]",
     .help = "Address and port of the metrics server: /metrics, /configz and the debug pages.",
     .allowed = "IP or IP:port", .note = "The default is [::1]:10249 if the bind address is IPv6.",
     .field_note = "No value turns the server off.",
     .reload = "The daemon binds the new address, then closes the old one. It rejects an address that it cannot "
               "bind.",
     .draft = in_draft<&Draft::metrics_address>,
     .effective = [](D draft, S) -> Value { return effective_metrics(draft); },
     .change = {15, Part::serve, differs_in<&Settings::serve, &ServeSettings::metrics>}},
    {.flag = "metrics-port", .kind = number, .group = serving, .value_name = "PORT",
     .help = "Deprecated. Port of the metrics server, if --metrics-bind-address has no port.", .allowed = "1 to 65535",
     .draft = in_draft<&Draft::metrics_port>},
    {.field = "bindAddressHardFail", .flag = "bind-address-hard-fail", .kind = boolean, .group = serving,
     .help = "Exit if the health or metrics address cannot be bound, instead of retrying every 5 s.",
     .reload = "Applied at once.",
     .setting = in_settings<&Settings::serve, &ServeSettings::bind_address_hard_fail>, .change = {15, Part::serve}},
    {.field = "enableProfiling", .flag = "profiling", .kind = boolean, .group = serving,
     .help = "Serve /debug/flags/v, which changes the log verbosity, on the metrics address.",
     .note = "Also serves /debug/flags.", .reload = "Applied to the next request.",
     .setting = in_settings<&Settings::serve, &ServeSettings::profiling>, .change = {15, Part::serve}},
    {.field = "showHiddenMetricsForVersion", .flag = "show-hidden-metrics-for-version", .group = serving,
     .value_name = "VERSION",
     .help = "Ignored (accepted for compatibility): no metric is hidden.",
     .allowed = "empty, or the previous release: 1.35", .reload = "None: the setting is ignored.",
     .draft = in_draft<&Draft::show_hidden_metrics>, .check = previous_release},

    {.field = "mode", .flag = "proxy-mode", .group = backend, .value_name = "ID|auto", .shown_default = kDefaultMode,
     .help = "Backend: iptables, ipvs, nftables, userspace, the id of another installed plugin, or auto. With auto, "
             "the daemon selects the first of nftables and iptables that works on this node.",
     .allowed = "backend id, auto", .note = "With auto, the log says why a backend was selected.",
     .reload = "The daemon swaps the backend while traffic flows. A change to auto selects a mode, which is kept "
               "until pluginDirs changes.",
     .draft = in_draft<&Draft::mode>,
     .effective = [](D draft, S) -> Value { return effective_values::mode(draft); },
     .change = {6, Part::backend, differs_in<&Settings::backend>}},
    {.field = "backend", .document = Document::sluice, .group = backend,
     .help = "Id of the backend; overrides mode.", .allowed = "backend id",
     .note = "May name a plugin that is not a mode of kube-proxy.",
     .reload = "The daemon swaps the backend while traffic flows.",
     .draft = in_draft<&Draft::backend>},
    {.field = "backends", .document = Document::sluice, .group = backend,
     .help = "Settings of single backends, by backend id.", .allowed = "map",
     .note = "Each backend defines the settings of its section; iptables has none.",
     .reload = "Active backend: a new instance becomes active with the new values. Other backends: stored until "
               "they become active.",
     .read = read_sections},
    {.field = "pluginDirs", .document = Document::sluice, .flag = "plugin-dir", .kind = repeated, .group = backend,
     .beats_file = true, .value_name = "DIR",
     .help = "Directory to search for backends, instead of the installed one. May be repeated; the first directory "
             "with the backend wins.", .allowed = "absolute path",
     .field_note = "A list; the flag overrides it.",
     .reload = "Applied at once. A swap follows if the plugin file or its content differs.",
     .draft = in_draft<&Draft::plugin_dirs>,
     .change = {7, Part::backend, differs_in<&Settings::plugins, &PluginSettings::folders>}},
    {.field = "relaxPluginOwnership", .document = Document::sluice, .kind = boolean, .group = backend,
     .help = "Load plugin files that any user owns; for development only.",
     .note = "The group may have write permission, too.",
     .reload = "Applied at once. A swap follows if the plugin file or its content differs.",
     .setting = in_settings<&Settings::plugins, &PluginSettings::relax_ownership>, .change = {7, Part::backend}},
    {.field = "drainTimeout", .document = Document::sluice, .kind = duration, .group = backend,
     .help = "Maximum time for which an old backend keeps its established connections after a swap; 0s does not "
             "drain.", .allowed = "0s to 168h",
     .note = "With 0s, connections end after one second. The timeout applies to the next swap and to leftover state "
             "of an earlier process. Connections that only the connection tracking of the kernel carries continue "
             "in any case. The settings drainTimeout of single backends concern removed endpoints.",
     .reload = "Stored; applied to the next swap.",
     .setting = in_settings<&Settings::drain_timeout>, .check = drain_timeout, .change = {7, Part::none}},
    {.field = "descriptorHolderTimeout", .document = Document::sluice, .kind = duration, .group = backend,
     .help = "Maximum time for which the descriptor holder keeps the listening sockets of userspace mode after the "
             "daemon has ended; 0s starts no holder.", .allowed = "0s to 1h",
     .note = "The daemon starts the holder if no service manager stores descriptors. Clients that connect while no "
             "daemon runs wait for this time at most, then they are reset.",
     .reload = "Stored; applied when the daemon starts again.",
     .setting = in_settings<&Settings::holder_timeout>, .check = holder_timeout, .change = {7, Part::none}},

    {.field = "iptables.masqueradeBit", .flag = "iptables-masquerade-bit", .kind = number, .group = local_traffic,
     .help_order = 3, .value_name = "0-31",
     .help = "Bit of the packet mark that requests masquerading.", .allowed = "0 to 31",
     .modes = "all except nftables",
     .note = "Userspace mode also marks packets to endpoints, with bit 12, or with bit 6 if this option is 12.",
     .reload = "The daemon rewrites the rules that differ.",
     .draft = in_draft<&Draft::iptables, &ModeDraft::masquerade_bit>,
     .change = {12, Part::backend, differs_in<&Settings::masquerade_bit>, "masqueradeBit"}},
    {.field = "iptables.masqueradeAll", .flag = "masquerade-all", .kind = boolean, .group = local_traffic,
     .help_order = 2,
     .help = "Masquerade all traffic to cluster IPs.", .modes = "all except nftables",
     .flag_note = "The flag applies to all modes.", .reload = "The daemon rewrites the rules that differ.",
     .draft = in_draft<&Draft::iptables, &ModeDraft::masquerade_all>,
     .flag_sets_too = in_draft<&Draft::nftables, &ModeDraft::masquerade_all>,
     .change = {11, Part::backend, differs_in<&Settings::masquerade_all>, "masqueradeAll"}},
    {.field = "iptables.localhostNodePorts", .flag = "iptables-localhost-nodeports", .kind = boolean,
     .group = backend,
     .help = "Serve node ports on 127.0.0.1 too; IPv4 only.", .modes = "all except nftables",
     .note = "The IPv6 loopback address never serves node ports.",
     .reload = "The daemon rewrites the rules that differ.",
     .setting = in_settings<&Settings::localhost_node_ports>, .change = {10, Part::backend}},
    {.field = "iptables.syncPeriod", .flag = "iptables-sync-period", .kind = duration, .group = pace,
     .value_name = "DURATION",
     .help = "Interval between checks for drift of the kernel state, and delay of the retry after a failure.",
     .allowed = "more than 0s", .modes = "all except ipvs and nftables",
     .flag_note = "The flag applies to all modes except ipvs.", .field_note = "0s means the default.",
     .reload = "Applied at once.",
     .draft = in_draft<&Draft::iptables, &ModeDraft::sync_period>,
     .flag_sets_too = in_draft<&Draft::nftables, &ModeDraft::sync_period>, .zero_is_default = true,
     .change = {14, Part::backend, differs_in<&Settings::sync_period>, "syncPeriod"}},
    {.field = "iptables.minSyncPeriod", .flag = "iptables-min-sync-period", .kind = duration, .group = pace,
     .value_name = "DURATION", .shown_default = kAdaptive,
     .help = "Minimum time between two syncs; 0 writes every change at once. By default it follows the cost of syncs.",
     .allowed = "0s to the sync period",
     .modes = "all except ipvs and nftables", .note = "The daemon collects the changes in between.",
     .flag_note = "The flag applies to all modes except ipvs.",
     .field_note = "In a file, 0s means the default; write 1ms.", .reload = "Applied at once.",
     .draft = in_draft<&Draft::iptables, &ModeDraft::min_sync_period>,
     .flag_sets_too = in_draft<&Draft::nftables, &ModeDraft::min_sync_period>, .zero_is_default = true,
     .change = {14, Part::backend, differs_in<&Settings::min_sync_period>, "minSyncPeriod"}},

    {.field = "ipvs.syncPeriod", .flag = "ipvs-sync-period", .kind = duration, .group = ipvs,
     .value_name = "DURATION",
     .help = "Like --iptables-sync-period, for ipvs mode.", .allowed = "more than 0s",
     .field_note = "0s means the default.", .reload = "Applied at once.",
     .draft = in_draft<&Draft::ipvs, &ModeDraft::sync_period>, .zero_is_default = true},
    {.field = "ipvs.minSyncPeriod", .flag = "ipvs-min-sync-period", .kind = duration, .group = ipvs,
     .value_name = "DURATION", .shown_default = kAdaptive,
     .help = "Like --iptables-min-sync-period, for ipvs mode.", .allowed = "0s to the sync period",
     .field_note = "In a file, 0s means the default; write 1ms.", .reload = "Applied at once.",
     .draft = in_draft<&Draft::ipvs, &ModeDraft::min_sync_period>, .zero_is_default = true},
    {.field = "ipvs.scheduler", .flag = "ipvs-scheduler", .group = ipvs, .value_name = "NAME",
     .help = "IPVS scheduler of all virtual servers; empty means rr.", .allowed = "name of a kernel scheduler",
     .reload = "A new instance of the backend becomes active with the new value; other modes store it.",
     .draft = in_draft<&Draft::ipvs_mode, &IpvsDraft::scheduler>, .backend_option = "ipvs.scheduler"},
    {.field = "ipvs.excludeCIDRs", .flag = "ipvs-exclude-cidrs", .kind = list, .group = ipvs,
     .value_name = "CIDR,...",
     .help = "Address ranges whose virtual servers the backend does not change.", .allowed = "CIDRs",
     .reload = "A new instance of the backend becomes active with the new value; other modes store it.",
     .draft = in_draft<&Draft::ipvs_mode, &IpvsDraft::exclude_cidrs>, .check = cidr,
     .backend_option = "ipvs.excludeCIDRs"},
    {.field = "ipvs.strictARP", .flag = "ipvs-strict-arp", .kind = boolean, .group = ipvs,
     .help = "Do not answer ARP requests for the addresses of kube-ipvs0.",
     .note = "Sets the sysctls arp_ignore and arp_announce.",
     .reload = "A new instance of the backend becomes active with the new value; other modes store it. false does "
               "not reset the sysctls.",
     .draft = in_draft<&Draft::ipvs_mode, &IpvsDraft::strict_arp>, .backend_option = "ipvs.strictARP"},
    {.field = "ipvs.tcpTimeout", .flag = "ipvs-tcp-timeout", .kind = duration, .group = ipvs,
     .value_name = "DURATION",
     .help = "IPVS timeout of idle TCP connections; 0s keeps the kernel value.", .allowed = "0s to 555h",
     .reload = "A new instance of the backend becomes active with the new value; other modes store it.",
     .draft = in_draft<&Draft::ipvs_mode, &IpvsDraft::tcp_timeout>, .check = not_negative,
     .backend_option = "ipvs.tcpTimeout"},
    {.field = "ipvs.tcpFinTimeout", .flag = "ipvs-tcpfin-timeout", .kind = duration, .group = ipvs,
     .value_name = "DURATION",
     .help = "IPVS timeout of TCP connections after a FIN; 0s keeps the kernel value.", .allowed = "0s to 555h",
     .reload = "A new instance of the backend becomes active with the new value; other modes store it.",
     .draft = in_draft<&Draft::ipvs_mode, &IpvsDraft::tcp_fin_timeout>, .check = not_negative,
     .backend_option = "ipvs.tcpFinTimeout"},
    {.field = "ipvs.udpTimeout", .flag = "ipvs-udp-timeout", .kind = duration, .group = ipvs,
     .value_name = "DURATION",
     .help = "IPVS timeout of idle UDP flows; 0s keeps the kernel value.", .allowed = "0s to 555h",
     .reload = "A new instance of the backend becomes active with the new value; other modes store it.",
     .draft = in_draft<&Draft::ipvs_mode, &IpvsDraft::udp_timeout>, .check = not_negative,
     .backend_option = "ipvs.udpTimeout"},

    {.field = "nftables.masqueradeBit", .kind = number, .group = local_traffic,
     .help = "Bit of the packet mark that requests masquerading, in nftables mode.", .allowed = "0 to 31",
     .reload = "The daemon rewrites the rules that differ.",
     .draft = in_draft<&Draft::nftables, &ModeDraft::masquerade_bit>},
    {.field = "nftables.masqueradeAll", .kind = boolean, .group = local_traffic,
     .help = "Masquerade all traffic to cluster IPs, in nftables mode.",
     .reload = "The daemon rewrites the rules that differ.",
     .draft = in_draft<&Draft::nftables, &ModeDraft::masquerade_all>},
    {.field = "nftables.syncPeriod", .kind = duration, .group = pace,
     .help = "Interval between checks for drift of the kernel state, in nftables mode.", .allowed = "more than 0s",
     .field_note = "0s means the default.", .reload = "Applied at once.",
     .draft = in_draft<&Draft::nftables, &ModeDraft::sync_period>, .zero_is_default = true},
    {.field = "nftables.minSyncPeriod", .kind = duration, .group = pace, .shown_default = kAdaptive,
     .help = "Minimum time between two syncs, in nftables mode.", .allowed = "0s to the sync period",
     .field_note = "0s means the default; write 1ms.", .reload = "Applied at once.",
     .draft = in_draft<&Draft::nftables, &ModeDraft::min_sync_period>, .zero_is_default = true},

    {.field = "winkernel.networkName",
     .help = "Ignored (accepted for compatibility): a setting of Windows nodes.", .allowed = "name",
     .reload = "None: the setting is ignored.",
     .draft = in_draft<&Draft::winkernel, &WinkernelDraft::network_name>},
    {.field = "winkernel.sourceVip",
     .help = "Ignored (accepted for compatibility): a setting of Windows nodes.", .allowed = "address",
     .reload = "None: the setting is ignored.",
     .draft = in_draft<&Draft::winkernel, &WinkernelDraft::source_vip>},
    {.field = "winkernel.enableDSR", .kind = boolean,
     .help = "Ignored (accepted for compatibility): a setting of Windows nodes.",
     .reload = "None: the setting is ignored.",
     .draft = in_draft<&Draft::winkernel, &WinkernelDraft::enable_dsr>},
    {.field = "winkernel.rootHnsEndpointName",
     .help = "Ignored (accepted for compatibility): a setting of Windows nodes.", .allowed = "name",
     .reload = "None: the setting is ignored.",
     .draft = in_draft<&Draft::winkernel, &WinkernelDraft::root_hns_endpoint_name>},
    {.field = "winkernel.forwardHealthCheckVip", .kind = boolean,
     .help = "Ignored (accepted for compatibility): a setting of Windows nodes.",
     .reload = "None: the setting is ignored.",
     .draft = in_draft<&Draft::winkernel, &WinkernelDraft::forward_health_check_vip>},

    {.field = "detectLocalMode", .flag = "detect-local-mode", .group = local_traffic, .help_order = 1,
     .value_name = "MODE", .shown_default = "ClusterCIDR",
     .help = "Method that recognises traffic of local pods: ClusterCIDR, NodeCIDR, BridgeInterface or "
             "InterfaceNamePrefix.", .allowed = "ClusterCIDR, NodeCIDR, BridgeInterface, InterfaceNamePrefix",
     .note = "ClusterCIDR: source address in --cluster-cidr. NodeCIDR: source address in spec.podCIDRs of the Node. "
             "BridgeInterface: arrival through --pod-bridge-interface. InterfaceNamePrefix: arrival through an "
             "interface whose name begins with --pod-interface-name-prefix. If an address family has no range, the "
             "rules that depend on it are omitted.",
     .reload = "The daemon rewrites the rules that differ. It rejects a value that cannot work on this node.",
     .draft = in_draft<&Draft::detect_local_mode>,
     .effective = [](D draft, S) -> Value {
       return draft.detect_local_mode.given() ? draft.detect_local_mode.value : "ClusterCIDR";
     }, .change = {9, Part::backend, differs_in<&Settings::local_detector>, "detectLocal"}},
    {.field = "detectLocal.bridgeInterface", .flag = "pod-bridge-interface", .group = local_traffic, .help_order = 1,
     .value_name = "NAME",
     .help = "Bridge of local pods, for BridgeInterface.", .allowed = "1 to 15 characters, no blank, slash or colon",
     .reload = "The daemon rewrites the rules that differ.",
     .draft = in_draft<&Draft::bridge_interface>},
    {.field = "detectLocal.interfaceNamePrefix", .flag = "pod-interface-name-prefix", .group = local_traffic,
     .help_order = 1, .value_name = "PREFIX",
     .help = "Prefix of the interface names of local pods, for InterfaceNamePrefix.",
     .allowed = "1 to 14 characters, no blank, slash or colon",
     .reload = "The daemon rewrites the rules that differ.",
     .draft = in_draft<&Draft::interface_name_prefix>},
    {.field = "clusterCIDR", .flag = "cluster-cidr", .group = local_traffic, .value_name = "CIDR[,CIDR]",
     .help = "Address range of pods, at most one per address family. Traffic to cluster IPs from other sources is "
             "masqueraded.", .allowed = "CIDRs, separated by a comma",
     .reload = "The daemon rewrites the rules that differ.",
     .draft = in_draft<&Draft::cluster_cidr>},
    {.field = "nodePortAddresses", .flag = "nodeport-addresses", .kind = list, .group = node,
     .value_name = "CIDR,...",
     .help = "Node addresses that serve node ports: CIDRs, or primary for the node's own addresses; empty means "
             "all.", .allowed = "CIDRs, or primary",
     .note = "A CIDR selects the addresses of this node that are inside it; primary selects the node's own address "
             "of each family. A family without a CIDR, or with one of length 0, serves node ports on all its "
             "addresses. In nftables mode, empty means primary.",
     .flag_note = "May be repeated; all lists apply.", .field_note = "A list.",
     .reload = "The daemon rewrites the rules that differ.",
     .draft = in_draft<&Draft::node_port_addresses>,
     .effective = effective_values::node_port_addresses,
     .change = {9, Part::backend, differs_in<&Settings::node_ports>}},
    {.field = "oomScoreAdj", .flag = "oom-score-adj", .kind = number, .group = node, .value_name = "NUMBER",
     .help = "OOM score adjustment, from -1000 (never killed) to 1000.", .allowed = "-1000 to 1000",
     .note = "Programs that the daemon starts inherit it.",
     .reload = "Written to the kernel. A removed field restores the default.",
     .setting = in_settings<&Settings::oom_score_adj>, .check = oom_score, .change = {17, Part::kernel}},
    {.flag = "boot-id-file", .group = node, .value_name = "FILE,...",
     .help = "Ignored (accepted for compatibility).", .allowed = "paths",
     .draft = in_draft<&Draft::boot_id_file>},
    {.flag = "machine-id-file", .group = node, .value_name = "FILE,...",
     .help = "Ignored (accepted for compatibility).", .allowed = "paths",
     .draft = in_draft<&Draft::machine_id_file>},

    {.field = "conntrack.maxPerCore", .flag = "conntrack-max-per-core", .kind = number, .group = conntrack,
     .value_name = "NUMBER",
     .help = "Maximum number of tracked connections per processor; 0 keeps the kernel value.", .allowed = "0 or more",
     .reload = "Written to the kernel. 0 leaves the last value in the kernel.",
     .setting = in_settings<&Settings::conntrack, &ConntrackSettings::max_per_core>, .check = not_negative,
     .zero_keeps_kernel = true, .change = {16, Part::kernel, nullptr, "conntrack"}},
    {.field = "conntrack.min", .flag = "conntrack-min", .kind = number, .group = conntrack, .value_name = "NUMBER",
     .help = "Minimum of the limit of tracked connections, regardless of the number of processors.",
     .allowed = "0 or more", .reload = "Written to the kernel. 0 leaves the last value in the kernel.",
     .setting = in_settings<&Settings::conntrack, &ConntrackSettings::min>, .check = not_negative,
     .change = {16, Part::kernel, nullptr, "conntrack"}},
    {.field = "conntrack.tcpEstablishedTimeout", .flag = "conntrack-tcp-timeout-established", .kind = duration,
     .group = conntrack, .value_name = "DURATION",
     .help = "Timeout of idle TCP connections; 0s keeps the kernel value.", .allowed = "0s or more",
     .field_note = "Here, 0s does not mean the default.",
     .reload = "Written to the kernel. 0 leaves the last value in the kernel.",
     .setting = in_settings<&Settings::conntrack, &ConntrackSettings::tcp_established_timeout>, .check = not_negative,
     .zero_keeps_kernel = true, .change = {16, Part::kernel, nullptr, "conntrack"}},
    {.field = "conntrack.tcpCloseWaitTimeout", .flag = "conntrack-tcp-timeout-close-wait", .kind = duration,
     .group = conntrack, .value_name = "DURATION",
     .help = "Timeout of TCP connections in the state CLOSE_WAIT; 0s keeps the kernel value.",
     .allowed = "0s or more", .field_note = "Here, 0s does not mean the default.",
     .reload = "Written to the kernel. 0 leaves the last value in the kernel.",
     .setting = in_settings<&Settings::conntrack, &ConntrackSettings::tcp_close_wait_timeout>, .check = not_negative,
     .zero_keeps_kernel = true, .change = {16, Part::kernel, nullptr, "conntrack"}},
    {.field = "conntrack.tcpBeLiberal", .flag = "conntrack-tcp-be-liberal", .kind = boolean, .group = conntrack,
     .help = "Do not treat TCP packets outside the window as invalid; false keeps the kernel value.",
     .reload = "Written to the kernel. false leaves the last value in the kernel.",
     .setting = in_settings<&Settings::conntrack, &ConntrackSettings::tcp_be_liberal>,
     .zero_keeps_kernel = true, .change = {16, Part::kernel, nullptr, "conntrack"}},
    {.field = "conntrack.udpTimeout", .flag = "conntrack-udp-timeout", .kind = duration, .group = conntrack,
     .value_name = "DURATION",
     .help = "Timeout of UDP flows without a reply; 0s keeps the kernel value.", .allowed = "0s or more",
     .reload = "Written to the kernel. 0 leaves the last value in the kernel.",
     .setting = in_settings<&Settings::conntrack, &ConntrackSettings::udp_timeout>, .check = not_negative,
     .zero_keeps_kernel = true, .change = {16, Part::kernel, nullptr, "conntrack"}},
    {.field = "conntrack.udpStreamTimeout", .flag = "conntrack-udp-timeout-stream", .kind = duration,
     .group = conntrack, .value_name = "DURATION",
     .help = "Timeout of UDP flows with replies; 0s keeps the kernel value.", .allowed = "0s or more",
     .reload = "Written to the kernel. 0 leaves the last value in the kernel.",
     .setting = in_settings<&Settings::conntrack, &ConntrackSettings::udp_stream_timeout>, .check = not_negative,
     .zero_keeps_kernel = true, .change = {16, Part::kernel, nullptr, "conntrack"}},

    {.field = "configSyncPeriod", .flag = "config-sync-period", .kind = duration, .group = source, .help_order = 1,
     .value_name = "DURATION",
     .help = "Ignored (accepted for compatibility): the daemon has no cache to resync.", .allowed = "more than 0s",
     .reload = "None: the setting is ignored.",
     .draft = in_draft<&Draft::config_sync_period>, .zero_is_default = true, .check = positive},
    {.field = "portRange", .flag = "proxy-port-range", .group = userspace, .value_name = "LOW-HIGH",
     .help = "Ports that the proxy may open, such as 30000-32767 or 30000+500; empty means any.",
     .allowed = "port range",
     .reload = "A new instance of the backend becomes active with the new value; other modes store it.",
     .draft = in_draft<&Draft::port_range>, .check = port_range,
     .backend_option = "userspace.portRange"},
    {.field = "udpTimeout", .document = Document::sluice, .flag = "udp-timeout", .kind = duration, .group = userspace,
     .value_name = "DURATION",
     .help = "Timeout of idle UDP flows.", .allowed = "more than 0s", .field_note = "0s means the default.",
     .reload = "A new instance of the backend becomes active with the new value; other modes store it.",
     .draft = in_draft<&Draft::udp_timeout>, .zero_is_default = true, .check = positive,
     .backend_option = "userspace.udpTimeout"},
    {.field = "windowsRunAsService", .kind = boolean,
     .help = "Ignored (accepted for compatibility): a setting of Windows nodes.",
     .reload = "None: the setting is ignored.",
     .draft = in_draft<&Draft::windows_run_as_service>,
     .effective = [](D draft, S) { return effective_values::if_true(draft.windows_run_as_service.value); }},
});
// clang-format on

}  // namespace table

}  // namespace

std::span<const Option> options() { return table::kOptions; }

}  // namespace sluice::config
