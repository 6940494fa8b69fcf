// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/submitter.hpp"

#include <algorithm>
#include <utility>

namespace sluice::netfilter {

bool Submitter::send(const RestoreInput& input, const Explain& explain) {
  refused_at_.clear();
  bool clean = true;
  std::size_t commit = 0;
  if (!one_by_one_) {
    const auto refusal = session_.try_send(input);
    if (!refusal) return true;
    begin_search(*refusal, explain);
    if (!refusal->committed) {
      one_by_one_ = starts_over_ = true;
      throw sdk::Failure(refusal->why.code(), {},
                         std::string("cannot determine how many COMMITs succeeded: ") + refusal->why.what());
    }
    commit = *refusal->committed;
    clean = false;
    settle(input, commit++, suspect_of(*refusal));
  }
  for (; commit < input.commits(); ++commit) {
    Owner suspect = kNoSuspect;
    if (clean) {
      const auto refusal = session_.try_send(input.part(commit, [](Owner) { return true; }));
      if (!refusal) continue;
      begin_search(*refusal, explain);
      clean = false;
      suspect = suspect_of(*refusal);
    }
    settle(input, commit, suspect);
  }
  if (!refused_at_.empty()) {
    session_.send(input.undo_insertions([&](Owner owner, std::size_t at) {
      const auto found = refused_at_.find(owner);
      return found != refused_at_.end() && at < found->second;
    }));
  }
  return clean;
}

void Submitter::search(const RestoreInput& trial, const Refusal& why) {
  const std::size_t known = refused_.size();
  send(trial);
  starts_over_ = refused_.size() != known;
  throw sdk::Failure(why.why.code(), {}, sentence(why));
}

void Submitter::begin_search(const Refusal& refusal, const Explain& explain) {
  if (attempts_++ == 0) begin_ = now_();
  if (explain) explain(refusal);
}

void Submitter::settle(const RestoreInput& input, std::size_t commit, Owner suspect) {
  session_.send(input.part(commit, [](Owner owner) { return owner == RestoreInput::kCommon; }));
  Owners owners;
  for (Owner owner = RestoreInput::kFirstOwner; owner < input.owners_end(); ++owner) {
    if (!refused_at_.contains(owner)) owners.push_back(owner);
  }
  settle(input, commit, std::move(owners), suspect);
}

void Submitter::settle(const RestoreInput& input, std::size_t commit, Owners owners, Owner suspect) {
  while (!owners.empty()) {
    if (suspect != kNoSuspect && std::erase(owners, suspect) != 0) {
      if (const auto alone = attempt(input, commit, {suspect})) {
        refuse(input, commit, suspect, *alone);
      } else {
        trusts_lines_ = false;
      }
      suspect = kNoSuspect;
      continue;
    }
    const auto refusal = attempt(input, commit, owners);
    if (!refusal) return;
    if (owners.size() == 1) {
      refuse(input, commit, owners.front(), *refusal);
      return;
    }
    suspect = suspect_of(*refusal);
    if (std::find(owners.begin(), owners.end(), suspect) != owners.end()) continue;
    const auto middle = owners.begin() + static_cast<std::ptrdiff_t>(owners.size() / 2);
    settle(input, commit, Owners(owners.begin(), middle), kNoSuspect);
    settle(input, commit, Owners(middle, owners.end()), kNoSuspect);
    return;
  }
}

std::optional<Refusal> Submitter::attempt(const RestoreInput& input, std::size_t commit, const Owners& owners) {
  if (attempts_++ >= kMostAttempts || now_() - begin_ > kMostTime) {
    std::string first = refused_.empty() ? "" : "; one is " + refused_.begin()->first + ": " + refused_.begin()->second;
    throw sdk::Failure(abi::Code::kKernel, {},
                       "the kernel refuses the rules of too many service ports to find them all in time" + first);
  }
  // Owners are in ascending order.
  return session_.try_send(
      input.part(commit, [&](Owner owner) { return std::binary_search(owners.begin(), owners.end(), owner); }));
}

Submitter::Owner Submitter::suspect_of(const Refusal& refusal) const {
  if (!trusts_lines_ || !refusal.line || refusal.line->owner < RestoreInput::kFirstOwner) return kNoSuspect;
  return refusal.line->owner;
}

void Submitter::refuse(const RestoreInput& input, std::size_t commit, Owner owner, const Refusal& why) {
  // A rule to be deleted is missing: another process has changed the table, so the service port is not the cause.
  if (why.line && why.line->removes()) throw sdk::Failure(why.why.code(), {}, sentence(why));
  refused_at_.emplace(owner, commit);
  refused_.emplace(input.owner_name(owner), sentence(why));
}

}  // namespace sluice::netfilter
