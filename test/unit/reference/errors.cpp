// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The messages are those that the validation returns for wrong values, which the unit tests compare with
// test/unit/config/option_table.cpp.
#include <stdexcept>

#include "core/config/flags.hpp"
#include "core/config/validate.hpp"
#include "plugins/ipvs/option_table.hpp"
#include "plugins/nftables/option_table.hpp"
#include "plugins/userspace/option_table.hpp"
#include "test/unit/config/option_table.hpp"
#include "test/unit/reference/parts.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::reference {
namespace {

class Messages {
 public:
  // Of the command line, or of the fields of a document.
  std::string of_words(const std::vector<std::string>& words) const {
    config::Problems problems;
    const config::Flags flags = config::parse_flags(words, problems);
    if (!problems.has_errors()) {
      const config::Draft draft = config::read_configuration(flags, {{"/lib/plugins"}, "/run/sluice"}, problems);
      config::validate(draft, {{"com.example.dpu", "iptables", "ipvs", "nftables", "userspace"}, "Host-1"}, problems);
    }
    for (const config::Problem& problem : problems.all()) {
      if (problem.severity != config::Problem::Severity::error) continue;
      std::string out = problem.to_string();
      if (const auto at = out.find(folder_.path()); at != std::string::npos) {
        out.replace(at, folder_.path("c.yaml").size(), "FILE");
      }
      return out;
    }
    throw std::runtime_error("no error from " + words.back());
  }
  std::string of_document(const std::string& fields, const std::string& head = kProxy) const {
    return of_words({"--check", "--config=" + folder_.write("c.yaml", head + fields)});
  }

  static constexpr const char* kProxy = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";
  static constexpr const char* kSluice = "apiVersion: sluice.dev/v1alpha1\nkind: SluiceConfiguration\n";

 private:
  test::TemporaryFolder folder_;
};

std::string general() {
  const Messages messages;
  std::string out = heading_row({"Message"});
  for (const char* word : {"--nope", "--kubeconf=x", "word", "--kubeconfig", "--masquerade-all=?", "--v=?",
                           "--kube-api-qps=?", "--iptables-sync-period=?"}) {
    out += row({code(messages.of_words({word}))});
  }
  for (const char* fields : {"nope: 1\n", "mode: iptables\nmode: ipvs\n", "mode: [a]\n", "iptables: 1\n",
                             "nodePortAddresses: a\n", "nodePortAddresses: [~]\n", "iptables: {masqueradeAll: \"?\"}\n",
                             "iptables: {masqueradeBit: \"?\"}\n", "bindAddress: ::\n"}) {
    out += row({code(messages.of_document(fields))});
  }
  return out + row({code(messages.of_document("kind: Pod\n", ""))});
}

std::string of_options() {
  std::string out = heading_row({"Flag and field", "Message"});
  for (const test::Option& option : test::option_table()) {
    for (const test::Refused& wrong : option.refused) {
      const std::string flag = option.flag.empty() ? "" : code("--" + option.flag);
      const std::string field = code(option.field);
      out += row({flag + (flag.empty() || field.empty() ? "" : ", ") + field, code(wrong.message)});
    }
  }
  return out;
}

std::string of_sluice() {
  const Messages messages;
  std::string out = heading_row({"Message"});
  for (const char* fields :
       {"bakend: iptables\n", "stateDir: /a\nstateDir: /b\n", "backends: 4\n", "drainTimeout: -1s\n",
        "descriptorHolderTimeout: 2h\n"}) {
    out += row({code(messages.of_document(fields, Messages::kSluice))});
  }
  return out;
}

void add_settings(std::string& out, const std::string& mode, const abi::ArrayView& table) {
  for (const abi::OptionSpec& spec : sdk::rows(table)) {
    const std::string name = std::string(sdk::option_name(spec)) + (sdk::is_list(spec) ? "[0]" : "");
    out += row({mode, code(name + ": " + sdk::invalid_value(spec, "?"))});
  }
}

std::string of_settings() {
  std::string out = heading_row({"Mode", "Message"});
  add_settings(out, "ipvs", sdk::array(ipvs::kOptions));
  add_settings(out, "nftables", sdk::array(nftables::kOptions));
  add_settings(out, "userspace", sdk::array(userspace::kOptions));
  return out;
}

}  // namespace

Parts error_parts() {
  return {
      {"errors of any setting", general},
      {"errors of flags and fields", of_options},
      {"errors of SluiceConfiguration", of_sluice},
      {"errors of backend settings", of_settings},
  };
}

}  // namespace sluice::reference
