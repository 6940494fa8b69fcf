// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Walks a packet through rules as the kernel would and says what becomes of it. Reads
// the rules word by word, on its own: it shares no code with what wrote them, and an
// option it does not know is an error.
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
  std::string interface = "eth0";  // it came in through; empty: a process of the node sends it
  bool from_bridge_port = false;
  unsigned mark = 0;  // of the socket that sends it
};

class Tracer {
 public:
  // `local_addresses` are those of the node.
  Tracer(const TableRules& tables, std::set<std::string> local_addresses)
      : tables_(tables), local_(std::move(local_addresses)) {}

  // What can happen and how likely: "10.0.0.1:80" where it is delivered to, with a star
  // when it is masqueraded, ":34567" on this node where it is redirected, or PASS (untouched), REJ, DROP.
  std::map<std::string, double> trace(const Packet& packet) const;
  // The same without probabilities: "10.0.0.1:80* 10.0.0.2:80*".
  std::string outcomes(const Packet& packet) const;

  // A set as ipset prints its entries: "10.0.0.1,tcp:80", "10.0.0.1,tcp:80,10.0.0.0/8", "30001". A rule that names a set
  // there is none of is an error.
  void add_set(const std::string& name, std::set<std::string> entries) { sets_[name] = std::move(entries); }
  // A virtual server of IPVS: "10.0.0.1:80/tcp" and its real servers, "10.180.0.1:80". Packets that reach one at INPUT, or
  // from the node behind nat OUTPUT, go on to OUTPUT and POSTROUTING with the address of a real server.
  void add_server(const std::string& key, std::vector<std::string> real) { servers_[key] = std::move(real); }

  // The client was sent to the endpoint of this list before (matches of `recent`).
  void remember(const std::string& list, const std::string& client) { remembered_.insert(list + " " + client); }

 private:
  const TableRules& tables_;
  std::set<std::string> local_;
  std::set<std::string> remembered_;
  std::map<std::string, std::set<std::string>> sets_;
  std::map<std::string, std::vector<std::string>> servers_;
};

}  // namespace sluice::test
