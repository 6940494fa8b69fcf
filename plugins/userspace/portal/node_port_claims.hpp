// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Ports of this node that Services answer on are taken from everybody else: each is held
// by a bound socket, so that no program of the node can open it and wonder why nobody
// comes; and a port somebody has already is reported, not stolen (BEH 8.3). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "plugins/userspace/descriptor.hpp"
#include "plugins/userspace/portal/claim_socket.hpp"
#include "plugins/userspace/portal/kept_sockets.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

class NodePortClaims {
 public:
  // What is held is kept in `kept`, and taken from there; it may be null, and otherwise outlives this.
  explicit NodePortClaims(abi::Family family, KeptSockets* kept = nullptr)
      : family_(family), kept_(kept), process_(family) {}

  // Empty when `owner` (printed name of a service port) holds it now; else a sentence that names who does: another
  // Service, or a program of this node (by name and process id where it can be told). A port that another backend of
  // this process holds is held together with it.
  std::string claim(const ClaimedAddress& what, const std::string& owner);
  // Throws std::logic_error when `owner` does not hold it.
  void release(const ClaimedAddress& what, const std::string& owner);
  // The same socket for another owner: nobody can come in between. Throws as release() does.
  void hand_over(const ClaimedAddress& what, const std::string& from, const std::string& to);
  // Null: nobody of ours.
  const std::string* holder(const ClaimedAddress& what) const;
  std::size_t size() const noexcept { return held_.size(); }
  // The names by which sockets are kept now. Those that are not kept any more are.
  void keep_all(std::set<std::string>& names);
  // Lets go of everything. `kept`: but not of what is kept, for somebody else has it, too.
  void release_all(bool kept);

  // What is held by a socket of another backend that is bound to other addresses, or not any more, is tried to be held
  // as it was claimed: that backend may have gone.
  void hold_as_wanted();

  // Looking for the program that has a port reads all of /proc, so only a few are looked for until this is called; for
  // another backend of this process it is looked once.
  void look_again() noexcept {
    looks_ = kLooks;
    process_.look_again();
  }

 private:
  static constexpr unsigned kLooks = 16;
  struct Held {
    std::string owner;
    Descriptor socket;  // none where a claim to the port of every address covers this one
    bool shared;        // `socket` is another backend's and bound to other addresses; or somebody was quicker
  };
  using Map = std::map<ClaimedAddress, Held>;

  Map::iterator find(const ClaimedAddress& what, const std::string& owner);
  bool is_covered(const ClaimedAddress& what) const;
  // 0, or an errno.
  int hold_alone(const ClaimedAddress& what, Held& held);
  int hold(const ClaimedAddress& what, Held& held);
  void let_go(Held& held) const;
  void hold_each_at(const ClaimedAddress& what);
  template <class Visit>
  void each_at(const ClaimedAddress& what, const Visit& visit);
  std::string describe(const ClaimedAddress& what) const;

  abi::Family family_;
  KeptSockets* kept_;
  ProcessClaims process_;
  Map held_;
  unsigned looks_ = kLooks;
};

}  // namespace sluice::userspace
