// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Inputs of the ipvs backend: netlink replies about virtual servers and addresses, the drain file, settings.
#include <fcntl.h>
#include <linux/netlink.h>
#include <netlink/msg.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "plugins/ipvs/links/netlink_links.hpp"
#include "plugins/ipvs/servers/drain_file.hpp"
#include "plugins/ipvs/servers/ipvs_codec.hpp"
#include "plugins/ipvs/servers/netlink_servers.hpp"
#include "plugins/ipvs/settings.hpp"
#include "sluice/sdk/options.hpp"
#include "sluice/sdk/error.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

using ipvs::NetlinkLinks;
using ipvs::NetlinkServers;

abi::Family family_of(Input& in) { return in.flag() ? abi::Family::kIpv6 : abi::Family::kIpv4; }

// A socket that receives datagrams from the input: for each a choice byte, its size in units of four bytes, and its
// bytes. An odd choice makes all of its messages replies to the last request. After the last one receive() times out.
class Answers final : public lib::netlink::RawSocket {
 public:
  explicit Answers(Input& in) : in_(in) {}

  int send(std::string_view datagram) noexcept override {
    nlmsghdr header{};
    std::memcpy(&header, datagram.data(), std::min(datagram.size(), sizeof(header)));
    asked_ = header.nlmsg_seq;
    return 0;
  }
  long receive(std::span<char> into, std::chrono::milliseconds) noexcept override {
    const bool ours = in_.flag();
    const std::string_view bytes = in_.take(4 * in_.below(256));
    if (bytes.empty()) return -EAGAIN;
    std::memcpy(into.data(), bytes.data(), bytes.size());
    int left = static_cast<int>(bytes.size());
    auto* message = reinterpret_cast<nlmsghdr*>(into.data());
    for (std::uint32_t i = asked_; ours && nlmsg_ok(message, left); message = nlmsg_next(message, &left)) {
      message->nlmsg_pid = port_id();
      message->nlmsg_seq = (message->nlmsg_flags & NLM_F_MULTI) != 0 ? asked_ : i++;
    }
    return static_cast<long>(bytes.size());
  }
  std::uint32_t port_id() const noexcept override { return 7; }

 private:
  Input& in_;
  std::uint32_t asked_ = 0;
};

netlink::OpenRawSocket socket_from(Input& in) {
  return [&in] { return std::make_unique<Answers>(in); };
}

// Checks that an exception is a failure with a code and a message.
template <class Call>
void attempt(const Call& call) {
  try {
    call();
  } catch (const sdk::Failure& failure) {
    FUZZ_REQUIRE(failure.code() != abi::Code::kOk, "a failure has a code");
    FUZZ_REQUIRE(*failure.what() != '\0', "a failure says what it is");
  }
}

void require_same(const ipvs::VirtualServer& server, abi::Family family) {
  if (server.scheduler.size() >= 16) return;  // no kernel has such a name
  const lib::netlink::Message again = ipvs::encode(1, {ipvs::ServerCommandKind::kAddServer, server, {}, 1}, family);
  const auto read = ipvs::decode_server(nlmsg_hdr(again.get()), family);
  FUZZ_REQUIRE(read && read->key == server.key && read->same_attributes(server), "what is read can be written");
  FUZZ_REQUIRE(is_one_line(ipvs::to_string(server.key, family)), "a virtual server is printed on one line");
}

// A single message in a block of exactly its size.
FUZZ_TARGET(ipvs_message) {
  Input in(input);
  const abi::Family family = family_of(in);
  const std::string_view bytes = in.rest();
  const std::size_t size = NLMSG_HDRLEN + bytes.size();
  const std::unique_ptr<char[]> block(new char[size]);
  auto* const message = reinterpret_cast<nlmsghdr*>(block.get());
  *message = {};
  message->nlmsg_len = static_cast<std::uint32_t>(size);
  message->nlmsg_type = 0x20;
  if (!bytes.empty()) std::memcpy(block.get() + NLMSG_HDRLEN, bytes.data(), bytes.size());
  if (const auto server = ipvs::decode_server(message, family)) require_same(*server, family);
  if (const auto real = ipvs::decode_real_server(message, family)) {
    FUZZ_REQUIRE(is_one_line(ipvs::to_string(real->server, family)), "a real server is printed on one line");
  }
}

FUZZ_TARGET(ipvs_answers) {
  Input in(input);
  const abi::Family family = family_of(in);
  const std::size_t count = in.below(200);
  NetlinkServers kernel(family, socket_from(in), std::chrono::milliseconds(1));
  attempt([&] {
    for (const auto& server : kernel.servers()) require_same(server, family);
  });
  attempt([&] { kernel.real_servers({}); });
  attempt([&] {
    const std::vector<ipvs::ServerCommand> commands(count);
    const std::vector<int> results = kernel.execute(commands);
    FUZZ_REQUIRE(results.size() == count, "each command has its answer");
    FUZZ_REQUIRE(std::all_of(results.begin(), results.end(), [](int error) { return error >= 0; }),
                 "answers are 0 or an errno");
  });
}

FUZZ_TARGET(link_answers) {
  Input in(input);
  const abi::Family family = family_of(in);
  NetlinkLinks kernel(socket_from(in));
  attempt([&] { kernel.find(ipvs::kLinkName); });
  attempt([&] { kernel.addresses(1, family); });
  attempt([&] { kernel.bind(1, family, {abi::Address{}, abi::Address{}}); });
  attempt([&] { kernel.unbind(1, family, {abi::Address{}}); });
}

// A temporary folder of this process.
class Folder {
 public:
  Folder() { FUZZ_REQUIRE(::mkdtemp(name_) != nullptr, "a folder can be made"); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(name_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string name() const { return name_; }

 private:
  char name_[24] = "/tmp/sluice-fuzz-XXXXXX";
};

// First a byte that chooses the family.
FUZZ_TARGET(drain_file) {
  Input in(input);
  const abi::Family family = family_of(in);
  static const Folder folder;
  const std::string path = folder.name() + (family == abi::Family::kIpv6 ? "/ipvs-drains-ipv6" : "/ipvs-drains-ipv4");
  if (std::FILE* const file = std::fopen(path.c_str(), "wb")) {
    const std::string_view text = in.rest();
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
  ipvs::DrainFile file(folder.name(), family, sdk::Logger(nullptr));
  const std::vector<ipvs::SavedDrain> first = file.load();
  for (const ipvs::SavedDrain& drain : first) FUZZ_REQUIRE(drain.deadline >= 0, "a deadline is a time");
  // One save is enough, because each one waits for fsync().
  if (first.size() > 3) return;
  file.save(first);
  const std::vector<ipvs::SavedDrain> second = file.load();
  FUZZ_REQUIRE(std::equal(first.begin(), first.end(), second.begin(), second.end(),
                          [](const ipvs::SavedDrain& a, const ipvs::SavedDrain& b) {
                            return a.server == b.server && a.real == b.real && a.deadline == b.deadline;
                          }),
               "what is saved is read again");
}

// First a byte that chooses the family, then lines "key=value".
FUZZ_TARGET(ipvs_settings) {
  Input bytes(input);
  const abi::Family family = family_of(bytes);
  std::string_view text = bytes.rest();
  std::vector<abi::Option> given;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view key = line.substr(0, line.find('='));
    const std::string_view value = line.substr(std::min(line.size(), key.size() + 1));
    given.push_back({{key.data(), key.size()}, {value.data(), value.size()}, {}, 0, 0});
  }
  const abi::ArrayView view{given.data(), given.size(), sizeof(abi::Option), 0};
  const sdk::Options options(view);
  try {
    const ipvs::Settings settings = ipvs::read_settings(view, family);
    FUZZ_REQUIRE(!settings.scheduler.empty() && settings.scheduler.size() < 16, "the kernel takes such a name");
    FUZZ_REQUIRE(is_one_line(settings.scheduler), "a scheduler is a word");
    for (const auto timeout : {settings.tcp_timeout, settings.tcp_fin_timeout, settings.udp_timeout}) {
      FUZZ_REQUIRE(timeout.count() >= 0 && timeout.count() <= 0x7FFFFFFF, "the kernel takes such a timeout");
    }
    FUZZ_REQUIRE(settings.drain.count() >= 0, "a drain has some time");
    for (const abi::Prefix& prefix : settings.exclude_cidrs) {
      FUZZ_REQUIRE(prefix.length <= 8 * sdk::address_bytes(family), "a prefix is no longer than an address");
    }
  } catch (const sdk::Failure& failure) {
    FUZZ_REQUIRE(failure.code() == abi::Code::kInvalid, "a refusal says so");
    FUZZ_REQUIRE(options.has(failure.object()), "a refusal names a key that was given");
  }
}

}  // namespace
}  // namespace sluice::fuzz
