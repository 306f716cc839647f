// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A home behind the client's end of a path: that end becomes a router with devices on a bridge,
//! masquerade by nftables for IPv4, and routes for IPv6.

use std::net::Ipv4Addr;

use crate::LabError;
use crate::emulator::{CLIENT_IPV6, DEVICE, Path, has_ipv6, set_usual_sysctls};
use crate::namespace::NamespaceHandle;

/// The router's bridge, which the devices are behind.
pub const LAN: &str = "lan";
/// Each device's only interface.
pub const DEVICE_INTERFACE: &str = "eth0";
/// The number of the first device in its network, over IPv4 and IPv6.
const FIRST_HOST: u8 = 10;
/// The most devices that there are numbers for.
const MOST_DEVICES: u8 = u8::MAX - 1 - FIRST_HOST;

/// Devices behind a router; they go when the last handle and process has left them.
#[derive(Debug)]
pub struct Home {
    router: NamespaceHandle,
    devices: Vec<NamespaceHandle>,
}

/// The network behind a router.
pub(crate) const LAN_IPV4: &str = "192.168.7.0/24";

/// The address of the device of this number. *Panics* beyond the last one that there can be.
pub const fn device_ipv4(number: u8) -> Ipv4Addr {
    assert!(number < MOST_DEVICES, "there are no more numbers");
    Ipv4Addr::new(192, 168, 7, FIRST_HOST + number)
}

impl Home {
    /// Makes the client's end of the path a router, with so many devices behind it.
    ///
    /// *Errors:* [`LabError::System`] and [`LabError::Tool`] for what the system refuses; it takes
    /// the programs `ip` and `nft`. *Panics* for more devices than there are numbers for.
    pub fn behind(path: &Path, device_count: u8) -> Result<Self, LabError> {
        let router = path.client().clone();
        set_up_router(&router)?;
        if has_ipv6() {
            let back = format!("route add fd07::/64 via {CLIENT_IPV6}\n");
            path.server().ip(&back)?;
        }
        let devices: Result<_, _> = (0..device_count)
            .map(|number| set_up_device(&router, number))
            .collect();
        Ok(Self {
            router,
            devices: devices?,
        })
    }

    /// Where the packets of all devices pass.
    pub fn router(&self) -> &NamespaceHandle {
        &self.router
    }

    /// The devices, by their numbers.
    pub fn devices(&self) -> &[NamespaceHandle] {
        &self.devices
    }

    /// Hands what arrives at a UDP port of the router's outer address to a device, as is usual for
    /// calls.
    ///
    /// *Errors:* [`LabError::Tool`] with what `nft` said.
    pub fn forward_udp(&self, port: u16, device: u8) -> Result<(), LabError> {
        let to = device_ipv4(device);
        self.router.nft(&format!(
            "table ip nat {{\n\
             chain pre {{ type nat hook prerouting priority -100 ;\n\
             iifname {DEVICE} udp dport {port} dnat to {to} ; }}\n\
             }}\n"
        ))
    }
}

fn set_up_router(router: &NamespaceHandle) -> Result<(), LabError> {
    router.set_sysctls(&[("net.ipv4.ip_forward", "1")])?;
    router.ip(&format!(
        "link add {LAN} type bridge\n\
         addr add 192.168.7.1/24 dev {LAN}\n\
         link set {LAN} up\n"
    ))?;
    if has_ipv6() {
        router.set_sysctls(&[("net.ipv6.conf.all.forwarding", "1")])?;
        router.ip(&format!("addr add fd07::1/64 dev {LAN} nodad\n"))?;
    }
    router.nft(&format!(
        "table ip nat {{\n\
         chain post {{ type nat hook postrouting priority 100 ; oifname {DEVICE} masquerade ; }}\n\
         }}\n"
    ))
}

fn set_up_device(router: &NamespaceHandle, number: u8) -> Result<NamespaceHandle, LabError> {
    let namespace = NamespaceHandle::create()?;
    let (address, host) = (device_ipv4(number), FIRST_HOST + number);
    let there = namespace.path();
    router.ip(&format!(
        "link add lan{number} type veth peer name {DEVICE_INTERFACE} netns {there}\n\
         link set lan{number} master {LAN} up\n"
    ))?;
    set_usual_sysctls(&namespace)?;
    namespace.ip(&format!(
        "link set lo up\n\
         link set {DEVICE_INTERFACE} up\n\
         addr add {address}/24 dev {DEVICE_INTERFACE}\n\
         route add default via 192.168.7.1\n"
    ))?;
    if has_ipv6() {
        namespace.ip(&format!(
            "addr add fd07::{host}/64 dev {DEVICE_INTERFACE} nodad\n\
             route add default via fd07::1\n"
        ))?;
    }
    Ok(namespace)
}
