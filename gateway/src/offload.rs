// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flowtables that have packets pass no program of ours: those that have the hardware forward, and
//! those that forward between ports below the interface.

use crate::error::{Error, Result};
use crate::interface::Interface;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where the kernel tells of interfaces: of the network namespace in which this was mounted.
const INTERFACES: &str = "/sys/class/net";

/// Refuses an interface whose packets the hardware forwards, or a flowtable past it: between the ports
/// of a bridge it does so since Linux 5.13. Without the tool `nft` there are no flowtables, or nobody
/// who could say.
pub(crate) fn refuse(interface: &Interface) -> Result<()> {
    let listed = Command::new("nft")
        .args(["list", "flowtables"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = listed else {
        return Ok(());
    };
    let listed = String::from_utf8_lossy(&output.stdout);
    refuse_by(
        &listed,
        interface.name(),
        with_lower(Path::new(INTERFACES), interface.name()),
    )
}

fn refuse_by(listed: &str, interface: &str, with_lower: Vec<String>) -> Result<()> {
    for name in with_lower {
        match having(listed, &name) {
            Some((table, true)) => {
                return Err(Error::HardwareOffload {
                    table,
                    interface: name,
                });
            }
            Some((table, false)) if name != interface => {
                return Err(Error::Bypass {
                    table,
                    port: name,
                    interface: interface.to_owned(),
                });
            }
            _ => {}
        }
    }
    Ok(())
}

/// An interface and those below it, which its packets come through: ports of a bridge, what a VLAN
/// is on.
fn with_lower(interfaces: &Path, name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    let mut next = 0;
    while let Some(name) = all.get(next) {
        let entries = fs::read_dir(interfaces.join(name));
        let names = entries.into_iter().flatten().flatten();
        let names = names.filter_map(|it| it.file_name().into_string().ok());
        let lower: Vec<String> = names
            .filter_map(|it| it.strip_prefix("lower_").map(str::to_owned))
            .collect();
        all.extend(lower);
        next += 1;
    }
    all
}

/// The flowtable that has the device, and whether it has `flags offload`, as `nft list flowtables`
/// tells them; one with that goes before others.
fn having(listed: &str, device: &str) -> Option<(String, bool)> {
    let (mut table, mut flowtable, mut has_device) = (String::new(), String::new(), false);
    let (mut is_offloading, mut soft) = (false, None);
    for line in listed.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("table ") {
            table = name.trim_end_matches(" {").to_owned();
        } else if let Some(name) = line.strip_prefix("flowtable ") {
            flowtable = name.trim_end_matches(" {").to_owned();
            (has_device, is_offloading) = (false, false);
        } else if let Some(devices) = line.strip_prefix("devices = ") {
            let names = devices.split([',', ' ', '{', '}']);
            has_device = names
                .map(|name| name.trim_matches('"'))
                .any(|name| name == device);
        } else if line.starts_with("flags ") {
            is_offloading = line.contains("offload");
        } else if line == "}" && std::mem::take(&mut has_device) {
            let found = (format!("{table} {flowtable}"), is_offloading);
            if is_offloading {
                return Some(found);
            }
            soft.get_or_insert(found);
        }
    }
    soft
}

#[cfg(test)]
mod tests {
    use super::{Error, having, refuse_by, with_lower};

    /// As nftables 1.0.6 prints it.
    const LISTED: &str = "\
table inet filter {
	flowtable soft {
		hook ingress priority filter
		devices = { lan0, wan0 }
	}
	flowtable hard {
		hook ingress priority filter
		devices = { lan1, wan0 }
		flags offload
	}
}
";

    #[test]
    fn hardware_is_in_the_way_and_else_what_has_a_port_below() {
        let of = |device: &str| having(LISTED, device);
        assert_eq!(of("lan0"), Some(("inet filter soft".into(), false)));
        assert_eq!(of("wan0"), Some(("inet filter hard".into(), true)));
        assert_eq!(of("lan"), None);
        let refused = |interface: &str, with_lower: &[&str]| {
            let with_lower = with_lower.iter().map(ToString::to_string).collect();
            refuse_by(LISTED, interface, with_lower)
        };
        assert!(refused("lan0", &["lan0"]).is_ok());
        assert!(matches!(
            refused("br-lan", &["br-lan", "lan0"]),
            Err(Error::Bypass { port, interface, .. }) if port == "lan0" && interface == "br-lan"
        ));
        let hard = refused("br-lan", &["br-lan", "lan1"]);
        assert!(matches!(hard, Err(Error::HardwareOffload { .. })));
    }

    /// A VLAN on a bridge of two ports.
    #[test]
    fn what_is_below_an_interface_is_in_the_way_as_well() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "lan.7/lower_lan",
            "lan/lower_lan0",
            "lan/lower_lan1",
            "lan/upper_lan.7",
            "lan1/upper_lan",
        ] {
            std::fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let mut found = with_lower(folder.path(), "lan.7");
        found.sort();
        assert_eq!(found, ["lan", "lan.7", "lan0", "lan1"]);
        assert_eq!(with_lower(folder.path(), "none"), ["none"]);
    }
}
