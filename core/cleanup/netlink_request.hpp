// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Netlink requests with results as errno values.
#pragma once

#include "lib/netlink/message.hpp"
#include "lib/netlink/socket.hpp"

namespace sluice::cleanup {

// `family`: AF_…, or a value that the subsystem defines. Throws std::bad_alloc.
lib::netlink::Message netfilter_message(int subsystem, int type, int flags, int family);

// Sends one request and passes each object of the reply to `take`. A request with the flag NLM_F_DUMP gets one try.
// Returns 0, the errno of the refusal, or that of an exchange whose result is unknown: EINTR if the data changed during
// the dump.
int ask(lib::netlink::Socket& kernel, const lib::netlink::Message& request, const lib::netlink::Socket::Take& take = {});

// Whether the error means that the kernel lacks the subsystem.
bool is_unsupported(int error);

}  // namespace sluice::cleanup
