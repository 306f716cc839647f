// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flowtables that have the hardware forward: what it forwards passes no program.

use crate::error::{Error, Result};
use crate::interface::Interface;
use std::process::{Command, Stdio};

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
    match offloading(&String::from_utf8_lossy(&output.stdout), interface.name()) {
        Some(table) => Err(Error::HardwareOffload {
            table,
            interface: interface.name().to_owned(),
        }),
        None => Ok(()),
    }
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
    use super::offloading;

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
}
