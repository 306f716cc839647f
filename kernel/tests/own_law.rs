// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws of one's own on real transfers: what the kernel's programs answer is what the law answers
//! natively.

#[path = "support/native.rs"]
mod native;
mod support;

use ebb_algorithms::{LawInfo, Policy, own};
use ebb_kernel::own::{BuildError, add_programs};
use ebb_kernel::trace::Trace;
use ebb_kernel::{AttachOptions, Attachment, Error, requires_root, until};
use native::Native;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::giving_back::{name_of, upload};
use support::process::{Actor, Role, role};
use support::transfer::Sender;
use support::{Cable, Side};
use tempfile::TempDir;

const LINK_MBIT_PER_S: u32 = 10;
const QUEUE_BYTES: u32 = 40 * 1514;
/// Many round trips, and some losses.
const RECORDED: Duration = Duration::from_secs(4);

#[test]
fn play_a_role() {
    role();
}

#[test]
fn a_sender_law_of_ones_own_answers_in_the_kernel_as_it_does_natively() {
    if !requires_root("a_sender_law_of_ones_own_answers_in_the_kernel_as_it_does_natively") {
        return;
    }
    let place = Place::new();
    let law = place.build("gentle", &page()).unwrap();
    let policy: Policy = "gentle:target_us=20000".parse().unwrap();
    assert!(std::ptr::eq(policy.law(), law));
    let cable = Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES);
    let attachment = attach(&cable, &policy, &place.trace()).unwrap();
    let (_receiver, actor) = upload(&cable, true, "cubic");
    std::thread::sleep(RECORDED);
    let name = name_of(&actor);
    assert!(name.ends_with("_gentle"), "{name}");
    attachment.detach().unwrap();
    assert_eq!(name_of(&actor), "cubic");
    assert_same_natively(&policy, &place.trace());
}

#[test]
fn a_receiver_law_of_ones_own_answers_in_the_kernel_as_it_does_natively() {
    if !requires_root("a_receiver_law_of_ones_own_answers_in_the_kernel_as_it_does_natively") {
        return;
    }
    let place = Place::new();
    place.build("own-ebb", &receiver_law("own_ebb")).unwrap();
    let policy: Policy = "own_ebb".parse().unwrap();
    let cable = Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES);
    let attachment = attach(&cable, &policy, &place.trace()).unwrap();
    let (sender, address) = Sender::listen(&cable, cable.ipv4(Side::Left));
    let address = address.to_string();
    let mut receiver = Actor::start(&cable, Some(&cable.cgroup), Role::Download, &address);
    receiver.told("CONNECTED");
    until(
        "one connection with data",
        || matches!(&attachment.flows().unwrap()[..], [flow] if flow.segments >= 500 && flow.is_clamped),
    );
    drop((sender, receiver));
    attachment.detach().unwrap();
    assert_same_natively(&policy, &place.trace());
}

#[test]
fn a_law_without_programs_or_with_those_of_another_ebb_is_refused_by_name() {
    if !requires_root("a_law_without_programs_or_with_those_of_another_ebb_is_refused_by_name") {
        return;
    }
    let place = Place::new();
    let header = renamed("frail", 1002);
    let law = place.build("frail", &header).unwrap();
    assert!(ebb_kernel::own::has_programs(law));
    let cable = Cable::new();
    let file = place.path("frail.so");
    let whole = std::fs::read(&file).unwrap();
    let refusal = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let law = own::load(&file).unwrap()[0];
        assert!(!ebb_kernel::own::has_programs(law));
        let refused = attach(&cable, &"frail".parse().unwrap(), &place.trace());
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::NoPrograms { .. }), "{error}");
        error.to_string()
    };
    let said = refusal(&whole[..whole.len() - 1]);
    assert!(said.contains("'frail' has no programs"), "{said}");
    // The number of the sources.
    let mut other = whole.clone();
    let at = other.len() - 32;
    other[at] ^= 1;
    let said = refusal(&other);
    assert!(said.contains("'frail' has programs of another"), "{said}");
}

#[test]
fn what_does_not_compile_for_the_kernel_is_told_with_its_line() {
    let place = Place::new();
    let header = renamed("vague", 1003).replace(
        "state->window.ssthresh_pkts = (u32)ebb_max(cwnd_pkts / 2, 2);",
        "state->window.ssthresh_pkts = (u32)(cwnd_pkts * __builtin_sqrt(cwnd_pkts));",
    );
    let error = place.build("vague", &header).unwrap_err();
    let BuildError::DoesNotCompile { path, told } = &error else {
        panic!("{error}");
    };
    assert_eq!(*path, place.path("vague.h"));
    assert!(told.contains("vague.h:"), "{told}");
    // The simulator has it.
    let law = own::load(&place.path("vague.so")).unwrap()[0];
    assert!(!ebb_kernel::own::has_programs(law));
}

/// A folder for laws and traces.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn trace(&self) -> PathBuf {
        self.path("calls.trace")
    }

    /// The only law of a header, with its programs.
    fn build(&self, name: &str, header: &str) -> Result<&'static LawInfo, BuildError> {
        let (path, file) = (
            self.path(&format!("{name}.h")),
            self.path(&format!("{name}.so")),
        );
        std::fs::write(&path, header).unwrap();
        let laws = own::build(&path, &file, "cc").unwrap();
        add_programs(&file, &path, &laws, "clang")?;
        Ok(own::load(&file).unwrap()[0])
    }
}

fn attach(cable: &Cable, policy: &Policy, trace: &Path) -> ebb_kernel::Result<Attachment> {
    let options = AttachOptions {
        trace: Some(trace.to_owned()),
        ..AttachOptions::default()
    };
    Attachment::attach(&cable.cgroup, policy, options)
}

fn assert_same_natively(policy: &Policy, path: &Path) {
    let trace = Trace::read(path).unwrap();
    assert!(std::ptr::eq(trace.law, policy.law()));
    let (_, records) = trace.by_connection().remove(0);
    assert!(records.len() > 500, "{} calls", records.len());
    let mut flow = Native::begun(policy, &records[0].input).expect("a start");
    for record in &records[1..] {
        flow.call(&record.input);
        let answer = match &flow {
            Native::Receiver(flow) => flow.window_bytes(),
            Native::Sender(flow) => flow.window().cwnd_pkts,
        };
        assert_eq!(answer, record.answer, "{record:?}");
    }
}

fn repository(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(path).unwrap()
}

/// The header that docs/laws/own-law.md shows.
fn page() -> String {
    let page = repository("docs/laws/own-law.md");
    let (_, rest) = page.split_once("```c\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// The same law by another name and number.
fn renamed(name: &str, number: u32) -> String {
    page()
        .replace("gentle", name)
        .replace("GENTLE", &name.to_uppercase())
        .replace("X(1000, ", &format!("X({number}, "))
}

/// A receiver law that does all that one may: it calls Ebb's own, one connection and all together.
fn receiver_law(name: &str) -> String {
    let text = "\
#include \"ebb/bundle.h\"
#define ebb_NAME_params ebb_ebb_params
#define ebb_NAME_state ebb_ebb_state
#define ebb_NAME_bundle ebb_ebb_bundle
#define ebb_NAME_init ebb_ebb_init
#define ebb_NAME_on_segment ebb_ebb_on_segment
#define ebb_NAME_on_ack ebb_ebb_on_ack
#define ebb_NAME_bundle_init ebb_ebb_bundle_init
#define ebb_NAME_bundle_on_segment ebb_ebb_bundle_on_segment
#define ebb_NAME_bundle_on_ack ebb_ebb_bundle_on_ack
#define EBB_OWN_RECEIVER_LAWS(X) X(1001, NAME, EBB_EBB_PARAMS, \"ebb under another name\")
#define EBB_OWN_ON_ACK_LAWS(X) X(NAME)
#define EBB_OWN_BUNDLE_LAWS(X) X(NAME)
";
    text.replace("NAME", name)
}
