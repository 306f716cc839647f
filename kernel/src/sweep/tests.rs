// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on a cgroup that are another version's, or not Ebb's at all.

use super::*;
use crate::layout::Constant;
use crate::{AttachOptions, Attachment, Ending, requires_root};
use ebb_algorithms::Policy;
use libbpf_rs::libbpf_sys as raw;
use std::mem::offset_of;

/// A group of a test's own.
struct Group(Cgroup);

impl Group {
    fn new(name: &str) -> Self {
        let name = format!("ebbk-{name}-{}", std::process::id());
        Self(Cgroup::root().unwrap().create_child(&name).unwrap())
    }

    fn attach(&self) -> Result<Attachment> {
        Attachment::attach(&self.0, &Policy::default(), AttachOptions::default())
    }

    /// As if another version had loaded what is there: only what it says of itself is changed.
    fn disguise(&self, version: u32) {
        for found in find(&self.0) {
            let bytes = sys::map_info(found.control_map.as_fd())
                .unwrap()
                .value_bytes;
            let mut value = vec![0; bytes as usize];
            let key = 0u32.to_ne_bytes();
            sys::lookup(found.control_map.as_fd(), &key, &mut value).unwrap();
            let at = offset_of!(ControlHead, version);
            value[at..at + 4].copy_from_slice(&version.to_ne_bytes());
            sys::update(found.control_map.as_fd(), &key, &value).unwrap();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.0.remove();
    }
}

const OTHER: u32 = Constant::EBB_CONTROL_VERSION.0 + 1;

#[test]
fn a_living_ebb_of_another_version_is_refused_by_name_and_ends_when_asked() {
    if !requires_root("a_living_ebb_of_another_version_is_refused_by_name_and_ends_when_asked") {
        return;
    }
    let (group, beside) = (Group::new("version"), Group::new("beside"));
    let theirs = group.attach().unwrap();
    group.disguise(OTHER);
    assert_eq!(sweep(&group.0).unwrap(), 0);
    assert!(theirs.ending().is_none() && !find(&group.0).is_empty());

    let below = group.0.create_child("below").unwrap();
    for cgroup in [&group.0, &below] {
        let refused = Attachment::attach(cgroup, &Policy::default(), AttachOptions::default());
        let told = refused.unwrap_err().to_string();
        let (version, pid) = (format!("of version {OTHER}"), std::process::id());
        let is_named = told.contains(&version) && told.contains(&format!("process {pid}"));
        assert!(is_named, "{told}");
    }
    below.remove().unwrap();
    beside.attach().unwrap().detach().unwrap();

    assert!(detach_all(&group.0).unwrap() > 0);
    let ending = theirs.wait_ended(Duration::from_secs(20));
    assert_eq!(ending, Some(Ending::ReleasedByOther));
    assert!(find(&group.0).is_empty());
}

#[test]
fn what_a_killed_ebb_of_another_version_left_is_not_touched_and_in_nobodys_way() {
    let name = "what_a_killed_ebb_of_another_version_left_is_not_touched_and_in_nobodys_way";
    if !requires_root(name) {
        return;
    }
    let group = Group::new("left");
    let theirs = group.attach().unwrap();
    let left = find(&group.0);
    group.disguise(OTHER);
    // As after a kill: the programs stay, nobody renews the lease.
    let kept: Vec<_> = left
        .iter()
        .map(|found| (found.hook, &found.program))
        .collect();
    theirs.detach().unwrap();
    for (hook, program) in &kept {
        sys::attach(program.as_fd(), group.0.as_fd(), *hook, None).unwrap();
    }
    assert_eq!(sweep(&group.0).unwrap(), 0);
    assert_eq!(find(&group.0).len(), kept.len());
    group.attach().unwrap().detach().unwrap();
    assert_eq!(find(&group.0).len(), kept.len());
    for (hook, program) in kept {
        sys::detach(program.as_fd(), group.0.as_fd(), hook).unwrap();
    }
}

/// A program that lets everything pass, called as ours are.
fn foreign() -> OwnedFd {
    // r0 = 1; exit
    let code: [u64; 2] = [0x0000_0001_0000_00b7, 0x95];
    // SAFETY: names and code live through the call; no options are given.
    sys::own(unsafe {
        raw::bpf_prog_load(
            raw::BPF_PROG_TYPE_CGROUP_SKB,
            c"ebb_ingress".as_ptr(),
            c"GPL".as_ptr(),
            code.as_ptr().cast(),
            code.len() as _,
            std::ptr::null_mut(),
        )
    })
    .unwrap()
}

#[test]
fn a_program_of_somebody_else_stays_whatever_it_is_called() {
    if !requires_root("a_program_of_somebody_else_stays_whatever_it_is_called") {
        return;
    }
    let group = Group::new("foreign");
    let program = foreign();
    sys::attach(program.as_fd(), group.0.as_fd(), Hook::Ingress, None).unwrap();
    assert_eq!(sweep(&group.0).unwrap(), 0);
    assert_eq!(detach_all(&group.0).unwrap(), 0);
    group.attach().unwrap().detach().unwrap();
    let id = sys::program_info(program.as_fd()).unwrap().id;
    assert_eq!(sys::attached(group.0.as_fd(), Hook::Ingress).unwrap(), [id]);
}
