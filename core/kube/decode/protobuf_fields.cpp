// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Numbers and types are those of generated.proto in k8s.io/api and k8s.io/apimachinery, which never change; keys and
// `omitempty` are those of types.go.

#include "core/kube/decode/protobuf_fields.hpp"

namespace sluice::kube {
namespace {

using Type = ProtobufField::Type;
using Of = ProtobufField::Of;

constexpr ProtobufField text(std::uint32_t number, std::string_view key) { return {number, key, Type::text}; }
constexpr ProtobufField integer(std::uint32_t number, std::string_view key) { return {number, key, Type::integer}; }
constexpr ProtobufField boolean(std::uint32_t number, std::string_view key) { return {number, key, Type::boolean}; }
constexpr ProtobufField time(std::uint32_t number, std::string_view key) { return {number, key, Type::time}; }
constexpr ProtobufField message(std::uint32_t number, std::string_view key, const ProtobufMessage& of) {
  return {number, key, Type::message, ProtobufField::Zero::omitted, false, &of};
}
constexpr ProtobufField text_by_key(std::uint32_t number, std::string_view key,
                                    std::span<const std::string_view> keys) {
  return {number, key, Type::text_by_key, ProtobufField::Zero::omitted, false, nullptr, keys};
}
constexpr ProtobufField with_wanted(ProtobufField field) {
  field.wanted_annotations = true;
  return field;
}
constexpr ProtobufField detail(ProtobufField::Of details, ProtobufField field) {
  field.of = details;
  return field;
}
constexpr ProtobufField list_of(ProtobufField field) {
  field.repeated = true;
  return field;
}
// Of a pointer, or of a field without `omitempty`.
constexpr ProtobufField shown(ProtobufField field) {
  field.zero = ProtobufField::Zero::shown;
  return field;
}

// meta/v1

// Of each kind, because the bookmark at the end of the initial events has one.
constexpr std::string_view kAnnotations[] = {"k8s.io/initial-events-end"};
constexpr std::string_view kEndpointAnnotations[] = {"k8s.io/initial-events-end",
                                                     "endpoints.kubernetes.io/last-change-trigger-time"};
constexpr std::string_view kSliceLabels[] = {"kubernetes.io/service-name"};
constexpr std::string_view kNodeLabels[] = {"topology.kubernetes.io/zone"};
constexpr ProtobufField kServiceMetaFields[] = {text(1, "name"), text(3, "namespace"),
                                                detail(Of::service_details, text(5, "uid")), text(6, "resourceVersion"),
                                                time(8, "creationTimestamp"),
                                                with_wanted(text_by_key(12, "annotations", kAnnotations))};
constexpr ProtobufMessage kServiceMeta{kServiceMetaFields};
constexpr ProtobufField kEndpointsMetaFields[] = {text(1, "name"), text(3, "namespace"), text(6, "resourceVersion"),
                                                  text_by_key(11, "labels", kSliceLabels),
                                                  text_by_key(12, "annotations", kEndpointAnnotations)};
constexpr ProtobufMessage kEndpointsMeta{kEndpointsMetaFields};
constexpr ProtobufField kNodeMetaFields[] = {text(1, "name"), text(6, "resourceVersion"), time(9, "deletionTimestamp"),
                                             text_by_key(11, "labels", kNodeLabels),
                                             text_by_key(12, "annotations", kAnnotations)};
constexpr ProtobufMessage kNodeMeta{kNodeMetaFields};
constexpr ProtobufField kServiceCidrMetaFields[] = {text(1, "name"), text(6, "resourceVersion"),
                                                    text_by_key(12, "annotations", kAnnotations)};
constexpr ProtobufMessage kServiceCidrMeta{kServiceCidrMetaFields};

constexpr ProtobufField kListMetaFields[] = {text(2, "resourceVersion"), text(3, "continue")};
constexpr ProtobufMessage kListMeta{kListMetaFields};

constexpr ProtobufField kStatusCauseFields[] = {text(1, "reason")};
constexpr ProtobufMessage kStatusCause{kStatusCauseFields};
constexpr ProtobufField kStatusDetailsFields[] = {list_of(message(4, "causes", kStatusCause)),
                                                  integer(5, "retryAfterSeconds")};
constexpr ProtobufMessage kStatusDetails{kStatusDetailsFields};
constexpr ProtobufField kStatusFields[] = {text(3, "message"), text(4, "reason"), message(5, "details", kStatusDetails),
                                           integer(6, "code")};
constexpr ProtobufMessage kStatus{kStatusFields};

// core/v1 Service

constexpr ProtobufField kServicePortFields[] = {text(1, "name"), text(2, "protocol"), shown(integer(3, "port")),
                                                integer(5, "nodePort"),
                                                detail(Of::service_details, shown(text(6, "appProtocol")))};
constexpr ProtobufMessage kServicePort{kServicePortFields};
constexpr ProtobufField kClientIpFields[] = {shown(integer(1, "timeoutSeconds"))};
constexpr ProtobufMessage kClientIp{kClientIpFields};
constexpr ProtobufField kSessionAffinityFields[] = {message(1, "clientIP", kClientIp)};
constexpr ProtobufMessage kSessionAffinity{kSessionAffinityFields};
constexpr ProtobufField kServiceSpecFields[] = {list_of(message(1, "ports", kServicePort)),
                                                text(3, "clusterIP"),
                                                text(4, "type"),
                                                list_of(text(5, "externalIPs")),
                                                text(7, "sessionAffinity"),
                                                list_of(text(9, "loadBalancerSourceRanges")),
                                                text(11, "externalTrafficPolicy"),
                                                integer(12, "healthCheckNodePort"),
                                                message(14, "sessionAffinityConfig", kSessionAffinity),
                                                list_of(text(18, "clusterIPs")),
                                                list_of(text(19, "ipFamilies")),
                                                shown(text(22, "internalTrafficPolicy"))};
constexpr ProtobufMessage kServiceSpec{kServiceSpecFields};
constexpr ProtobufField kIngressFields[] = {text(1, "ip"), shown(text(3, "ipMode"))};
constexpr ProtobufMessage kIngress{kIngressFields};
constexpr ProtobufField kLoadBalancerFields[] = {list_of(message(1, "ingress", kIngress))};
constexpr ProtobufMessage kLoadBalancer{kLoadBalancerFields};
constexpr ProtobufField kServiceStatusFields[] = {message(1, "loadBalancer", kLoadBalancer)};
constexpr ProtobufMessage kServiceStatus{kServiceStatusFields};
constexpr ProtobufField kServiceFields[] = {message(1, "metadata", kServiceMeta), message(2, "spec", kServiceSpec),
                                            message(3, "status", kServiceStatus)};
constexpr ProtobufMessage kService{kServiceFields};

// core/v1 ObjectReference of an endpoint

constexpr ProtobufField kTargetFields[] = {text(1, "kind"), text(2, "namespace"), text(3, "name"), text(4, "uid")};
constexpr ProtobufMessage kTarget{kTargetFields};

// discovery.k8s.io/v1 EndpointSlice

constexpr ProtobufField kConditionsFields[] = {shown(boolean(1, "ready")), shown(boolean(2, "serving")),
                                               shown(boolean(3, "terminating"))};
constexpr ProtobufMessage kConditions{kConditionsFields};
constexpr ProtobufField kHintFields[] = {shown(text(1, "name"))};
constexpr ProtobufMessage kHint{kHintFields};
constexpr ProtobufField kHintsFields[] = {list_of(message(1, "forZones", kHint)),
                                          list_of(message(2, "forNodes", kHint))};
constexpr ProtobufMessage kHints{kHintsFields};
constexpr ProtobufField kEndpointFields[] = {list_of(text(1, "addresses")), message(2, "conditions", kConditions),
                                             detail(Of::endpoint_details, message(4, "targetRef", kTarget)),
                                             shown(text(6, "nodeName")),
                                             detail(Of::endpoint_details, shown(text(7, "zone"))),
                                             message(8, "hints", kHints)};
constexpr ProtobufMessage kEndpoint{kEndpointFields};
constexpr ProtobufField kSlicePortFields[] = {shown(text(1, "name")), shown(text(2, "protocol")),
                                              shown(integer(3, "port"))};
constexpr ProtobufMessage kSlicePort{kSlicePortFields};
constexpr ProtobufField kEndpointSliceFields[] = {message(1, "metadata", kEndpointsMeta),
                                                  list_of(message(2, "endpoints", kEndpoint)),
                                                  list_of(message(3, "ports", kSlicePort)),
                                                  shown(text(4, "addressType"))};
constexpr ProtobufMessage kEndpointSlice{kEndpointSliceFields};

// core/v1 Endpoints

constexpr ProtobufField kEndpointAddressFields[] = {shown(text(1, "ip")),
                                                    detail(Of::endpoint_details, message(2, "targetRef", kTarget)),
                                                    shown(text(4, "nodeName"))};
constexpr ProtobufMessage kEndpointAddress{kEndpointAddressFields};
constexpr ProtobufField kEndpointPortFields[] = {text(1, "name"), shown(integer(2, "port")), text(3, "protocol")};
constexpr ProtobufMessage kEndpointPort{kEndpointPortFields};
constexpr ProtobufField kSubsetFields[] = {list_of(message(1, "addresses", kEndpointAddress)),
                                           list_of(message(2, "notReadyAddresses", kEndpointAddress)),
                                           list_of(message(3, "ports", kEndpointPort))};
constexpr ProtobufMessage kSubset{kSubsetFields};
constexpr ProtobufField kEndpointsFields[] = {message(1, "metadata", kEndpointsMeta),
                                              list_of(message(2, "subsets", kSubset))};
constexpr ProtobufMessage kEndpoints{kEndpointsFields};

// core/v1 Node

constexpr ProtobufField kTaintFields[] = {shown(text(1, "key"))};
constexpr ProtobufMessage kTaint{kTaintFields};
constexpr ProtobufField kNodeSpecFields[] = {text(1, "podCIDR"), list_of(message(5, "taints", kTaint)),
                                             list_of(text(7, "podCIDRs"))};
constexpr ProtobufMessage kNodeSpec{kNodeSpecFields};
constexpr ProtobufField kNodeAddressFields[] = {shown(text(1, "type")), shown(text(2, "address"))};
constexpr ProtobufMessage kNodeAddress{kNodeAddressFields};
constexpr ProtobufField kNodeStatusFields[] = {list_of(message(5, "addresses", kNodeAddress))};
constexpr ProtobufMessage kNodeStatus{kNodeStatusFields};
constexpr ProtobufField kNodeFields[] = {message(1, "metadata", kNodeMeta), message(2, "spec", kNodeSpec),
                                         message(3, "status", kNodeStatus)};
constexpr ProtobufMessage kNode{kNodeFields};

// networking.k8s.io ServiceCIDR, v1 and v1beta1

constexpr ProtobufField kServiceCidrSpecFields[] = {list_of(text(1, "cidrs"))};
constexpr ProtobufMessage kServiceCidrSpec{kServiceCidrSpecFields};
constexpr ProtobufField kServiceCidrFields[] = {message(1, "metadata", kServiceCidrMeta),
                                                message(2, "spec", kServiceCidrSpec)};
constexpr ProtobufMessage kServiceCidr{kServiceCidrFields};

}  // namespace

const ProtobufMessage& protobuf_message(model::ResourceKind kind, bool endpoints) {
  switch (kind) {
    case model::ResourceKind::service:
      return kService;
    case model::ResourceKind::endpoint_slice:
      return endpoints ? kEndpoints : kEndpointSlice;
    case model::ResourceKind::node:
      return kNode;
    case model::ResourceKind::service_cidr:
      break;
  }
  return kServiceCidr;
}

const ProtobufMessage& protobuf_status() { return kStatus; }
const ProtobufMessage& protobuf_list_meta() { return kListMeta; }

}  // namespace sluice::kube
