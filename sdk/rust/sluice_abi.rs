// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0
//
// The plugin ABI for Rust, the same as <sluice/abi/abi.hpp>. sdk/tools/bindings makes it from the C++ headers.
// Include it as a module; it needs only `core`, and Rust 1.63 or later.
//
// A pointer to an interface, for example *mut Host, points to a struct whose first member points to a table of
// functions. Call one with the object as its first argument: ((*(*host).methods).now)(host). An object of your own
// begins with the same member (#[repr(C)]). A panic must not leave a function: catch it, or compile with panic=abort.
//
// Enumerations are integers, because minor versions may add values.
#![allow(dead_code, clippy::missing_safety_doc)]

use core::ffi::c_void;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the plugin ABI of Sluice is for 64-bit machines (LP64)");

/// The name of the section and of the only symbol a plugin exports: a static of type PluginEntry with the attributes
/// `#[no_mangle]` and `#[link_section = "sluice_abi"]`.
pub const ABI_SECTION: &str = "sluice_abi";
pub const ABI_SYMBOL: &str = "sluice_plugin_entry";

// Types that are passed between sluiced and a backend.
//
// All types have standard layout, are trivially copyable and own nothing. A view is valid until the call that received
// it returns; the callee must copy data that it keeps.
//
// Growth. Each struct is of one of two sorts:
//   fixed: Embedded in others; never grows. Reserved bytes may get a meaning, with zero for the previous behaviour.
//   growing: Grows at the end only. A struct that is passed alone starts with `struct_size`; an array has the `stride`
//     of its elements. The reader must copy min(its own size, the given size or stride) into a zeroed local, so that
//     old and new binaries are compatible. A callee that fills a struct of the caller (ApplyResult, Error) must not
//     write beyond its `struct_size`, nor change that field. Zero in a field means the behaviour before the field
//     existed.
// Reserved members must be written as zero and must not be read.
//
// Unknown values: minor versions may add enumeration values and flag bits. Each enumeration states how its reader must
// handle an unknown value. An unknown flag may be ignored: the behaviour without it stays correct.

/// "SLC0" as little-endian bytes: the first word of every plugin descriptor in every major version.
pub const MAGIC: u32 = 0x30434C53;

/// Must be equal in daemon and plugin.
pub const MAJOR: u16 = 1;

/// Incremented with additions. The daemon never rejects a plugin because of a different minor.
pub const MINOR: u16 = 1;

/// Fixed. UTF-8, not NUL-terminated. `data` may be null if `size` is 0. Names are passed unchanged from the API server,
/// so a backend must validate them before it passes them to other programs. The daemon replaces control characters in
/// texts of a backend by spaces.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StringView {
    pub data: *const u8,
    /// bytes
    pub size: u64,
}
const _: () = assert!(core::mem::size_of::<StringView>() == 16);
// In a constant of a plugin its pointers lead to constants.
unsafe impl Sync for StringView {}

/// Fixed. `count` elements, `stride` bytes apart; each use names the element type. `data` may be null if `count` is 0.
/// `data` must be aligned for the element type of the writer, and `stride` must be a multiple of that alignment.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ArrayView {
    pub data: *const c_void,
    pub count: u64,
    /// bytes from one element to the next
    pub stride: u32,
    pub reserved: u32,
}
const _: () = assert!(core::mem::size_of::<ArrayView>() == 24);
// In a constant of a plugin its pointers lead to constants.
unsafe impl Sync for ArrayView {}

/// The result of a call, which determines how the caller continues. An unknown value is treated as CODE_INTERNAL. In
/// all headers, "kernel" includes any other data plane that the backend programs.
pub type Code = i32;
pub const CODE_OK: Code = 0;
/// temporary failure: call again later. BackendMethods::retire() defines its own meaning
pub const CODE_RETRY: Code = 1;
/// the state differs from the base of the request: a full transaction is required
pub const CODE_NEED_FULL: Code = 2;
/// the request or a setting is invalid; a retry cannot succeed
pub const CODE_INVALID: Code = 3;
/// not supported by this backend or kernel
pub const CODE_UNSUPPORTED: Code = 4;
/// missing privileges
pub const CODE_DENIED: Code = 5;
/// the kernel, or a tool that configures it, reported an error
pub const CODE_KERNEL: Code = 6;
/// a defect of the callee
pub const CODE_INTERNAL: Code = 7;

/// The values are the IP versions. A family without its feature in the descriptor is never passed.
pub type Family = u8;
pub const FAMILY_IPV4: Family = 4;
pub const FAMILY_IPV6: Family = 6;

/// The values are the IANA protocol numbers. A backend must report service ports of an unknown or unsupported protocol
/// with HostMethods::service_port_failed().
pub type Protocol = u8;
pub const PROTOCOL_TCP: Protocol = 6;
pub const PROTOCOL_UDP: Protocol = 17;
pub const PROTOCOL_SCTP: Protocol = 132;

/// Fixed. Network byte order. IPv4 uses the first four bytes; the others must be zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Address {
    pub bytes: [u8; 16],
}
const _: () = assert!(core::mem::size_of::<Address>() == 16);

/// Fixed. A canonical CIDR: bits after `length` must be zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Prefix {
    pub address: Address,
    /// bits: 0..32 or 0..128
    pub length: u8,
    pub reserved: [u8; 7],
}
const _: () = assert!(core::mem::size_of::<Prefix>() == 24);

/// Growing. The caller provides zeroed memory, and the callee fills it. `object` and `message` must be UTF-8 and
/// NUL-terminated, truncated between two characters if too long. With CODE_OK it is ignored.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Error {
    /// set by the caller
    pub struct_size: u32,
    /// 0 if no system call failed
    pub os_errno: i32,
    /// the object that failed, for example "shop/cart:http"; may be empty
    pub object: [u8; 240],
    /// one sentence: object, action, cause, remedy
    pub message: [u8; 520],
}
const _: () = assert!(core::mem::size_of::<Error>() == 768);

/// Since minor 1. An unknown type is treated as OPTION_TYPE_TEXT.
pub type OptionType = u32;
pub const OPTION_TYPE_UNDECLARED: OptionType = 0;
/// any text; create() of the plugin validates it
pub const OPTION_TYPE_TEXT: OptionType = 1;
/// true or false
pub const OPTION_TYPE_BOOLEAN: OptionType = 2;
/// a decimal number
pub const OPTION_TYPE_INTEGER: OptionType = 3;
/// in Go syntax: "1m30s", "250ms", "0"
pub const OPTION_TYPE_DURATION: OptionType = 4;
/// one of OptionSpec::words
pub const OPTION_TYPE_WORD: OptionType = 5;

/// Since minor 1. Flags of an Option.
pub type OptionFlag = u32;
/// the configuration does not contain the key: the value is the declared default
pub const OPTION_DEFAULT: OptionFlag = 1 << 0;

/// Growing. One flattened setting: key "a.b[0].c". Keys are unique. The value is the scalar as written, without quotes;
/// null is "". Keys that begin with "ipvs." or "userspace." come from kube-proxy's document; only the backend with that
/// id receives them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Option {
    pub key: StringView,
    pub value: StringView,
    /// Since minor 1. Zero for a key that the plugin does not declare in PluginEntry::options.
    /// as declared; OPTION_TYPE_TEXT if the daemon does not know the declared type
    pub value_type: OptionType,
    /// OptionFlag
    pub flags: u32,
    /// OPTION_TYPE_BOOLEAN: 0 or 1. OPTION_TYPE_INTEGER: the value. OPTION_TYPE_DURATION: nanoseconds.
    /// OPTION_TYPE_WORD: the index in OptionSpec::words.
    pub number: i64,
}
const _: () = assert!(core::mem::size_of::<Option>() == 48);

// A resolved service port: one (Service, port) pair for one IP family, with all Kubernetes policy already applied. A
// backend needs no knowledge beyond this.

/// Fixed. The identity of a service port within one family. Printed as "namespace/name:port", or "namespace/name" for
/// an unnamed port. The protocol is part of the identity, but not of the printed name.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ServicePortKey {
    pub service_namespace: StringView,
    pub service_name: StringView,
    pub port_name: StringView,
    pub protocol: Protocol,
    pub reserved: [u8; 7],
}
const _: () = assert!(core::mem::size_of::<ServicePortKey>() == 56);

/// A backend must ignore frontends of an unknown kind.
pub type FrontendKind = u8;
/// spec.clusterIPs of this family; one, or none if another Service has it
pub const FRONTEND_KIND_CLUSTER_IP: FrontendKind = 1;
/// spec.externalIPs
pub const FRONTEND_KIND_EXTERNAL_IP: FrontendKind = 2;
/// status.loadBalancer.ingress[].ip with ipMode VIP
pub const FRONTEND_KIND_LOAD_BALANCER: FrontendKind = 3;
/// the address is all zero: see NodeFacts::node_port_addresses
pub const FRONTEND_KIND_NODE_PORT: FrontendKind = 4;

/// Growing. An address and port to which clients connect. The protocol is that of the key. Several frontends of one
/// service port may have the same address and port, for example an external IP that is also the load balancer IP: the
/// restrictions of all of them apply. A frontend that several Services list is passed with one of them only.
///
/// The endpoints that receive new connections:
///   FRONTEND_KIND_CLUSTER_IP: The Local list with INTERNAL_POLICY_LOCAL, otherwise the Cluster list.
///   all others: With EXTERNAL_POLICY_LOCAL the Local list, and the client address must be preserved; otherwise the
///     Cluster list. Traffic from pods of this node (NodeFacts::detector) and from the node itself always uses the
///     Cluster list, unless the data plane supports only one list for all clients.
///   FRONTEND_KIND_LOAD_BALANCER: With ServicePort::source_ranges, traffic of clients outside of them must be dropped,
///     including pods and the node; traffic of the node to the address is allowed if a range contains the node IP. The
///     ranges do not apply to other kinds, in particular not to node ports.
/// If the selected list is empty, connections must be rejected; or dropped, if it is the Local list and
/// HAS_ANY_ENDPOINT is set. If there is no endpoint at all, clients outside of the ranges may be rejected, too.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Frontend {
    pub address: Address,
    pub port: u16,
    pub kind: FrontendKind,
    pub reserved: [u8; 5],
}
const _: () = assert!(core::mem::size_of::<Frontend>() == 24);

/// Flags of an Endpoint. An endpoint in neither list must not receive new connections. It is included because it may
/// have established connections, or because it is local.
pub type EndpointFlag = u16;
/// member of the Cluster list
pub const ENDPOINT_IN_CLUSTER: EndpointFlag = 1 << 0;
/// member of the Local list
pub const ENDPOINT_IN_LOCAL: EndpointFlag = 1 << 1;
/// its pod runs on this node
pub const ENDPOINT_ON_THIS_NODE: EndpointFlag = 1 << 2;
pub const ENDPOINT_READY: EndpointFlag = 1 << 3;
pub const ENDPOINT_SERVING: EndpointFlag = 1 << 4;
pub const ENDPOINT_TERMINATING: EndpointFlag = 1 << 5;

/// Growing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Endpoint {
    pub address: Address,
    pub port: u16,
    /// EndpointFlag
    pub flags: u16,
    pub reserved: u32,
}
const _: () = assert!(core::mem::size_of::<Endpoint>() == 24);

/// Growing. Since minor 1. More about the endpoint at the same index. Texts are empty if unknown.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EndpointDetails {
    pub node_name: StringView,
    pub zone: StringView,
    /// the target, if it is a pod; its namespace is that of the Service
    pub pod_name: StringView,
    pub pod_uid: StringView,
    /// relative share of new connections; 0: the same as other endpoints with 0. Only 0 so far
    pub weight: u32,
    pub reserved: u32,
}
const _: () = assert!(core::mem::size_of::<EndpointDetails>() == 72);

/// Growing. Since minor 1. An annotation of a Service.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Annotation {
    pub key: StringView,
    pub value: StringView,
}
const _: () = assert!(core::mem::size_of::<Annotation>() == 32);

/// Since minor 1. spec.type. An unknown value must be treated as SERVICE_TYPE_UNKNOWN_SERVICE.
pub type ServiceType = u32;
pub const SERVICE_TYPE_UNKNOWN_SERVICE: ServiceType = 0;
pub const SERVICE_TYPE_CLUSTER_IP_SERVICE: ServiceType = 1;
pub const SERVICE_TYPE_NODE_PORT_SERVICE: ServiceType = 2;
pub const SERVICE_TYPE_LOAD_BALANCER_SERVICE: ServiceType = 3;

/// Flags of a ServicePort.
pub type ServicePortFlag = u32;
/// internalTrafficPolicy: Local
pub const INTERNAL_POLICY_LOCAL: ServicePortFlag = 1 << 0;
/// externalTrafficPolicy: Local, if it applies
pub const EXTERNAL_POLICY_LOCAL: ServicePortFlag = 1 << 1;
/// a frontend uses the Cluster list
pub const USES_CLUSTER_ENDPOINTS: ServicePortFlag = 1 << 2;
/// a frontend uses the Local list
pub const USES_LOCAL_ENDPOINTS: ServicePortFlag = 1 << 3;
/// the cluster has an endpoint; always set if one of the lists is not empty
pub const HAS_ANY_ENDPOINT: ServicePortFlag = 1 << 4;
/// sessionAffinity: ClientIP
pub const SESSION_AFFINITY: ServicePortFlag = 1 << 5;

/// Growing. Arrays are sorted: frontends by kind, then in the order of the Service; endpoints by the text "ip:port"
/// (IPv6 "[ip]:port") in byte order, as in kube-proxy.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ServicePort {
    pub key: ServicePortKey,
    /// ServicePortFlag
    pub flags: u32,
    /// timeout after the last connection; 0 without SESSION_AFFINITY
    pub affinity_seconds: u32,
    /// 0: none. The daemon listens there, so rules must accept its traffic
    pub health_check_node_port: u16,
    pub reserved: [u8; 6],
    /// Frontend
    pub frontends: ArrayView,
    /// Prefix; empty: all clients may use the load balancer address
    pub source_ranges: ArrayView,
    /// Endpoint
    pub endpoints: ArrayView,
    /// Since minor 1. The next four have values only for a plugin with FEATURE_SERVICE_DETAILS.
    /// metadata.uid of the Service; empty if unknown
    pub service_uid: StringView,
    /// appProtocol of the port; empty: none
    pub app_protocol: StringView,
    /// Equal for all ports, protocols and families of one Service object, also in other processes; another object of
    /// the same name has another one. Not 0.
    pub session_key: u64,
    pub service_type: ServiceType,
    pub reserved2: u32,
    /// Annotation, sorted by key. Those of the Service whose key begins with one of PluginEntry::annotation_prefixes.
    pub annotations: ArrayView,
    /// EndpointDetails, as many as endpoints; empty without FEATURE_ENDPOINT_DETAILS
    pub endpoint_details: ArrayView,
}
const _: () = assert!(core::mem::size_of::<ServicePort>() == 240);

// The facts about the node that a backend needs. Every transaction contains all of them.

/// How to recognize traffic from pods of this node. An unknown value must be treated as LOCAL_DETECTOR_KIND_NONE.
pub type LocalDetectorKind = u32;
/// not possible: rules that depend on it must not be programmed
pub const LOCAL_DETECTOR_KIND_NONE: LocalDetectorKind = 0;
/// source address inside `cidr`
pub const LOCAL_DETECTOR_KIND_CIDR: LocalDetectorKind = 1;
/// arrives through `interface_name`
pub const LOCAL_DETECTOR_KIND_BRIDGE_INTERFACE: LocalDetectorKind = 2;
/// arrives through an interface whose name starts with `interface_name`
pub const LOCAL_DETECTOR_KIND_INTERFACE_NAME_PREFIX: LocalDetectorKind = 3;

pub type NodeFlag = u32;
/// every local address serves node ports; node_port_addresses is empty
pub const NODE_PORTS_MATCH_ALL: NodeFlag = 1 << 0;
/// IPv4: 127.0.0.0/8 serves them too
pub const NODE_PORTS_ON_LOCALHOST: NodeFlag = 1 << 1;
/// masquerade all traffic to cluster IPs
pub const MASQUERADE_ALL: NodeFlag = 1 << 2;
/// nf_conntrack_tcp_be_liberal was on at start: no INVALID drop
pub const CONNTRACK_TCP_LIBERAL: NodeFlag = 1 << 3;

/// Growing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NodeFacts {
    pub struct_size: u32,
    /// NodeFlag
    pub flags: u32,
    /// changes with every other field; only comparable within one process
    pub version: u64,
    pub name: StringView,
    /// the node IP of this family; loopback if unknown. It may change
    pub node_ip: Address,
    /// one bit, never 0
    pub masquerade_mark: u32,
    pub detector: LocalDetectorKind,
    /// for LOCAL_DETECTOR_KIND_CIDR
    pub detector_cidr: Prefix,
    /// for the interface kinds
    pub detector_interface: StringView,
    /// Address; sorted, without duplicates
    pub node_port_addresses: ArrayView,
    /// Address; all of this family except loopback, including link-local ones; sorted
    pub local_addresses: ArrayView,
    /// Prefix; only with FEATURE_SERVICE_CIDRS. The ranges of cluster IPs (ServiceCIDR objects), sorted, without ranges
    /// that another one contains; empty if unknown.
    pub service_cidrs: ArrayView,
}
const _: () = assert!(core::mem::size_of::<NodeFacts>() == 168);

// A transaction: the change of the desired state from one generation to the next.

/// A new kind is passed only to backends that announce support for it with a feature.
pub type TransactionKind = u32;
/// service_ports is complete; the backend must delete every object that is not listed
pub const TRANSACTION_KIND_FULL: TransactionKind = 0;
/// service_ports are new or changed, removed were deleted, all others are unchanged
pub const TRANSACTION_KIND_DELTA: TransactionKind = 1;

/// Growing. Valid and immutable during the call. A backend must return CODE_NEED_FULL for a delta if `base_generation`
/// is not its last applied generation. It may return CODE_NEED_FULL for any delta, for example if facts about the node
/// changed on which all objects depend. This is not a failure: the full transaction follows at once.
/// For a full transaction, a backend must read the kernel and write only the differences, so that a restart without
/// drift writes nothing.
/// Keys are sorted by namespace, service and port name in byte order, then by protocol number.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Transaction {
    pub struct_size: u32,
    pub kind: TransactionKind,
    /// delta only
    pub base_generation: u64,
    /// starts at 1 for each object; a full transaction without changes repeats the last one
    pub generation: u64,
    /// never null
    pub node: *const NodeFacts,
    /// ServicePort, sorted by key; may be empty, for example if only `node` changed
    pub service_ports: ArrayView,
    /// ServicePortKey, delta only, sorted by key; disjoint from service_ports
    pub removed: ArrayView,
    /// Since minor 1. The value of HostMethods::now() at which the limit of the call is exceeded; 0: no limit. A
    /// backend should not wait beyond it, for example for a lock, but may complete work that makes progress.
    pub deadline: u64,
    /// Since minor 1. Null, or a word that another thread of the daemon sets to a value other than 0 when the result is
    /// no longer needed: the daemon stops, another backend takes over, or a swap is rolled back. It may be set before
    /// the call. Must be read atomically, and only during the call. The backend should then return CODE_RETRY soon,
    /// which is no failure and not logged as one; CODE_OK is valid, too. It need not undo what it has written: it must
    /// leave a state that it may leave after a failure, from which the next full transaction, of this object or of a
    /// later process, or retire() can continue.
    pub cancelled: *const u32,
}
const _: () = assert!(core::mem::size_of::<Transaction>() == 96);

/// Growing. Statistics of one apply(). The caller sets struct_size and zeroes the rest. It is also read after a
/// failure.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ApplyResult {
    pub struct_size: u32,
    pub reserved: u32,
    /// messages or rule lines that changed the kernel; 0: no difference
    pub kernel_writes: u64,
    /// number of owned rules, chains and elements; undefined after a failure
    pub objects_owned: u64,
    /// time spent waiting for the kernel (see Code); 0: not measured
    pub kernel_nanoseconds: u64,
}
const _: () = assert!(core::mem::size_of::<ApplyResult>() == 32);

// The interface of the daemon for a backend. Implemented by sluiced.

/// An unknown value is treated as SEVERITY_INFO.
pub type Severity = i32;
pub const SEVERITY_ERROR: Severity = 0;
pub const SEVERITY_WARNING: Severity = 1;
pub const SEVERITY_INFO: Severity = 2;
pub const SEVERITY_DEBUG: Severity = 3;

/// A metric of an unknown kind is dropped and counted.
pub type MetricKind = u32;
pub const METRIC_KIND_COUNTER_ADD: MetricKind = 0;
pub const METRIC_KIND_GAUGE_SET: MetricKind = 1;
pub const METRIC_KIND_HISTOGRAM_OBSERVE: MetricKind = 2;
/// the total of a counter that is kept elsewhere, for example in the kernel
pub const METRIC_KIND_COUNTER_SET: MetricKind = 3;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostMethods {
    /// Logs one line; `text` must not contain a newline. Debug text is dropped below verbosity 4. Text that begins with
    /// "[id] " has a message id: up to 58 lower-case letters, digits and '-'. The daemon removes it from the text and
    /// writes it as the key "id" of JSON lines.
    pub log: unsafe extern "C" fn(this: *mut Host, severity: Severity, text: StringView),
    /// Returns 1 if lines of this severity are logged, otherwise 0, so that a backend can skip building the text. The
    /// result may change with each reload. Cheap.
    pub log_enabled: unsafe extern "C" fn(this: *mut Host, severity: Severity) -> i32,
    /// Adds to, sets or observes a metric. `labels` is `name="value",…` or empty; it must contain ip_family if values
    /// differ by family.
    pub metric: unsafe extern "C" fn(
        this: *mut Host,
        kind: MetricKind,
        name: StringView,
        labels: StringView,
        value: f64,
    ),
    /// Sends a Kubernetes event: of type Warning for SEVERITY_ERROR and SEVERITY_WARNING, otherwise Normal. `reason`
    /// must be in UpperCamelCase, `note` a sentence; the daemon truncates them to the limits of Kubernetes.
    /// `regarding`: the event is about the Service of this port; null: about the node. All arguments are copied.
    pub event: unsafe extern "C" fn(
        this: *mut Host,
        severity: Severity,
        reason: StringView,
        note: StringView,
        regarding: *const ServicePortKey,
    ),
    /// Returns CLOCK_MONOTONIC in nanoseconds.
    pub now: unsafe extern "C" fn(this: *mut Host) -> u64,
    /// Requests a full transaction, because the backend found drift in kernel state; the daemon may call verify()
    /// first. Pending requests are merged.
    pub request_resync: unsafe extern "C" fn(this: *mut Host, reason: StringView),
    /// Reports that the backend is unhealthy until further notice. Status and metrics show the last `reason` of the
    /// family. An empty reason means that the backend is healthy again.
    pub report_unhealthy: unsafe extern "C" fn(this: *mut Host, reason: StringView),
    /// Reports the reason why a service port, or some of its frontends, is not programmed, although apply() continues.
    /// Must be called during apply(), on the apply thread, and again in each apply() whose transaction is full or names
    /// the service port. A null `error` means that the service port is served now, although this transaction does not
    /// name it. The last of several reports counts. Outside apply(), or if `key` is null, the report is dropped. Both
    /// arguments are copied. While service ports are not programmed, the daemon retries them: after a minute, then with
    /// exponential backoff up to an hour, which restarts when their set changes.
    pub service_port_failed: unsafe extern "C" fn(
        this: *mut Host,
        key: *const ServicePortKey,
        error: *const Error,
    ),
    /// Returns an extension by id ("sluice.host.<name>/<revision>"), or null if the id is unknown. The id determines
    /// the type of the pointer, which is the same for each call and valid until release() returns.
    pub extension: unsafe extern "C" fn(this: *mut Host, id: StringView) -> *mut c_void,
}
/// Valid from create() until release() returns. Every method may be called from any thread, unless it says otherwise.
/// It does not block, and never calls the backend on the same stack.
#[repr(C)]
pub struct Host {
    /// Never null.
    pub methods: *const HostMethods,
}

// Declares the options of a backend (since minor 1). The daemon validates the configuration with these declarations,
// documents them, and passes typed values to create().

/// The effect of a changed value at a reload. An unknown value is treated as OPTION_RELOAD_REPLACE.
pub type OptionReload = u32;
/// a new object of the backend replaces the active one, without a lost connection
pub const OPTION_RELOAD_REPLACE: OptionReload = 0;
/// takes effect at the next start of the daemon: the daemon rejects a reload that changes the value
pub const OPTION_RELOAD_RESTART: OptionReload = 1;

/// Growing. Since minor 1. An element of PluginEntry::options. Keys are unique within a plugin.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionSpec {
    /// "threads", "timeouts.dial". A key that ends with "[]" is a list: its elements are "key[0]", "key[1]", …, and
    /// type, range and words apply to each of them.
    pub key: StringView,
    /// not OPTION_TYPE_UNDECLARED
    pub value_type: OptionType,
    pub reload: OptionReload,
    /// The value that applies if the key is missing, as it would be written: "250ms". Of a list: its elements,
    /// separated by ", "; empty: an empty list. It must be valid.
    pub default_value: StringView,
    /// The smallest and largest value of OPTION_TYPE_INTEGER, and of OPTION_TYPE_DURATION in nanoseconds. Ignored for
    /// other types.
    pub minimum: i64,
    pub maximum: i64,
    /// of a list; 0: 1000
    pub max_elements: u32,
    pub reserved: u32,
    /// of OPTION_TYPE_WORD: "roundRobin|leastConnections"
    pub words: StringView,
    /// of OPTION_TYPE_INTEGER: what is counted, plural: "clients", "bytes"; may be empty
    pub unit: StringView,
    /// of OPTION_TYPE_TEXT: describes the allowed values: "an IP address, or empty"; may be empty
    pub format: StringView,
    /// sentences: the meaning of the option
    pub help: StringView,
}
const _: () = assert!(core::mem::size_of::<OptionSpec>() == 128);
// In a constant of a plugin its pointers lead to constants.
unsafe impl Sync for OptionSpec {}

// Declares the metrics of a backend (since minor 1), and updates them without locks and without text.

/// A metric of an unknown type is dropped and counted.
pub type MetricType = u32;
pub const METRIC_TYPE_COUNTER: MetricType = 1;
pub const METRIC_TYPE_GAUGE: MetricType = 2;
pub const METRIC_TYPE_HISTOGRAM: MetricType = 3;

/// Flags of a MetricSpec.
pub type MetricFlag = u32;
/// the daemon adds the label ip_family, with the family of the object
pub const METRIC_BY_FAMILY: MetricFlag = 1 << 0;
/// one series or more for each Service: a higher limit for the number of series
pub const METRIC_PER_SERVICE: MetricFlag = 1 << 1;

/// Growing. Since minor 1. An element of PluginEntry::metrics: at most 500, with unique names. The daemon rejects a
/// plugin with an invalid element.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MetricSpec {
    /// "example_dpu_flows_total": up to 200 letters, digits, '_' and ':', not beginning with a digit. Unless it is a
    /// metric of kube-proxy ("kubeproxy_…"), begin it with a prefix of your own.
    pub name: StringView,
    pub metric_type: MetricType,
    /// MetricFlag
    pub flags: u32,
    /// the HELP text: one sentence, up to 1,000 bytes
    pub help: StringView,
    /// more for the documentation; may be empty
    pub note: StringView,
    /// StringView: up to 16 names, without ip_family. A name does not begin with "__"
    pub labels: ArrayView,
    /// double: up to 200 upper bounds of a histogram, ascending and finite. The daemon adds +Inf. Other types have
    /// none.
    pub buckets: ArrayView,
}
const _: () = assert!(core::mem::size_of::<MetricSpec>() == 104);
// In a constant of a plugin its pointers lead to constants.
unsafe impl Sync for MetricSpec {}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MetricSeriesMethods {
    /// Adds to a counter or gauge. A counter does not take negative values.
    pub add: unsafe extern "C" fn(this: *mut MetricSeries, value: f64),
    /// Sets a gauge, or the total of a counter that is kept elsewhere, for example in the kernel.
    pub set: unsafe extern "C" fn(this: *mut MetricSeries, value: f64),
    /// Adds an observation to a histogram.
    pub observe: unsafe extern "C" fn(this: *mut MetricSeries, value: f64),
}
/// One series of a metric. Implemented by the daemon. Every method may be called from any thread, does not block, and
/// takes no lock. A call that does not fit the type of the metric, or a value that is not a number, is dropped and
/// counted. This class never grows.
#[repr(C)]
pub struct MetricSeries {
    /// Never null.
    pub methods: *const MetricSeriesMethods,
}

/// The id for HostMethods::extension(), which returns a `HostMetrics*`. It is valid as long as the host.
pub const HOST_METRICS_ID: &str = "sluice.host.metrics/1";

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostMetricsMethods {
    /// Returns the series of a declared metric, which exists with value 0 from then on, or with its present value:
    /// objects of both families, active and draining ones, and HostMethods::metric() share a series with the same
    /// labels. `label_values`: elements are StringView in UTF-8, one for each name in MetricSpec::labels, in that
    /// order; an empty value omits the label. The result is the same for the same arguments, and valid until remove(),
    /// or until release() of the backend returns; the series keeps its value then. Null, with the reason in `error`, if
    /// the metric is not declared, the number of values or a value is wrong, the daemon or another plugin has a metric
    /// of that name and another type, or the plugin has too many series: 1,000, and 250,000 with METRIC_PER_SERVICE.
    /// `error` may be null. May lock: keep the result instead of calling it for each update.
    pub series: unsafe extern "C" fn(
        this: *mut HostMetrics,
        name: StringView,
        label_values: ArrayView,
        error: *mut Error,
    ) -> *mut MetricSeries,
    /// Removes a series, which this object must not use afterwards. It disappears when no other object uses it. Null is
    /// ignored.
    pub remove: unsafe extern "C" fn(this: *mut HostMetrics, series: *mut MetricSeries),
}
/// "sluice.host.metrics/1".
///
/// Every method may be called from any thread. This class never grows.
#[repr(C)]
pub struct HostMetrics {
    /// Never null.
    pub methods: *const HostMetricsMethods,
}

// For backends with facts that an operator should see in `sluicectl status` (since minor 1).

/// The id for HostMethods::extension(), which returns a `HostStatus*`. It is valid as long as the host.
pub const HOST_STATUS_ID: &str = "sluice.host.status/1";

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostStatusMethods {
    /// Sets the fact `name` ("client addresses") to `value` ("hidden: CAP_NET_RAW is missing"), until the next call
    /// with this name, or until release() returns. An empty value removes it. `remedy` is the action that changes an
    /// unwanted value ("run the daemon with the capability CAP_NET_RAW"); it may be empty. All arguments are UTF-8 and
    /// copied; the daemon truncates `value` and `remedy` to 200 bytes. The call is ignored if `name` is empty or has
    /// more than 200 bytes, or if there are 16 facts with other names.
    pub set: unsafe extern "C" fn(
        this: *mut HostStatus,
        name: StringView,
        value: StringView,
        remedy: StringView,
    ),
}
/// "sluice.host.status/1".
///
/// A fact has a name and a value. The status of the daemon contains the facts of the active backend, for each family.
/// Every method may be called from any thread, does not block, and never calls the backend. This class never grows.
#[repr(C)]
pub struct HostStatus {
    /// Never null.
    pub methods: *const HostStatusMethods,
}

// The interface that a backend implements. One object serves one IP family of one node.

#[repr(C)]
#[derive(Clone, Copy)]
pub struct StringSinkMethods {
    pub add: unsafe extern "C" fn(this: *mut StringSink, text: StringView),
}
/// Receives strings, for example the claims of a backend. Implemented by the daemon, valid during the call that
/// receives it. The daemon copies each string. This class never grows.
#[repr(C)]
pub struct StringSink {
    /// Never null.
    pub methods: *const StringSinkMethods,
}

/// Growing. The argument of retire().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Handover {
    pub struct_size: u32,
    /// How long established connections may continue, in seconds from this call on; computed again for each call. 0: do
    /// not drain; the backend must close remaining connections now.
    pub drain_seconds: u32,
    /// Elements are StringView: the artifacts that the new backend owns from now on. The backend must not remove them.
    pub claims: ArrayView,
}
const _: () = assert!(core::mem::size_of::<Handover>() == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct BackendMethods {
    /// Checks whether this node can run the backend in this family. It must try the required operations instead of
    /// comparing versions, name every missing tool, module or kernel option in `error`, and leave no state behind.
    /// Limit: 10 s.
    pub probe: unsafe extern "C" fn(this: *mut Backend, error: *mut Error) -> Code,
    /// Programs `transaction` into the kernel. Must be idempotent. Must create objects before references to them, and
    /// delete objects after. `result` and `error` are never null. Limit: 60 s. The daemon cannot stop or swap backends
    /// before it returns, so a call that may be long should check Transaction::cancelled between its steps.
    pub apply: unsafe extern "C" fn(
        this: *mut Backend,
        transaction: *const Transaction,
        result: *mut ApplyResult,
        error: *mut Error,
    ) -> Code,
    /// Checks the kernel for drift since the last apply(). Returns CODE_OK, or CODE_NEED_FULL and describes the drift
    /// in `error`. Must be cheap: while the backend is active, the daemon calls it once per sync period and at least
    /// every 20 s, after a failed apply(), and when a resync was requested; but not while the backend is held because
    /// the new backend writes the same objects. A backend may also do periodic work here. Limit: 10 s.
    pub verify: unsafe extern "C" fn(this: *mut Backend, error: *mut Error) -> Code,
    /// Adds every artifact that this backend owns or may have left behind, as "kind/name". The result must be the same
    /// before and after apply(), because the daemon records it before the backend may write. The daemon can remove
    /// these kinds without the plugin:
    ///   iptables/<filter|nat|mangle>/<chain>   and ip6tables/… for IPv6
    ///   ipset/<set>, link/<interface>, ipvs/virtual-servers
    ///   nft/<ip|ip6|inet|arp|bridge|netdev>/<table>
    /// A "*" at the end of a chain or a set matches any suffix; at least five characters must precede it. Names must
    /// not contain "/" or a space. The daemon never removes shared objects, such as chains of kubelet and tables of
    /// iptables-nft. Other kinds must begin with the reverse domain of their author, "com.example.dpu/…"; only their
    /// plugin removes them. Claims are case-sensitive and at most 250 bytes long. Limit: 1 s.
    pub claims: unsafe extern "C" fn(
        this: *mut Backend,
        sink: *mut StringSink,
        error: *mut Error,
    ) -> Code,
    /// Another backend is active from now on: the backend must delete every object that `handover->claims` does not
    /// list. It must first remove the objects that direct new connections to it, then the unused ones, so that no
    /// packet meets a half of either backend. CODE_OK: the backend is retired, and release() may follow.
    /// CODE_RETRY: new connections are no longer directed to the backend, and established ones still need its remaining
    /// objects. The daemon calls retire() again within a second with the remaining drain time, finally with 0, so a
    /// call must not wait for connections. The claims may differ between calls, because the active backend may change.
    /// Also called to roll back an apply(), whether complete or not, with the claims of the active backend and the
    /// drain time; the latter is 0 if another build of the same backend is active. Called again after a failure. Limit:
    /// 60 s.
    pub retire: unsafe extern "C" fn(
        this: *mut Backend,
        handover: *const Handover,
        error: *mut Error,
    ) -> Code,
    /// Removes all objects that this backend created in this family, including those of earlier processes, and no
    /// others. Missing objects are not an error. Limit: 60 s.
    pub cleanup: unsafe extern "C" fn(this: *mut Backend, error: *mut Error) -> Code,
    /// Returns an extension by id ("sluice.backend.<name>/<revision>"), or null if the id is unknown. The id determines
    /// the type of the pointer. It must be the same for each call, and valid until release().
    pub extension: unsafe extern "C" fn(this: *mut Backend, id: StringView) -> *mut c_void,
    /// Destroys the object: the backend must join its threads and close its descriptors, and keep kernel state in
    /// place. Limit: 5 s.
    pub release: unsafe extern "C" fn(this: *mut Backend),
}
/// Threads: all methods, including those of extensions, are called on one thread, the apply thread of this object,
/// never concurrently or re-entrantly. A backend may own threads; they must end before release() returns.
/// Order: the life cycle of an object. extension() may be called any number of times after create(), and release() may
/// follow in every state.
///
///     create()
///        |
///        v
///     created ----- cleanup() ---------------------------------------------> released    a single action
///        |
///        |  probe()
///        v
///     probed ------ nothing, or prepare() ---------------------------------> released    a check; --init-only
///        |
///        +--------- retire(): leftover state of an earlier process --------> retiring
///        |
///        |  claims(), [import_clients()], apply(), [import_clients()]
///        v
///     active ------ apply(), verify(), claims(), services(), inspect(), export_clients(): any number of times
///        |
///        |  retire(): another backend is active, or the first apply() is rolled back
///        v
///     retiring ---- retire() again, within a second after CODE_RETRY or a failure; no other call but release()
///        |
///        |  CODE_OK, then release()
///        v
///     released      the library may be unmapped after the release() of its last object
///
/// The contract of each call. A failure is any code but CODE_OK, unless the row says otherwise.
///
///     call            state before        limit   effect of a failure
///     create          none                 10 s   the backend is rejected: a start ends, a reload keeps the active backend
///     probe           created              10 s   the same
///     prepare         probed               10 s   --init-only fails
///     claims          probed, active        1 s   at a start or swap it fails; later logged, and called again
///     import_clients  probed, active       10 s   session affinity is lost, and the swap continues
///     apply           probed, active       60 s   a full transaction follows, later each time; a swap is rolled back.
///                                                 CODE_NEED_FULL for a delta is no failure: it follows at once.
///                                                 CODE_RETRY of a cancelled call is no failure
///     verify          active               10 s   CODE_NEED_FULL: a full transaction follows. Otherwise logged
///     services        active               10 s   sluicectl prints the error
///     inspect         active               10 s   the same
///     export_clients  active               10 s   session affinity is lost, and the swap continues
///     retire          probed to retiring   60 s   called again within a second. CODE_RETRY is no failure
///     cleanup         created              60 s   --cleanup prints the error, and fails
///     extension       created to retiring         cannot fail
///     release         each                  5 s   cannot fail
///
/// Several objects of one backend and family may exist at the same time, even of two builds: an active one, draining
/// ones, and one that only probes.
/// Failure: a method must not throw. It fills `error` and returns a Code. After a failed apply(), the next transaction
/// is full.
/// Time: each method states its limit. If a call exceeds it, the daemon reports itself as unhealthy and keeps waiting.
#[repr(C)]
pub struct Backend {
    /// Never null.
    pub methods: *const BackendMethods,
}

// The entry of a plugin: one constant that the daemon reads before any code of the plugin runs.
//
// A plugin shares the process with the daemon and other plugins:
// - Threads of a plugin must block all signals. A plugin must not install signal handlers, nor change the working
//   directory, umask, locale, environment, credentials or namespaces of the process. It may raise resource limits
//   (RLIMIT_NOFILE), but must not lower them.
// - SIGPIPE is ignored. The daemon waits for its own child processes only, and a plugin must do the same: call
//   waitpid() with a pid. Daemon and plugins must open descriptors with close-on-exec.
// - A plugin must not write to standard output or configure a logging library. It must use HostMethods::log().
// - Sockets, and files below /proc/thread-self/net, belong to the network namespace of the thread that calls create().
// - All objects of the library share its static state: those of both families, active or draining, on different
//   threads. Access to it must be locked. Two builds of one plugin may be mapped at the same time. They do not share
//   static state, but they share kernel object names, ports and files.
// - After release() of its last object the library may be unmapped: no thread, handler or destructor of a thread_local
//   variable may remain.

/// Features of a backend. The daemon ignores unknown bits. Every backend receives service ports of TCP, UDP and SCTP,
/// and frontends of each kind. It must report those that it does not serve with HostMethods::service_port_failed().
pub type Feature = u64;
/// serves IPv4
pub const FEATURE_IPV4: Feature = 1 << 0;
/// serves IPv6
pub const FEATURE_IPV6: Feature = 1 << 1;
/// accepts delta transactions; without it every transaction is full
pub const FEATURE_DELTA: Feature = 1 << 2;
/// Supports session affinity. Before a swap the daemon exports its bindings, if it implements Affinity.
pub const FEATURE_AFFINITY: Feature = 1 << 3;
/// uses NodeFacts::service_cidrs; without it the daemon does not watch them
pub const FEATURE_SERVICE_CIDRS: Feature = 1 << 4;
/// Connections to frontends do not use the connection tracking of the node, so the daemon does not evaluate its
/// entries.
pub const FEATURE_OWN_CONNECTIONS: Feature = 1 << 5;
/// Since minor 1. Without them the daemon keeps none of the data.
/// uses ServicePort::service_uid, app_protocol, session_key and service_type
pub const FEATURE_SERVICE_DETAILS: Feature = 1 << 6;
/// uses ServicePort::endpoint_details
pub const FEATURE_ENDPOINT_DETAILS: Feature = 1 << 7;

/// Features of the daemon that a backend requires. None is defined yet. The daemon rejects a plugin with unknown bits.
pub type HostFeature = u64;
pub const HOST_FEATURE_NONE: HostFeature = 0;

/// Flags of CreateArgs.
pub type CreateFlag = u32;
/// Another backend serves this family until the first apply() of this one has succeeded, and is retired afterwards. The
/// first apply() must create the objects that direct new connections to this backend last and atomically, and must not
/// delete objects that this backend does not claim.
pub const CREATE_PREDECESSOR_SERVES: CreateFlag = 1 << 0;

/// Growing. Valid during create(); the backend must copy the data that it keeps.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CreateArgs {
    pub struct_size: u32,
    pub family: Family,
    pub reserved: [u8; 3],
    /// owned by the daemon; valid until release() returns
    pub host: *mut Host,
    /// Elements are Option: the configuration section of the backend, and the settings of kube-proxy's document for its
    /// mode. The latter may be missing if the object only probes, or retires leftover state of an earlier process.
    /// Since minor 1: if the plugin declares options, all keys are declared ones with valid values, elements of a list
    /// are in order, and declared keys that the configuration does not contain follow with their defaults.
    pub options: ArrayView,
    /// An existing folder for small state. All objects of this backend id share it, in both families and in consecutive
    /// processes. It may be emptied at boot. Empty: no folder is available.
    pub state_dir: StringView,
    /// CreateFlag
    pub flags: u32,
    /// MINOR of the daemon; the major is the same
    pub host_minor: u16,
    pub reserved2: u16,
    /// HostFeature
    pub host_features: u64,
    /// the version of the daemon as text: "0.9.1"
    pub host_version: StringView,
}
const _: () = assert!(core::mem::size_of::<CreateArgs>() == 88);

/// Growing. The fields up to `minor` have the same place in every major version; the others belong to this major. The
/// daemon reads the numbers from the section of the file before it maps it, so no code of a plugin for another major
/// runs. Strings are NUL-terminated and must be static.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PluginEntry {
    pub magic: u32,
    pub major: u16,
    pub minor: u16,
    pub struct_size: u32,
    pub reserved: u32,
    /// Feature
    pub features: u64,
    /// HostFeature
    pub needs_host: u64,
    /// the value of --proxy-mode: "iptables", "com.example.dpu"
    pub id: *const u8,
    /// of the plugin
    pub version: *const u8,
    /// compiler and standard library, for diagnosis
    pub build: *const u8,
    /// [any thread, any number of times] Creates a backend for one family. It must not change the node. CODE_INVALID:
    /// an option is invalid, and `error->object` is its key. With CODE_OK, `*out` must not be null, and the caller owns
    /// it until release(). Otherwise `*out` must be null, and `error` has the reason. Limit: 10 s.
    pub create: unsafe extern "C" fn(
        args: *const CreateArgs,
        out: *mut *mut Backend,
        error: *mut Error,
    ) -> Code,
    /// Since minor 1. Data of these arrays must be static.
    /// OptionSpec. Null: create() validates all options itself. Not null, with the count 0: the backend has no options.
    pub options: ArrayView,
    /// MetricSpec: those that HostMetrics offers
    pub metrics: ArrayView,
    /// StringView: the daemon passes annotations of Services whose keys begin with one of these: "example.com/". Each
    /// must contain a "/" after a domain. Empty: none. A Service whose selected annotations exceed 16 KiB is passed
    /// without them.
    pub annotation_prefixes: ArrayView,
}
const _: () = assert!(core::mem::size_of::<PluginEntry>() == 136);
// In a constant of a plugin its pointers lead to constants.
unsafe impl Sync for PluginEntry {}

// For backends that relay packets in their own process: they report the ports of their relay sockets.

/// The id for HostMethods::extension(), which returns a `HostRelay*`. It is valid as long as the host.
pub const HOST_RELAY_ID: &str = "sluice.host.relay/1";

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostRelayMethods {
    /// Sets the ports, on any address of this node, at which the backend receives UDP packets to the frontends of
    /// `key`. `ports`: elements are std::uint16_t in host byte order, in any order; empty: the service port is not
    /// relayed. Replaces the ports of earlier calls for `key`; repeating them has no cost.
    /// Valid until the next call for `key`, or until a successful apply() whose transaction removes `key`, or is full
    /// and does not name it. If the service port returns, the backend must set its ports again. Protocols other than
    /// UDP are ignored.
    /// During apply(): must be called on the apply thread, for service ports of the transaction, while the sockets are
    /// open. It takes effect when apply() succeeds: the daemon then deletes flows with other ports of this node as
    /// destination, and flows that were sent to a frontend before a socket received them. After a failed apply() it
    /// takes effect with the next one.
    /// During retire(): must be called with empty `ports` for each service port a few seconds before the sockets close.
    /// After the last call the daemon deletes the flows that still have these ports as destination; their next packet
    /// goes to the active backend. The daemon calls retire() again when this is done, or 10 s after the end of the
    /// drain. Must not be called at other times.
    /// Does not block, and never calls the backend. `key` and `ports` are copied.
    pub set_relay_ports: unsafe extern "C" fn(
        this: *mut HostRelay,
        key: *const ServicePortKey,
        ports: ArrayView,
    ),
}
/// "sluice.host.relay/1".
///
/// The daemon deletes conntrack entries of UDP flows to a frontend if their destination no longer serves the frontend.
/// If a backend directs packets to a socket of its own instead of an endpoint, the destination is a port of this node,
/// so the daemon must know these ports. This class never grows.
#[repr(C)]
pub struct HostRelay {
    /// Never null.
    pub methods: *const HostRelayMethods,
}

// For backends that need kernel settings which require more privileges than rules.

/// The id for BackendMethods::extension(), which returns a `Preparation*`. It is valid until the backend is released.
pub const PREPARATION_ID: &str = "sluice.backend.preparation/1";

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PreparationMethods {
    /// Writes the sysctls that the backend needs, and loads kernel modules. It must not create rules or other objects
    /// that would have to be removed. The first apply() must do the same, if its privileges suffice. A setting that
    /// cannot be written is a warning through the host; an error must be returned only if every apply() would fail.
    /// `node` has the facts that are known without a cluster, which are its flags; other fields may be empty. `node`
    /// and `error` are never null. Called on the apply thread after a successful probe(). Limit: 10 s.
    pub prepare: unsafe extern "C" fn(
        this: *mut Preparation,
        node: *const NodeFacts,
        error: *mut Error,
    ) -> Code,
}
/// "sluice.backend.preparation/1".
///
/// `sluiced --init-only` runs with all privileges before a daemon that has only CAP_NET_ADMIN. It applies the settings
/// that the daemon itself must not write. This class never grows.
#[repr(C)]
pub struct Preparation {
    /// Never null.
    pub methods: *const PreparationMethods,
}

// For backends that can describe the programmed state, as text or as values.

/// The id for BackendMethods::extension(), which returns an `Inspection*`. It is valid until the backend is released.
pub const INSPECTION_ID: &str = "sluice.backend.inspection/1";

#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectionMethods {
    /// Adds one line for each frontend that exists in the kernel. The backend must read it from the kernel during the
    /// call, not from its memory. The format allows a comparison with the delivered state (`sluicectl services
    /// --no-kernel`):
    ///
    ///   NAME FRONTEND[ at ADDRESSES][ sticky for N s][ masqueraded] -> TARGETS
    ///     [; from this node -> TARGETS][; else REASON][; only for PREFIX, PREFIX]
    ///
    ///   NAME: "shop/cart:http", or "shop/cart" for an unnamed port
    ///   FRONTEND: "172.30.0.41:80/tcp", "[fd00::1]:80/udp"; a node port is ":30080/tcp"
    ///   ADDRESSES: for node ports only, sorted as text: "192.0.2.7, 198.51.100.1", "every address of this node" or "no
    ///     address"
    ///   TARGETS: "10.180.0.1:80, 10.180.2.1:80", sorted as text. Deviations in the kernel are in parentheses after a
    ///     target or after the list
    ///   REASON: "rejected, no endpoints", "dropped, no endpoints on this node"
    ///
    /// Without targets for clients outside of the node, the line is "NAME FRONTEND from this node -> TARGETS; else
    /// REASON"; without any targets it is "NAME FRONTEND -> REASON". Objects that belong to no service port come last,
    /// each prefixed by "not wanted by any Service: ".
    ///
    /// `name` selects the lines that begin with that name, "shop/cart" or "shop/cart:http"; empty: all lines. Must
    /// return CODE_RETRY before the first successful apply(). An incomplete listing is an error, and no line must be
    /// added then. Called on the apply thread. Limit: 10 s.
    pub services: unsafe extern "C" fn(
        this: *mut Inspection,
        name: StringView,
        lines: *mut StringSink,
        error: *mut Error,
    ) -> Code,
}
/// "sluice.backend.inspection/1".
///
/// `sluicectl services` prints it. The text is for people and may change. This class never grows.
#[repr(C)]
pub struct Inspection {
    /// Never null.
    pub methods: *const InspectionMethods,
}

/// Since minor 1. The id for BackendMethods::extension(), which returns an `InspectionRows*`. It is valid until the
/// backend is released.
pub const INSPECTION_ROWS_ID: &str = "sluice.backend.inspection/2";

/// Since minor 1. What InspectionRowsMethods::inspect() lists. A backend must return CODE_UNSUPPORTED for an unknown
/// kind.
pub type InspectionKind = u32;
/// the rows are InspectedFrontend: what is served, and by which endpoints
pub const INSPECTION_KIND_INSPECT_FRONTENDS: InspectionKind = 1;
/// InspectedCounters: the traffic that the data plane has counted
pub const INSPECTION_KIND_INSPECT_COUNTERS: InspectionKind = 2;
/// InspectedDrift: where the kernel differs from the last successful apply()
pub const INSPECTION_KIND_INSPECT_DRIFT: InspectionKind = 3;
/// InspectedStep: what happens to InspectionQuery::packet
pub const INSPECTION_KIND_INSPECT_EXPLANATION: InspectionKind = 4;

/// Since minor 1. Flags of an InspectedPacket. Neither: the client is outside of this node.
pub type InspectedPacketFlag = u32;
/// sent by a process of this node that is in no pod
pub const PACKET_OF_NODE: InspectedPacketFlag = 1 << 0;
/// sent by a pod of this node
pub const PACKET_OF_POD: InspectedPacketFlag = 1 << 1;

/// Growing. Since minor 1. The first packet of a new connection.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectedPacket {
    pub struct_size: u32,
    /// InspectedPacketFlag
    pub flags: u32,
    pub client: Address,
    /// the destination
    pub address: Address,
    pub port: u16,
    pub protocol: Protocol,
    pub reserved: [u8; 5],
}
const _: () = assert!(core::mem::size_of::<InspectedPacket>() == 48);

/// Growing. Since minor 1. The argument of InspectionRowsMethods::inspect().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectionQuery {
    pub struct_size: u32,
    pub kind: InspectionKind,
    /// Only rows of this Service, "shop/cart", or service port, "shop/cart:http"; empty: all rows.
    pub name: StringView,
    /// with INSPECTION_KIND_INSPECT_EXPLANATION, and `name` is empty then; otherwise null
    pub packet: *const InspectedPacket,
}
const _: () = assert!(core::mem::size_of::<InspectionQuery>() == 32);

/// Since minor 1. Flags of an InspectedTarget.
pub type InspectedTargetFlag = u16;
/// the address cannot be read: `object` names what stands for it
pub const TARGET_UNKNOWN: InspectedTargetFlag = 1 << 0;
/// receives no new connections
pub const TARGET_DRAINING: InspectedTargetFlag = 1 << 1;

/// Growing. Since minor 1. An endpoint that receives packets of a frontend.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectedTarget {
    pub address: Address,
    pub port: u16,
    /// InspectedTargetFlag
    pub flags: u16,
    pub reserved: u32,
    /// a name of the data plane, such as a chain; may be empty
    pub object: StringView,
    /// deviations from what the backend wrote, separated by ", "; may be empty
    pub remarks: StringView,
}
const _: () = assert!(core::mem::size_of::<InspectedTarget>() == 56);

/// Fixed. Since minor 1. Where packets of one group of clients go.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectedTargets {
    /// InspectedTarget, in any order
    pub targets: ArrayView,
    /// without targets: where the packets go instead, for example "nowhere"; empty: no such clients
    pub instead: StringView,
    /// as InspectedTarget::remarks
    pub remarks: StringView,
}
const _: () = assert!(core::mem::size_of::<InspectedTargets>() == 56);

/// Since minor 1. Flags of an InspectedFrontend.
pub type InspectedFlag = u32;
/// no service port needs it
pub const INSPECTED_NOT_WANTED: InspectedFlag = 1 << 0;
/// a node port: `address` is zero
pub const INSPECTED_NODE_PORT: InspectedFlag = 1 << 1;
/// of a node port: served on every address of this node, and `addresses` is empty
pub const INSPECTED_EVERY_ADDRESS: InspectedFlag = 1 << 2;
/// targets see an address of this node as the client
pub const INSPECTED_MASQUERADED: InspectedFlag = 1 << 3;
/// packets that reach no target are rejected
pub const INSPECTED_REJECTED: InspectedFlag = 1 << 4;
/// packets that reach no target are dropped
pub const INSPECTED_DROPPED: InspectedFlag = 1 << 5;
/// serves only clients in `source_ranges`
pub const INSPECTED_RESTRICTED: InspectedFlag = 1 << 6;

/// Growing. Since minor 1. An address and port that the data plane serves, or any other object that no service port
/// needs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectedFrontend {
    /// with INSPECTED_NOT_WANTED the names are empty
    pub key: ServicePortKey,
    pub address: Address,
    pub port: u16,
    pub reserved: [u8; 2],
    /// InspectedFlag
    pub flags: u32,
    /// Prefix; of a node port. A single address has the full length
    pub addresses: ArrayView,
    /// 0: no session affinity
    pub affinity_seconds: u32,
    pub reserved2: u32,
    /// of all clients; if `node_targets` is not empty, of clients outside of this node
    pub targets: InspectedTargets,
    /// of pods and processes of this node, if their targets differ
    pub node_targets: InspectedTargets,
    /// what happens to packets that reach no target, with deviations; empty: nothing is known
    pub otherwise: StringView,
    /// Prefix, with INSPECTED_RESTRICTED
    pub source_ranges: ArrayView,
    /// without ranges: which clients are served, for example "no source"
    pub ranges_instead: StringView,
    /// as InspectedTarget::remarks
    pub ranges_remarks: StringView,
    /// not a frontend: the object, with INSPECTED_NOT_WANTED; all else is zero
    pub object: StringView,
    /// about the way to the frontend, as InspectedTarget::remarks
    pub remarks: StringView,
}
const _: () = assert!(core::mem::size_of::<InspectedFrontend>() == 328);

/// Since minor 1. What an InspectedCounters describes, and which of its values are known. Unknown values are 0.
pub type InspectedCountersFlag = u32;
/// the traffic of `address` and `port`; otherwise of all frontends of the service port
pub const COUNTED_FRONTEND: InspectedCountersFlag = 1 << 0;
/// with COUNTED_FRONTEND: a node port, and `address` is zero
pub const COUNTED_NODE_PORT: InspectedCountersFlag = 1 << 1;
/// the traffic to `target` and `target_port`; otherwise to all endpoints
pub const COUNTED_TARGET: InspectedCountersFlag = 1 << 2;
/// `packets` and `bytes` include those to clients
pub const COUNTED_BOTH_DIRECTIONS: InspectedCountersFlag = 1 << 3;
pub const KNOWN_CONNECTIONS: InspectedCountersFlag = 1 << 8;
pub const KNOWN_PACKETS: InspectedCountersFlag = 1 << 9;
pub const KNOWN_BYTES: InspectedCountersFlag = 1 << 10;
pub const KNOWN_REPLY_PACKETS: InspectedCountersFlag = 1 << 11;
pub const KNOWN_REPLY_BYTES: InspectedCountersFlag = 1 << 12;
pub const KNOWN_ACTIVE: InspectedCountersFlag = 1 << 13;
pub const KNOWN_REFUSED: InspectedCountersFlag = 1 << 14;

/// Growing. Since minor 1. Counted traffic of a service port. The values grow from the time at which the object of the
/// data plane was made, and restart at 0 when it is made again. Rows of one service port may overlap: the rows of its
/// frontends and those of its endpoints each sum up to the row of the service port, if the data plane counts all three.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectedCounters {
    pub key: ServicePortKey,
    pub address: Address,
    pub target: Address,
    pub port: u16,
    pub target_port: u16,
    /// InspectedCountersFlag
    pub flags: u32,
    /// new connections; of UDP: flows
    pub connections: u64,
    /// from clients
    pub packets: u64,
    /// from clients, as the data plane counts them: with or without headers
    pub bytes: u64,
    /// to clients
    pub reply_packets: u64,
    /// to clients
    pub reply_bytes: u64,
    /// now
    pub active_connections: u64,
    /// connections or first packets that were rejected or dropped
    pub refused: u64,
}
const _: () = assert!(core::mem::size_of::<InspectedCounters>() == 152);

/// Since minor 1. How an object in the kernel differs from the last successful apply(). An unknown kind is treated as
/// DRIFT_KIND_DRIFT_CHANGED.
pub type DriftKind = u32;
/// apply() wrote it, and it is gone
pub const DRIFT_KIND_DRIFT_MISSING: DriftKind = 1;
/// it is there, but not as written
pub const DRIFT_KIND_DRIFT_CHANGED: DriftKind = 2;
/// in the place of this backend, and not wanted; the next full transaction removes it
pub const DRIFT_KIND_DRIFT_EXTRA: DriftKind = 3;
/// of others, and it may affect the traffic of this backend; no transaction removes it
pub const DRIFT_KIND_DRIFT_FOREIGN: DriftKind = 4;

/// Growing. Since minor 1. One object in the kernel that differs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectedDrift {
    /// the names are empty if no single service port needs the object; `protocol` is 0 then
    pub key: ServicePortKey,
    pub kind: DriftKind,
    /// objects that this row stands for, at least 1
    pub count: u32,
    /// what it is and where, for example "element 10.0.0.1 . tcp . 80 of service-ips"
    pub object: StringView,
    /// its content as written; empty if `object` says all
    pub wanted: StringView,
    /// its content in the kernel; empty if `object` says all
    pub found: StringView,
}
const _: () = assert!(core::mem::size_of::<InspectedDrift>() == 112);

/// Since minor 1. What a step does with the packet.
pub type InspectedVerdict = u32;
/// the next row follows
pub const INSPECTED_VERDICT_CONTINUES: InspectedVerdict = 0;
/// one of the targets of this step receives the packet
pub const INSPECTED_VERDICT_SERVED: InspectedVerdict = 1;
/// the client receives an error
pub const INSPECTED_VERDICT_REJECTED: InspectedVerdict = 2;
/// neither an endpoint nor the client receives anything
pub const INSPECTED_VERDICT_DROPPED: InspectedVerdict = 3;
/// this backend does not handle the packet: it goes where it would go without it
pub const INSPECTED_VERDICT_NOT_PROXIED: InspectedVerdict = 4;

/// Since minor 1. Flags of an InspectedStep.
pub type InspectedStepFlag = u32;
/// `packets` and `bytes` are known
pub const STEP_COUNTED: InspectedStepFlag = 1 << 0;
/// targets will see an address of this node as the client
pub const STEP_MASQUERADES: InspectedStepFlag = 1 << 1;

/// Growing. Since minor 1. An object in the kernel that the packet reaches. Rows are in the order in which the packet
/// reaches them; exactly the last one has a verdict other than INSPECTED_VERDICT_CONTINUES.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectedStep {
    /// as InspectedDrift::object
    pub object: StringView,
    /// what it does with this packet, for example "chooses one of 2 endpoints at random"
    pub effect: StringView,
    /// as InspectedTarget::remarks
    pub remarks: StringView,
    /// InspectedTarget; the endpoints that may receive the packet, if this step chooses
    pub targets: ArrayView,
    pub verdict: InspectedVerdict,
    /// InspectedStepFlag
    pub flags: u32,
    /// all packets that the object has matched so far
    pub packets: u64,
    pub bytes: u64,
}
const _: () = assert!(core::mem::size_of::<InspectedStep>() == 96);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectionSinkMethods {
    /// `rows`: elements of the type that the kind of the query names. The backend may add them in batches of any size.
    /// The daemon copies them. Returns 0 if the daemon wants no further rows, because its bound is reached: the backend
    /// should then return CODE_OK.
    pub add: unsafe extern "C" fn(this: *mut InspectionSink, rows: ArrayView) -> i32,
}
/// Since minor 1. Receives rows. Implemented by the daemon, valid during the call that receives it. This class never
/// grows.
#[repr(C)]
pub struct InspectionSink {
    /// Never null.
    pub methods: *const InspectionSinkMethods,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct InspectionRowsMethods {
    /// Adds a row for each object of this kind. The backend must read it from the kernel during the call, not from its
    /// memory, and must not change anything. Rows of one service port must follow each other; objects that no service
    /// port needs come last, and a backend should add at most 1,000 of them. Must return CODE_RETRY before the first
    /// successful apply(), and CODE_UNSUPPORTED for a kind that it does not have. After a failure the daemon discards
    /// the rows. Called on the apply thread. Limit: 10 s.
    pub inspect: unsafe extern "C" fn(
        this: *mut InspectionRows,
        query: *const InspectionQuery,
        sink: *mut InspectionSink,
        error: *mut Error,
    ) -> Code,
}
/// Since minor 1. "sluice.backend.inspection/2".
///
/// What Inspection prints, as values, and more. If a backend has both, the daemon calls only this one, and makes the
/// text of `sluicectl services` from the rows. This class never grows.
#[repr(C)]
pub struct InspectionRows {
    /// Never null.
    pub methods: *const InspectionRowsMethods,
}

// For backends that can export or import session affinity bindings, so that affinity survives a swap of backends.

/// The id for BackendMethods::extension(), which returns an `Affinity*`. It is valid until the backend is released.
pub const AFFINITY_ID: &str = "sluice.backend.affinity/1";

/// Growing. A session affinity binding: a service port sends this client to this endpoint.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AffinityClient {
    pub key: ServicePortKey,
    pub client: Address,
    pub endpoint: Address,
    pub endpoint_port: u16,
    pub reserved: [u8; 2],
    /// The seconds until the binding expires without further connections: at least 1, at most
    /// ServicePort::affinity_seconds.
    pub remaining_seconds: u32,
}
const _: () = assert!(core::mem::size_of::<AffinityClient>() == 96);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct AffinitySinkMethods {
    /// `clients`: elements are AffinityClient. The backend may add them in batches of any size. The daemon copies them.
    pub add: unsafe extern "C" fn(this: *mut AffinitySink, clients: ArrayView),
}
/// Receives clients. Implemented by the daemon, valid during the call that receives it. This class never grows.
#[repr(C)]
pub struct AffinitySink {
    /// Never null.
    pub methods: *const AffinitySinkMethods,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct AffinityMethods {
    /// Must add the current bindings of all applied service ports, in any order. May be called more than once; the last
    /// result is used. Limit: 10 s.
    pub export_clients: unsafe extern "C" fn(
        this: *mut Affinity,
        sink: *mut AffinitySink,
        error: *mut Error,
    ) -> Code,
    /// `clients`: elements are AffinityClient, exported by another backend. Called before the first apply(): the
    /// backend must keep a copy, and that apply() must program the bindings so that they hold from the first packet on.
    /// May be called again after the first apply() with newer bindings: the backend must add those of clients that have
    /// no binding yet. Bindings of a service port or endpoint that does not exist or has no affinity must be ignored.
    /// Limit: 10 s.
    pub import_clients: unsafe extern "C" fn(
        this: *mut Affinity,
        clients: ArrayView,
        error: *mut Error,
    ) -> Code,
}
/// "sluice.backend.affinity/1".
///
/// Used only for backends that also have FEATURE_AFFINITY. Both methods are called on the apply thread. A backend that
/// supports one of them only must return CODE_UNSUPPORTED from the other. This class never grows.
#[repr(C)]
pub struct Affinity {
    /// Never null.
    pub methods: *const AffinityMethods,
}

// For backends whose file descriptors must outlive them. The daemon passes descriptors to the next backend and, if the
// service manager stores descriptors (sd_notify(3), FDSTORE), to the next process.

/// The id for HostMethods::extension(), which returns a `HostDescriptors*`. It is valid as long as the host.
pub const HOST_DESCRIPTORS_ID: &str = "sluice.host.descriptors/1";

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostDescriptorsMethods {
    /// Keeps a duplicate of `fd` as `name` and replaces an earlier one. Returns CODE_OK or an error. The caller keeps
    /// ownership of `fd`. It is not an error if the service manager cannot store the descriptor: then it is kept until
    /// the process ends.
    pub keep: unsafe extern "C" fn(
        this: *mut HostDescriptors,
        name: StringView,
        fd: i32,
        error: *mut Error,
    ) -> Code,
    /// Returns a duplicate (close-on-exec) of the descriptor that is kept as `name`, which may come from another
    /// backend or an earlier process, or -1 if there is none. The caller owns the duplicate. The descriptor stays kept.
    pub take: unsafe extern "C" fn(this: *mut HostDescriptors, name: StringView) -> i32,
    /// Drops the descriptor that is kept as `name`, if any.
    pub drop: unsafe extern "C" fn(this: *mut HostDescriptors, name: StringView),
    /// Adds the names of all kept descriptors to `sink`.
    pub names: unsafe extern "C" fn(this: *mut HostDescriptors, sink: *mut StringSink),
}
/// "sluice.host.descriptors/1".
///
/// A descriptor is kept under a name: 1 to 200 bytes of letters, digits and "-_.". Names are unique within a backend id
/// and family: the active, draining and new backends share them, and the last keep() of a name replaces earlier ones.
/// Every method may be called from any thread, does not wait for the service manager, and never calls the backend. This
/// class never grows.
#[repr(C)]
pub struct HostDescriptors {
    /// Never null.
    pub methods: *const HostDescriptorsMethods,
}
