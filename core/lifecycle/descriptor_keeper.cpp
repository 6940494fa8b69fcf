// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/descriptor_keeper.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/lifecycle/manager_link.hpp"

namespace sluice::lifecycle {
namespace {

constexpr std::size_t kMaxNameLength = 200;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameLength && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

lib::Fd duplicate(int fd) { return lib::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

// To keep the same socket again needs no message to the manager.
bool same_socket(int one, int other) {
  struct stat first {
  }, second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && S_ISSOCK(first.st_mode) &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace

class DescriptorKeeper::View final : public plugin::BackendDescriptors {
 public:
  View(DescriptorKeeper& keeper, std::string backend, lib::Family family)
      : keeper_(keeper), backend_(std::move(backend)), family_(family) {}

  lib::Status keep(std::string_view name, int fd) override { return keeper_.keep(full_name(name), fd); }
  int take(std::string_view name) override { return keeper_.duplicate_of(full_name(name)); }
  void drop(std::string_view name) override { keeper_.drop(full_name(name)); }
  std::vector<std::string> names() override { return keeper_.names(backend_, family_); }

 private:
  KeptName full_name(std::string_view name) const { return {backend_, family_, std::string(name)}; }

  DescriptorKeeper& keeper_;
  const std::string backend_;
  const lib::Family family_;
};

DescriptorKeeper::DescriptorKeeper(const base::Notifier& manager, std::vector<base::PassedDescriptor> passed)
    : has_store_(manager.is_enabled()),
      sender_(has_store_ ? std::make_unique<ManagerLink>(manager.address()) : nullptr, *this) {
  take_passed(std::move(passed), true);
}

DescriptorKeeper::~DescriptorKeeper() { stop(std::chrono::milliseconds(0)); }

void DescriptorKeeper::use_holder(std::unique_ptr<HolderLink> holder, bool keeps) {
  if (has_store_) return holder->end();
  auto passed = holder->take();
  if (!keeps) {
    holder->end();
    return take_passed(std::move(passed), false);
  }
  has_store_ = true;
  holder_ = holder.get();
  const bool stored = holder->socket() >= 0;
  sender_.use(std::move(holder));
  take_passed(std::move(passed), stored);
  sender_.watch();
}

void DescriptorKeeper::take_passed(std::vector<base::PassedDescriptor> passed, bool stored) {
  const lib::Lock lock(mutex_);
  std::set<std::string> names_to_remove;
  std::size_t unknown = 0;
  for (base::PassedDescriptor& one : passed) {
    if (one.name != DescriptorIndex::kName) continue;
    if (stored) sender_.known(one.name);
    index_.emplace(std::move(one.fd));
  }
  for (base::PassedDescriptor& one : passed) {
    if (one.name == DescriptorIndex::kName) continue;
    const auto slot = DescriptorIndex::slot_of(one.name);
    if (!slot) {
      ++unknown;
      continue;  // closes it
    }
    if (stored) sender_.known(one.name);
    next_slot_ = std::max(next_slot_, *slot + 1);
    const auto name = index_ ? index_->at(*slot) : std::nullopt;
    if (!name) {
      names_to_remove.insert(one.name);
      continue;
    }
    // Of two descriptors with the same name, the manager keeps one.
    const auto before = kept_.find(*name);
    if (before != kept_.end()) {
      names_to_remove.insert(DescriptorIndex::slot_name(*before->second.slot));
      slots_.erase(*before->second.slot);
    }
    kept_[*name] = {std::move(one.fd), slot};
    slots_[*slot] = *name;
  }
  passed_ = kept_.size();
  for (unsigned slot = 0; slot < next_slot_; ++slot) {
    if (!slots_.contains(slot) && !names_to_remove.contains(DescriptorIndex::slot_name(slot))) free_slots_.insert(slot);
  }
  if (unknown != 0) {
    base::log(base::message::kDescriptorsUnknown,
              "closing unknown descriptors passed to this process: " + std::to_string(unknown) + " of " +
                  std::to_string(passed.size()),
              {{"count", unknown}});
  }
  for (const std::string& name : names_to_remove) sender_.changed(name);
  if (stored || !index_) return;
  sender_.changed(DescriptorIndex::kName);
  for (const auto& [slot, name] : slots_) sender_.changed(DescriptorIndex::slot_name(slot));
}

std::shared_ptr<plugin::BackendDescriptors> DescriptorKeeper::descriptors_for(std::string backend, lib::Family family) {
  return std::make_shared<View>(*this, std::move(backend), family);
}

lib::Status DescriptorKeeper::keep(const KeptName& name, int fd) {
  if (!is_name(name.name)) {
    return lib::invalid("invalid descriptor name '" + name.name + "': must be 1 to 200 letters, digits and '-_.'");
  }
  lib::Fd copy = duplicate(fd);
  if (!copy.valid()) return lib::errno_status("cannot keep descriptor " + name.name, errno);
  const lib::Lock lock(mutex_);
  Kept& kept = kept_[name];
  if (kept.fd.valid() && same_socket(kept.fd.get(), copy.get())) return {};
  kept.fd = std::move(copy);
  if (!kept.slot && has_store_) kept.slot = new_slot(name);
  if (kept.slot) sender_.changed(DescriptorIndex::slot_name(*kept.slot));
  return {};
}

std::optional<unsigned> DescriptorKeeper::new_slot(const KeptName& name) {
  if (!index_) {
    auto made = DescriptorIndex::make();
    if (!made) {
      warn_not_stored(name, made.status().message());
      return std::nullopt;
    }
    index_ = std::move(*made);
    sender_.changed(DescriptorIndex::kName);  // before the descriptors that it names
  }
  const unsigned slot = free_slots_.empty() ? next_slot_ : *free_slots_.begin();
  if (slot >= DescriptorIndex::kSlots) {
    warn_not_stored(name, "all " + std::to_string(slot) + " slots are in use");
    return std::nullopt;
  }
  if (const auto status = index_->put(slot, name); !status.ok()) {
    warn_not_stored(name, status.message());
    return std::nullopt;
  }
  if (free_slots_.erase(slot) == 0) ++next_slot_;
  slots_[slot] = name;
  return slot;
}

void DescriptorKeeper::warn_not_stored(const KeptName& name, const std::string& why) {
  if (std::exchange(warned_, true)) return;
  base::log(base::message::kDescriptorNotStored,
            "cannot hand descriptor " + name.name + " of backend " + name.backend + " to the next process: " + why +
                "; later failures are not logged",
            {{"backend", name.backend}, {"name", name.name}, {"error", why}});
}

int DescriptorKeeper::duplicate_of(const KeptName& name) const {
  const lib::Lock lock(mutex_);
  const auto found = kept_.find(name);
  return found == kept_.end() ? -1 : ::fcntl(found->second.fd.get(), F_DUPFD_CLOEXEC, 0);
}

void DescriptorKeeper::drop(const KeptName& name) {
  const lib::Lock lock(mutex_);
  const auto found = kept_.find(name);
  if (found == kept_.end()) return;
  const auto slot = found->second.slot;
  kept_.erase(found);
  if (!slot) return;
  slots_.erase(*slot);
  sender_.changed(DescriptorIndex::slot_name(*slot));
  if (holder_ == nullptr || !slots_.empty()) return;
  // A holder ends with its last descriptor.
  index_.reset();
  sender_.changed(DescriptorIndex::kName);
}

std::vector<std::string> DescriptorKeeper::names(const std::string& backend, lib::Family family) const {
  const lib::Lock lock(mutex_);
  std::vector<std::string> out;
  for (auto it = kept_.lower_bound({backend, family, {}});
       it != kept_.end() && it->first.backend == backend && it->first.family == family; ++it) {
    out.push_back(it->first.name);
  }
  return out;
}

void DescriptorKeeper::drop_unused(const std::vector<std::string>& backends_in_use) {
  std::vector<KeptName> unused;
  {
    const lib::Lock lock(mutex_);
    for (const auto& [name, kept] : kept_) {
      if (std::find(backends_in_use.begin(), backends_in_use.end(), name.backend) == backends_in_use.end()) {
        unused.push_back(name);
      }
    }
  }
  for (const KeptName& name : unused) drop(name);
}

lib::Fd DescriptorKeeper::current(const std::string& name) const {
  const lib::Lock lock(mutex_);
  if (name == DescriptorIndex::kName) return index_ ? duplicate(index_->file().get()) : lib::Fd();
  const auto slot = DescriptorIndex::slot_of(name);
  const auto in_use = slot ? slots_.find(*slot) : slots_.end();
  return in_use == slots_.end() ? lib::Fd() : duplicate(kept_.at(in_use->second).fd.get());
}

// A slot is reused only after the manager has removed it. Otherwise, a process killed in between would hand on one
// descriptor under the name of another.
void DescriptorKeeper::removed(const std::string& name) {
  const auto slot = DescriptorIndex::slot_of(name);
  const lib::Lock lock(mutex_);
  if (slot && !slots_.contains(*slot)) free_slots_.insert(*slot);
}

void DescriptorKeeper::stop(std::chrono::milliseconds timeout) { sender_.stop(timeout); }

std::vector<std::string> DescriptorKeeper::all() const {
  const lib::Lock lock(mutex_);
  std::vector<std::string> out;
  if (index_) out.emplace_back(DescriptorIndex::kName);
  for (const auto& [slot, name] : slots_) out.push_back(DescriptorIndex::slot_name(slot));
  return out;
}

DescriptorKeeper::Statistics DescriptorKeeper::statistics() const {
  const lib::Lock lock(mutex_);
  Statistics out{kept_.size(), passed_, sender_.pending()};
  if (has_store_ && holder_ == nullptr) out.store = "service manager";
  if (holder_ != nullptr && holder_->connected()) {
    out.store = holder_->name();
    out.holder = holder_->process();
  }
  return out;
}

}  // namespace sluice::lifecycle
