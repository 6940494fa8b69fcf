// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/netlink_request.hpp"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <cerrno>
#include <cstdint>

namespace sluice::cleanup {

lib::netlink::Message netfilter_message(int subsystem, int type, int flags, int family) {
  nfgenmsg header{};
  header.nfgen_family = static_cast<std::uint8_t>(family);
  header.version = NFNETLINK_V0;
  return lib::netlink::make_message(static_cast<std::uint16_t>((subsystem << 8) | type), static_cast<std::uint16_t>(flags),
                                    header);
}

int ask(lib::netlink::Socket& kernel, const lib::netlink::Message& request, const lib::netlink::Socket::Take& take) {
  nlmsghdr* const message = header_of(request);
  if ((message->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP) {
    const auto answer = kernel.request(message, take);
    return answer ? *answer : answer.status().os_errno();
  }
  const auto end = kernel.read_dump(message, [&take](nlmsghdr* object) {
    take(object);
    return true;
  });
  return end.error == 0 && end.interrupted ? EINTR : end.error;
}

bool is_unsupported(int error) { return error == EPROTONOSUPPORT || error == EOPNOTSUPP || error == EINVAL; }

}  // namespace sluice::cleanup
