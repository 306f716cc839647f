// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

fn full() -> Facts {
    Facts {
        kernel_release: "6.18.2".to_owned(),
        capabilities: u64::MAX,
        has_btf: true,
        names: WANTED_NAMES.into_iter().collect(),
        programs: Some(PROGRAMS.iter().map(|kind| kind.key).collect()),
        cgroup_mount: Some("/sys/fs/cgroup".to_owned()),
        is_private_cgroup_possible: false,
        has_bpffs: false,
    }
}

#[test]
fn a_machine_with_everything_is_usable() {
    let features = judge(&full());
    assert!(features.is_usable());
    assert!(explain_missing(&features).is_ok());
}

#[test]
fn too_old_a_kernel_is_refused_by_the_missing_feature() {
    let mut facts = full();
    facts.kernel_release = "6.1.0-13-amd64".to_owned();
    facts.names.remove(CALLBACK_FLAGS_OPTION);
    let message = explain_missing(&judge(&facts)).unwrap_err().to_string();
    assert!(message.contains("6.1.0-13-amd64"), "{message}");
    assert!(
        message.contains("setting socket callbacks from an iterator"),
        "{message}"
    );
    assert!(message.contains("6.13 or newer"), "{message}");
}

#[test]
fn a_kernel_without_btf_is_refused_for_that() {
    let mut facts = full();
    facts.has_btf = false;
    facts.names.clear();
    let message = explain_missing(&judge(&facts)).unwrap_err().to_string();
    assert!(
        message.contains("BTF") && message.contains("CONFIG_DEBUG_INFO_BTF"),
        "{message}"
    );
}

#[test]
fn an_ordinary_user_is_told_to_be_root() {
    let mut facts = full();
    facts.capabilities = 0;
    facts.programs = None;
    let features = judge(&facts);
    assert!(!features.is_usable());
    let message = explain_missing(&features).unwrap_err().to_string();
    assert!(message.contains("run as root"), "{message}");
    let unknown = features
        .features
        .iter()
        .filter(|f| f.presence == Presence::Unknown);
    assert_eq!(unknown.count(), PROGRAMS.len());
}

#[test]
fn releases_are_compared_by_number() {
    assert_eq!(parse_release("6.18.44-fc-v595"), Some((6, 18)));
    assert_eq!(parse_release("6.9-rc1"), Some((6, 9)));
    assert!(parse_release("6.9-rc1").unwrap() < SUFFICIENT_RELEASE);
    assert_eq!(parse_release("unknown"), None);
}

#[test]
fn this_machine_is_probed() {
    let features = probe();
    assert!(!features.kernel_release.is_empty());
    if crate::requires_root("this_machine_is_probed") {
        assert!(features.is_usable(), "{features:#?}");
    }
}
