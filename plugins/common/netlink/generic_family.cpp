// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netlink/generic_family.hpp"

#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cerrno>
#include <utility>

#include "plugins/common/netlink/error.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netlink {

using lib::netlink::integer_attribute;
using lib::netlink::make_generic;
using lib::netlink::Message;
using lib::netlink::must;

GenericFamily::GenericFamily(std::string name, std::string module)
    : name_(std::move(name)), module_(std::move(module)) {}

std::uint16_t GenericFamily::id(Socket& socket) {
  if (id_ != 0) return id_;
  const Message ask = make_generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
  must(nla_put_string(ask.get(), CTRL_ATTR_FAMILY_NAME, name_.c_str()));
  std::uint16_t id = 0;
  const int error = socket.request(ask, [&id](nlmsghdr* answer) {
    const nlattr* const attribute = nlmsg_find_attr(answer, GENL_HDRLEN, CTRL_ATTR_FAMILY_ID);
    if (answer->nlmsg_type == GENL_ID_CTRL && attribute != nullptr) {
      id = static_cast<std::uint16_t>(integer_attribute(attribute));
    }
  });
  if (error == ENOENT || (error == 0 && id == 0)) {
    throw sdk::Failure(abi::Code::kUnsupported, module_,
                       "this kernel has no netlink family " + name_ + ": load the module " + module_ + " (modprobe " +
                           module_ + "), or install a kernel that has it",
                       ENOENT);
  }
  if (error != 0) fail(error, module_, "cannot ask the kernel for its netlink family " + name_);
  return id_ = id;
}

}  // namespace sluice::netlink
