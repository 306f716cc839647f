// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws of one's own on real transfers: what the kernel's programs answer is what the law answers
//! natively.

#[path = "support/native.rs"]
mod native;
mod support;

use ebb_algorithms::{LawInfo, Policy, own};
use ebb_kernel::own::{BuildError, add_programs};
use ebb_kernel::trace::Trace;
use ebb_kernel::{AttachOptions, Attachment, Error, requires_root, sweep, until};
use native::Native;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use support::giving_back::{name_of, upload};
use support::process::{Actor, Role, role};
use support::transfer::{Sender, window_clamp};
use support::{Cable, Side};
use tempfile::TempDir;

const LINK_MBIT_PER_S: u32 = 10;
const QUEUE_BYTES: u32 = 40 * 1514;
/// Many round trips, and some losses.
const RECORDED: Duration = Duration::from_secs(4);
/// More than a lease.
const LAPSED: Duration = Duration::from_millis(2500);

/// A file of a law that a role has, by this variable.
const LAW: &str = "EBB_TEST_LAW";

#[test]
fn play_a_role() {
    if let Some(file) = std::env::var_os(LAW) {
        own::load(Path::new(&file)).unwrap();
    }
    role();
}

#[test]
fn a_sender_law_of_ones_own_answers_in_the_kernel_as_it_does_natively() {
    if !requires_root("a_sender_law_of_ones_own_answers_in_the_kernel_as_it_does_natively") {
        return;
    }
    assert_sends_as_natively("gentle", &page());
}

#[test]
fn a_law_may_have_a_table_of_its_own() {
    if !requires_root("a_law_may_have_a_table_of_its_own") {
        return;
    }
    assert_sends_as_natively(
        "tabled",
        &tabled(
            "tabled",
            1004,
            "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17",
        ),
    );
}

/// clang puts tables of 4, 8, 16 and 32 bytes where libbpf does not look.
#[test]
fn a_table_that_cannot_be_opened_is_told_when_the_law_is_built() {
    let place = Place::new();
    let header = tabled("merged", 1006, "2, 3, 5, 7");
    let error = place.build("merged", &header).unwrap_err().to_string();
    assert!(
        error.contains("merged.h: does not compile for the kernel") && error.contains("volatile"),
        "{error}"
    );
    let header = header.replace("static const u32", "static const volatile u32");
    place.build("merged", &header).unwrap();
}

fn assert_sends_as_natively(name: &str, header: &str) {
    let place = Place::new();
    let law = place.build(name, header).unwrap();
    let policy: Policy = format!("{name}:target_us=20000").parse().unwrap();
    assert!(std::ptr::eq(policy.law(), law));
    let cable = Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES);
    let attachment = attach(&cable, &policy, &place.trace()).unwrap();
    let (_receiver, actor) = upload(&cable, true, "cubic");
    std::thread::sleep(RECORDED);
    let used = name_of(&actor);
    assert!(used.ends_with(&format!("_{name}")), "{used}");
    attachment.detach().unwrap();
    assert_eq!(name_of(&actor), "cubic");
    assert_same_natively(&policy, &place.trace());
}

#[test]
fn what_a_killed_owner_held_by_a_large_law_is_set_free_by_an_ebb_without_the_law() {
    if !requires_root(
        "what_a_killed_owner_held_by_a_large_law_is_set_free_by_an_ebb_without_the_law",
    ) {
        return;
    }
    let place = Place::new();
    place.build("large", &large_law("large")).unwrap();
    let cable = Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES);
    let mut owner = place.owner(&cable, "large");
    owner.told("ATTACHED");
    let (_sender, address) = Sender::listen_idle(&cable, cable.ipv4(Side::Left));
    let address = address.to_string();
    let mut receiver = Actor::start(&cable, Some(&cable.cgroup), Role::Download, &address);
    receiver.told("CONNECTED");
    std::thread::sleep(Duration::from_millis(300));
    let clamped = window_clamp(&receiver.sockets()[0]);
    owner.signal(libc::SIGKILL);
    std::thread::sleep(LAPSED);
    // Nothing was sent, so the programs had no occasion to let go.
    assert_eq!(window_clamp(&receiver.sockets()[0]), clamped);
    assert!(sweep(&cable.cgroup).unwrap() > 0);
    assert!(window_clamp(&receiver.sockets()[0]) > clamped);
}

#[test]
fn the_end_of_a_law_is_known_where_another_law_has_its_number() {
    if !requires_root("the_end_of_a_law_is_known_where_another_law_has_its_number") {
        return;
    }
    let place = Place::new();
    place.build("sending", &renamed("sending", 1001)).unwrap();
    let cable = Cable::new();
    let mut owner = place.owner(&cable, "sending");
    owner.told("ATTACHED");
    // A receiver law with the number that the owner's has.
    place.build("own-ebb", &receiver_law("own_ebb")).unwrap();
    let attach = |policy: &str| {
        let policy = policy.parse().unwrap();
        Attachment::attach(&cable.cgroup, &policy, AttachOptions::default())
    };
    let error = attach("ebb-sender").unwrap_err();
    assert!(
        error.to_string().contains("'number 1001'"),
        "whose it is here is not told: {error}"
    );
    attach("ebb").unwrap().detach().unwrap();
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

    /// A process that has the law of this name, and holds the cable's cgroup by it.
    fn owner(&self, cable: &Cable, law: &str) -> Actor {
        let mut launcher = Command::new("env");
        let file = self.path(&format!("{law}.so"));
        launcher.arg(format!("{LAW}={}", file.display()));
        let arguments = format!("{} {law}", cable.cgroup.path().display());
        Actor::start_by(launcher, cable, Side::Right, Role::Owner, &arguments)
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

/// The same law, which halves by a table's entries.
fn tabled(name: &str, number: u32, entries: &str) -> String {
    let header = renamed(name, number);
    let halves = "(u32)ebb_max(cwnd_pkts / 2, 2);";
    assert!(header.contains(halves));
    let count = entries.split(',').count();
    let part = format!("(u32)ebb_max(cwnd_pkts / parts[cwnd_pkts % {count}], 2);");
    let before = format!("EBB_INLINE void ebb_{name}_halve");
    let table = format!("static const u32 parts[{count}] = {{{entries}}};\n\n{before}");
    header.replace(halves, &part).replace(&before, &table)
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

/// A receiver law that keeps more of a connection than any of Ebb's.
fn large_law(name: &str) -> String {
    let header = repository("algorithms/rledbat/rledbat.h");
    let header = header
        .replace("ebb_rledbat_", &format!("ebb_{name}_"))
        .replace("EBB_RLEDBAT_", &format!("EBB_{}_", name.to_uppercase()));
    let first = "\tu32 rwnd_bytes;";
    assert_eq!(header.matches(first).count(), 1);
    let larger = format!("{first}\n\tu32 more[400];");
    let number = format!("X(1005, {name}, EBB_{}_PARAMS, \"\")", name.to_uppercase());
    format!(
        "{}\n#define EBB_OWN_RECEIVER_LAWS(X) {number}\n",
        header.replace(first, &larger)
    )
}
