// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is told of gateways.

use std::fmt;

use ebb_keeper::FlowView;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::{Labels, Rules, Told, Whole, count};
use crate::ledger::Totals;
use crate::snapshot::{GatewayRuleSeen, GatewaySeen};

impl Told for GatewayRuleSeen {
    fn labels(&self) -> Labels<'_> {
        vec![("gateway", &self.gateway), ("rule", &self.name)]
    }

    fn flows(&self) -> &[FlowView] {
        &self.flows
    }

    fn totals(&self) -> &Totals {
        &self.totals
    }
}

/// Of each gateway, and of each of its rules by which something yields.
pub(super) fn encode(gateways: &[GatewaySeen], encoder: DescriptorEncoder<'_>) -> fmt::Result {
    let mut all = Gateways { gateways, encoder };
    all.of_state()?;
    all.of_what_passed()?;
    let mut rules = Rules {
        prefix: "ebb_gateway_rule",
        rules: gateways.iter().flat_map(|it| &it.rules).collect(),
        encoder: all.encoder,
    };
    rules.of_traffic()?;
    rules.of_connections()
}

struct Gateways<'a, 'e> {
    gateways: &'a [GatewaySeen],
    encoder: DescriptorEncoder<'e>,
}

impl Gateways<'_, '_> {
    fn of_state(&mut self) -> fmt::Result {
        let help = "A gateway, and what passes it yields by.";
        let name = "ebb_gateway";
        let mut about = (self.encoder).encode_descriptor(name, help, None, MetricType::Info)?;
        for it in self.gateways {
            let file = it.file.display().to_string();
            let labels = [
                ("gateway", &it.name),
                ("file", &file),
                ("policy", &it.policy),
            ];
            about.encode_info(&labels)?;
        }
        let help =
            "Whether the gateway is on an interface: 0 while that is not there, or cannot be.";
        let (name, kind) = ("ebb_gateway_interface_in_force", MetricType::Gauge);
        let mut gauge = self.encoder.encode_descriptor(name, help, None, kind)?;
        for it in self.gateways {
            for (interface, is_held) in &it.interfaces {
                let labels = [("gateway", &it.name), ("interface", interface)];
                let value = Whole(u64::from(*is_held));
                gauge.encode_family(&labels)?.encode_gauge(&value)?;
            }
        }
        let help = "Whether the gateway is switched off: everything that passes is free.";
        let name = "ebb_gateway_switched_off";
        let mut gauge = self.encoder.encode_descriptor(name, help, None, kind)?;
        for it in self.gateways {
            let value = Whole(u64::from(it.is_off));
            gauge
                .encode_family(&[("gateway", &it.name)])?
                .encode_gauge(&value)?;
        }
        Ok(())
    }

    fn of_what_passed(&mut self) -> fmt::Result {
        let help = "Connections whose handshake passed, whether or not they yield.";
        self.counter("ebb_gateway_connections", help, None, |it| {
            it.counters.connections
        })?;
        let help = "Times that a connection was left alone, by why.";
        let (name, kind) = ("ebb_gateway_left_alone", MetricType::Counter);
        let mut left_alone = self.encoder.encode_descriptor(name, help, None, kind)?;
        for it in self.gateways {
            let counted = &it.counters;
            for (reason, times) in [
                ("scale", counted.without_scale),
                ("room", counted.without_room),
            ] {
                let labels = [("gateway", it.name.as_str()), ("reason", reason)];
                count(left_alone.encode_family(&labels)?, &times)?;
            }
        }
        let bytes = Some(Unit::Bytes);
        let help = "What passed over QUIC, which no rule can hold.";
        self.counter("ebb_gateway_quic", help, bytes, |it| it.counters.quic_bytes)?;
        let help = "Pieces of TCP packets that passed, which nobody can read.";
        self.counter("ebb_gateway_fragments", help, None, |it| {
            it.counters.fragments
        })
    }

    fn counter(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        value: impl Fn(&GatewaySeen) -> u64,
    ) -> fmt::Result {
        let kind = MetricType::Counter;
        let mut counter = (self.encoder).encode_descriptor(name, help, unit.as_ref(), kind)?;
        for it in self.gateways {
            let labels = [("gateway", &it.name)];
            count(counter.encode_family(&labels)?, &value(it))?;
        }
        Ok(())
    }
}
