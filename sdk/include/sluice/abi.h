// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0
//
// The plugin ABI for C11 and for what can call C, the same as <sluice/abi/abi.hpp>. sdk/tools/bindings makes it from
// the C++ headers.
//
// A pointer to an interface, for example struct sluice_host*, points to a struct whose first member points to a table
// of functions. Call one with the object as its first argument: host->methods->now(host). An object of your own begins
// with the same member. No function may let an exception or a longjmp() leave it.
//
// Enumerations are integers, because minor versions may add values.
#ifndef SLUICE_ABI_H
#define SLUICE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SLUICE_ASSERT(test) static_assert(test, #test)
#else
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "The ABI of Sluice takes C11 or later"
#endif
#define SLUICE_ASSERT(test) _Static_assert(test, #test)
#endif
#if UINTPTR_MAX != UINT64_MAX
#error "the plugin ABI of Sluice is for 64-bit machines (LP64)"
#endif

// ---- types ----------------------------------------------------------------------------------------------------------
// Types that are passed between sluiced and a backend.
//
// All types have standard layout, are trivially copyable and own nothing. A view is valid until the call that received
// it returns; the callee must copy data that it keeps.
//
// Growth. Each struct is of one of two sorts:
//   fixed: Embedded in others; never grows. Reserved bytes may get a meaning, with zero for the previous behaviour.
//   growing: Grows at the end only. A struct that is passed alone starts with `struct_size`; an array has the `stride`
//     of its elements. The reader must copy min(its own size, the given size or stride) into a zeroed local, so that
//     old and new binaries are compatible. A callee that fills a struct of the caller (sluice_apply_result,
//     sluice_error) must not write beyond its `struct_size`, nor change that field. Zero in a field means the behaviour
//     before the field existed.
// Reserved members must be written as zero and must not be read.
//
// Unknown values: minor versions may add enumeration values and flag bits. Each enumeration states how its reader must
// handle an unknown value. An unknown flag may be ignored: the behaviour without it stays correct.

// "SLC0" as little-endian bytes: the first word of every plugin descriptor in every major version.
#define SLUICE_MAGIC 0x30434C53u

// Must be equal in daemon and plugin.
#define SLUICE_MAJOR 1u

// Incremented with additions. The daemon never rejects a plugin because of a different minor.
#define SLUICE_MINOR 1u

// Fixed. UTF-8, not NUL-terminated. `data` may be null if `size` is 0. Names are passed unchanged from the API server,
// so a backend must validate them before it passes them to other programs. The daemon replaces control characters in
// texts of a backend by spaces.
struct sluice_string_view {
  const char* data;
  uint64_t size;  // bytes
};
SLUICE_ASSERT(sizeof(struct sluice_string_view) == 16 &&
              offsetof(struct sluice_string_view, size) == 8);

// Fixed. `count` elements, `stride` bytes apart; each use names the element type. `data` may be null if `count` is 0.
// `data` must be aligned for the element type of the writer, and `stride` must be a multiple of that alignment.
struct sluice_array_view {
  const void* data;
  uint64_t count;
  uint32_t stride;  // bytes from one element to the next
  uint32_t reserved;
};
SLUICE_ASSERT(sizeof(struct sluice_array_view) == 24 &&
              offsetof(struct sluice_array_view, stride) == 16);

// The result of a call, which determines how the caller continues. An unknown value is treated as SLUICE_CODE_INTERNAL.
// In all headers, "kernel" includes any other data plane that the backend programs.
typedef int32_t sluice_code;
enum {
  SLUICE_CODE_OK = 0,
  // temporary failure: call again later. sluice_backend_methods.retire() defines its own meaning
  SLUICE_CODE_RETRY = 1,
  SLUICE_CODE_NEED_FULL = 2,  // the state differs from the base of the request: a full transaction is required
  SLUICE_CODE_INVALID = 3,  // the request or a setting is invalid; a retry cannot succeed
  SLUICE_CODE_UNSUPPORTED = 4,  // not supported by this backend or kernel
  SLUICE_CODE_DENIED = 5,  // missing privileges
  SLUICE_CODE_KERNEL = 6,  // the kernel, or a tool that configures it, reported an error
  SLUICE_CODE_INTERNAL = 7,  // a defect of the callee
};

// The values are the IP versions. A family without its feature in the descriptor is never passed.
typedef uint8_t sluice_family;
enum {
  SLUICE_FAMILY_IPV4 = 4,
  SLUICE_FAMILY_IPV6 = 6,
};

// The values are the IANA protocol numbers. A backend must report service ports of an unknown or unsupported protocol
// with sluice_host_methods.service_port_failed().
typedef uint8_t sluice_protocol;
enum {
  SLUICE_PROTOCOL_TCP = 6,
  SLUICE_PROTOCOL_UDP = 17,
  SLUICE_PROTOCOL_SCTP = 132,
};

// Fixed. Network byte order. IPv4 uses the first four bytes; the others must be zero.
struct sluice_address {
  uint8_t bytes[16];
};
SLUICE_ASSERT(sizeof(struct sluice_address) == 16);

// Fixed. A canonical CIDR: bits after `length` must be zero.
struct sluice_prefix {
  struct sluice_address address;
  uint8_t length;  // bits: 0..32 or 0..128
  uint8_t reserved[7];
};
SLUICE_ASSERT(sizeof(struct sluice_prefix) == 24 &&
              offsetof(struct sluice_prefix, length) == 16);

// Growing. The caller provides zeroed memory, and the callee fills it. `object` and `message` must be UTF-8 and
// NUL-terminated, truncated between two characters if too long. With SLUICE_CODE_OK it is ignored.
struct sluice_error {
  uint32_t struct_size;  // set by the caller
  int32_t os_errno;  // 0 if no system call failed
  char object[240];  // the object that failed, for example "shop/cart:http"; may be empty
  char message[520];  // one sentence: object, action, cause, remedy
};
SLUICE_ASSERT(sizeof(struct sluice_error) == 768 &&
              offsetof(struct sluice_error, object) == 8 &&
              offsetof(struct sluice_error, message) == 248);

// Since minor 1. An unknown type is treated as SLUICE_OPTION_TYPE_TEXT.
typedef uint32_t sluice_option_type;
enum {
  SLUICE_OPTION_TYPE_UNDECLARED = 0,
  SLUICE_OPTION_TYPE_TEXT = 1,  // any text; create() of the plugin validates it
  SLUICE_OPTION_TYPE_BOOLEAN = 2,  // true or false
  SLUICE_OPTION_TYPE_INTEGER = 3,  // a decimal number
  SLUICE_OPTION_TYPE_DURATION = 4,  // in Go syntax: "1m30s", "250ms", "0"
  SLUICE_OPTION_TYPE_WORD = 5,  // one of sluice_option_spec.words
};

// Since minor 1. Flags of an sluice_option.
typedef uint32_t sluice_option_flag;
enum {
  SLUICE_OPTION_DEFAULT = 1 << 0,  // the configuration does not contain the key: the value is the declared default
};

// Growing. One flattened setting: key "a.b[0].c". Keys are unique. The value is the scalar as written, without quotes;
// null is "". Keys that begin with "ipvs." or "userspace." come from kube-proxy's document; only the backend with that
// id receives them.
struct sluice_option {
  struct sluice_string_view key;
  struct sluice_string_view value;
  // Since minor 1. Zero for a key that the plugin does not declare in sluice_plugin_entry.options.
  sluice_option_type value_type;  // as declared; SLUICE_OPTION_TYPE_TEXT if the daemon does not know the declared type
  uint32_t flags;  // sluice_option_flag
  // SLUICE_OPTION_TYPE_BOOLEAN: 0 or 1. SLUICE_OPTION_TYPE_INTEGER: the value. SLUICE_OPTION_TYPE_DURATION:
  // nanoseconds. SLUICE_OPTION_TYPE_WORD: the index in sluice_option_spec.words.
  int64_t number;
};
SLUICE_ASSERT(sizeof(struct sluice_option) == 48 &&
              offsetof(struct sluice_option, value) == 16 &&
              offsetof(struct sluice_option, value_type) == 32 &&
              offsetof(struct sluice_option, number) == 40);

// ---- service --------------------------------------------------------------------------------------------------------
// A resolved service port: one (Service, port) pair for one IP family, with all Kubernetes policy already applied. A
// backend needs no knowledge beyond this.

// Fixed. The identity of a service port within one family. Printed as "namespace/name:port", or "namespace/name" for an
// unnamed port. The protocol is part of the identity, but not of the printed name.
struct sluice_service_port_key {
  struct sluice_string_view service_namespace;
  struct sluice_string_view service_name;
  struct sluice_string_view port_name;
  sluice_protocol protocol;
  uint8_t reserved[7];
};
SLUICE_ASSERT(sizeof(struct sluice_service_port_key) == 56 &&
              offsetof(struct sluice_service_port_key, port_name) == 32 &&
              offsetof(struct sluice_service_port_key, protocol) == 48);

// A backend must ignore frontends of an unknown kind.
typedef uint8_t sluice_frontend_kind;
enum {
  SLUICE_FRONTEND_KIND_CLUSTER_IP = 1,  // spec.clusterIPs of this family; one, or none if another Service has it
  SLUICE_FRONTEND_KIND_EXTERNAL_IP = 2,  // spec.externalIPs
  SLUICE_FRONTEND_KIND_LOAD_BALANCER = 3,  // status.loadBalancer.ingress[].ip with ipMode VIP
  SLUICE_FRONTEND_KIND_NODE_PORT = 4,  // the address is all zero: see sluice_node_facts.node_port_addresses
};

// Growing. An address and port to which clients connect. The protocol is that of the key. Several frontends of one
// service port may have the same address and port, for example an external IP that is also the load balancer IP: the
// restrictions of all of them apply. A frontend that several Services list is passed with one of them only.
//
// The endpoints that receive new connections:
//   SLUICE_FRONTEND_KIND_CLUSTER_IP: The Local list with SLUICE_INTERNAL_POLICY_LOCAL, otherwise the Cluster list.
//   all others: With SLUICE_EXTERNAL_POLICY_LOCAL the Local list, and the client address must be preserved; otherwise
//     the Cluster list. Traffic from pods of this node (sluice_node_facts.detector) and from the node itself always
//     uses the Cluster list, unless the data plane supports only one list for all clients.
//   SLUICE_FRONTEND_KIND_LOAD_BALANCER: With sluice_service_port.source_ranges, traffic of clients outside of them must
//     be dropped, including pods and the node; traffic of the node to the address is allowed if a range contains the
//     node IP. The ranges do not apply to other kinds, in particular not to node ports.
// If the selected list is empty, connections must be rejected; or dropped, if it is the Local list and
// SLUICE_HAS_ANY_ENDPOINT is set. If there is no endpoint at all, clients outside of the ranges may be rejected, too.
struct sluice_frontend {
  struct sluice_address address;
  uint16_t port;
  sluice_frontend_kind kind;
  uint8_t reserved[5];
};
SLUICE_ASSERT(sizeof(struct sluice_frontend) == 24 &&
              offsetof(struct sluice_frontend, port) == 16 &&
              offsetof(struct sluice_frontend, kind) == 18);

// Flags of an sluice_endpoint. An endpoint in neither list must not receive new connections. It is included because it
// may have established connections, or because it is local.
typedef uint16_t sluice_endpoint_flag;
enum {
  SLUICE_ENDPOINT_IN_CLUSTER = 1 << 0,  // member of the Cluster list
  SLUICE_ENDPOINT_IN_LOCAL = 1 << 1,  // member of the Local list
  SLUICE_ENDPOINT_ON_THIS_NODE = 1 << 2,  // its pod runs on this node
  SLUICE_ENDPOINT_READY = 1 << 3,
  SLUICE_ENDPOINT_SERVING = 1 << 4,
  SLUICE_ENDPOINT_TERMINATING = 1 << 5,
};

// Growing.
struct sluice_endpoint {
  struct sluice_address address;
  uint16_t port;
  uint16_t flags;  // sluice_endpoint_flag
  uint32_t reserved;
};
SLUICE_ASSERT(sizeof(struct sluice_endpoint) == 24 &&
              offsetof(struct sluice_endpoint, port) == 16 &&
              offsetof(struct sluice_endpoint, flags) == 18);

// Growing. Since minor 1. More about the endpoint at the same index. Texts are empty if unknown.
struct sluice_endpoint_details {
  struct sluice_string_view node_name;
  struct sluice_string_view zone;
  struct sluice_string_view pod_name;  // the target, if it is a pod; its namespace is that of the Service
  struct sluice_string_view pod_uid;
  uint32_t weight;  // relative share of new connections; 0: the same as other endpoints with 0. Only 0 so far
  uint32_t reserved;
};
SLUICE_ASSERT(sizeof(struct sluice_endpoint_details) == 72 &&
              offsetof(struct sluice_endpoint_details, zone) == 16 &&
              offsetof(struct sluice_endpoint_details, pod_uid) == 48 &&
              offsetof(struct sluice_endpoint_details, weight) == 64);

// Growing. Since minor 1. An annotation of a Service.
struct sluice_annotation {
  struct sluice_string_view key;
  struct sluice_string_view value;
};
SLUICE_ASSERT(sizeof(struct sluice_annotation) == 32 &&
              offsetof(struct sluice_annotation, value) == 16);

// Since minor 1. spec.type. An unknown value must be treated as SLUICE_SERVICE_TYPE_UNKNOWN_SERVICE.
typedef uint32_t sluice_service_type;
enum {
  SLUICE_SERVICE_TYPE_UNKNOWN_SERVICE = 0,
  SLUICE_SERVICE_TYPE_CLUSTER_IP_SERVICE = 1,
  SLUICE_SERVICE_TYPE_NODE_PORT_SERVICE = 2,
  SLUICE_SERVICE_TYPE_LOAD_BALANCER_SERVICE = 3,
};

// Flags of a sluice_service_port.
typedef uint32_t sluice_service_port_flag;
enum {
  SLUICE_INTERNAL_POLICY_LOCAL = 1 << 0,  // internalTrafficPolicy: Local
  SLUICE_EXTERNAL_POLICY_LOCAL = 1 << 1,  // externalTrafficPolicy: Local, if it applies
  SLUICE_USES_CLUSTER_ENDPOINTS = 1 << 2,  // a frontend uses the Cluster list
  SLUICE_USES_LOCAL_ENDPOINTS = 1 << 3,  // a frontend uses the Local list
  SLUICE_HAS_ANY_ENDPOINT = 1 << 4,  // the cluster has an endpoint; always set if one of the lists is not empty
  SLUICE_SESSION_AFFINITY = 1 << 5,  // sessionAffinity: ClientIP
};

// Growing. Arrays are sorted: frontends by kind, then in the order of the Service; endpoints by the text "ip:port"
// (IPv6 "[ip]:port") in byte order, as in kube-proxy.
struct sluice_service_port {
  struct sluice_service_port_key key;
  uint32_t flags;  // sluice_service_port_flag
  uint32_t affinity_seconds;  // timeout after the last connection; 0 without SLUICE_SESSION_AFFINITY
  uint16_t health_check_node_port;  // 0: none. The daemon listens there, so rules must accept its traffic
  uint8_t reserved[6];
  struct sluice_array_view frontends;  // sluice_frontend
  struct sluice_array_view source_ranges;  // sluice_prefix; empty: all clients may use the load balancer address
  struct sluice_array_view endpoints;  // sluice_endpoint
  // Since minor 1. The next four have values only for a plugin with SLUICE_FEATURE_SERVICE_DETAILS.
  struct sluice_string_view service_uid;  // metadata.uid of the Service; empty if unknown
  struct sluice_string_view app_protocol;  // appProtocol of the port; empty: none
  // Equal for all ports, protocols and families of one Service object, also in other processes; another object of the
  // same name has another one. Not 0.
  uint64_t session_key;
  sluice_service_type service_type;
  uint32_t reserved2;
  // sluice_annotation, sorted by key. Those of the Service whose key begins with one of
  // sluice_plugin_entry.annotation_prefixes.
  struct sluice_array_view annotations;
  // sluice_endpoint_details, as many as endpoints; empty without SLUICE_FEATURE_ENDPOINT_DETAILS
  struct sluice_array_view endpoint_details;
};
SLUICE_ASSERT(sizeof(struct sluice_service_port) == 240 &&
              offsetof(struct sluice_service_port, flags) == 56 &&
              offsetof(struct sluice_service_port, affinity_seconds) == 60 &&
              offsetof(struct sluice_service_port, health_check_node_port) == 64 &&
              offsetof(struct sluice_service_port, frontends) == 72 &&
              offsetof(struct sluice_service_port, source_ranges) == 96 &&
              offsetof(struct sluice_service_port, endpoints) == 120 &&
              offsetof(struct sluice_service_port, service_uid) == 144 &&
              offsetof(struct sluice_service_port, session_key) == 176 &&
              offsetof(struct sluice_service_port, annotations) == 192 &&
              offsetof(struct sluice_service_port, endpoint_details) == 216);

// ---- node -----------------------------------------------------------------------------------------------------------
// The facts about the node that a backend needs. Every transaction contains all of them.

// How to recognize traffic from pods of this node. An unknown value must be treated as SLUICE_LOCAL_DETECTOR_KIND_NONE.
typedef uint32_t sluice_local_detector_kind;
enum {
  SLUICE_LOCAL_DETECTOR_KIND_NONE = 0,  // not possible: rules that depend on it must not be programmed
  SLUICE_LOCAL_DETECTOR_KIND_CIDR = 1,  // source address inside `cidr`
  SLUICE_LOCAL_DETECTOR_KIND_BRIDGE_INTERFACE = 2,  // arrives through `interface_name`
  // arrives through an interface whose name starts with `interface_name`
  SLUICE_LOCAL_DETECTOR_KIND_INTERFACE_NAME_PREFIX = 3,
};

typedef uint32_t sluice_node_flag;
enum {
  SLUICE_NODE_PORTS_MATCH_ALL = 1 << 0,  // every local address serves node ports; node_port_addresses is empty
  SLUICE_NODE_PORTS_ON_LOCALHOST = 1 << 1,  // IPv4: 127.0.0.0/8 serves them too
  SLUICE_MASQUERADE_ALL = 1 << 2,  // masquerade all traffic to cluster IPs
  SLUICE_CONNTRACK_TCP_LIBERAL = 1 << 3,  // nf_conntrack_tcp_be_liberal was on at start: no INVALID drop
};

// Growing.
struct sluice_node_facts {
  uint32_t struct_size;
  uint32_t flags;  // sluice_node_flag
  uint64_t version;  // changes with every other field; only comparable within one process
  struct sluice_string_view name;
  struct sluice_address node_ip;  // the node IP of this family; loopback if unknown. It may change
  uint32_t masquerade_mark;  // one bit, never 0
  sluice_local_detector_kind detector;
  struct sluice_prefix detector_cidr;  // for SLUICE_LOCAL_DETECTOR_KIND_CIDR
  struct sluice_string_view detector_interface;  // for the interface kinds
  struct sluice_array_view node_port_addresses;  // sluice_address; sorted, without duplicates
  // sluice_address; all of this family except loopback, including link-local ones; sorted
  struct sluice_array_view local_addresses;
  // sluice_prefix; only with SLUICE_FEATURE_SERVICE_CIDRS. The ranges of cluster IPs (ServiceCIDR objects), sorted,
  // without ranges that another one contains; empty if unknown.
  struct sluice_array_view service_cidrs;
};
SLUICE_ASSERT(sizeof(struct sluice_node_facts) == 168 &&
              offsetof(struct sluice_node_facts, version) == 8 &&
              offsetof(struct sluice_node_facts, name) == 16 &&
              offsetof(struct sluice_node_facts, node_ip) == 32 &&
              offsetof(struct sluice_node_facts, masquerade_mark) == 48 &&
              offsetof(struct sluice_node_facts, detector) == 52 &&
              offsetof(struct sluice_node_facts, detector_cidr) == 56 &&
              offsetof(struct sluice_node_facts, detector_interface) == 80 &&
              offsetof(struct sluice_node_facts, node_port_addresses) == 96 &&
              offsetof(struct sluice_node_facts, local_addresses) == 120 &&
              offsetof(struct sluice_node_facts, service_cidrs) == 144);

// ---- transaction ----------------------------------------------------------------------------------------------------
// A transaction: the change of the desired state from one generation to the next.

// A new kind is passed only to backends that announce support for it with a feature.
typedef uint32_t sluice_transaction_kind;
enum {
  // service_ports is complete; the backend must delete every object that is not listed
  SLUICE_TRANSACTION_KIND_FULL = 0,
  // service_ports are new or changed, removed were deleted, all others are unchanged
  SLUICE_TRANSACTION_KIND_DELTA = 1,
};

// Growing. Valid and immutable during the call. A backend must return SLUICE_CODE_NEED_FULL for a delta if
// `base_generation` is not its last applied generation. It may return SLUICE_CODE_NEED_FULL for any delta, for example
// if facts about the node changed on which all objects depend. This is not a failure: the full transaction follows at
// once.
// For a full transaction, a backend must read the kernel and write only the differences, so that a restart without
// drift writes nothing.
// Keys are sorted by namespace, service and port name in byte order, then by protocol number.
struct sluice_transaction {
  uint32_t struct_size;
  sluice_transaction_kind kind;
  uint64_t base_generation;  // delta only
  uint64_t generation;  // starts at 1 for each object; a full transaction without changes repeats the last one
  const struct sluice_node_facts* node;  // never null
  // sluice_service_port, sorted by key; may be empty, for example if only `node` changed
  struct sluice_array_view service_ports;
  struct sluice_array_view removed;  // sluice_service_port_key, delta only, sorted by key; disjoint from service_ports
  // Since minor 1. The value of sluice_host_methods.now() at which the limit of the call is exceeded; 0: no limit. A
  // backend should not wait beyond it, for example for a lock, but may complete work that makes progress.
  uint64_t deadline;
  // Since minor 1. Null, or a word that another thread of the daemon sets to a value other than 0 when the result is no
  // longer needed: the daemon stops, another backend takes over, or a swap is rolled back. It may be set before the
  // call. Must be read atomically, and only during the call. The backend should then return SLUICE_CODE_RETRY soon,
  // which is no failure and not logged as one; SLUICE_CODE_OK is valid, too. It need not undo what it has written: it
  // must leave a state that it may leave after a failure, from which the next full transaction, of this object or of a
  // later process, or retire() can continue.
  const uint32_t* cancelled;
};
SLUICE_ASSERT(sizeof(struct sluice_transaction) == 96 &&
              offsetof(struct sluice_transaction, base_generation) == 8 &&
              offsetof(struct sluice_transaction, generation) == 16 &&
              offsetof(struct sluice_transaction, node) == 24 &&
              offsetof(struct sluice_transaction, service_ports) == 32 &&
              offsetof(struct sluice_transaction, removed) == 56 &&
              offsetof(struct sluice_transaction, deadline) == 80 &&
              offsetof(struct sluice_transaction, cancelled) == 88);

// Growing. Statistics of one apply(). The caller sets struct_size and zeroes the rest. It is also read after a failure.
struct sluice_apply_result {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t kernel_writes;  // messages or rule lines that changed the kernel; 0: no difference
  uint64_t objects_owned;  // number of owned rules, chains and elements; undefined after a failure
  uint64_t kernel_nanoseconds;  // time spent waiting for the kernel (see sluice_code); 0: not measured
};
SLUICE_ASSERT(sizeof(struct sluice_apply_result) == 32 &&
              offsetof(struct sluice_apply_result, kernel_writes) == 8 &&
              offsetof(struct sluice_apply_result, kernel_nanoseconds) == 24);

// ---- host -----------------------------------------------------------------------------------------------------------
// The interface of the daemon for a backend. Implemented by sluiced.

// An unknown value is treated as SLUICE_SEVERITY_INFO.
typedef int32_t sluice_severity;
enum {
  SLUICE_SEVERITY_ERROR = 0,
  SLUICE_SEVERITY_WARNING = 1,
  SLUICE_SEVERITY_INFO = 2,
  SLUICE_SEVERITY_DEBUG = 3,
};

// A metric of an unknown kind is dropped and counted.
typedef uint32_t sluice_metric_kind;
enum {
  SLUICE_METRIC_KIND_COUNTER_ADD = 0,
  SLUICE_METRIC_KIND_GAUGE_SET = 1,
  SLUICE_METRIC_KIND_HISTOGRAM_OBSERVE = 2,
  SLUICE_METRIC_KIND_COUNTER_SET = 3,  // the total of a counter that is kept elsewhere, for example in the kernel
};

struct sluice_host;
struct sluice_host_methods {
  // Logs one line; `text` must not contain a newline. Debug text is dropped below verbosity 4. Text that begins with
  // "[id] " has a message id: up to 58 lower-case letters, digits and '-'. The daemon removes it from the text and
  // writes it as the key "id" of JSON lines.
  void (*log)(struct sluice_host* self, sluice_severity severity, struct sluice_string_view text);
  // Returns 1 if lines of this severity are logged, otherwise 0, so that a backend can skip building the text. The
  // result may change with each reload. Cheap.
  int32_t (*log_enabled)(struct sluice_host* self, sluice_severity severity);
  // Adds to, sets or observes a metric. `labels` is `name="value",…` or empty; it must contain ip_family if values
  // differ by family.
  void (*metric)(struct sluice_host* self, sluice_metric_kind kind, struct sluice_string_view name,
                 struct sluice_string_view labels, double value);
  // Sends a Kubernetes event: of type Warning for SLUICE_SEVERITY_ERROR and SLUICE_SEVERITY_WARNING, otherwise Normal.
  // `reason` must be in UpperCamelCase, `note` a sentence; the daemon truncates them to the limits of Kubernetes.
  // `regarding`: the event is about the Service of this port; null: about the node. All arguments are copied.
  void (*event)(struct sluice_host* self, sluice_severity severity, struct sluice_string_view reason,
                struct sluice_string_view note, const struct sluice_service_port_key* regarding);
  // Returns CLOCK_MONOTONIC in nanoseconds.
  uint64_t (*now)(struct sluice_host* self);
  // Requests a full transaction, because the backend found drift in kernel state; the daemon may call verify() first.
  // Pending requests are merged.
  void (*request_resync)(struct sluice_host* self, struct sluice_string_view reason);
  // Reports that the backend is unhealthy until further notice. Status and metrics show the last `reason` of the
  // family. An empty reason means that the backend is healthy again.
  void (*report_unhealthy)(struct sluice_host* self, struct sluice_string_view reason);
  // Reports the reason why a service port, or some of its frontends, is not programmed, although apply() continues.
  // Must be called during apply(), on the apply thread, and again in each apply() whose transaction is full or names
  // the service port. A null `error` means that the service port is served now, although this transaction does not name
  // it. The last of several reports counts. Outside apply(), or if `key` is null, the report is dropped. Both arguments
  // are copied. While service ports are not programmed, the daemon retries them: after a minute, then with exponential
  // backoff up to an hour, which restarts when their set changes.
  void (*service_port_failed)(struct sluice_host* self, const struct sluice_service_port_key* key,
                              const struct sluice_error* error);
  // Returns an extension by id ("sluice.host.<name>/<revision>"), or null if the id is unknown. The id determines the
  // type of the pointer, which is the same for each call and valid until release() returns.
  void* (*extension)(struct sluice_host* self, struct sluice_string_view id);
};
// Valid from create() until release() returns. Every method may be called from any thread, unless it says otherwise. It
// does not block, and never calls the backend on the same stack.
struct sluice_host {
  const struct sluice_host_methods* methods;  // never null
};

// ---- options --------------------------------------------------------------------------------------------------------
// Declares the options of a backend (since minor 1). The daemon validates the configuration with these declarations,
// documents them, and passes typed values to create().

// The effect of a changed value at a reload. An unknown value is treated as SLUICE_OPTION_RELOAD_REPLACE.
typedef uint32_t sluice_option_reload;
enum {
  SLUICE_OPTION_RELOAD_REPLACE = 0,  // a new object of the backend replaces the active one, without a lost connection
  // takes effect at the next start of the daemon: the daemon rejects a reload that changes the value
  SLUICE_OPTION_RELOAD_RESTART = 1,
};

// Growing. Since minor 1. An element of sluice_plugin_entry.options. Keys are unique within a plugin.
struct sluice_option_spec {
  // "threads", "timeouts.dial". A key that ends with "[]" is a list: its elements are "key[0]", "key[1]", …, and type,
  // range and words apply to each of them.
  struct sluice_string_view key;
  sluice_option_type value_type;  // not SLUICE_OPTION_TYPE_UNDECLARED
  sluice_option_reload reload;
  // The value that applies if the key is missing, as it would be written: "250ms". Of a list: its elements, separated
  // by ", "; empty: an empty list. It must be valid.
  struct sluice_string_view default_value;
  // The smallest and largest value of SLUICE_OPTION_TYPE_INTEGER, and of SLUICE_OPTION_TYPE_DURATION in nanoseconds.
  // Ignored for other types.
  int64_t minimum;
  int64_t maximum;
  uint32_t max_elements;  // of a list; 0: 1000
  uint32_t reserved;
  struct sluice_string_view words;  // of SLUICE_OPTION_TYPE_WORD: "roundRobin|leastConnections"
  // of SLUICE_OPTION_TYPE_INTEGER: what is counted, plural: "clients", "bytes"; may be empty
  struct sluice_string_view unit;
  // of SLUICE_OPTION_TYPE_TEXT: describes the allowed values: "an IP address, or empty"; may be empty
  struct sluice_string_view format;
  struct sluice_string_view help;  // sentences: the meaning of the option
};
SLUICE_ASSERT(sizeof(struct sluice_option_spec) == 128 &&
              offsetof(struct sluice_option_spec, value_type) == 16 &&
              offsetof(struct sluice_option_spec, default_value) == 24 &&
              offsetof(struct sluice_option_spec, minimum) == 40 &&
              offsetof(struct sluice_option_spec, max_elements) == 56 &&
              offsetof(struct sluice_option_spec, words) == 64 &&
              offsetof(struct sluice_option_spec, help) == 112);

// ---- metrics --------------------------------------------------------------------------------------------------------
// Declares the metrics of a backend (since minor 1), and updates them without locks and without text.

// A metric of an unknown type is dropped and counted.
typedef uint32_t sluice_metric_type;
enum {
  SLUICE_METRIC_TYPE_COUNTER = 1,
  SLUICE_METRIC_TYPE_GAUGE = 2,
  SLUICE_METRIC_TYPE_HISTOGRAM = 3,
};

// Flags of a sluice_metric_spec.
typedef uint32_t sluice_metric_flag;
enum {
  SLUICE_METRIC_BY_FAMILY = 1 << 0,  // the daemon adds the label ip_family, with the family of the object
  SLUICE_METRIC_PER_SERVICE = 1 << 1,  // one series or more for each Service: a higher limit for the number of series
};

// Growing. Since minor 1. An element of sluice_plugin_entry.metrics: at most 500, with unique names. The daemon rejects
// a plugin with an invalid element.
struct sluice_metric_spec {
  // "example_dpu_flows_total": up to 200 letters, digits, '_' and ':', not beginning with a digit. Unless it is a
  // metric of kube-proxy ("kubeproxy_…"), begin it with a prefix of your own.
  struct sluice_string_view name;
  sluice_metric_type metric_type;
  uint32_t flags;  // sluice_metric_flag
  struct sluice_string_view help;  // the HELP text: one sentence, up to 1,000 bytes
  struct sluice_string_view note;  // more for the documentation; may be empty
  // sluice_string_view: up to 16 names, without ip_family. A name does not begin with "__"
  struct sluice_array_view labels;
  // double: up to 200 upper bounds of a histogram, ascending and finite. The daemon adds +Inf. Other types have none.
  struct sluice_array_view buckets;
};
SLUICE_ASSERT(sizeof(struct sluice_metric_spec) == 104 &&
              offsetof(struct sluice_metric_spec, metric_type) == 16 &&
              offsetof(struct sluice_metric_spec, help) == 24 &&
              offsetof(struct sluice_metric_spec, labels) == 56 &&
              offsetof(struct sluice_metric_spec, buckets) == 80);

struct sluice_metric_series;
struct sluice_metric_series_methods {
  // Adds to a counter or gauge. A counter does not take negative values.
  void (*add)(struct sluice_metric_series* self, double value);
  // Sets a gauge, or the total of a counter that is kept elsewhere, for example in the kernel.
  void (*set)(struct sluice_metric_series* self, double value);
  // Adds an observation to a histogram.
  void (*observe)(struct sluice_metric_series* self, double value);
};
// One series of a metric. Implemented by the daemon. Every method may be called from any thread, does not block, and
// takes no lock. A call that does not fit the type of the metric, or a value that is not a number, is dropped and
// counted. This class never grows.
struct sluice_metric_series {
  const struct sluice_metric_series_methods* methods;  // never null
};

// The id for sluice_host_methods.extension(), which returns a `sluice_host_metrics*`. It is valid as long as the host.
#define SLUICE_HOST_METRICS_ID "sluice.host.metrics/1"

struct sluice_host_metrics;
struct sluice_host_metrics_methods {
  // Returns the series of a declared metric, which exists with value 0 from then on, or with its present value: objects
  // of both families, active and draining ones, and sluice_host_methods.metric() share a series with the same labels.
  // `label_values`: elements are sluice_string_view in UTF-8, one for each name in sluice_metric_spec.labels, in that
  // order; an empty value omits the label. The result is the same for the same arguments, and valid until remove(), or
  // until release() of the backend returns; the series keeps its value then. Null, with the reason in `error`, if the
  // metric is not declared, the number of values or a value is wrong, the daemon or another plugin has a metric of that
  // name and another type, or the plugin has too many series: 1,000, and 250,000 with SLUICE_METRIC_PER_SERVICE.
  // `error` may be null. May lock: keep the result instead of calling it for each update.
  struct sluice_metric_series* (*series)(struct sluice_host_metrics* self, struct sluice_string_view name,
                                         struct sluice_array_view label_values, struct sluice_error* error);
  // Removes a series, which this object must not use afterwards. It disappears when no other object uses it. Null is
  // ignored.
  void (*remove)(struct sluice_host_metrics* self, struct sluice_metric_series* series);
};
// "sluice.host.metrics/1".
//
// Every method may be called from any thread. This class never grows.
struct sluice_host_metrics {
  const struct sluice_host_metrics_methods* methods;  // never null
};

// ---- status ---------------------------------------------------------------------------------------------------------
// For backends with facts that an operator should see in `sluicectl status` (since minor 1).

// The id for sluice_host_methods.extension(), which returns a `sluice_host_status*`. It is valid as long as the host.
#define SLUICE_HOST_STATUS_ID "sluice.host.status/1"

struct sluice_host_status;
struct sluice_host_status_methods {
  // Sets the fact `name` ("client addresses") to `value` ("hidden: CAP_NET_RAW is missing"), until the next call with
  // this name, or until release() returns. An empty value removes it. `remedy` is the action that changes an unwanted
  // value ("run the daemon with the capability CAP_NET_RAW"); it may be empty. All arguments are UTF-8 and copied; the
  // daemon truncates `value` and `remedy` to 200 bytes. The call is ignored if `name` is empty or has more than 200
  // bytes, or if there are 16 facts with other names.
  void (*set)(struct sluice_host_status* self, struct sluice_string_view name, struct sluice_string_view value,
              struct sluice_string_view remedy);
};
// "sluice.host.status/1".
//
// A fact has a name and a value. The status of the daemon contains the facts of the active backend, for each family.
// Every method may be called from any thread, does not block, and never calls the backend. This class never grows.
struct sluice_host_status {
  const struct sluice_host_status_methods* methods;  // never null
};

// ---- backend --------------------------------------------------------------------------------------------------------
// The interface that a backend implements. One object serves one IP family of one node.

struct sluice_string_sink;
struct sluice_string_sink_methods {
  void (*add)(struct sluice_string_sink* self, struct sluice_string_view text);
};
// Receives strings, for example the claims of a backend. Implemented by the daemon, valid during the call that receives
// it. The daemon copies each string. This class never grows.
struct sluice_string_sink {
  const struct sluice_string_sink_methods* methods;  // never null
};

// Growing. The argument of retire().
struct sluice_handover {
  uint32_t struct_size;
  // How long established connections may continue, in seconds from this call on; computed again for each call. 0: do
  // not drain; the backend must close remaining connections now.
  uint32_t drain_seconds;
  // Elements are sluice_string_view: the artifacts that the new backend owns from now on. The backend must not remove
  // them.
  struct sluice_array_view claims;
};
SLUICE_ASSERT(sizeof(struct sluice_handover) == 32 &&
              offsetof(struct sluice_handover, claims) == 8);

struct sluice_backend;
struct sluice_backend_methods {
  // Checks whether this node can run the backend in this family. It must try the required operations instead of
  // comparing versions, name every missing tool, module or kernel option in `error`, and leave no state behind. Limit:
  // 10 s.
  sluice_code (*probe)(struct sluice_backend* self, struct sluice_error* error);
  // Programs `transaction` into the kernel. Must be idempotent. Must create objects before references to them, and
  // delete objects after. `result` and `error` are never null. Limit: 60 s. The daemon cannot stop or swap backends
  // before it returns, so a call that may be long should check sluice_transaction.cancelled between its steps.
  sluice_code (*apply)(struct sluice_backend* self, const struct sluice_transaction* transaction,
                       struct sluice_apply_result* result, struct sluice_error* error);
  // Checks the kernel for drift since the last apply(). Returns SLUICE_CODE_OK, or SLUICE_CODE_NEED_FULL and describes
  // the drift in `error`. Must be cheap: while the backend is active, the daemon calls it once per sync period and at
  // least every 20 s, after a failed apply(), and when a resync was requested; but not while the backend is held
  // because the new backend writes the same objects. A backend may also do periodic work here. Limit: 10 s.
  sluice_code (*verify)(struct sluice_backend* self, struct sluice_error* error);
  // Adds every artifact that this backend owns or may have left behind, as "kind/name". The result must be the same
  // before and after apply(), because the daemon records it before the backend may write. The daemon can remove these
  // kinds without the plugin:
  //   iptables/<filter|nat|mangle>/<chain>   and ip6tables/… for IPv6
  //   ipset/<set>, link/<interface>, ipvs/virtual-servers
  //   nft/<ip|ip6|inet|arp|bridge|netdev>/<table>
  // A "*" at the end of a chain or a set matches any suffix; at least five characters must precede it. Names must not
  // contain "/" or a space. The daemon never removes shared objects, such as chains of kubelet and tables of
  // iptables-nft. Other kinds must begin with the reverse domain of their author, "com.example.dpu/…"; only their
  // plugin removes them. Claims are case-sensitive and at most 250 bytes long. Limit: 1 s.
  sluice_code (*claims)(struct sluice_backend* self, struct sluice_string_sink* sink, struct sluice_error* error);
  // Another backend is active from now on: the backend must delete every object that `handover->claims` does not list.
  // It must first remove the objects that direct new connections to it, then the unused ones, so that no packet meets a
  // half of either backend. SLUICE_CODE_OK: the backend is retired, and release() may follow.
  // SLUICE_CODE_RETRY: new connections are no longer directed to the backend, and established ones still need its
  // remaining objects. The daemon calls retire() again within a second with the remaining drain time, finally with 0,
  // so a call must not wait for connections. The claims may differ between calls, because the active backend may
  // change.
  // Also called to roll back an apply(), whether complete or not, with the claims of the active backend and the drain
  // time; the latter is 0 if another build of the same backend is active. Called again after a failure. Limit: 60 s.
  sluice_code (*retire)(struct sluice_backend* self, const struct sluice_handover* handover,
                        struct sluice_error* error);
  // Removes all objects that this backend created in this family, including those of earlier processes, and no others.
  // Missing objects are not an error. Limit: 60 s.
  sluice_code (*cleanup)(struct sluice_backend* self, struct sluice_error* error);
  // Returns an extension by id ("sluice.backend.<name>/<revision>"), or null if the id is unknown. The id determines
  // the type of the pointer. It must be the same for each call, and valid until release().
  void* (*extension)(struct sluice_backend* self, struct sluice_string_view id);
  // Destroys the object: the backend must join its threads and close its descriptors, and keep kernel state in place.
  // Limit: 5 s.
  void (*release)(struct sluice_backend* self);
};
// Threads: all methods, including those of extensions, are called on one thread, the apply thread of this object, never
// concurrently or re-entrantly. A backend may own threads; they must end before release() returns.
// Order: the life cycle of an object. extension() may be called any number of times after create(), and release() may
// follow in every state.
//
//     create()
//        |
//        v
//     created ----- cleanup() ---------------------------------------------> released    a single action
//        |
//        |  probe()
//        v
//     probed ------ nothing, or prepare() ---------------------------------> released    a check; --init-only
//        |
//        +--------- retire(): leftover state of an earlier process --------> retiring
//        |
//        |  claims(), [import_clients()], apply(), [import_clients()]
//        v
//     active ------ apply(), verify(), claims(), services(), inspect(), export_clients(): any number of times
//        |
//        |  retire(): another backend is active, or the first apply() is rolled back
//        v
//     retiring ---- retire() again, within a second after SLUICE_CODE_RETRY or a failure; no other call but release()
//        |
//        |  SLUICE_CODE_OK, then release()
//        v
//     released      the library may be unmapped after the release() of its last object
//
// The contract of each call. A failure is any code but SLUICE_CODE_OK, unless the row says otherwise.
//
//     call            state before        limit   effect of a failure
//     create          none                 10 s   the backend is rejected: a start ends, a reload keeps the active backend
//     probe           created              10 s   the same
//     prepare         probed               10 s   --init-only fails
//     claims          probed, active        1 s   at a start or swap it fails; later logged, and called again
//     import_clients  probed, active       10 s   session affinity is lost, and the swap continues
//     apply           probed, active       60 s   a full transaction follows, later each time; a swap is rolled back.
//                                                 SLUICE_CODE_NEED_FULL for a delta is no failure: it follows at once.
//                                                 SLUICE_CODE_RETRY of a cancelled call is no failure
//     verify          active               10 s   SLUICE_CODE_NEED_FULL: a full transaction follows. Otherwise logged
//     services        active               10 s   sluicectl prints the error
//     inspect         active               10 s   the same
//     export_clients  active               10 s   session affinity is lost, and the swap continues
//     retire          probed to retiring   60 s   called again within a second. SLUICE_CODE_RETRY is no failure
//     cleanup         created              60 s   --cleanup prints the error, and fails
//     extension       created to retiring         cannot fail
//     release         each                  5 s   cannot fail
//
// Several objects of one backend and family may exist at the same time, even of two builds: an active one, draining
// ones, and one that only probes.
// Failure: a method must not throw. It fills `error` and returns a sluice_code. After a failed apply(), the next
// transaction is full.
// Time: each method states its limit. If a call exceeds it, the daemon reports itself as unhealthy and keeps waiting.
struct sluice_backend {
  const struct sluice_backend_methods* methods;  // never null
};

// ---- entry ----------------------------------------------------------------------------------------------------------
// The entry of a plugin: one constant that the daemon reads before any code of the plugin runs.
//
// A plugin shares the process with the daemon and other plugins:
// - Threads of a plugin must block all signals. A plugin must not install signal handlers, nor change the working
//   directory, umask, locale, environment, credentials or namespaces of the process. It may raise resource limits
//   (RLIMIT_NOFILE), but must not lower them.
// - SIGPIPE is ignored. The daemon waits for its own child processes only, and a plugin must do the same: call
//   waitpid() with a pid. Daemon and plugins must open descriptors with close-on-exec.
// - A plugin must not write to standard output or configure a logging library. It must use sluice_host_methods.log().
// - Sockets, and files below /proc/thread-self/net, belong to the network namespace of the thread that calls create().
// - All objects of the library share its static state: those of both families, active or draining, on different
//   threads. Access to it must be locked. Two builds of one plugin may be mapped at the same time. They do not share
//   static state, but they share kernel object names, ports and files.
// - After release() of its last object the library may be unmapped: no thread, handler or destructor of a thread_local
//   variable may remain.

// Features of a backend. The daemon ignores unknown bits. Every backend receives service ports of TCP, UDP and SCTP,
// and frontends of each kind. It must report those that it does not serve with
// sluice_host_methods.service_port_failed().
typedef uint64_t sluice_feature;
#define SLUICE_FEATURE_IPV4 (UINT64_C(1) << 0)  // serves IPv4
#define SLUICE_FEATURE_IPV6 (UINT64_C(1) << 1)  // serves IPv6
#define SLUICE_FEATURE_DELTA (UINT64_C(1) << 2)  // accepts delta transactions; without it every transaction is full
// Supports session affinity. Before a swap the daemon exports its bindings, if it implements sluice_affinity.
#define SLUICE_FEATURE_AFFINITY (UINT64_C(1) << 3)
// uses sluice_node_facts.service_cidrs; without it the daemon does not watch them
#define SLUICE_FEATURE_SERVICE_CIDRS (UINT64_C(1) << 4)
// Connections to frontends do not use the connection tracking of the node, so the daemon does not evaluate its entries.
#define SLUICE_FEATURE_OWN_CONNECTIONS (UINT64_C(1) << 5)
// Since minor 1. Without them the daemon keeps none of the data.
// uses sluice_service_port.service_uid, app_protocol, session_key and service_type
#define SLUICE_FEATURE_SERVICE_DETAILS (UINT64_C(1) << 6)
#define SLUICE_FEATURE_ENDPOINT_DETAILS (UINT64_C(1) << 7)  // uses sluice_service_port.endpoint_details

// Features of the daemon that a backend requires. None is defined yet. The daemon rejects a plugin with unknown bits.
typedef uint64_t sluice_host_feature;
#define SLUICE_HOST_FEATURE_NONE (UINT64_C(0))

// Flags of sluice_create_args.
typedef uint32_t sluice_create_flag;
enum {
  // Another backend serves this family until the first apply() of this one has succeeded, and is retired afterwards.
  // The first apply() must create the objects that direct new connections to this backend last and atomically, and must
  // not delete objects that this backend does not claim.
  SLUICE_CREATE_PREDECESSOR_SERVES = 1 << 0,
};

// Growing. Valid during create(); the backend must copy the data that it keeps.
struct sluice_create_args {
  uint32_t struct_size;
  sluice_family family;
  uint8_t reserved[3];
  struct sluice_host* host;  // owned by the daemon; valid until release() returns
  // Elements are sluice_option: the configuration section of the backend, and the settings of kube-proxy's document for
  // its mode. The latter may be missing if the object only probes, or retires leftover state of an earlier process.
  // Since minor 1: if the plugin declares options, all keys are declared ones with valid values, elements of a list are
  // in order, and declared keys that the configuration does not contain follow with their defaults.
  struct sluice_array_view options;
  // An existing folder for small state. All objects of this backend id share it, in both families and in consecutive
  // processes. It may be emptied at boot. Empty: no folder is available.
  struct sluice_string_view state_dir;
  uint32_t flags;  // sluice_create_flag
  uint16_t host_minor;  // SLUICE_MINOR of the daemon; the major is the same
  uint16_t reserved2;
  uint64_t host_features;  // sluice_host_feature
  struct sluice_string_view host_version;  // the version of the daemon as text: "0.9.1"
};
SLUICE_ASSERT(sizeof(struct sluice_create_args) == 88 &&
              offsetof(struct sluice_create_args, host) == 8 &&
              offsetof(struct sluice_create_args, options) == 16 &&
              offsetof(struct sluice_create_args, state_dir) == 40 &&
              offsetof(struct sluice_create_args, flags) == 56 &&
              offsetof(struct sluice_create_args, host_minor) == 60 &&
              offsetof(struct sluice_create_args, host_features) == 64 &&
              offsetof(struct sluice_create_args, host_version) == 72);

// Growing. The fields up to `minor` have the same place in every major version; the others belong to this major. The
// daemon reads the numbers from the section of the file before it maps it, so no code of a plugin for another major
// runs. Strings are NUL-terminated and must be static.
struct sluice_plugin_entry {
  uint32_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t features;  // sluice_feature
  uint64_t needs_host;  // sluice_host_feature
  const char* id;  // the value of --proxy-mode: "iptables", "com.example.dpu"
  const char* version;  // of the plugin
  const char* build;  // compiler and standard library, for diagnosis
  // [any thread, any number of times] Creates a backend for one family. It must not change the node.
  // SLUICE_CODE_INVALID: an option is invalid, and `error->object` is its key. With SLUICE_CODE_OK, `*out` must not be
  // null, and the caller owns it until release(). Otherwise `*out` must be null, and `error` has the reason. Limit: 10
  // s.
  sluice_code (*create)(const struct sluice_create_args* args, struct sluice_backend** out, struct sluice_error* error);
  // Since minor 1. Data of these arrays must be static.
  // sluice_option_spec. Null: create() validates all options itself. Not null, with the count 0: the backend has no
  // options.
  struct sluice_array_view options;
  struct sluice_array_view metrics;  // sluice_metric_spec: those that sluice_host_metrics offers
  // sluice_string_view: the daemon passes annotations of Services whose keys begin with one of these: "example.com/".
  // Each must contain a "/" after a domain. Empty: none. A Service whose selected annotations exceed 16 KiB is passed
  // without them.
  struct sluice_array_view annotation_prefixes;
};
SLUICE_ASSERT(sizeof(struct sluice_plugin_entry) == 136 &&
              offsetof(struct sluice_plugin_entry, features) == 16 &&
              offsetof(struct sluice_plugin_entry, id) == 32 &&
              offsetof(struct sluice_plugin_entry, create) == 56 &&
              offsetof(struct sluice_plugin_entry, options) == 64 &&
              offsetof(struct sluice_plugin_entry, metrics) == 88 &&
              offsetof(struct sluice_plugin_entry, annotation_prefixes) == 112);

// ---- relay ----------------------------------------------------------------------------------------------------------
// For backends that relay packets in their own process: they report the ports of their relay sockets.

// The id for sluice_host_methods.extension(), which returns a `sluice_host_relay*`. It is valid as long as the host.
#define SLUICE_HOST_RELAY_ID "sluice.host.relay/1"

struct sluice_host_relay;
struct sluice_host_relay_methods {
  // Sets the ports, on any address of this node, at which the backend receives UDP packets to the frontends of `key`.
  // `ports`: elements are std::uint16_t in host byte order, in any order; empty: the service port is not relayed.
  // Replaces the ports of earlier calls for `key`; repeating them has no cost.
  // Valid until the next call for `key`, or until a successful apply() whose transaction removes `key`, or is full and
  // does not name it. If the service port returns, the backend must set its ports again. Protocols other than UDP are
  // ignored.
  // During apply(): must be called on the apply thread, for service ports of the transaction, while the sockets are
  // open. It takes effect when apply() succeeds: the daemon then deletes flows with other ports of this node as
  // destination, and flows that were sent to a frontend before a socket received them. After a failed apply() it takes
  // effect with the next one.
  // During retire(): must be called with empty `ports` for each service port a few seconds before the sockets close.
  // After the last call the daemon deletes the flows that still have these ports as destination; their next packet goes
  // to the active backend. The daemon calls retire() again when this is done, or 10 s after the end of the drain.
  // Must not be called at other times.
  // Does not block, and never calls the backend. `key` and `ports` are copied.
  void (*set_relay_ports)(struct sluice_host_relay* self, const struct sluice_service_port_key* key,
                          struct sluice_array_view ports);
};
// "sluice.host.relay/1".
//
// The daemon deletes conntrack entries of UDP flows to a frontend if their destination no longer serves the frontend.
// If a backend directs packets to a socket of its own instead of an endpoint, the destination is a port of this node,
// so the daemon must know these ports. This class never grows.
struct sluice_host_relay {
  const struct sluice_host_relay_methods* methods;  // never null
};

// ---- preparation ----------------------------------------------------------------------------------------------------
// For backends that need kernel settings which require more privileges than rules.

// The id for sluice_backend_methods.extension(), which returns a `sluice_preparation*`. It is valid until the backend
// is released.
#define SLUICE_PREPARATION_ID "sluice.backend.preparation/1"

struct sluice_preparation;
struct sluice_preparation_methods {
  // Writes the sysctls that the backend needs, and loads kernel modules. It must not create rules or other objects that
  // would have to be removed. The first apply() must do the same, if its privileges suffice. A setting that cannot be
  // written is a warning through the host; an error must be returned only if every apply() would fail.
  // `node` has the facts that are known without a cluster, which are its flags; other fields may be empty. `node` and
  // `error` are never null. Called on the apply thread after a successful probe(). Limit: 10 s.
  sluice_code (*prepare)(struct sluice_preparation* self, const struct sluice_node_facts* node,
                         struct sluice_error* error);
};
// "sluice.backend.preparation/1".
//
// `sluiced --init-only` runs with all privileges before a daemon that has only CAP_NET_ADMIN. It applies the settings
// that the daemon itself must not write. This class never grows.
struct sluice_preparation {
  const struct sluice_preparation_methods* methods;  // never null
};

// ---- inspection -----------------------------------------------------------------------------------------------------
// For backends that can describe the programmed state, as text or as values.

// The id for sluice_backend_methods.extension(), which returns an `sluice_inspection*`. It is valid until the backend
// is released.
#define SLUICE_INSPECTION_ID "sluice.backend.inspection/1"

struct sluice_inspection;
struct sluice_inspection_methods {
  // Adds one line for each frontend that exists in the kernel. The backend must read it from the kernel during the
  // call, not from its memory. The format allows a comparison with the delivered state (`sluicectl services
  // --no-kernel`):
  //
  //   NAME FRONTEND[ at ADDRESSES][ sticky for N s][ masqueraded] -> TARGETS
  //     [; from this node -> TARGETS][; else REASON][; only for PREFIX, PREFIX]
  //
  //   NAME: "shop/cart:http", or "shop/cart" for an unnamed port
  //   FRONTEND: "172.30.0.41:80/tcp", "[fd00::1]:80/udp"; a node port is ":30080/tcp"
  //   ADDRESSES: for node ports only, sorted as text: "192.0.2.7, 198.51.100.1", "every address of this node" or "no
  //     address"
  //   TARGETS: "10.180.0.1:80, 10.180.2.1:80", sorted as text. Deviations in the kernel are in parentheses after a
  //     target or after the list
  //   REASON: "rejected, no endpoints", "dropped, no endpoints on this node"
  //
  // Without targets for clients outside of the node, the line is "NAME FRONTEND from this node -> TARGETS; else
  // REASON"; without any targets it is "NAME FRONTEND -> REASON". Objects that belong to no service port come last,
  // each prefixed by "not wanted by any Service: ".
  //
  // `name` selects the lines that begin with that name, "shop/cart" or "shop/cart:http"; empty: all lines. Must return
  // SLUICE_CODE_RETRY before the first successful apply(). An incomplete listing is an error, and no line must be added
  // then. Called on the apply thread. Limit: 10 s.
  sluice_code (*services)(struct sluice_inspection* self, struct sluice_string_view name,
                          struct sluice_string_sink* lines, struct sluice_error* error);
};
// "sluice.backend.inspection/1".
//
// `sluicectl services` prints it. The text is for people and may change. This class never grows.
struct sluice_inspection {
  const struct sluice_inspection_methods* methods;  // never null
};

// Since minor 1. The id for sluice_backend_methods.extension(), which returns an `sluice_inspection_rows*`. It is valid
// until the backend is released.
#define SLUICE_INSPECTION_ROWS_ID "sluice.backend.inspection/2"

// Since minor 1. What sluice_inspection_rows_methods.inspect() lists. A backend must return SLUICE_CODE_UNSUPPORTED for
// an unknown kind.
typedef uint32_t sluice_inspection_kind;
enum {
  // the rows are sluice_inspected_frontend: what is served, and by which endpoints
  SLUICE_INSPECTION_KIND_INSPECT_FRONTENDS = 1,
  // sluice_inspected_counters: the traffic that the data plane has counted
  SLUICE_INSPECTION_KIND_INSPECT_COUNTERS = 2,
  // sluice_inspected_drift: where the kernel differs from the last successful apply()
  SLUICE_INSPECTION_KIND_INSPECT_DRIFT = 3,
  // sluice_inspected_step: what happens to sluice_inspection_query.packet
  SLUICE_INSPECTION_KIND_INSPECT_EXPLANATION = 4,
};

// Since minor 1. Flags of an sluice_inspected_packet. Neither: the client is outside of this node.
typedef uint32_t sluice_inspected_packet_flag;
enum {
  SLUICE_PACKET_OF_NODE = 1 << 0,  // sent by a process of this node that is in no pod
  SLUICE_PACKET_OF_POD = 1 << 1,  // sent by a pod of this node
};

// Growing. Since minor 1. The first packet of a new connection.
struct sluice_inspected_packet {
  uint32_t struct_size;
  uint32_t flags;  // sluice_inspected_packet_flag
  struct sluice_address client;
  struct sluice_address address;  // the destination
  uint16_t port;
  sluice_protocol protocol;
  uint8_t reserved[5];
};
SLUICE_ASSERT(sizeof(struct sluice_inspected_packet) == 48 &&
              offsetof(struct sluice_inspected_packet, client) == 8 &&
              offsetof(struct sluice_inspected_packet, address) == 24 &&
              offsetof(struct sluice_inspected_packet, port) == 40 &&
              offsetof(struct sluice_inspected_packet, protocol) == 42);

// Growing. Since minor 1. The argument of sluice_inspection_rows_methods.inspect().
struct sluice_inspection_query {
  uint32_t struct_size;
  sluice_inspection_kind kind;
  // Only rows of this Service, "shop/cart", or service port, "shop/cart:http"; empty: all rows.
  struct sluice_string_view name;
  // with SLUICE_INSPECTION_KIND_INSPECT_EXPLANATION, and `name` is empty then; otherwise null
  const struct sluice_inspected_packet* packet;
};
SLUICE_ASSERT(sizeof(struct sluice_inspection_query) == 32 &&
              offsetof(struct sluice_inspection_query, kind) == 4 &&
              offsetof(struct sluice_inspection_query, name) == 8 &&
              offsetof(struct sluice_inspection_query, packet) == 24);

// Since minor 1. Flags of an sluice_inspected_target.
typedef uint16_t sluice_inspected_target_flag;
enum {
  SLUICE_TARGET_UNKNOWN = 1 << 0,  // the address cannot be read: `object` names what stands for it
  SLUICE_TARGET_DRAINING = 1 << 1,  // receives no new connections
};

// Growing. Since minor 1. An endpoint that receives packets of a frontend.
struct sluice_inspected_target {
  struct sluice_address address;
  uint16_t port;
  uint16_t flags;  // sluice_inspected_target_flag
  uint32_t reserved;
  struct sluice_string_view object;  // a name of the data plane, such as a chain; may be empty
  struct sluice_string_view remarks;  // deviations from what the backend wrote, separated by ", "; may be empty
};
SLUICE_ASSERT(sizeof(struct sluice_inspected_target) == 56 &&
              offsetof(struct sluice_inspected_target, port) == 16 &&
              offsetof(struct sluice_inspected_target, flags) == 18 &&
              offsetof(struct sluice_inspected_target, object) == 24 &&
              offsetof(struct sluice_inspected_target, remarks) == 40);

// Fixed. Since minor 1. Where packets of one group of clients go.
struct sluice_inspected_targets {
  struct sluice_array_view targets;  // sluice_inspected_target, in any order
  // without targets: where the packets go instead, for example "nowhere"; empty: no such clients
  struct sluice_string_view instead;
  struct sluice_string_view remarks;  // as sluice_inspected_target.remarks
};
SLUICE_ASSERT(sizeof(struct sluice_inspected_targets) == 56 &&
              offsetof(struct sluice_inspected_targets, instead) == 24 &&
              offsetof(struct sluice_inspected_targets, remarks) == 40);

// Since minor 1. Flags of an sluice_inspected_frontend.
typedef uint32_t sluice_inspected_flag;
enum {
  SLUICE_INSPECTED_NOT_WANTED = 1 << 0,  // no service port needs it
  SLUICE_INSPECTED_NODE_PORT = 1 << 1,  // a node port: `address` is zero
  // of a node port: served on every address of this node, and `addresses` is empty
  SLUICE_INSPECTED_EVERY_ADDRESS = 1 << 2,
  SLUICE_INSPECTED_MASQUERADED = 1 << 3,  // targets see an address of this node as the client
  SLUICE_INSPECTED_REJECTED = 1 << 4,  // packets that reach no target are rejected
  SLUICE_INSPECTED_DROPPED = 1 << 5,  // packets that reach no target are dropped
  SLUICE_INSPECTED_RESTRICTED = 1 << 6,  // serves only clients in `source_ranges`
};

// Growing. Since minor 1. An address and port that the data plane serves, or any other object that no service port
// needs.
struct sluice_inspected_frontend {
  struct sluice_service_port_key key;  // with SLUICE_INSPECTED_NOT_WANTED the names are empty
  struct sluice_address address;
  uint16_t port;
  uint8_t reserved[2];
  uint32_t flags;  // sluice_inspected_flag
  struct sluice_array_view addresses;  // sluice_prefix; of a node port. A single address has the full length
  uint32_t affinity_seconds;  // 0: no session affinity
  uint32_t reserved2;
  // of all clients; if `node_targets` is not empty, of clients outside of this node
  struct sluice_inspected_targets targets;
  struct sluice_inspected_targets node_targets;  // of pods and processes of this node, if their targets differ
  // what happens to packets that reach no target, with deviations; empty: nothing is known
  struct sluice_string_view otherwise;
  struct sluice_array_view source_ranges;  // sluice_prefix, with SLUICE_INSPECTED_RESTRICTED
  struct sluice_string_view ranges_instead;  // without ranges: which clients are served, for example "no source"
  struct sluice_string_view ranges_remarks;  // as sluice_inspected_target.remarks
  struct sluice_string_view object;  // not a frontend: the object, with SLUICE_INSPECTED_NOT_WANTED; all else is zero
  struct sluice_string_view remarks;  // about the way to the frontend, as sluice_inspected_target.remarks
};
SLUICE_ASSERT(sizeof(struct sluice_inspected_frontend) == 328 &&
              offsetof(struct sluice_inspected_frontend, address) == 56 &&
              offsetof(struct sluice_inspected_frontend, port) == 72 &&
              offsetof(struct sluice_inspected_frontend, flags) == 76 &&
              offsetof(struct sluice_inspected_frontend, addresses) == 80 &&
              offsetof(struct sluice_inspected_frontend, affinity_seconds) == 104 &&
              offsetof(struct sluice_inspected_frontend, targets) == 112 &&
              offsetof(struct sluice_inspected_frontend, node_targets) == 168 &&
              offsetof(struct sluice_inspected_frontend, otherwise) == 224 &&
              offsetof(struct sluice_inspected_frontend, source_ranges) == 240 &&
              offsetof(struct sluice_inspected_frontend, ranges_instead) == 264 &&
              offsetof(struct sluice_inspected_frontend, ranges_remarks) == 280 &&
              offsetof(struct sluice_inspected_frontend, object) == 296 &&
              offsetof(struct sluice_inspected_frontend, remarks) == 312);

// Since minor 1. What an sluice_inspected_counters describes, and which of its values are known. Unknown values are 0.
typedef uint32_t sluice_inspected_counters_flag;
enum {
  // the traffic of `address` and `port`; otherwise of all frontends of the service port
  SLUICE_COUNTED_FRONTEND = 1 << 0,
  SLUICE_COUNTED_NODE_PORT = 1 << 1,  // with SLUICE_COUNTED_FRONTEND: a node port, and `address` is zero
  SLUICE_COUNTED_TARGET = 1 << 2,  // the traffic to `target` and `target_port`; otherwise to all endpoints
  SLUICE_COUNTED_BOTH_DIRECTIONS = 1 << 3,  // `packets` and `bytes` include those to clients
  SLUICE_KNOWN_CONNECTIONS = 1 << 8,
  SLUICE_KNOWN_PACKETS = 1 << 9,
  SLUICE_KNOWN_BYTES = 1 << 10,
  SLUICE_KNOWN_REPLY_PACKETS = 1 << 11,
  SLUICE_KNOWN_REPLY_BYTES = 1 << 12,
  SLUICE_KNOWN_ACTIVE = 1 << 13,
  SLUICE_KNOWN_REFUSED = 1 << 14,
};

// Growing. Since minor 1. Counted traffic of a service port. The values grow from the time at which the object of the
// data plane was made, and restart at 0 when it is made again. Rows of one service port may overlap: the rows of its
// frontends and those of its endpoints each sum up to the row of the service port, if the data plane counts all three.
struct sluice_inspected_counters {
  struct sluice_service_port_key key;
  struct sluice_address address;
  struct sluice_address target;
  uint16_t port;
  uint16_t target_port;
  uint32_t flags;  // sluice_inspected_counters_flag
  uint64_t connections;  // new connections; of UDP: flows
  uint64_t packets;  // from clients
  uint64_t bytes;  // from clients, as the data plane counts them: with or without headers
  uint64_t reply_packets;  // to clients
  uint64_t reply_bytes;  // to clients
  uint64_t active_connections;  // now
  uint64_t refused;  // connections or first packets that were rejected or dropped
};
SLUICE_ASSERT(sizeof(struct sluice_inspected_counters) == 152 &&
              offsetof(struct sluice_inspected_counters, address) == 56 &&
              offsetof(struct sluice_inspected_counters, target) == 72 &&
              offsetof(struct sluice_inspected_counters, port) == 88 &&
              offsetof(struct sluice_inspected_counters, target_port) == 90 &&
              offsetof(struct sluice_inspected_counters, flags) == 92 &&
              offsetof(struct sluice_inspected_counters, connections) == 96 &&
              offsetof(struct sluice_inspected_counters, packets) == 104 &&
              offsetof(struct sluice_inspected_counters, bytes) == 112 &&
              offsetof(struct sluice_inspected_counters, reply_packets) == 120 &&
              offsetof(struct sluice_inspected_counters, reply_bytes) == 128 &&
              offsetof(struct sluice_inspected_counters, active_connections) == 136 &&
              offsetof(struct sluice_inspected_counters, refused) == 144);

// Since minor 1. How an object in the kernel differs from the last successful apply(). An unknown kind is treated as
// SLUICE_DRIFT_KIND_DRIFT_CHANGED.
typedef uint32_t sluice_drift_kind;
enum {
  SLUICE_DRIFT_KIND_DRIFT_MISSING = 1,  // apply() wrote it, and it is gone
  SLUICE_DRIFT_KIND_DRIFT_CHANGED = 2,  // it is there, but not as written
  // in the place of this backend, and not wanted; the next full transaction removes it
  SLUICE_DRIFT_KIND_DRIFT_EXTRA = 3,
  // of others, and it may affect the traffic of this backend; no transaction removes it
  SLUICE_DRIFT_KIND_DRIFT_FOREIGN = 4,
};

// Growing. Since minor 1. One object in the kernel that differs.
struct sluice_inspected_drift {
  // the names are empty if no single service port needs the object; `protocol` is 0 then
  struct sluice_service_port_key key;
  sluice_drift_kind kind;
  uint32_t count;  // objects that this row stands for, at least 1
  struct sluice_string_view object;  // what it is and where, for example "element 10.0.0.1 . tcp . 80 of service-ips"
  struct sluice_string_view wanted;  // its content as written; empty if `object` says all
  struct sluice_string_view found;  // its content in the kernel; empty if `object` says all
};
SLUICE_ASSERT(sizeof(struct sluice_inspected_drift) == 112 &&
              offsetof(struct sluice_inspected_drift, kind) == 56 &&
              offsetof(struct sluice_inspected_drift, count) == 60 &&
              offsetof(struct sluice_inspected_drift, object) == 64 &&
              offsetof(struct sluice_inspected_drift, wanted) == 80 &&
              offsetof(struct sluice_inspected_drift, found) == 96);

// Since minor 1. What a step does with the packet.
typedef uint32_t sluice_inspected_verdict;
enum {
  SLUICE_INSPECTED_VERDICT_CONTINUES = 0,  // the next row follows
  SLUICE_INSPECTED_VERDICT_SERVED = 1,  // one of the targets of this step receives the packet
  SLUICE_INSPECTED_VERDICT_REJECTED = 2,  // the client receives an error
  SLUICE_INSPECTED_VERDICT_DROPPED = 3,  // neither an endpoint nor the client receives anything
  // this backend does not handle the packet: it goes where it would go without it
  SLUICE_INSPECTED_VERDICT_NOT_PROXIED = 4,
};

// Since minor 1. Flags of an sluice_inspected_step.
typedef uint32_t sluice_inspected_step_flag;
enum {
  SLUICE_STEP_COUNTED = 1 << 0,  // `packets` and `bytes` are known
  SLUICE_STEP_MASQUERADES = 1 << 1,  // targets will see an address of this node as the client
};

// Growing. Since minor 1. An object in the kernel that the packet reaches. Rows are in the order in which the packet
// reaches them; exactly the last one has a verdict other than SLUICE_INSPECTED_VERDICT_CONTINUES.
struct sluice_inspected_step {
  struct sluice_string_view object;  // as sluice_inspected_drift.object
  // what it does with this packet, for example "chooses one of 2 endpoints at random"
  struct sluice_string_view effect;
  struct sluice_string_view remarks;  // as sluice_inspected_target.remarks
  // sluice_inspected_target; the endpoints that may receive the packet, if this step chooses
  struct sluice_array_view targets;
  sluice_inspected_verdict verdict;
  uint32_t flags;  // sluice_inspected_step_flag
  uint64_t packets;  // all packets that the object has matched so far
  uint64_t bytes;
};
SLUICE_ASSERT(sizeof(struct sluice_inspected_step) == 96 &&
              offsetof(struct sluice_inspected_step, effect) == 16 &&
              offsetof(struct sluice_inspected_step, remarks) == 32 &&
              offsetof(struct sluice_inspected_step, targets) == 48 &&
              offsetof(struct sluice_inspected_step, verdict) == 72 &&
              offsetof(struct sluice_inspected_step, flags) == 76 &&
              offsetof(struct sluice_inspected_step, packets) == 80 &&
              offsetof(struct sluice_inspected_step, bytes) == 88);

struct sluice_inspection_sink;
struct sluice_inspection_sink_methods {
  // `rows`: elements of the type that the kind of the query names. The backend may add them in batches of any size. The
  // daemon copies them. Returns 0 if the daemon wants no further rows, because its bound is reached: the backend should
  // then return SLUICE_CODE_OK.
  int32_t (*add)(struct sluice_inspection_sink* self, struct sluice_array_view rows);
};
// Since minor 1. Receives rows. Implemented by the daemon, valid during the call that receives it. This class never
// grows.
struct sluice_inspection_sink {
  const struct sluice_inspection_sink_methods* methods;  // never null
};

struct sluice_inspection_rows;
struct sluice_inspection_rows_methods {
  // Adds a row for each object of this kind. The backend must read it from the kernel during the call, not from its
  // memory, and must not change anything. Rows of one service port must follow each other; objects that no service port
  // needs come last, and a backend should add at most 1,000 of them. Must return SLUICE_CODE_RETRY before the first
  // successful apply(), and SLUICE_CODE_UNSUPPORTED for a kind that it does not have. After a failure the daemon
  // discards the rows. Called on the apply thread. Limit: 10 s.
  sluice_code (*inspect)(struct sluice_inspection_rows* self, const struct sluice_inspection_query* query,
                         struct sluice_inspection_sink* sink, struct sluice_error* error);
};
// Since minor 1. "sluice.backend.inspection/2".
//
// What sluice_inspection prints, as values, and more. If a backend has both, the daemon calls only this one, and makes
// the text of `sluicectl services` from the rows. This class never grows.
struct sluice_inspection_rows {
  const struct sluice_inspection_rows_methods* methods;  // never null
};

// ---- affinity -------------------------------------------------------------------------------------------------------
// For backends that can export or import session affinity bindings, so that affinity survives a swap of backends.

// The id for sluice_backend_methods.extension(), which returns an `sluice_affinity*`. It is valid until the backend is
// released.
#define SLUICE_AFFINITY_ID "sluice.backend.affinity/1"

// Growing. A session affinity binding: a service port sends this client to this endpoint.
struct sluice_affinity_client {
  struct sluice_service_port_key key;
  struct sluice_address client;
  struct sluice_address endpoint;
  uint16_t endpoint_port;
  uint8_t reserved[2];
  // The seconds until the binding expires without further connections: at least 1, at most
  // sluice_service_port.affinity_seconds.
  uint32_t remaining_seconds;
};
SLUICE_ASSERT(sizeof(struct sluice_affinity_client) == 96 &&
              offsetof(struct sluice_affinity_client, client) == 56 &&
              offsetof(struct sluice_affinity_client, endpoint_port) == 88 &&
              offsetof(struct sluice_affinity_client, remaining_seconds) == 92);

struct sluice_affinity_sink;
struct sluice_affinity_sink_methods {
  // `clients`: elements are sluice_affinity_client. The backend may add them in batches of any size. The daemon copies
  // them.
  void (*add)(struct sluice_affinity_sink* self, struct sluice_array_view clients);
};
// Receives clients. Implemented by the daemon, valid during the call that receives it. This class never grows.
struct sluice_affinity_sink {
  const struct sluice_affinity_sink_methods* methods;  // never null
};

struct sluice_affinity;
struct sluice_affinity_methods {
  // Must add the current bindings of all applied service ports, in any order. May be called more than once; the last
  // result is used. Limit: 10 s.
  sluice_code (*export_clients)(struct sluice_affinity* self, struct sluice_affinity_sink* sink,
                                struct sluice_error* error);
  // `clients`: elements are sluice_affinity_client, exported by another backend. Called before the first apply(): the
  // backend must keep a copy, and that apply() must program the bindings so that they hold from the first packet on.
  // May be called again after the first apply() with newer bindings: the backend must add those of clients that have no
  // binding yet. Bindings of a service port or endpoint that does not exist or has no affinity must be ignored. Limit:
  // 10 s.
  sluice_code (*import_clients)(struct sluice_affinity* self, struct sluice_array_view clients,
                                struct sluice_error* error);
};
// "sluice.backend.affinity/1".
//
// Used only for backends that also have SLUICE_FEATURE_AFFINITY. Both methods are called on the apply thread. A backend
// that supports one of them only must return SLUICE_CODE_UNSUPPORTED from the other. This class never grows.
struct sluice_affinity {
  const struct sluice_affinity_methods* methods;  // never null
};

// ---- descriptors ----------------------------------------------------------------------------------------------------
// For backends whose file descriptors must outlive them. The daemon passes descriptors to the next backend and, if the
// service manager stores descriptors (sd_notify(3), FDSTORE), to the next process.

// The id for sluice_host_methods.extension(), which returns a `sluice_host_descriptors*`. It is valid as long as the
// host.
#define SLUICE_HOST_DESCRIPTORS_ID "sluice.host.descriptors/1"

struct sluice_host_descriptors;
struct sluice_host_descriptors_methods {
  // Keeps a duplicate of `fd` as `name` and replaces an earlier one. Returns SLUICE_CODE_OK or an error. The caller
  // keeps ownership of `fd`. It is not an error if the service manager cannot store the descriptor: then it is kept
  // until the process ends.
  sluice_code (*keep)(struct sluice_host_descriptors* self, struct sluice_string_view name, int32_t fd,
                      struct sluice_error* error);
  // Returns a duplicate (close-on-exec) of the descriptor that is kept as `name`, which may come from another backend
  // or an earlier process, or -1 if there is none. The caller owns the duplicate. The descriptor stays kept.
  int32_t (*take)(struct sluice_host_descriptors* self, struct sluice_string_view name);
  // Drops the descriptor that is kept as `name`, if any.
  void (*drop)(struct sluice_host_descriptors* self, struct sluice_string_view name);
  // Adds the names of all kept descriptors to `sink`.
  void (*names)(struct sluice_host_descriptors* self, struct sluice_string_sink* sink);
};
// "sluice.host.descriptors/1".
//
// A descriptor is kept under a name: 1 to 200 bytes of letters, digits and "-_.". Names are unique within a backend id
// and family: the active, draining and new backends share them, and the last keep() of a name replaces earlier ones.
// Every method may be called from any thread, does not wait for the service manager, and never calls the backend. This
// class never grows.
struct sluice_host_descriptors {
  const struct sluice_host_descriptors_methods* methods;  // never null
};

// The name of the section and of the only symbol a plugin exports.
#define SLUICE_ABI_SECTION "sluice_abi"
#define SLUICE_ABI_SYMBOL "sluice_plugin_entry"

// SLUICE_PLUGIN_ENTRY = { ... }; must be in exactly one source file of a plugin. The value must be a constant
// expression, so that the daemon can read it before any code of the plugin runs.
#define SLUICE_PLUGIN_ENTRY                                                                                   \
  extern const struct sluice_plugin_entry sluice_plugin_entry;                                                \
  __attribute__((visibility("default"), section(SLUICE_ABI_SECTION), used)) const struct sluice_plugin_entry \
      sluice_plugin_entry

#endif
