// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flowtables that have the hardware forward: what it forwards passes no program.

use crate::error::{Error, Result};
use crate::interface::Interface;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where the kernel tells of interfaces: of the network namespace in which this was mounted.
const INTERFACES: &str = "/sys/class/net";

/// Refuses an interface whose packets the hardware forwards. Without the tool `nft` there are no
/// flowtables, or nobody who could say.
pub(crate) fn refuse(interface: &Interface) -> Result<()> {
    let listed = Command::new("nft")
        .args(["list", "flowtables"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = listed else {
        return Ok(());
    };
    let listed = String::from_utf8_lossy(&output.stdout);
    let mut found = with_lower(Path::new(INTERFACES), interface.name()).into_iter();
    match found.find_map(|name| Some((offloading(&listed, &name)?, name))) {
        Some((table, interface)) => Err(Error::HardwareOffload { table, interface }),
        None => Ok(()),
    }
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

/// The flowtable with `flags offload` that has the device, as `nft list flowtables` tells them.
fn offloading(listed: &str, device: &str) -> Option<String> {
    let (mut table, mut flowtable, mut has_device) = (String::new(), String::new(), false);
    let mut is_offloading = false;
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
        } else if line == "}" && has_device && is_offloading {
            return Some(format!("{table} {flowtable}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{offloading, with_lower};

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
    fn only_hardware_that_has_the_interface_is_in_the_way() {
        assert_eq!(offloading(LISTED, "lan0"), None);
        assert_eq!(
            offloading(LISTED, "lan1").as_deref(),
            Some("inet filter hard")
        );
        assert_eq!(offloading(LISTED, "lan"), None);
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
