// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

//! The boundary to the daemon, and the only file with unsafe code: the descriptor of the plugin, the functions that the
//! daemon calls, and copies of what it passes. backend.rs is the backend itself.
#![deny(unsafe_op_in_unsafe_fn)]

mod backend;
mod desired;
mod layout;
mod model;
mod nft;
mod rules;
mod ruleset;

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::mem::{size_of, MaybeUninit};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::io::FromRawFd;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

use sluice_abi as abi;

use backend::{Backend, Counted};
use model::{Detector, Endpoint, Failure, Frontend, Id, Node, Prefix, ServicePort, Transaction};

/// Structs of the ABI, for which all bytes zero is a value.
///
/// # Safety
/// Implement it for such structs only.
unsafe trait Plain: Copy {}
unsafe impl Plain for abi::Address {}
unsafe impl Plain for abi::ApplyResult {}
unsafe impl Plain for abi::CreateArgs {}
unsafe impl Plain for abi::Endpoint {}
unsafe impl Plain for abi::Error {}
unsafe impl Plain for abi::Frontend {}
unsafe impl Plain for abi::Handover {}
unsafe impl Plain for abi::NodeFacts {}
unsafe impl Plain for abi::Option {}
unsafe impl Plain for abi::Prefix {}
unsafe impl Plain for abi::ServicePort {}
unsafe impl Plain for abi::ServicePortKey {}
unsafe impl Plain for abi::StringView {}
unsafe impl Plain for abi::Transaction {}

fn zeroed<T: Plain>() -> T {
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Copies a struct of `given` bytes. Fields that the writer did not know are zero.
unsafe fn copied<T: Plain>(from: *const u8, given: usize) -> T {
    let mut to: T = zeroed();
    unsafe { ptr::copy_nonoverlapping(from, &mut to as *mut T as *mut u8, given.min(size_of::<T>())) };
    to
}

/// Copies a growing struct that was passed alone: it begins with its size.
unsafe fn read<T: Plain>(from: *const T) -> T {
    unsafe { copied(from as *const u8, *(from as *const u32) as usize) }
}

/// Copies a struct to one of the caller, which may be smaller, and keeps its size.
unsafe fn give<T: Plain>(from: &T, to: *mut T) {
    let begin = size_of::<u32>();
    let end = unsafe { *(to as *const u32) as usize }.min(size_of::<T>());
    if end > begin {
        unsafe { ptr::copy_nonoverlapping((from as *const T as *const u8).add(begin), (to as *mut u8).add(begin), end - begin) };
    }
}

/// Copies of the elements of an array, converted by `convert`.
unsafe fn list<T: Plain, R>(array: &abi::ArrayView, convert: impl Fn(&T) -> R) -> Vec<R> {
    let element = |place| unsafe { (array.data as *const u8).add(place * array.stride as usize) };
    (0..array.count as usize).map(|place| convert(&unsafe { copied(element(place), array.stride as usize) })).collect()
}

unsafe fn text(view: &abi::StringView) -> String {
    if view.size == 0 {
        return String::new();
    }
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(view.data, view.size as usize) }).into_owned()
}

/// A view of a text, which must outlive it.
fn view(text: &str) -> abi::StringView {
    abi::StringView { data: text.as_ptr(), size: text.len() as u64 }
}

fn ip(address: &abi::Address, family: abi::Family) -> IpAddr {
    let bytes = address.bytes;
    if family == abi::FAMILY_IPV6 {
        Ipv6Addr::from(bytes).into()
    } else {
        Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()
    }
}

fn prefix(from: &abi::Prefix, family: abi::Family) -> Prefix {
    Prefix { ip: ip(&from.address, family), length: from.length }
}

unsafe fn id(key: &abi::ServicePortKey) -> Id {
    let (namespace, name, port) = unsafe { (text(&key.service_namespace), text(&key.service_name), text(&key.port_name)) };
    Id { namespace, name, port, protocol: key.protocol }
}

unsafe fn service_port(from: &abi::ServicePort, family: abi::Family) -> ServicePort {
    let frontend = |one: &abi::Frontend| Frontend { kind: one.kind, ip: ip(&one.address, family), port: one.port };
    let endpoint = |one: &abi::Endpoint| Endpoint { ip: ip(&one.address, family), port: one.port, flags: one.flags };
    unsafe {
        ServicePort {
            id: id(&from.key),
            flags: from.flags,
            affinity_seconds: from.affinity_seconds,
            frontends: list(&from.frontends, frontend),
            source_ranges: list(&from.source_ranges, |one| prefix(one, family)),
            endpoints: list(&from.endpoints, endpoint),
        }
    }
}

unsafe fn node(from: &abi::NodeFacts, family: abi::Family) -> Node {
    let interface = unsafe { text(&from.detector_interface) };
    Node {
        version: from.version,
        flags: from.flags,
        ip: ip(&from.node_ip, family),
        masquerade_mark: from.masquerade_mark,
        detector: match from.detector {
            abi::LOCAL_DETECTOR_KIND_CIDR => Detector::Cidr(prefix(&from.detector_cidr, family)),
            abi::LOCAL_DETECTOR_KIND_BRIDGE_INTERFACE => Detector::Interface(interface),
            abi::LOCAL_DETECTOR_KIND_INTERFACE_NAME_PREFIX => Detector::InterfacePrefix(interface),
            _ => Detector::None,
        },
        node_port_addresses: unsafe { list(&from.node_port_addresses, |one| ip(one, family)) },
    }
}

unsafe fn transaction(from: &abi::Transaction, family: abi::Family) -> Transaction {
    unsafe {
        Transaction {
            full: from.kind == abi::TRANSACTION_KIND_FULL,
            base_generation: from.base_generation,
            generation: from.generation,
            node: node(&read(from.node), family),
            service_ports: list(&from.service_ports, |one| service_port(one, family)),
            removed: list(&from.removed, |one| id(one)),
        }
    }
}

/// As much of a text as fits, NUL-terminated, without splitting a character.
fn copy_text(to: &mut [u8], text: &str) {
    let mut size = text.len().min(to.len() - 1);
    while !text.is_char_boundary(size) {
        size -= 1;
    }
    to[..size].copy_from_slice(&text.as_bytes()[..size]);
    to[size] = 0;
}

fn error_of(failure: &Failure) -> abi::Error {
    let mut error: abi::Error = zeroed();
    error.struct_size = size_of::<abi::Error>() as u32;
    error.os_errno = failure.os_errno;
    copy_text(&mut error.object, &failure.object);
    copy_text(&mut error.message, &failure.message);
    error
}

/// The daemon, as the backend sees it. Valid until release().
pub struct Host(*mut abi::Host);

impl Host {
    pub fn debug(&self, text: impl FnOnce() -> String) {
        unsafe {
            let methods = &*(*self.0).methods;
            if (methods.log_enabled)(self.0, abi::SEVERITY_DEBUG) != 0 {
                (methods.log)(self.0, abi::SEVERITY_DEBUG, view(&text()));
            }
        }
    }

    /// Only during apply().
    pub fn service_port_failed(&self, id: &Id, failure: &Failure) {
        let key = abi::ServicePortKey {
            service_namespace: view(&id.namespace),
            service_name: view(&id.name),
            port_name: view(&id.port),
            protocol: id.protocol,
            reserved: [0; 7],
        };
        unsafe { ((*(*self.0).methods).service_port_failed)(self.0, &key, &error_of(failure)) };
    }
}

extern "C" {
    fn socket(domain: i32, kind: i32, protocol: i32) -> i32;
}

/// A socket to the netfilter subsystems of the kernel. The standard library has none.
pub fn netfilter_socket() -> io::Result<File> {
    const AF_NETLINK: i32 = 16;
    const SOCK_RAW: i32 = 3;
    const SOCK_CLOEXEC: i32 = 0o2000000;
    const NETLINK_NETFILTER: i32 = 12;
    match unsafe { socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER) } {
        -1 => Err(io::Error::last_os_error()),
        fd => Ok(unsafe { File::from_raw_fd(fd) }),
    }
}

/// The object of the daemon.
#[repr(C)]
struct Object {
    object: abi::Backend, // first: the daemon has a pointer to it
    family: abi::Family,
    backend: Backend,
}

/// What the daemon calls. A panic must not leave a function, because the caller is not Rust.
fn guarded(error: *mut abi::Error, work: impl FnOnce() -> Result<(), Failure>) -> abi::Code {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return abi::CODE_OK,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(abi::CODE_INTERNAL, "", "the backend panicked"),
    };
    if !error.is_null() {
        unsafe { give(&error_of(&failure), error) };
    }
    failure.code
}

unsafe fn mine<'a>(object: *mut abi::Backend) -> &'a mut Object {
    unsafe { &mut *(object as *mut Object) }
}

unsafe extern "C" fn probe(object: *mut abi::Backend, error: *mut abi::Error) -> abi::Code {
    guarded(error, || unsafe { mine(object) }.backend.probe())
}

unsafe extern "C" fn apply(
    object: *mut abi::Backend,
    from: *const abi::Transaction,
    result: *mut abi::ApplyResult,
    error: *mut abi::Error,
) -> abi::Code {
    guarded(error, || {
        let mine = unsafe { mine(object) };
        let mut counted = Counted::default();
        let outcome = mine.backend.apply(&unsafe { transaction(&read(from), mine.family) }, &mut counted);
        let mut given: abi::ApplyResult = zeroed();
        given.kernel_writes = counted.writes as u64;
        given.objects_owned = counted.objects as u64;
        given.kernel_nanoseconds = counted.waited.as_nanos() as u64;
        unsafe { give(&given, result) };
        outcome
    })
}

unsafe extern "C" fn verify(object: *mut abi::Backend, error: *mut abi::Error) -> abi::Code {
    guarded(error, || unsafe { mine(object) }.backend.verify())
}

unsafe extern "C" fn claims(object: *mut abi::Backend, sink: *mut abi::StringSink, error: *mut abi::Error) -> abi::Code {
    guarded(error, || {
        unsafe { ((*(*sink).methods).add)(sink, view(&mine(object).backend.claim())) };
        Ok(())
    })
}

unsafe extern "C" fn retire(object: *mut abi::Backend, from: *const abi::Handover, error: *mut abi::Error) -> abi::Code {
    guarded(error, || {
        let handover = unsafe { read(from) };
        let claims = unsafe { list(&handover.claims, |one| text(one)) };
        unsafe { mine(object) }.backend.retire(handover.drain_seconds, &claims)
    })
}

unsafe extern "C" fn cleanup(object: *mut abi::Backend, error: *mut abi::Error) -> abi::Code {
    guarded(error, || unsafe { mine(object) }.backend.cleanup())
}

unsafe extern "C" fn extension(_: *mut abi::Backend, _: abi::StringView) -> *mut c_void {
    ptr::null_mut()
}

unsafe extern "C" fn release(object: *mut abi::Backend) {
    guarded(ptr::null_mut(), || {
        drop(unsafe { Box::from_raw(object as *mut Object) });
        Ok(())
    });
}

static METHODS: abi::BackendMethods = abi::BackendMethods { probe, apply, verify, claims, retire, cleanup, extension, release };

unsafe extern "C" fn create(from: *const abi::CreateArgs, out: *mut *mut abi::Backend, error: *mut abi::Error) -> abi::Code {
    unsafe { *out = ptr::null_mut() };
    guarded(error, || {
        let args = unsafe { read(from) };
        let options = unsafe { list(&args.options, |one: &abi::Option| text(&one.key)) };
        let folder = unsafe { text(&args.state_dir) };
        let backend = Backend::new(Host(args.host), args.family, &options, folder)?;
        let object = Object { object: abi::Backend { methods: &METHODS }, family: args.family, backend };
        unsafe { *out = Box::into_raw(Box::new(object)) as *mut abi::Backend };
        Ok(())
    })
}

const NONE: abi::ArrayView = abi::ArrayView { data: ptr::null(), count: 0, stride: 0, reserved: 0 };

#[no_mangle]
#[link_section = "sluice_abi"]
pub static sluice_plugin_entry: abi::PluginEntry = abi::PluginEntry {
    magic: abi::MAGIC,
    major: abi::MAJOR,
    minor: abi::MINOR,
    struct_size: size_of::<abi::PluginEntry>() as u32,
    reserved: 0,
    features: abi::FEATURE_IPV4 | abi::FEATURE_IPV6 | abi::FEATURE_DELTA | abi::FEATURE_AFFINITY,
    needs_host: abi::HOST_FEATURE_NONE,
    id: "nft-rust\0".as_ptr(),
    version: "1.0.0\0".as_ptr(),
    build: "rustc\0".as_ptr(),
    create,
    options: NONE,
    metrics: NONE,
    annotation_prefixes: NONE,
};
