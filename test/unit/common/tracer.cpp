// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/common/tracer.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace sluice::test {
namespace {

using Bytes = std::array<unsigned char, 16>;

Bytes bytes_of(const std::string& address) {
  Bytes bytes{};
  const int family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (inet_pton(family, address.c_str(), bytes.data()) != 1) throw std::invalid_argument("address " + address);
  return bytes;
}

bool in_range(const std::string& address, const std::string& range) {
  const std::size_t slash = range.find('/');
  const bool ipv6 = range.find(':') != std::string::npos;
  if (ipv6 != (address.find(':') != std::string::npos)) return false;
  const int length = slash == std::string::npos ? (ipv6 ? 128 : 32) : std::stoi(range.substr(slash + 1));
  const Bytes a = bytes_of(address);
  const Bytes b = bytes_of(range.substr(0, slash));
  for (int bit = 0; bit < length; ++bit) {
    const auto index = static_cast<std::size_t>(bit / 8);
    if (((a[index] ^ b[index]) & (0x80 >> (bit % 8))) != 0) return false;
  }
  return true;
}

std::vector<std::string> split(const std::string& rule) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool any = false;
  for (const char c : rule + " ") {
    if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (!word.empty() || any) words.push_back(word);
      word.clear();
      any = false;
    } else {
      word += c;
    }
  }
  return words;
}

bool list_has(const std::string& list, const std::set<std::string>& wanted) {
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    if (wanted.contains(item)) return true;
  }
  return false;
}

// The state of a packet on its path.
struct State {
  Packet packet;
  unsigned mark = 0;
  bool translated = false;
  bool masqueraded = false;
  bool redirected = false;
  std::string server;   // the virtual server that took it, "10.0.0.1:80/tcp"
  std::string verdict;  // REJ, DROP; empty: none yet
};

struct Action {
  bool matches = true;
  double probability = 1;  // if all other conditions match
  std::string target;
  std::string argument;
};

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) parts.push_back(item);
  return parts;
}

using Sets = std::map<std::string, std::set<std::string>>;

// "172.30.0.41,tcp:80" against "dst,dst": each part is an address, a range, a port or a protocol with a port.
bool is_entry(const std::string& entry, const std::vector<std::string>& directions, const Packet& packet) {
  const std::vector<std::string> parts = parts_of(entry);
  if (parts.size() != directions.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    const bool port = part.find_first_not_of("0123456789") == std::string::npos;
    const bool with_protocol = part.starts_with("tcp:") || part.starts_with("udp:") || part.starts_with("sctp:");
    if (port || with_protocol) {
      if (directions[i] != "dst") throw std::invalid_argument("the tracer knows no source ports: " + entry);
      if (part != (port ? "" : packet.protocol + ":") + std::to_string(packet.port)) return false;
    } else if (!in_range(directions[i] == "src" ? packet.source : packet.destination, part)) {
      return false;
    }
  }
  return true;
}

class Rules {
 public:
  Rules(const TableRules& tables, const std::set<std::string>& local, const std::set<std::string>& remembered,
        const Sets& sets)
      : tables_(tables), local_(local), remembered_(remembered), sets_(sets) {}

  // Calls `done` for each way that the packet can leave the chain, with its probability;
  // `fell_through` if no rule gave a verdict.
  using Done = std::function<void(State, double, bool fell_through)>;

  void walk(const std::string& table, const std::string& chain, std::size_t from, State state, double probability,
            const Done& done) const {
    const std::vector<std::string>& rules = tables_.at(table).at(chain);
    for (std::size_t i = from; i < rules.size(); ++i) {
      const Action action = read(rules[i], state);
      if (!action.matches || action.target.empty()) continue;
      if (action.probability < 1) {
        take(action, table, chain, i, state, probability * action.probability, done);
        probability *= 1 - action.probability;
        continue;
      }
      take(action, table, chain, i, state, probability, done);
      return;
    }
    done(state, probability, true);
  }

 private:
  void take(const Action& action, const std::string& table, const std::string& chain, std::size_t index, State state,
            double probability, const Done& done) const {
    const std::string& target = action.target;
    if (target == "ACCEPT") {
      done(state, probability, false);
    } else if (target == "DROP" || target == "REJECT") {
      state.verdict = target == "DROP" ? "DROP" : "REJ";
      done(state, probability, false);
    } else if (target == "RETURN") {
      done(state, probability, true);
    } else if (target == "DNAT") {
      state.translated = true;
      const std::size_t colon = action.argument.rfind(':');
      std::string host = action.argument.substr(0, colon);
      if (host.front() == '[') host = host.substr(1, host.size() - 2);
      state.packet.destination = host;
      state.packet.port = std::stoi(action.argument.substr(colon + 1));
      done(state, probability, false);
    } else if (target == "REDIRECT") {
      state.translated = state.redirected = true;
      const bool ipv6 = state.packet.destination.find(':') != std::string::npos;
      state.packet.destination = ipv6 ? "::1" : "127.0.0.1";  // some address of this node
      state.packet.port = std::stoi(action.argument);
      done(state, probability, false);
    } else if (target == "MASQUERADE") {
      state.masqueraded = true;
      done(state, probability, false);
    } else if (target == "MARK") {
      const unsigned value = static_cast<unsigned>(std::stoul(action.argument.substr(1), nullptr, 16));
      state.mark = action.argument[0] == '|' ? state.mark | value : state.mark ^ value;
      walk(table, chain, index + 1, state, probability, done);
    } else {
      walk(table, target, 0, state, probability, [&](State left, double p, bool fell_through) {
        if (fell_through) {
          walk(table, chain, index + 1, std::move(left), p, done);
        } else {
          done(std::move(left), p, false);
        }
      });
    }
  }

  Action read(const std::string& rule, const State& state) const {
    const std::vector<std::string> words = split(rule);
    Action action;
    bool negated = false;
    std::string recent;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      const auto value = [&]() -> const std::string& { return words.at(++i); };
      const auto match = [&](bool is) {
        action.matches = action.matches && is != negated;
        negated = false;
      };
      if (word == "!") {
        negated = true;
      } else if (word == "-m" || word == "--comment" || word == "--seconds" || word == "--mode") {
        value();
      } else if (word == "--reap" || word == "--set" || word == "--random-fully") {
        continue;
      } else if (word == "-s") {
        match(in_range(state.packet.source, value()));
      } else if (word == "-d") {
        match(in_range(state.packet.destination, value()));
      } else if (word == "-i") {
        match(is_interface(state.packet.interface, value()));
      } else if (word == "-p") {
        match(state.packet.protocol == value());
      } else if (word == "--dport") {
        match(std::to_string(state.packet.port) == value());
      } else if (word == "--physdev-is-in") {
        match(state.packet.from_bridge_port);
      } else if (word == "--match-set") {
        const auto set = sets_.find(value());
        if (set == sets_.end()) throw std::invalid_argument("the tracer knows no such set in " + rule);
        const std::set<std::string>& entries = set->second;
        const std::vector<std::string> directions = parts_of(value());
        match(std::any_of(entries.begin(), entries.end(),
                          [&](const std::string& entry) { return is_entry(entry, directions, state.packet); }));
      } else if (word == "--vaddr") {
        match(state.server.starts_with(bracketed(value()) + ":"));
      } else if (word == "--vproto") {
        match(state.server.ends_with("/" + value()));
      } else if (word == "--vport") {
        match(state.server.find("]:" + words.at(i + 1) + "/") != std::string::npos ||
              (state.server.find('[') == std::string::npos &&
               state.server.find(":" + words.at(i + 1) + "/") != std::string::npos));
        value();
      } else if (word == "--state") {
        match(list_has(value(), {"NEW"}));
      } else if (word == "--ctstate") {
        std::set<std::string> states{"NEW"};
        if (state.translated) states.insert("DNAT");
        match(list_has(value(), states));
      } else if (word == "--dst-type") {
        match(value() == "LOCAL" && is_local(state.packet.destination));
      } else if (word == "--src-type") {
        match(value() == "LOCAL" && is_local(state.packet.source));
      } else if (word == "--mark") {
        const std::string& text = value();
        const unsigned wanted = static_cast<unsigned>(std::stoul(text, nullptr, 16));
        const unsigned mask = static_cast<unsigned>(std::stoul(text.substr(text.find('/') + 1), nullptr, 16));
        match((state.mark & mask) == wanted);
      } else if (word == "--probability") {
        action.probability = std::stod(value());
      } else if (word == "--name") {
        recent = value();
      } else if (word == "--rcheck") {
        match(remembered_.contains(recent + " " + state.packet.source));
      } else if (word == "-j") {
        action.target = value();
      } else if (word == "--to-destination" || word == "--to-ports") {
        action.argument = value();
      } else if (word == "--or-mark" || word == "--xor-mark") {
        action.argument = (word == "--or-mark" ? "|" : "^") + value();
      } else {
        throw std::invalid_argument("the tracer does not know " + word + " in " + rule);
      }
    }
    return action;
  }

  static bool is_interface(const std::string& name, const std::string& pattern) {
    if (pattern.back() == '+') return !name.empty() && name.starts_with(pattern.substr(0, pattern.size() - 1));
    return name == pattern;
  }
  bool is_local(const std::string& address) const {
    return local_.contains(address) || address.starts_with("127.") || address == "::1";
  }

  const TableRules& tables_;
  const std::set<std::string>& local_;
  const std::set<std::string>& remembered_;
  const Sets& sets_;
};

std::string describe(const State& state) {
  if (!state.verdict.empty()) return state.verdict;
  if (!state.translated) return "PASS";
  if (state.redirected) return ":" + std::to_string(state.packet.port);
  return bracketed(state.packet.destination) + ":" + std::to_string(state.packet.port) + (state.masqueraded ? "*" : "");
}

}  // namespace

std::map<std::string, double> Tracer::trace(const Packet& packet) const {
  const Rules rules(tables_, local_, remembered_, sets_);
  std::map<std::string, double> found;
  const auto end = [&](const State& state, double p) { found[describe(state)] += p; };
  // With the current destination; ends with nat POSTROUTING.
  const auto leave = [&](const std::string& hook, State state, double p) {
    rules.walk("filter", hook, 0, std::move(state), p, [&](State passed, double q, bool) {
      if (!passed.verdict.empty()) return end(passed, q);
      rules.walk("nat", "POSTROUTING", 0, std::move(passed), q, [&](State sent, double r, bool) { end(sent, r); });
    });
  };
  // Returns whether a virtual server takes the packet.
  const auto balance = [&](const State& state, double p) {
    const std::string key = bracketed(state.packet.destination) + ":" + std::to_string(state.packet.port) + "/" +
                            state.packet.protocol;
    const auto server = servers_.find(key);
    if (server == servers_.end()) return false;
    if (server->second.empty()) {
      State refused = state;
      refused.verdict = "REJ";
      end(refused, p);
      return true;
    }
    for (const std::string& real : server->second) {
      State sent = state;
      const std::size_t colon = real.rfind(':');
      const bool brackets = real.front() == '[';
      sent.packet.destination = brackets ? real.substr(1, colon - 2) : real.substr(0, colon);
      sent.packet.port = std::stoi(real.substr(colon + 1));
      sent.translated = true;
      sent.server = key;
      leave("OUTPUT", std::move(sent), p / static_cast<double>(server->second.size()));
    }
    return true;
  };
  const bool from_node = packet.interface.empty();
  const State begin{packet, packet.mark, false, false, false, {}, {}};
  rules.walk("nat", from_node ? "OUTPUT" : "PREROUTING", 0, begin, 1, [&](State routed, double p, bool) {
    const std::string& to = routed.packet.destination;
    const bool here = local_.contains(to) || to.starts_with("127.") || to == "::1";
    if (from_node) {
      if (!balance(routed, p)) leave("OUTPUT", std::move(routed), p);
    } else if (!here) {
      leave("FORWARD", std::move(routed), p);
    } else {
      rules.walk("filter", "INPUT", 0, std::move(routed), p, [&](State passed, double q, bool) {
        if (!passed.verdict.empty() || !balance(passed, q)) end(passed, q);
      });
    }
  });
  return found;
}

std::string Tracer::outcomes(const Packet& packet) const {
  std::string text;
  for (const auto& [outcome, probability] : trace(packet)) text.append(text.empty() ? "" : " ").append(outcome);
  return text;
}

}  // namespace sluice::test
