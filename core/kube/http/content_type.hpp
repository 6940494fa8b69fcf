// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Media types of requests and responses of the API server.
#pragma once

namespace sluice::kube {

inline constexpr const char* kJsonType = "application/json";
inline constexpr const char* kProtobufType = "application/vnd.kubernetes.protobuf";
// Protobuf, and JSON from a server that does not offer it.
inline constexpr const char* kObjectTypes = "application/vnd.kubernetes.protobuf, application/json";

}  // namespace sluice::kube
