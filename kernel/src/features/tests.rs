// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use ebb_algorithms::law;

/// What the type information of some kernels says, as was read there; of 5.15 and 6.8 as their
/// sources have it.
fn types_of(release: &str) -> KernelTypes {
    let ancient = KernelTypes {
        has_header_callback: true,
        cong_control_parameters: Some(2),
        ..KernelTypes::default()
    };
    let old = KernelTypes {
        has_iterator_options: true,
        ..ancient
    };
    let with_links = KernelTypes {
        has_struct_ops_links: true,
        ..old
    };
    let recent = KernelTypes {
        has_callback_flags: true,
        cong_control_parameters: Some(4),
        ..with_links
    };
    match release {
        "5.10" => ancient,
        "5.15" | "6.1" => old,
        "6.8" => with_links,
        "6.12" => recent,
        "7.3" => KernelTypes {
            has_start_hook: true,
            ..recent
        },
        other => panic!("{other}"),
    }
}

/// A machine with that kernel that has everything else.
fn machine(release: &str) -> Facts {
    Facts {
        kernel_release: release.to_owned(),
        capabilities: u64::MAX,
        has_btf: true,
        types: Some(types_of(release)),
        kinds: Some(KINDS.iter().map(|kind| kind.key).collect()),
        sets_pace: Some(!["5.10", "5.15"].contains(&release)),
        walks_over_maps: Some(true),
        cgroup_mount: Some("/sys/fs/cgroup".to_owned()),
        is_private_cgroup_possible: false,
        has_bpffs: true,
    }
}

fn missing_on(release: &str) -> Vec<&'static str> {
    let features = judge(&machine(release)).features;
    let missing = features
        .iter()
        .filter(|it| it.presence == Presence::Missing);
    missing.map(|feature| feature.key).collect()
}

fn form_on(release: &str) -> SenderForm {
    SenderForm::of(
        types_of(release),
        machine(release).sets_pace.unwrap_or_default(),
    )
}

#[test]
fn each_kernel_lacks_what_came_later_and_nothing_else() {
    let expected: [(&str, &[&str]); 6] = [
        (
            "5.10",
            &["tcp-iterator", "callback-flags", "pace", "struct-ops-links"],
        ),
        ("5.15", &["callback-flags", "pace", "struct-ops-links"]),
        ("6.1", &["callback-flags", "struct-ops-links"]),
        ("6.8", &["callback-flags"]),
        ("6.12", &[]),
        ("7.3", &[]),
    ];
    for (release, missing) in expected {
        assert_eq!(missing_on(release), missing, "{release}");
        assert_eq!(
            judge(&machine(release)).is_usable(),
            release != "5.10",
            "{release}"
        );
    }
}

#[test]
fn the_loader_makes_of_each_kernel_what_it_has() {
    let form = SenderForm {
        is_offered: true,
        is_link: false,
        has_short_control: true,
        has_start_hook: false,
        sets_pace: false,
    };
    assert_eq!(form_on("5.15"), form);
    let form = SenderForm {
        sets_pace: true,
        ..form
    };
    assert_eq!(form_on("6.1"), form);
    let form = SenderForm {
        is_link: true,
        ..form
    };
    assert_eq!(form_on("6.8"), form);
    let form = SenderForm {
        has_short_control: false,
        ..form
    };
    assert_eq!(form_on("6.12"), form);
    let form = SenderForm {
        has_start_hook: true,
        ..form
    };
    assert_eq!(form_on("7.3"), form);
}

#[test]
fn a_law_is_refused_that_needs_what_the_kernel_has_not() {
    let (bbr, ledbat) = (law("bbr").unwrap(), law("ledbat").unwrap());
    let refuse = |law, release: &str| {
        let facts = machine(release);
        let sets_pace = facts.sets_pace.unwrap_or_default();
        refuse_law(law, types_of(release), sets_pace, &judge(&facts))
    };
    assert!(refuse(ledbat, "5.15").is_ok());
    assert!(refuse(bbr, "6.1").is_ok());
    let message = refuse(bbr, "5.15").unwrap_err().to_string();
    assert!(message.contains("law 'bbr' needs"), "{message}");
    assert!(message.contains("pace (Linux 6.0)"), "{message}");
}

#[test]
fn too_old_a_kernel_is_refused_by_the_missing_feature() {
    let message = explain_missing(&judge(&machine("5.10"))).unwrap_err();
    let message = message.to_string();
    assert!(message.contains("this kernel (5.10) has no"), "{message}");
    assert!(message.contains("iterators over TCP sockets"), "{message}");
    assert!(message.contains("5.15 or newer"), "{message}");
    assert!(explain_missing(&judge(&machine("5.15"))).is_ok());
}

#[test]
fn a_kernel_without_btf_is_refused_for_that() {
    let facts = Facts {
        has_btf: false,
        types: None,
        ..machine("6.12")
    };
    let message = explain_missing(&judge(&facts)).unwrap_err().to_string();
    assert!(
        message.contains("BTF") && message.contains("CONFIG_DEBUG_INFO_BTF"),
        "{message}"
    );
}

#[test]
fn an_ordinary_user_is_told_to_be_root() {
    let facts = Facts {
        capabilities: 0,
        kinds: None,
        sets_pace: None,
        ..machine("6.12")
    };
    let features = judge(&facts);
    assert!(!features.is_usable());
    let message = explain_missing(&features).unwrap_err().to_string();
    assert!(message.contains("run as root"), "{message}");
    let unknown = features
        .features
        .iter()
        .filter(|f| f.presence == Presence::Unknown);
    assert_eq!(unknown.count(), KINDS.len() + 1);
}

#[test]
fn this_machine_is_probed() {
    let features = probe();
    assert!(!features.kernel_release.is_empty());
    if crate::requires_root("this_machine_is_probed") {
        assert!(features.is_usable(), "{features:#?}");
    }
}
