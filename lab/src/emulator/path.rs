// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ebb_link::{Class, LinkSpec, Nanos, Probability};

use super::PortDelay;
use super::packet::{Classifier, ClassifierState, PortClasses};
use crate::LabError;
use crate::device::Device;
use crate::namespace::NamespaceHandle;

/// IPv4 address of the server side of every path.
pub const SERVER_IPV4: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// IPv4 address of the client side of every path.
pub const CLIENT_IPV4: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// IPv6 address of the server side of every path.
pub const SERVER_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1);
/// IPv6 address of the client side of every path.
pub const CLIENT_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2);
/// Name of the network device of either side.
pub const DEVICE: &str = "ebb0";

/// A path to be set up.
#[derive(Clone, Debug, Default)]
pub struct PathSpec {
    /// From the server to the client.
    pub forward: LinkSpec,
    /// From the client to the server.
    pub reverse: LinkSpec,
    /// How packets are told apart.
    pub classifier: Classifier,
    /// Sysctls of the server's namespace, after the lab's own: dotted name, value.
    pub server_sysctls: Vec<(String, String)>,
    /// Sysctls of the client's namespace.
    pub client_sysctls: Vec<(String, String)>,
    /// MSS that both sides announce, so that both send segments of at most this.
    /// *Units:* bytes of payload. `None`: 1460 and 1440, from the MTU of 1500.
    pub route_mss: Option<u16>,
    /// Congestion control of both sides, like "cubic", for programs that cannot choose
    /// one. It overrides what a socket asked for before it was connected, or on the
    /// listener. `None`: the machine's default, and sockets choose.
    pub congestion_control: Option<String>,
    /// Ports that are further away than the others.
    pub port_delays: Vec<PortDelay>,
    /// For so long the device at either end waits for more of a connection, and hands it over as one
    /// packet that tells the length of its segments and not how many they are, as devices of virtio
    /// do; zero: it hands over each. Of TCP over IPv4 only. It takes a TUN device.
    pub receive_offload: Nanos,
    /// Share of packets, each way, of which one bit arrives flipped.
    pub corrupt: Probability,
    /// Seed of the path's random numbers; paths differ even with equal seeds.
    pub seed: u64,
    /// Whether the report has each packet's waiting time and not only means and maxima.
    pub keeps_waits: bool,
}

impl PathSpec {
    /// A path with these links and nothing special.
    pub fn new(forward: LinkSpec, reverse: LinkSpec) -> Self {
        Self {
            forward,
            reverse,
            ..Self::default()
        }
    }

    /// The same path with a sysctl of the server's side.
    pub fn with_server_sysctl(mut self, name: &str, value: &str) -> Self {
        self.server_sysctls.push((name.into(), value.into()));
        self
    }

    /// The same path with a sysctl of the client's side.
    pub fn with_client_sysctl(mut self, name: &str, value: &str) -> Self {
        self.client_sysctls.push((name.into(), value.into()));
        self
    }
}

/// A path that is up.
#[derive(Debug)]
pub struct Path {
    server: NamespaceHandle,
    client: NamespaceHandle,
    classifier: ClassifierState,
}

impl Path {
    /// Where servers run.
    pub fn server(&self) -> &NamespaceHandle {
        &self.server
    }

    /// Where clients run.
    pub fn client(&self) -> &NamespaceHandle {
        &self.client
    }

    /// Says whose traffic a TCP or UDP port carries, on either end; at any time. A
    /// packet is less than best effort if its source or its destination port is.
    ///
    /// It has no effect with another classifier than [`Classifier::Ports`].
    pub fn set_class(&self, port: u16, class: Class) {
        self.classifier.ports.set(port, class);
    }

    /// The classes of ports, to be set from other threads.
    pub fn port_classes(&self) -> Arc<PortClasses> {
        Arc::clone(&self.classifier.ports)
    }

    pub(super) fn classifier(&self) -> ClassifierState {
        self.classifier.clone()
    }

    /// Makes both namespaces; answers the devices of the server and the client.
    pub(super) fn set_up(spec: &PathSpec) -> Result<(Self, Device, Device), LabError> {
        let server = End {
            ipv4: SERVER_IPV4,
            ipv6: SERVER_IPV6,
            sysctls: &spec.server_sysctls,
        };
        let client = End {
            ipv4: CLIENT_IPV4,
            ipv6: CLIENT_IPV6,
            sysctls: &spec.client_sysctls,
        };
        let (server, server_device) = server.set_up(spec)?;
        let (client, client_device) = client.set_up(spec)?;
        let classifier = ClassifierState::new(spec.classifier);
        Ok((
            Self {
                server,
                client,
                classifier,
            },
            server_device,
            client_device,
        ))
    }
}

/// For all namespaces of the lab.
const SYSCTLS: [(&str, &str); 3] = [
    // Each connection starts afresh, whatever the one before it learned.
    ("net.ipv4.tcp_no_metrics_save", "1"),
    // Large maxima: the link, not the buffers, is to be the limit.
    ("net.ipv4.tcp_rmem", "4096 131072 67108864"),
    ("net.ipv4.tcp_wmem", "4096 16384 67108864"),
];

/// IPv6 without duplicate address detection and router solicitations, whose packets
/// would be on the link.
const SYSCTLS_IPV6: [(&str, &str); 4] = [
    ("net.ipv6.conf.all.disable_ipv6", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.dad_transmits", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
];

/// Whether this kernel speaks IPv6.
pub(crate) fn has_ipv6() -> bool {
    std::path::Path::new("/proc/sys/net/ipv6").exists()
}

/// What every namespace of the lab has set.
///
/// *Errors:* [`LabError::System`] names what is refused.
pub(crate) fn set_usual_sysctls(namespace: &NamespaceHandle) -> Result<(), LabError> {
    namespace.set_sysctls(&SYSCTLS)?;
    match has_ipv6() {
        true => namespace.set_sysctls(&SYSCTLS_IPV6),
        false => Ok(()),
    }
}

/// One end of a path.
struct End<'a> {
    ipv4: Ipv4Addr,
    ipv6: Ipv6Addr,
    sysctls: &'a [(String, String)],
}

impl End<'_> {
    fn set_up(&self, spec: &PathSpec) -> Result<(NamespaceHandle, Device), LabError> {
        let namespace = NamespaceHandle::create()?;
        let has_offload = spec.receive_offload > Nanos::ZERO;
        set_usual_sysctls(&namespace)?;
        let own: Vec<_> = self
            .sysctls
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        namespace.set_sysctls(&own)?;
        let device = Device::create(&namespace, DEVICE, has_offload)?;
        namespace.ip(&self.ip_lines(has_ipv6(), spec))?;
        Ok((namespace, device))
    }

    /// The queue of the device is long: packets are to be dropped by the link only.
    fn ip_lines(&self, has_ipv6: bool, spec: &PathSpec) -> String {
        let Self { ipv4, ipv6, .. } = self;
        let mut lines = format!(
            "link set lo up\n\
             link set {DEVICE} mtu 1500 txqueuelen 10000 addrgenmode none\n\
             link set {DEVICE} up\n\
             addr add {ipv4}/24 dev {DEVICE}\n"
        );
        if has_ipv6 {
            lines += &format!("addr add {ipv6}/64 dev {DEVICE} nodad\n");
        }
        let mut options = String::new();
        if let Some(mss) = spec.route_mss {
            options += &format!(" advmss {mss}");
        }
        if let Some(name) = &spec.congestion_control {
            options += &format!(" congctl {name}");
        }
        if !options.is_empty() {
            lines += &format!("route replace 10.77.0.0/24 dev {DEVICE} src {ipv4}{options}\n");
        }
        if !options.is_empty() && has_ipv6 {
            // In the place of the one that the address brought: of two the lesser metric counts.
            lines +=
                &format!("route replace fd77::/64 dev {DEVICE} proto kernel metric 256{options}\n");
        }
        lines
    }
}
