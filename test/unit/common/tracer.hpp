// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Traces a packet through rules as the kernel does, and returns its fate. Shares no code with
// the backend that wrote the rules; an unknown option is an error.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

using TableRules = std::map<std::string, std::map<std::string, std::vector<std::string>>>;

struct Packet {
  std::string source;
  std::string destination;
  std::string protocol = "tcp";
  int port = 80;
  std::string interface = "eth0";  // input interface; empty: a process of the node sends it
  bool from_bridge_port = false;
  unsigned mark = 0;  // SO_MARK of the sending socket
};

class Tracer {
 public:
  // `local_addresses`: the addresses of the node.
  Tracer(const TableRules& tables, std::set<std::string> local_addresses)
      : tables_(tables), local_(std::move(local_addresses)) {}

  // All outcomes with their probabilities: "10.0.0.1:80" is the translated destination, with a star if masqueraded,
  // ":34567" a redirection to this node; PASS (unchanged), REJ, DROP.
  std::map<std::string, double> trace(const Packet& packet) const;
  // The same without probabilities: "10.0.0.1:80* 10.0.0.2:80*".
  std::string outcomes(const Packet& packet) const;

  // Adds a set with entries as ipset prints them: "10.0.0.1,tcp:80", "10.0.0.1,tcp:80,10.0.0.0/8", "30001". A rule that
  // names an unknown set is an error.
  void add_set(const std::string& name, std::set<std::string> entries) { sets_[name] = std::move(entries); }
  // Adds an IPVS virtual server "10.0.0.1:80/tcp" with real servers, "10.180.0.1:80". Packets for it at INPUT, or from
  // the node after nat OUTPUT, continue to OUTPUT and POSTROUTING with the address of a real server.
  void add_server(const std::string& key, std::vector<std::string> real) { servers_[key] = std::move(real); }

  // The client is in this list of the match `recent`.
  void remember(const std::string& list, const std::string& client) { remembered_.insert(list + " " + client); }

 private:
  const TableRules& tables_;
  std::set<std::string> local_;
  std::set<std::string> remembered_;
  std::map<std::string, std::set<std::string>> sets_;
  std::map<std::string, std::vector<std::string>> servers_;
};

}  // namespace sluice::test
