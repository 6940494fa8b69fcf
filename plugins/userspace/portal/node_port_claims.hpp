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
#include "plugins/userspace/portal/kept_claims.hpp"
#include "plugins/userspace/portal/kept_sockets.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

class NodePortClaims {
 public:
  // What is held is kept in `kept`, and taken from there; it may be null, and otherwise outlives this.
  // `beside_predecessor`: another backend of this process holds some of what is kept. Otherwise an earlier process has
  // left all of it.
  explicit NodePortClaims(abi::Family family, KeptSockets* kept = nullptr, bool beside_predecessor = false)
      : family_(family), kept_(kept), beside_predecessor_(beside_predecessor), of_others_(family, kept) {}

  // Empty when `owner` (printed name of a service port) holds it now; else a sentence that names who does: another
  // Service, or a program of this node (by name and process id where it can be told). A port that another backend of
  // this process holds, and has kept, is held together with it.
  std::string claim(const ClaimedAddress& what, const std::string& owner);
  // Throws std::logic_error when `owner` does not hold it.
  void release(const ClaimedAddress& what, const std::string& owner);
  // The same socket for another owner: nobody can come in between. Throws as release() does.
  void hand_over(const ClaimedAddress& what, const std::string& from, const std::string& to);
  // Null: nobody of ours.
  const std::string* holder(const ClaimedAddress& what) const;
  std::size_t size() const noexcept { return held_.size(); }
  // Adds the names by which sockets are kept now, those of other backends of this process included. What is not kept
  // any more is kept again.
  void keep_all(std::set<std::string>& names);
  // Closes everything and drops its names. Other backends that have received a socket keep it by names of their own.
  void release_all();

  // Holds as it was claimed what is held by a socket of another backend that is bound to other addresses, or not held
  // any more. As long as that backend holds the socket, nothing changes.
  void hold_as_wanted();

  // Looking for the program that has a port reads all of /proc, so only a few are looked for until this is called. The
  // claims that other backends have kept are listed once.
  void look_again() noexcept {
    looks_ = kLooks;
    of_others_.look_again();
  }

 private:
  static constexpr unsigned kLooks = 16;
  struct Held {
    std::string owner;
    Descriptor socket;  // none where a claim to the port of every address covers this one
    std::string name;   // by which `socket` is kept
    bool received;      // `socket` is another backend's
    bool deviates;      // `socket` is bound to other addresses; or there is none, because a program was quicker
  };
  using Map = std::map<ClaimedAddress, Held>;

  Map::iterator find(const ClaimedAddress& what, const std::string& owner);
  bool is_covered(const ClaimedAddress& what) const;
  // 0, or an errno.
  int hold_alone(const ClaimedAddress& what, Held& held);
  int hold(const ClaimedAddress& what, Held& held);
  void keep(Held& held);
  bool is_of_another_backend(const Held& held);
  void let_go(Held& held);
  void hold_each_at(const ClaimedAddress& what);
  template <class Visit>
  void each_at(const ClaimedAddress& what, const Visit& visit);
  std::string describe(const ClaimedAddress& what) const;

  abi::Family family_;
  KeptSockets* kept_;
  bool beside_predecessor_;
  KeptClaims of_others_;
  Map held_;
  unsigned looks_ = kLooks;
};

}  // namespace sluice::userspace
