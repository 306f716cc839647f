// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The few system calls that libbpf-rs has no safe form of, on plain descriptors.

use crate::names;
use libbpf_rs::libbpf_sys as raw;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// Where on a cgroup a program is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    Ingress,
    Egress,
    SockOps,
    SockCreate,
}

impl Hook {
    pub(crate) const ALL: [Self; 4] =
        [Self::Ingress, Self::Egress, Self::SockOps, Self::SockCreate];

    /// The name of our program there.
    pub(crate) fn program_name(self) -> &'static str {
        match self {
            Self::Ingress => names::INGRESS,
            Self::Egress => names::EGRESS,
            Self::SockOps => names::SOCK_OPS,
            Self::SockCreate => names::SOCK_CREATE,
        }
    }

    fn attach_type(self) -> raw::bpf_attach_type {
        match self {
            Self::Ingress => raw::BPF_CGROUP_INET_INGRESS,
            Self::Egress => raw::BPF_CGROUP_INET_EGRESS,
            Self::SockOps => raw::BPF_CGROUP_SOCK_OPS,
            Self::SockCreate => raw::BPF_CGROUP_INET_SOCK_CREATE,
        }
    }
}

/// Attaches a program beside what is attached already, or instead of `replaced`.
pub(crate) fn attach(
    program: BorrowedFd<'_>,
    cgroup: BorrowedFd<'_>,
    hook: Hook,
    replaced: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut options = raw::bpf_prog_attach_opts {
        sz: size_of::<raw::bpf_prog_attach_opts>() as _,
        flags: raw::BPF_F_ALLOW_MULTI,
        ..Default::default()
    };
    if let Some(replaced) = replaced {
        options.flags |= raw::BPF_F_REPLACE;
        options.__bindgen_anon_1.replace_prog_fd = replaced.as_raw_fd();
    }
    // SAFETY: descriptors are open, the options live through the call.
    check(unsafe {
        raw::bpf_prog_attach_opts(
            program.as_raw_fd(),
            cgroup.as_raw_fd(),
            hook.attach_type(),
            &options,
        )
    })
    .map(drop)
}

/// Takes a program off a cgroup.
pub(crate) fn detach(
    program: BorrowedFd<'_>,
    cgroup: BorrowedFd<'_>,
    hook: Hook,
) -> io::Result<()> {
    // SAFETY: both descriptors are open.
    check(unsafe {
        raw::bpf_prog_detach2(program.as_raw_fd(), cgroup.as_raw_fd(), hook.attach_type())
    })
    .map(drop)
}

/// The ids of the programs attached to the cgroup itself.
pub(crate) fn attached(cgroup: BorrowedFd<'_>, hook: Hook) -> io::Result<Vec<u32>> {
    let mut ids = vec![0u32; 64];
    let mut count = ids.len() as u32;
    // SAFETY: `ids` holds `count` numbers.
    check(unsafe {
        raw::bpf_prog_query(
            cgroup.as_raw_fd(),
            hook.attach_type(),
            0,
            ptr::null_mut(),
            ids.as_mut_ptr(),
            &mut count,
        )
    })?;
    ids.truncate(count as usize);
    Ok(ids)
}

/// A loaded program as the kernel tells of it.
pub(crate) struct ProgramInfo {
    pub id: u32,
    pub name: String,
    pub map_ids: Vec<u32>,
    pub run_time_ns: u64,
    pub run_count: u64,
}

/// Describes a program.
pub(crate) fn program_info(program: BorrowedFd<'_>) -> io::Result<ProgramInfo> {
    let mut map_ids = vec![0u32; 64];
    let mut info = raw::bpf_prog_info {
        nr_map_ids: map_ids.len() as u32,
        map_ids: map_ids.as_mut_ptr() as u64,
        ..Default::default()
    };
    let mut length = size_of::<raw::bpf_prog_info>() as u32;
    // SAFETY: `info` is `length` bytes, `map_ids` holds `nr_map_ids` numbers.
    check(unsafe { raw::bpf_prog_get_info_by_fd(program.as_raw_fd(), &mut info, &mut length) })?;
    map_ids.truncate(info.nr_map_ids as usize);
    Ok(ProgramInfo {
        id: info.id,
        name: name(&info.name),
        map_ids,
        run_time_ns: info.run_time_ns,
        run_count: info.run_cnt,
    })
}

/// A map as the kernel tells of it.
pub(crate) struct MapInfo {
    pub id: u32,
    pub name: String,
    pub key_bytes: u32,
    pub value_bytes: u32,
}

/// Describes a map.
pub(crate) fn map_info(map: BorrowedFd<'_>) -> io::Result<MapInfo> {
    let mut info = raw::bpf_map_info::default();
    let mut length = size_of::<raw::bpf_map_info>() as u32;
    // SAFETY: `info` is `length` bytes.
    check(unsafe { raw::bpf_map_get_info_by_fd(map.as_raw_fd(), &mut info, &mut length) })?;
    Ok(MapInfo {
        id: info.id,
        name: name(&info.name),
        key_bytes: info.key_size,
        value_bytes: info.value_size,
    })
}

/// The ids of all loaded programs.
pub(crate) fn program_ids() -> impl Iterator<Item = u32> {
    // SAFETY: the call writes one number.
    ids(|last, next| unsafe { raw::bpf_prog_get_next_id(last, next) })
}

/// The ids of all maps.
pub(crate) fn map_ids() -> impl Iterator<Item = u32> {
    // SAFETY: as above.
    ids(|last, next| unsafe { raw::bpf_map_get_next_id(last, next) })
}

fn ids(after: impl Fn(u32, &mut u32) -> libc::c_int) -> impl Iterator<Item = u32> {
    let mut last = 0;
    std::iter::from_fn(move || {
        let mut next = 0;
        check(after(last, &mut next)).ok()?;
        last = next;
        Some(next)
    })
}

/// Opens a program by its id.
pub(crate) fn program_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes a number.
    own(unsafe { raw::bpf_prog_get_fd_by_id(id) })
}

/// Opens a map by its id.
pub(crate) fn map_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes a number.
    own(unsafe { raw::bpf_map_get_fd_by_id(id) })
}

/// Reads the value of a key; `value` must be as long as the kernel's value.
pub(crate) fn lookup(map: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> io::Result<()> {
    // SAFETY: callers give buffers of the map's sizes.
    check(unsafe {
        raw::bpf_map_lookup_elem(
            map.as_raw_fd(),
            key.as_ptr().cast(),
            value.as_mut_ptr().cast(),
        )
    })
    .map(drop)
}

/// The key after this one, or the first; none: that was the last.
pub(crate) fn next_key(map: BorrowedFd<'_>, key: Option<&[u8]>, next: &mut [u8]) -> Option<()> {
    let key = key.map_or(ptr::null(), |key| key.as_ptr().cast());
    // SAFETY: callers give buffers of the map's key's size.
    let result =
        unsafe { raw::bpf_map_get_next_key(map.as_raw_fd(), key, next.as_mut_ptr().cast()) };
    check(result).ok().map(drop)
}

/// All keys of a map whose keys are numbers of 32 bits.
pub(crate) fn numbers_in(map: BorrowedFd<'_>) -> Vec<u32> {
    let mut numbers = Vec::new();
    let mut key = [0; size_of::<u32>()];
    let mut next = next_key(map, None, &mut key);
    while next.is_some() {
        numbers.push(u32::from_ne_bytes(key));
        let last = key;
        next = next_key(map, Some(&last), &mut key);
    }
    numbers
}

/// Sets the value of a key; both must be as long as the map's.
pub(crate) fn update(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
    // SAFETY: callers give buffers of the map's sizes.
    check(unsafe {
        raw::bpf_map_update_elem(
            map.as_raw_fd(),
            key.as_ptr().cast(),
            value.as_ptr().cast(),
            raw::BPF_ANY as u64,
        )
    })
    .map(drop)
}

/// Deletes a key, which must be as long as the map's.
pub(crate) fn delete(map: BorrowedFd<'_>, key: &[u8]) -> io::Result<()> {
    // SAFETY: callers give a key of the map's size.
    check(unsafe { raw::bpf_map_delete_elem(map.as_raw_fd(), key.as_ptr().cast()) }).map(drop)
}

/// Starts a walk with an iterator program, in the calling thread's network namespace.
pub(crate) fn iterate(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    iterate_as(program, ptr::null())
}

/// Starts a walk with an iterator program over the entries of a map.
pub(crate) fn iterate_over(program: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut over = raw::bpf_iter_link_info::default();
    over.map.map_fd = map.as_raw_fd().cast_unsigned();
    let options = raw::bpf_link_create_opts {
        sz: size_of::<raw::bpf_link_create_opts>() as _,
        iter_info: &raw mut over,
        iter_info_len: size_of_val(&over) as u32,
        ..Default::default()
    };
    iterate_as(program, &options)
}

/// Starts a walk with an iterator program over the files of a process; before Linux 6.1 over those
/// of all.
pub(crate) fn iterate_files_of(program: BorrowedFd<'_>, pid: u32) -> io::Result<OwnedFd> {
    let mut over = raw::bpf_iter_link_info::default();
    over.task.pid = pid;
    let options = raw::bpf_link_create_opts {
        sz: size_of::<raw::bpf_link_create_opts>() as _,
        iter_info: &raw mut over,
        iter_info_len: size_of_val(&over) as u32,
        ..Default::default()
    };
    iterate_as(program, &options).or_else(|error| match error.raw_os_error() {
        // Where processes cannot be chosen more than the kernel knows was said.
        Some(libc::E2BIG | libc::EINVAL) => iterate(program),
        _ => Err(error),
    })
}

fn iterate_as(
    program: BorrowedFd<'_>,
    options: *const raw::bpf_link_create_opts,
) -> io::Result<OwnedFd> {
    // SAFETY: descriptors are open; the options, if any, live through the call.
    let link =
        own(unsafe { raw::bpf_link_create(program.as_raw_fd(), 0, raw::BPF_TRACE_ITER, options) })?;
    // SAFETY: the link is open.
    own(unsafe { raw::bpf_iter_create(link.as_raw_fd()) })
}

/// Has a program called at the tracepoint that it was compiled for, while the link is open.
pub(crate) fn link_to_tracepoint(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: the program is open; without a name it is attached to its own tracepoint.
    own(unsafe { raw::bpf_raw_tracepoint_open(ptr::null(), program.as_raw_fd()) })
}

/// Has a program called for every socket that is made in a cgroup, while the link is open.
pub(crate) fn link_to_cgroup(
    program: BorrowedFd<'_>,
    cgroup: BorrowedFd<'_>,
) -> io::Result<OwnedFd> {
    // SAFETY: both descriptors are open; there are no options.
    own(unsafe {
        raw::bpf_link_create(
            program.as_raw_fd(),
            cgroup.as_raw_fd(),
            raw::BPF_CGROUP_INET_SOCK_CREATE,
            ptr::null(),
        )
    })
}

/// Run statistics of all programs, for as long as the descriptor is open.
pub(crate) fn enable_run_statistics() -> io::Result<OwnedFd> {
    // SAFETY: takes a number.
    own(unsafe { raw::bpf_enable_stats(raw::BPF_STATS_RUN_TIME) })
}

/// The network namespace of a socket.
pub(crate) fn network_of(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    /// Of linux/sockios.h.
    const SIOCGSKNS: libc::Ioctl = 0x894c;
    // SAFETY: the descriptor is open, and nothing is passed beside it.
    own(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSKNS) })
}

/// The error of a call that answers negative numbers or sets errno.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result >= 0 {
        return Ok(result);
    }
    let error = io::Error::last_os_error();
    // libbpf answers -errno; plain system calls answer -1.
    if result < -1 {
        return Err(io::Error::from_raw_os_error(-result));
    }
    Err(error)
}

/// As [`check`], for calls that open a descriptor.
pub(crate) fn own(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn name(bytes: &[libc::c_char; 16]) -> String {
    // SAFETY: the kernel ends names with a zero byte within the 16.
    unsafe { CStr::from_ptr(bytes.as_ptr()) }
        .to_string_lossy()
        .into_owned()
}
