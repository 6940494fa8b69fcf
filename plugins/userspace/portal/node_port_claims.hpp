// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reserves ports of this node for Services with bound sockets. A program that binds such a port
// gets EADDRINUSE instead of a socket that receives no connections. A port that a program has
// already is reported, and its traffic is not redirected (BEH 8.3). Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "lib/fd.hpp"
#include "plugins/userspace/portal/claim_socket.hpp"
#include "plugins/userspace/portal/kept_claims.hpp"
#include "plugins/userspace/portal/kept_sockets.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

class NodePortClaims {
 public:
  // Sockets are kept in, and taken from, `kept`, which may be null and otherwise outlives this object.
  // `beside_old_backend`: another backend of this process holds some of the kept sockets. Otherwise all of them are
  // from an earlier process.
  explicit NodePortClaims(abi::Family family, KeptSockets* kept = nullptr, bool beside_old_backend = false)
      : family_(family), kept_(kept), beside_old_backend_(beside_old_backend), kept_claims_(family, kept) {}

  // Claims for `owner`, the printed name of a service port. Returns an empty string, or a sentence that names the
  // holder: another Service or a program of this node (by name and process ID if known). A kept socket of another
  // backend of this process is shared with it.
  std::string claim(const ClaimedAddress& claimed, const std::string& owner);
  // Throws std::logic_error if `owner` does not hold it.
  void release(const ClaimedAddress& claimed, const std::string& owner);
  // Passes the socket to another owner, so that no program can bind the port in between. Throws as release() does.
  void hand_over(const ClaimedAddress& claimed, const std::string& from, const std::string& to);
  // Null: no service port holds it.
  const std::string* holder(const ClaimedAddress& claimed) const;
  std::size_t size() const noexcept { return held_.size(); }
  // Keeps all sockets again and adds their names to `names`, including names of other backends of this process.
  void keep_all(std::set<std::string>& names);
  // Closes all sockets and drops their names. Other backends that share a socket keep it under their own names.
  void release_all();

  // Binds own sockets for claims that have none, or use a socket of another backend with other addresses. Claims whose
  // socket the other backend still holds do not change.
  void bind_own_sockets();

  // Begins a transaction: resets the number of searches for the program that has a port, each of which reads all of
  // /proc, and lists the claims of other backends again.
  void start_round() noexcept {
    searches_left_ = kMaxSearches;
    kept_claims_.forget_listing();
  }

 private:
  static constexpr unsigned kMaxSearches = 16;
  struct Held {
    std::string owner;
    lib::Fd socket;     // none if a claim of every address covers this one
    std::string name;   // under which `socket` is kept
    bool received;      // `socket` was received from another backend
    bool is_elsewhere;  // `socket` has other addresses, or there is none because a program has the port
  };
  using Map = std::map<ClaimedAddress, Held>;

  Map::iterator find(const ClaimedAddress& claimed, const std::string& owner);
  bool is_covered(const ClaimedAddress& claimed) const;
  // 0, or an errno.
  int hold_alone(const ClaimedAddress& claimed, Held& held);
  int hold(const ClaimedAddress& claimed, Held& held);
  void keep(Held& held);
  bool is_of_another_backend(const Held& held);
  void release_socket(Held& held);
  void hold_each_at(const ClaimedAddress& claimed);
  template <class Visit>
  void each_at(const ClaimedAddress& claimed, const Visit& visit);
  std::string describe(const ClaimedAddress& claimed) const;

  abi::Family family_;
  KeptSockets* kept_;
  bool beside_old_backend_;
  KeptClaims kept_claims_;
  Map held_;
  unsigned searches_left_ = kMaxSearches;
};

}  // namespace sluice::userspace
