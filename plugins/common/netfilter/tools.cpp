// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/tools.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include "lib/number.hpp"
#include "names/chains.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {
namespace {

std::string read_legacy_tables(abi::Family family) {
  std::ifstream file(family == abi::Family::kIpv6 ? "/proc/self/net/ip6_tables_names"
                                                  : "/proc/self/net/ip_tables_names");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<VersionLine> version_of(const std::string& program, const NodePrograms& node) {
  if (program.empty()) return std::nullopt;
  lib::Program command;
  command.arguments = {program, "--version"};
  const auto outcome = node.run(command);
  // A program that this process may not execute is treated as missing.
  return outcome && outcome->ok() ? parse_version(outcome->output) : std::nullopt;
}

// Short, because the start of the backend waits for the result.
constexpr std::chrono::seconds kToolTimeout(3);

// For iptables-nft, whose save command reads all tables even for one, and restarts when a rule changes meanwhile. With
// many Services it would not end.
bool has_chain(const Tools& tools, const char* table, std::string_view chain, const NodePrograms& node) {
  lib::Program command;
  command.arguments = {tools.program, "-t", table, "-S", std::string(chain)};
  command.timeout = kToolTimeout;
  command.on_output = [](std::string_view) {};
  const auto outcome = node.run(command);
  return outcome && outcome->ok();  // a tool that does not run is treated as empty
}

bool has_hint(const Tools& nft, const NodePrograms& node) {
  return has_chain(nft, "mangle", names::kKubeletHint, node) || has_chain(nft, "mangle", names::kKubeletCanary, node);
}

// The rules of a variant in the kernel, as far as the selection depends on them. Counts lines
// as they arrive, because the rules of a large cluster are too much text to store.
class RuleScan {
 public:
  RuleScan(const std::string& save, const char* table, const NodePrograms& node) {
    lib::Program command;
    command.arguments = {save};
    if (table != nullptr) command.arguments.insert(command.arguments.end(), {"-t", table});
    command.timeout = kToolTimeout;
    command.on_output = [this](std::string_view piece) { append(piece); };
    const auto outcome = node.run(command);
    if (!outcome) return;  // the tool does not run: treated as empty
    timed_out_ = outcome->timed_out;
    if (!timed_out_ && !outcome->ok()) note_permission_error(outcome->error_output);
    line();
  }

  // The error message if permission was denied, in which case the content counts as empty; otherwise empty.
  const std::string& permission_error() const noexcept { return permission_error_; }
  // Listing timed out: there are too many rules, or they change too often.
  bool is_busy() const noexcept { return timed_out_; }
  std::size_t rules() const noexcept { return rules_; }
  bool has_hint() const noexcept { return hint_; }
  bool has_services() const noexcept { return services_; }

 private:
  static constexpr std::size_t kBegin = 32;  // characters of a line that are compared

  void append(std::string_view piece) {
    for (const char c : piece) {
      if (c == '\n') {
        line();
      } else if (line_.size() < kBegin) {
        line_.push_back(c);
      }
    }
  }
  // ":KUBE-SERVICES - [0:0]".
  bool declares(std::string_view chain) const {
    return line_.size() > chain.size() + 1 && line_[0] == ':' && line_.compare(1, chain.size(), chain) == 0 &&
           line_[chain.size() + 1] == ' ';
  }
  void line() {
    if (line_.starts_with("-A ")) ++rules_;
    hint_ = hint_ || declares(names::kKubeletHint) || declares(names::kKubeletCanary);
    services_ = services_ || declares(names::kServices);
    line_.clear();
  }

  // Other failures, such as a missing table, are expected.
  void note_permission_error(const std::string& error_output) {
    for (const char* words : {"Permission denied", "Operation not permitted", "you must be root"}) {
      if (error_output.find(words) != std::string::npos) permission_error_ = error_output.substr(0, error_output.find('\n'));
    }
  }

  std::string line_;
  std::string permission_error_;
  bool timed_out_ = false;
  std::size_t rules_ = 0;
  bool hint_ = false;
  bool services_ = false;
};

RestoreWait wait_of(const Tools& tools, const NodePrograms& node) {
  if (tools.version >= Version{1, 6, 2}) return RestoreWait::kSeconds;
  // Between the versions, the patch that added waiting also added --version.
  return version_of(tools.restore, node) ? RestoreWait::kForever : RestoreWait::kNot;
}

// The candidates of one family, and the selection among them.
class Choice {
 public:
  Choice(abi::Family family, const NodePrograms& node)
      : node_(node),
        default_name_(family == abi::Family::kIpv6 ? "ip6tables" : "iptables"),
        default_tools_(find(default_name_)),
        nft_(find(default_name_ + "-nft")),
        legacy_tables_(node.legacy_tables(family)) {
    // Running the legacy tools would load their kernel modules.
    if (!legacy_tables_.empty() || !default_tools_) legacy_ = find(default_name_ + "-legacy");
    if (default_tools_ && default_tools_->variant == Variant::kNft && !nft_) nft_ = default_tools_;
    if (default_tools_ && default_tools_->variant == Variant::kLegacy && !legacy_) legacy_ = default_tools_;
  }

  Tools make() {
    Tools tools = choose();
    tools.wait = wait_of(tools, node_);
    warn(tools);
    return tools;
  }

  std::vector<Tools> all() const {
    std::vector<Tools> found;
    for (const std::optional<Tools>& one : {nft_, legacy_tables_exist() ? legacy_ : std::nullopt}) {
      if (!one) continue;
      found.push_back(*one);
      found.back().wait = wait_of(*one, node_);
    }
    return found;
  }

 private:
  std::optional<Tools> find(const std::string& name) const {
    Tools tools;
    tools.restore = node_.find_program(name + "-restore");
    tools.save = node_.find_program(name + "-save");
    tools.program = node_.find_program(name);
    const auto version = version_of(tools.program, node_);
    if (tools.restore.empty() || tools.save.empty() || !version) return std::nullopt;
    tools.variant = version->variant;
    tools.version = version->version;
    return tools;
  }

  bool legacy_tables_exist() const { return legacy_ && !legacy_tables_.empty(); }

  Tools choose() const {
    if (nft_ && has_hint(*nft_, node_)) return because(*nft_, "kubelet's hint is there");
    if (legacy_tables_exist() && legacy_tables_.find("mangle") != std::string::npos &&
        RuleScan(legacy_->save, "mangle", node_).has_hint()) {
      return because(*legacy_, "kubelet's hint is there");
    }
    const bool default_is_legacy = default_tools_ && default_tools_->variant == Variant::kLegacy;
    if (nft_ && legacy_ && (legacy_tables_exist() || default_is_legacy)) {
      const RuleScan nft(nft_->save, nullptr, node_);
      if (nft.is_busy()) return because(*nft_, "there are too many rules in nf_tables to count them");
      const std::size_t in_nft = nft.rules();
      std::size_t in_legacy = 0;
      std::string of_legacy = ", 0 in the legacy tables";
      if (legacy_tables_exist()) {
        const RuleScan legacy(legacy_->save, nullptr, node_);
        in_legacy = legacy.rules();
        of_legacy = legacy.permission_error().empty() ? ", " + std::to_string(in_legacy) + " in the legacy tables"
                                             : ", and the legacy tables cannot be read";
      }
      const std::string counts = std::to_string(in_nft) + " rules in nf_tables" + of_legacy;
      if (in_nft > in_legacy) return because(*nft_, counts);
      if (in_legacy > in_nft) return because(*legacy_, counts);
    }
    // The program name with the variant stays correct if update-alternatives switches "iptables" at run time.
    if (default_tools_ && default_tools_->variant == Variant::kNft) return because(*nft_, "it is the usual one here");
    if (default_tools_) return because(*default_tools_, "it is the usual one here");
    if (nft_) return because(*nft_, "there is no other");
    if (legacy_) return because(*legacy_, "there is no other");
    throw sdk::Failure(abi::Code::kUnsupported, default_name_,
                       "find " + default_name_ + ", " + default_name_ + "-save and " + default_name_ +
                           "-restore: not in PATH; install the package iptables");
  }

  static Tools because(Tools tools, std::string why) {
    tools.why = std::move(why);
    return tools;
  }

  // Packets pass the rules of both variants, and only the first one translates a connection.
  void warn(Tools& tools) const {
    const bool nft = tools.variant == Variant::kNft;
    const std::optional<Tools>& other = nft ? legacy_ : nft_;
    if (!other || (nft && !legacy_tables_exist())) return;
    bool services = false;
    if (nft) {
      const RuleScan legacy(other->save, "nat", node_);
      services = legacy.has_services();
      if (!legacy.permission_error().empty()) {
        tools.warning = "the legacy tables, which this node has, cannot be read: " + legacy.permission_error() +
                        "; rules are written to nf_tables, and packets pass both; legacy iptables needs the "
                        "capability CAP_NET_RAW beside CAP_NET_ADMIN";
        return;
      }
    } else {
      services = has_chain(*other, "nat", names::kServices, node_);
    }
    if (!services) return;
    const std::string chosen = nft ? "nf_tables" : "the legacy tables";
    const std::string rest = nft ? "the legacy tables" : "nf_tables";
    tools.warning = "chains of a service proxy are in " + rest + " too, while rules are written to " + chosen +
                    ": packets pass both; remove those that " + other->save + " shows, or restart the node";
  }

  const NodePrograms& node_;
  std::string default_name_;
  std::optional<Tools> default_tools_;
  std::optional<Tools> nft_;
  std::optional<Tools> legacy_;
  std::string legacy_tables_;
};

}  // namespace

std::optional<VersionLine> parse_version(std::string_view text) {
  const std::size_t at = text.find(" v");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + 2);
  VersionLine line{{}, text.find("(nf_tables)") != std::string_view::npos ? Variant::kNft : Variant::kLegacy};
  unsigned read = 0;
  for (unsigned* part : {&line.version.major, &line.version.minor, &line.version.patch}) {
    const auto number = lib::take_number<unsigned>(rest);
    if (!number) break;
    *part = *number;
    ++read;
    if (!rest.starts_with('.')) break;
    rest.remove_prefix(1);
  }
  return read < 2 ? std::nullopt : std::optional(line);
}

NodePrograms NodePrograms::of_this_node() {
  return {[](std::string_view name) { return lib::find_program(name); },
          [](const lib::Program& program) { return lib::run_program(program); }, &read_legacy_tables};
}

Tools find_tools(abi::Family family, const NodePrograms& node) { return Choice(family, node).make(); }

std::vector<Tools> find_all_tools(abi::Family family, const NodePrograms& node) { return Choice(family, node).all(); }

std::string describe(const Tools& tools) {
  const Version& v = tools.version;
  return "iptables " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) +
         (tools.variant == Variant::kNft ? " (nf_tables), " : " (legacy), ") + tools.restore +
         (tools.why.empty() ? "" : ", because " + tools.why);
}

}  // namespace sluice::netfilter
