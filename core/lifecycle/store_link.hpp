// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The connection to a store of descriptors outside this process. Used by one thread at a time.
#pragma once

#include <string>

namespace sluice::lifecycle {

class StoreLink {
 public:
  enum class Opened {
    failed,
    absent,  // there is no store, which is no fault; one may come
    same,   // the store has what was sent to it earlier
    empty,  // a new store: everything must be sent again
  };

  virtual ~StoreLink() = default;

  // For messages: "service manager".
  virtual const char* name() const = 0;

  // Connects, unless a connection exists.
  virtual Opened open() = 0;
  virtual void close() = 0;
  // -1: not connected. poll() must report room for a message.
  virtual int socket() const = 0;
  // The messages that store a descriptor and remove it. A store replaces an earlier descriptor with the same name, or
  // has it beside the new one.
  virtual std::string store_message(const std::string& name) const = 0;
  virtual std::string remove_message(const std::string& name) const = 0;

  // The store uses the connection to send messages, and to show its end.
  virtual bool answers() const = 0;
  // Reads pending messages. False: the connection has ended.
  virtual bool read() = 0;
  // Everything that was queued has been sent.
  virtual void settled() = 0;
};

}  // namespace sluice::lifecycle
