// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two hosts with a cable between them, in network namespaces.

use std::net::Ipv4Addr;

use ebb_lab::namespace::NamespaceHandle;

/// Two hosts; gone when dropped.
pub struct Hosts {
    namespaces: [NamespaceHandle; 2],
    /// Of their addresses the first three numbers.
    network: [u8; 3],
}

impl Hosts {
    pub fn new(network: [u8; 3]) -> Self {
        let namespaces = [(); 2].map(|()| NamespaceHandle::create().unwrap());
        let hosts = Self {
            namespaces,
            network,
        };
        let [here, there] = &hosts.namespaces;
        let other = there.path();
        let cable = format!("link add cable type veth peer name cable netns {other}\n");
        here.ip(&cable).unwrap();
        for (side, host) in ["a", "b"].iter().zip(&hosts.namespaces) {
            let address = hosts.address(side);
            let lines =
                format!("link set lo up\naddr add {address}/24 dev cable\nlink set cable up\n");
            host.ip(&lines).unwrap();
        }
        hosts
    }

    /// The address of one of them, `a` or `b`.
    pub fn address(&self, side: &str) -> Ipv4Addr {
        let [first, second, third] = self.network;
        Ipv4Addr::new(first, second, third, if side == "a" { 1 } else { 2 })
    }

    /// Moves this thread to one of them.
    pub fn enter(&self, side: &str) {
        let [here, there] = &self.namespaces;
        let host = if side == "a" { here } else { there };
        host.enter().unwrap();
    }
}
