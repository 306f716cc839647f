// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs of others on the router's interfaces, as container networks and traffic shapers have
//! them.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use ebb_lab::namespace::NamespaceHandle;
use libbpf_rs::libbpf_sys as raw;
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, TC_EGRESS, TC_INGRESS, TcHook};

use crate::transfers::run;

/// What the programs of others do, in the order of `others.c`.
#[derive(Clone, Copy, Debug)]
pub enum Program {
    Look,
    Decide,
    Mark,
    Redirect,
    Tag,
    Untag,
}

/// Packets from the interface's link, or to it.
#[derive(Clone, Copy, Debug)]
pub enum Point {
    In,
    Out,
}

/// Where a program stands, at once when it is put there.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// In front of what tcx has already.
    First,
    /// Behind it.
    Last,
    /// A filter of clsact of this priority.
    Filter(u32),
}

/// Programs on interfaces of a namespace; those of tcx go with this.
pub struct Others {
    namespace: NamespaceHandle,
    object: Object,
    links: Vec<OwnedFd>,
}

impl Others {
    /// Compiles and loads them; what is redirected goes to this interface.
    pub fn load(namespace: &NamespaceHandle, folder: &Path, to_interface: &str) -> Self {
        let mut open = ObjectBuilder::default().open_file(compile(folder)).unwrap();
        let to = number(namespace, to_interface);
        for mut map in open.maps_mut() {
            if map.name().to_string_lossy().ends_with("rodata") {
                map.set_initial_value(&to.to_ne_bytes()).unwrap();
            }
        }
        Self {
            namespace: namespace.clone(),
            object: open.load().unwrap(),
            links: Vec::new(),
        }
    }

    pub fn put(&mut self, program: Program, interface: &str, point: Point, place: Place) {
        let number = number(&self.namespace, interface) as i32;
        let name = format!("{program:?}").to_lowercase();
        let program = self.object.progs().find(|it| *it.name() == *name).unwrap();
        let program = program.as_fd();
        let put = || match place {
            Place::First => Some(link(program.as_raw_fd(), number, point, raw::BPF_F_BEFORE)),
            Place::Last => Some(link(program.as_raw_fd(), number, point, raw::BPF_F_AFTER)),
            Place::Filter(priority) => {
                let mut hook = TcHook::new(program);
                hook.ifindex(number).priority(priority).handle(1);
                hook.attach_point(match point {
                    Point::In => TC_INGRESS,
                    Point::Out => TC_EGRESS,
                });
                // That clsact is there already is no error, but libbpf would print it.
                let usual = libbpf_rs::set_print(None);
                let put = hook.create().and_then(|mut hook| hook.attach());
                libbpf_rs::set_print(usual);
                put.unwrap();
                None
            }
        };
        let link = self.namespace.run_in(put).unwrap();
        self.links.extend(link);
    }

    /// Packets that a program has seen.
    pub fn seen(&self, program: Program) -> u64 {
        let mut maps = self.object.maps();
        let counts = maps.find(|map| map.name().to_string_lossy().ends_with("bss"));
        let bytes = counts.unwrap().lookup(&0u32.to_ne_bytes(), MapFlags::ANY);
        let bytes = bytes.unwrap().unwrap();
        let count = bytes.as_chunks::<8>().0[program as usize];
        u64::from_ne_bytes(count)
    }
}

fn compile(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gateway/others.c");
    let object = folder.join("others.o");
    let mut clang = Command::new("clang");
    clang.args(["-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror"]);
    // Debian and Ubuntu keep <asm/types.h> there.
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    run(clang
        .arg(headers)
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(&object));
    object
}

fn number(namespace: &NamespaceHandle, interface: &str) -> u32 {
    let name = CString::new(interface).unwrap();
    // SAFETY: a string that ends with a zero, which lives through the call.
    let number = namespace.run_in(|| unsafe { libc::if_nametoindex(name.as_ptr()) });
    let number = number.unwrap();
    assert_ne!(number, 0, "{interface}");
    number
}

/// A link of tcx.
fn link(program: i32, interface: i32, point: Point, flags: u32) -> OwnedFd {
    let options = raw::bpf_link_create_opts {
        sz: size_of::<raw::bpf_link_create_opts>() as _,
        flags,
        ..Default::default()
    };
    let kind = match point {
        Point::In => raw::BPF_TCX_INGRESS,
        Point::Out => raw::BPF_TCX_EGRESS,
    };
    // SAFETY: the descriptor is open, the options live through the call.
    let link = unsafe { raw::bpf_link_create(program, interface, kind, &raw const options) };
    assert!(link >= 0, "{}", std::io::Error::from_raw_os_error(-link));
    // SAFETY: just made, and nobody else's.
    unsafe { OwnedFd::from_raw_fd(link) }
}
