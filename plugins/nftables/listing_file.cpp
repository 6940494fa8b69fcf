// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/listing_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "lib/files.hpp"

namespace sluice::nftables {
namespace {

// Another version of the format gets another magic number.
constexpr std::string_view kMagic = "SLNFTLS1";
constexpr std::size_t kHeader = kMagic.size() + sizeof(std::uint64_t);
constexpr std::size_t kMost = 256u << 20;  // bytes: a larger file is not ours

class Output {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_integral_v<T>);
    bytes(&value, sizeof(value));
  }
  void bytes(const void* from, std::size_t count) { content_.append(static_cast<const char*>(from), count); }
  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    bytes(text.data(), text.size());
  }
  std::string& content() { return content_; }

 private:
  std::string content_;
};

// After a malformed part all further values are 0 or empty, and good() is false.
class Input {
 public:
  explicit Input(std::string_view content) : rest_(content) {}

  std::string_view bytes(std::size_t count) {
    if (count > rest_.size()) {
      reject();
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class T>
  T number() {
    T value{};
    const std::string_view taken = bytes(sizeof(value));
    if (taken.size() == sizeof(value)) std::memcpy(&value, taken.data(), sizeof(value));
    return value;
  }
  bool flag() {
    const auto value = number<std::uint8_t>();
    if (value > 1) reject();
    return value == 1;
  }
  std::string text() { return std::string(bytes(number<std::uint32_t>())); }
  // The length of a list whose entries have at least `smallest` bytes.
  std::uint32_t length(std::size_t smallest) {
    const auto length = number<std::uint32_t>();
    if (length > rest_.size() / smallest) reject();
    return good_ ? length : 0;
  }
  void reject() {
    good_ = false;
    rest_ = {};
  }
  bool good() const noexcept { return good_; }
  bool at_end() const noexcept { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void write(const SetSpec& set, Output& out) {
  out.text(set.name);
  for (const std::uint32_t number :
       {set.flags, set.key_type, set.key_size, set.data_type, set.data_size, set.capacity}) {
    out.number(number);
  }
  out.number(set.timeout_ms);
  out.number(static_cast<std::uint8_t>(set.counters));
}

SetSpec read_set(Input& in) {
  SetSpec set;
  set.name = in.text();
  for (std::uint32_t* const number :
       {&set.flags, &set.key_type, &set.key_size, &set.data_type, &set.data_size, &set.capacity}) {
    *number = in.number<std::uint32_t>();
  }
  set.timeout_ms = in.number<std::uint64_t>();
  set.counters = in.flag();
  return set;
}

void write(const std::string& name, const KnownChain& chain, Output& out) {
  out.text(name);
  out.number(static_cast<std::uint8_t>(chain.is_base));
  out.text(chain.hook.type);
  out.number(chain.hook.hook);
  out.number(chain.hook.priority);
  out.number(static_cast<std::uint32_t>(chain.rules.size()));
  for (const Rule& rule : chain.rules) {
    out.text(rule.text);
    out.text(rule.comment);
  }
}

void read_chain(Input& in, Listing& listing) {
  std::string name = in.text();
  KnownChain chain;
  chain.is_base = in.flag();
  chain.hook.type = in.text();
  chain.hook.hook = in.number<std::uint32_t>();
  chain.hook.priority = in.number<std::int32_t>();
  for (std::uint32_t left = in.length(2 * sizeof(std::uint32_t)); left > 0 && in.good(); --left) {
    Rule rule;
    rule.text = in.text();
    rule.comment = in.text();
    chain.rules.push_back(std::move(rule));
  }
  if (!listing.chains.emplace(std::move(name), std::move(chain)).second) in.reject();
}

void write(const RecordTable& records, Output& out) {
  for (std::size_t place = 0; place < records.size(); ++place) {
    const Key key = records.key(place);
    const Data data = records.data(place);
    out.bytes(key.data(), key.size());
    out.bytes(data.data(), data.size());
    out.number(records.comment(place));
  }
}

void read_records(Input& in, const SetSpec& spec, RecordTable& records) {
  const std::size_t step = std::size_t{spec.key_size} + spec.data_size;
  const std::uint32_t count = in.length(step + sizeof(std::uint64_t));
  records = RecordTable(spec.key_size, spec.data_size);
  for (std::uint32_t left = count; left > 0; --left) {
    const std::string_view element = in.bytes(step);
    records.add(element.data(), element.data() + spec.key_size, in.number<std::uint64_t>());
  }
  records.sort();
  if (records.size() != count) in.reject();
}

}  // namespace

std::string encode_listing(abi::Family family, const TableState& state, const Listing& listing) {
  Output out;
  out.bytes(kMagic.data(), kMagic.size());
  out.number(std::uint64_t{0});
  out.number(static_cast<std::uint8_t>(family));
  out.text(state.place);
  out.number(state.generation);
  out.number(static_cast<std::uint32_t>(listing.sets.size()));
  for (const auto& [name, set] : listing.sets) write(set, out);
  out.number(static_cast<std::uint32_t>(listing.chains.size()));
  for (const auto& [name, chain] : listing.chains) write(name, chain, out);
  out.number(static_cast<std::uint32_t>(listing.dispatch.size()));
  for (const DispatchWrite& one : listing.dispatch) {
    out.number(static_cast<std::uint8_t>(one.firewall));
    out.number(one.number);
    out.text(one.chain);
  }
  // With their names, as another build may number the sets in another way.
  for (std::size_t i = 0; i < kSetCount; ++i) {
    const SetSpec spec = set_spec(family, static_cast<SetId>(i));
    if (!listing.sets.contains(spec.name)) continue;
    out.text(spec.name);
    out.number(static_cast<std::uint32_t>(listing.records[i].size()));
    write(listing.records[i], out);
  }
  std::string& content = out.content();
  const std::uint64_t hash = hash_bytes(content.data() + kHeader, content.size() - kHeader);
  std::memcpy(content.data() + kMagic.size(), &hash, sizeof(hash));
  return std::move(content);
}

std::optional<SavedListing> decode_listing(abi::Family family, std::string_view content) {
  Input in(content);
  if (in.bytes(kMagic.size()) != kMagic) return std::nullopt;
  const auto hash = in.number<std::uint64_t>();
  if (!in.good() || hash != hash_bytes(content.data() + kHeader, content.size() - kHeader)) return std::nullopt;
  if (in.number<std::uint8_t>() != static_cast<std::uint8_t>(family)) return std::nullopt;
  SavedListing saved;
  Listing& listing = saved.listing;
  saved.state.place = in.text();
  saved.state.generation = listing.generation = in.number<std::uint32_t>();
  listing.exists = listing.saved = true;
  for (std::uint32_t left = in.length(sizeof(std::uint32_t)); left > 0 && in.good(); --left) {
    SetSpec set = read_set(in);
    std::string name = set.name;
    if (!listing.sets.emplace(std::move(name), std::move(set)).second) in.reject();
  }
  for (std::uint32_t left = in.length(sizeof(std::uint32_t)); left > 0 && in.good(); --left) read_chain(in, listing);
  for (std::uint32_t left = in.length(sizeof(std::uint32_t)); left > 0 && in.good(); --left) {
    DispatchWrite one;
    one.firewall = in.flag();
    one.number = in.number<std::uint32_t>();
    one.chain = in.text();
    listing.dispatch.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < kSetCount && in.good(); ++i) {
    const SetSpec wanted = set_spec(family, static_cast<SetId>(i));
    const auto listed = listing.sets.find(wanted.name);
    if (listed == listing.sets.end()) continue;
    if (listed->second.key_size != wanted.key_size || listed->second.data_size != wanted.data_size) in.reject();
    if (in.text() != wanted.name) in.reject();
    read_records(in, wanted, listing.records[i]);
  }
  if (!in.at_end()) return std::nullopt;
  return saved;
}

ListingFile::ListingFile(std::string_view folder, abi::Family family, sdk::Logger log) : family_(family), log_(log) {
  if (folder.empty()) return;
  path_ = std::string(folder) + (family == abi::Family::kIpv6 ? "/listing-ipv6" : "/listing-ipv4");
}

void ListingFile::save(const TableState& state, const Listing& listing) const {
  if (path_.empty()) return;
  const lib::Status saved = lib::write_file_atomically(path_, encode_listing(family_, state, listing), 0600);
  if (!saved.ok()) {
    log_.info(saved.message() + "; the next start reads the table back");
    remove();
  }
}

std::optional<Listing> ListingFile::load(TableKernel& kernel) const {
  if (path_.empty()) return std::nullopt;
  const auto content = lib::read_file(path_, kMost, /*only_regular=*/true);
  if (!content) {
    if (content.status().os_errno() != ENOENT) log_.debug(content.status().message());
    return std::nullopt;
  }
  std::optional<SavedListing> saved = decode_listing(family_, *content);
  if (!saved) {
    log_.debug("saved listing " + path_ + " is ignored: malformed, or in the format of another version");
    return std::nullopt;
  }
  const std::optional<TableState> now = kernel.state();
  if (!now || now->place != saved->state.place) {
    log_.debug("saved listing " + path_ + " is ignored: it is of another boot, network namespace or table");
    return std::nullopt;
  }
  if (now->generation != saved->state.generation) {
    log_.debug("saved listing " + path_ + " is ignored: nf_tables has changed since, from generation " +
               std::to_string(saved->state.generation) + " to " + std::to_string(now->generation));
    return std::nullopt;
  }
  return std::move(saved->listing);
}

void ListingFile::remove() const noexcept {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace sluice::nftables
