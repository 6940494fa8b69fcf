// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Ports of this node that Services answer on are taken from everybody else: each is held
// by a bound socket, so that no program of the node can open it and wonder why nobody
// comes; and a port somebody has already is reported, not stolen (BEH 8.3). One thread.
//
// The socket serves nobody. A TCP one does not listen, so a connection that was not led to
// the proxy is refused at once; a UDP one drops what it gets, so nothing piles up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "plugins/userspace/descriptor.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

struct ClaimedAddress {
  abi::Address address;  // all zero: every address of the node, as for node ports
  std::uint16_t port;
  abi::Protocol protocol;
  bool operator==(const ClaimedAddress& other) const noexcept;
  bool operator<(const ClaimedAddress& other) const noexcept;
};

class NodePortClaims {
 public:
  explicit NodePortClaims(abi::Family family) : family_(family) {}

  // Empty when `owner` (printed name of a service port) holds it now; else a sentence that names who does: another
  // Service, or a program of this node (by name and process id where it can be told).
  std::string claim(const ClaimedAddress& what, const std::string& owner);
  // Throws std::logic_error when `owner` does not hold it.
  void release(const ClaimedAddress& what, const std::string& owner);
  // The same socket for another owner: nobody can come in between. Throws as release() does.
  void hand_over(const ClaimedAddress& what, const std::string& from, const std::string& to);
  // Null: nobody of ours.
  const std::string* holder(const ClaimedAddress& what) const;
  std::size_t size() const noexcept { return held_.size(); }

  // Looking for the program that has a port reads all of /proc, so only a few are looked for until this is called.
  void look_again() noexcept { looks_ = kLooks; }

 private:
  static constexpr unsigned kLooks = 16;
  struct Held {
    std::string owner;
    Descriptor socket;  // none where a claim to the port of every address covers this one
  };
  using Map = std::map<ClaimedAddress, Held>;

  Map::iterator find(const ClaimedAddress& what, const std::string& owner);
  bool is_covered(const ClaimedAddress& what) const;
  // 0, or an errno.
  int hold_alone(const ClaimedAddress& what, Descriptor& socket);
  int hold(const ClaimedAddress& what, Descriptor& socket) const;
  void hold_each_at(const ClaimedAddress& what);
  template <class Visit>
  void each_at(const ClaimedAddress& what, const Visit& visit);
  std::string describe(const ClaimedAddress& what) const;

  abi::Family family_;
  Map held_;
  unsigned looks_ = kLooks;
};

}  // namespace sluice::userspace
