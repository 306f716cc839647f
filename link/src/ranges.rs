// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which values of a queue make sense.
use crate::{
    CakeSpec, ClassRedSpec, DualPi2Spec, LinkError, Nanos, PieSpec, Probability, QueueLimit,
    QueueSpec, RedCurve,
};

impl QueueSpec {
    /// Whether the values are in their ranges.
    ///
    /// *Errors:* [`LinkError::Queue`] names the key and its range, [`LinkError::Spec`]
    /// a queue that holds nothing.
    pub fn validate(&self) -> Result<(), LinkError> {
        let second = match self {
            Self::StrictPriority {
                less_than_best_effort,
                ..
            } => *less_than_best_effort,
            _ => self.limit(),
        };
        if [self.limit(), second].map(amount).contains(&0) {
            return Err(LinkError::Spec("a queue must hold at least one packet"));
        }
        let check = Check(self.name());
        if matches!(self, Self::DropTail(_) | Self::StrictPriority { .. }) {
            return Ok(());
        }
        check.limit(self.limit())?;
        match self {
            Self::DropTail(_) | Self::StrictPriority { .. } => Ok(()),
            Self::Red(red) => {
                check.average(red.weight, red.typical_packet_bytes)?;
                check.curve(&red.curve(), red.limit)
            }
            Self::ClassRed(red) => check.class_red(red),
            Self::Codel(codel) => check.codel(codel.target, codel.interval),
            Self::FqCodel(codel) => {
                check.at_least("flows", codel.flows, 1, "1024")?;
                check.at_most("flows", codel.flows, 1 << 20, "1024")?;
                check.at_least("quantum-bytes", codel.quantum_bytes, 1, "1514")?;
                check.codel(codel.target, codel.interval)
            }
            Self::Pie(pie) => check.pie(pie),
            Self::DualPi2(dual) => check.dual_pi2(dual),
            Self::Cake(cake) => check.cake(cake),
        }
    }
}

fn amount(limit: QueueLimit) -> u64 {
    match limit {
        QueueLimit::Packets(amount) | QueueLimit::Bytes(amount) => amount,
    }
}

/// A full-size packet.
const FULL_BYTES: u64 = 1_500;

/// Checks the values of the discipline of this name.
struct Check(&'static str);

impl Check {
    fn wrong(&self, key: &'static str, problem: String) -> LinkError {
        LinkError::Queue {
            discipline: self.0,
            key,
            problem,
        }
    }

    fn at_least(
        &self,
        key: &'static str,
        value: u32,
        least: u32,
        usual: &str,
    ) -> Result<(), LinkError> {
        if value >= least {
            return Ok(());
        }
        let problem = format!("is {value}, but must be at least {least}; usual is {usual}");
        Err(self.wrong(key, problem))
    }

    fn at_most(
        &self,
        key: &'static str,
        value: u32,
        most: u32,
        usual: &str,
    ) -> Result<(), LinkError> {
        if value <= most {
            return Ok(());
        }
        let problem = format!("is {value}, but must be at most {most}; usual is {usual}");
        Err(self.wrong(key, problem))
    }

    fn longer_than_zero(
        &self,
        key: &'static str,
        value: Nanos,
        usual: &str,
    ) -> Result<(), LinkError> {
        if value > Nanos::ZERO {
            return Ok(());
        }
        Err(self.wrong(key, format!("must be above 0; usual is {usual}")))
    }

    /// Even a packet that finds the link idle passes these queues: one that never fits
    /// would never arrive.
    fn limit(&self, limit: QueueLimit) -> Result<(), LinkError> {
        match limit {
            QueueLimit::Bytes(bytes) if bytes < FULL_BYTES => {
                let problem = format!("is {limit}, but must hold a packet of {FULL_BYTES} bytes");
                Err(self.wrong("limit", problem))
            }
            _ => Ok(()),
        }
    }

    fn average(&self, weight: f64, typical_packet_bytes: u32) -> Result<(), LinkError> {
        if !(weight > 0.0 && weight <= 1.0) {
            let problem = format!("is {weight}, but must be above 0, up to 1; usual is 0.002");
            return Err(self.wrong("weight", problem));
        }
        self.at_least("typical-packet-bytes", typical_packet_bytes, 1, "500")
    }

    fn curve(&self, curve: &RedCurve, limit: QueueLimit) -> Result<(), LinkError> {
        let (min, max) = (curve.min_threshold, curve.max_threshold);
        if !is_same_unit(min, max) {
            let problem = format!(
                "is `{max}`, but `min-threshold` is `{min}`: give both in packets or both in bytes"
            );
            return Err(self.wrong("max-threshold", problem));
        }
        if amount(min) > amount(max) {
            let problem = format!("is {min}, which is above the `max-threshold` of {max}");
            return Err(self.wrong("min-threshold", problem));
        }
        if amount(max) == 0 {
            return Err(self.wrong("max-threshold", "must be above 0".to_owned()));
        }
        if is_same_unit(min, limit) && amount(min) >= amount(limit) {
            let problem =
                format!("is {min}, but the queue holds {limit}: the average never gets there");
            return Err(self.wrong("min-threshold", problem));
        }
        if curve.max_probability == Probability::NEVER {
            let problem = "is 0, so that nothing is ever marked; usual is 0.1".to_owned();
            return Err(self.wrong("max-probability", problem));
        }
        Ok(())
    }

    fn class_red(&self, red: &ClassRedSpec) -> Result<(), LinkError> {
        self.average(red.weight, red.typical_packet_bytes)?;
        for curve in [red.best_effort, red.less_than_best_effort]
            .iter()
            .flatten()
        {
            self.curve(curve, red.limit)?;
        }
        match (red.best_effort, red.less_than_best_effort) {
            (None, None) => {
                let problem = "is missing, and so is `best-effort`: give thresholds for \
                               one class at least, or use drop-tail";
                Err(self.wrong("less-than-best-effort", problem.to_owned()))
            }
            (Some(first), Some(second))
                if !is_same_unit(first.max_threshold, second.max_threshold) =>
            {
                let problem = "has other units than `best-effort`: there is one average, \
                               in packets or in bytes";
                Err(self.wrong("less-than-best-effort", problem.to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn codel(&self, target: Nanos, interval: Nanos) -> Result<(), LinkError> {
        self.longer_than_zero("target", target, "5ms")?;
        if interval <= target {
            let problem = format!("is {interval}, but must be longer than `target`, {target}");
            return Err(self.wrong("interval", problem));
        }
        Ok(())
    }

    fn pie(&self, pie: &PieSpec) -> Result<(), LinkError> {
        self.longer_than_zero("target", pie.target, "15ms")?;
        self.update(pie.update, "15ms")?;
        self.gain("alpha", pie.alpha, 0.125)?;
        self.gain("beta", pie.beta, 1.25)
    }

    fn dual_pi2(&self, dual: &DualPi2Spec) -> Result<(), LinkError> {
        self.longer_than_zero("target", dual.target, "15ms")?;
        self.update(dual.update, "16ms")?;
        self.gain("alpha", dual.alpha, 0.16)?;
        self.gain("beta", dual.beta, 3.2)?;
        self.longer_than_zero("step", dual.step, "1ms")?;
        if !(dual.coupling >= 1.0 && dual.coupling <= 255.0) {
            let problem = format!(
                "is {}, but must be from 1 to 255; usual is 2",
                dual.coupling
            );
            return Err(self.wrong("coupling", problem));
        }
        if !(dual.classic_share > 0.0 && dual.classic_share < 1.0) {
            let problem = format!(
                "is {}, but must be above 0 and below 1; usual is 0.1",
                dual.classic_share
            );
            return Err(self.wrong("classic-share", problem));
        }
        Ok(())
    }

    fn cake(&self, cake: &CakeSpec) -> Result<(), LinkError> {
        self.at_least("flows", cake.flows, 8, "1024")?;
        self.at_most("flows", cake.flows, 1 << 20, "1024")?;
        if !cake.flows.is_multiple_of(8) {
            let problem = format!(
                "is {}, but must be a multiple of 8; usual is 1024",
                cake.flows
            );
            return Err(self.wrong("flows", problem));
        }
        if let Some(quantum_bytes) = cake.quantum_bytes {
            // By less, many flows of one host take thousands of turns for a packet.
            self.at_least("quantum-bytes", quantum_bytes, 300, "300 to 1514")?;
        }
        self.codel(cake.target, cake.interval)
    }

    /// How often a controller runs.
    fn update(&self, update: Nanos, usual: &str) -> Result<(), LinkError> {
        if update >= Nanos::from_micros(10) {
            return Ok(());
        }
        let problem = format!("is {update}, but must be at least 10us; usual is {usual}");
        Err(self.wrong("update", problem))
    }

    /// A weight of a controller.
    fn gain(&self, key: &'static str, value: f64, usual: f64) -> Result<(), LinkError> {
        if value > 0.0 && value <= 1e6 {
            return Ok(());
        }
        let problem = format!("is {value}, but must be above 0; usual is {usual}");
        Err(self.wrong(key, problem))
    }
}

fn is_same_unit(first: QueueLimit, second: QueueLimit) -> bool {
    matches!(first, QueueLimit::Packets(_)) == matches!(second, QueueLimit::Packets(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CodelSpec, FqCodelSpec, Isolation, RedSpec};

    fn read(text: &str) -> QueueSpec {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn reads_each_discipline_with_its_defaults() {
        assert_eq!(read(r#"{"red":{}}"#), QueueSpec::Red(RedSpec::default()));
        assert_eq!(
            read(r#"{"codel":{}}"#),
            QueueSpec::Codel(CodelSpec::default())
        );
        assert_eq!(
            read(r#"{"fq-codel":{}}"#),
            QueueSpec::FqCodel(FqCodelSpec::default())
        );
        let pie = read(r#"{"pie":{"target":"20ms","ecn":false}}"#);
        let expected = PieSpec {
            target: Nanos::from_millis(20),
            ecn: false,
            ..PieSpec::default()
        };
        assert_eq!(pie, QueueSpec::Pie(expected));
        let cake = read(r#"{"cake":{"isolation":"flows"}}"#);
        let expected = CakeSpec {
            isolation: Isolation::Flows,
            ..CakeSpec::default()
        };
        assert_eq!(cake, QueueSpec::Cake(expected));
        let dual = read(r#"{"dualpi2":{}}"#);
        assert_eq!(dual, QueueSpec::DualPi2(DualPi2Spec::default()));
        for spec in [
            pie,
            cake,
            dual,
            read(r#"{"red":{}}"#),
            read(r#"{"codel":{}}"#),
        ] {
            assert_eq!(spec.validate(), Ok(()));
            assert_eq!(read(&serde_json::to_string(&spec).unwrap()), spec);
        }
    }

    #[test]
    fn reads_thresholds_by_class_with_only_what_tcp_lp_ecn_needs() {
        let curve = r#"{"min-threshold":"13","max-threshold":"13"}"#;
        let text = format!(
            r#"{{"class-red":{{"limit":"86","only-marks":true,"less-than-best-effort":{curve}}}}}"#
        );
        // 0.15 * 86 = 12.9.
        assert_eq!(read(&text), QueueSpec::tcp_lp_ecn(86, 0.15));
        assert_eq!(QueueSpec::tcp_lp_ecn(86, 0.15).validate(), Ok(()));
    }

    #[test]
    fn refuses_values_out_of_range_by_naming_key_and_range() {
        for (text, expected) in [
            (
                r#"{"red":{"weight":0.0}}"#,
                "queue `red`: `weight` is 0, but must be above 0",
            ),
            (
                r#"{"red":{"min-threshold":"50"}}"#,
                "`min-threshold` is 50, which is above",
            ),
            (
                r#"{"red":{"max-threshold":"9kb"}}"#,
                "both in packets or both in bytes",
            ),
            (r#"{"red":{"limit":"3"}}"#, "but the queue holds 3"),
            (
                r#"{"red":{"max-probability":"0"}}"#,
                "nothing is ever marked",
            ),
            (
                r#"{"class-red":{}}"#,
                "give thresholds for one class at least",
            ),
            (
                r#"{"codel":{"limit":"1kb"}}"#,
                "`limit` is 1000b, but must hold a packet of 1500 bytes",
            ),
            (
                r#"{"codel":{"target":"0"}}"#,
                "queue `codel`: `target` must be above 0",
            ),
            (
                r#"{"codel":{"interval":"5ms"}}"#,
                "must be longer than `target`, 5ms",
            ),
            (
                r#"{"fq-codel":{"flows":0}}"#,
                "`flows` is 0, but must be at least 1",
            ),
            (
                r#"{"fq-codel":{"flows":99000000}}"#,
                "must be at most 1048576",
            ),
            (r#"{"fq-codel":{"quantum-bytes":0}}"#, "usual is 1514"),
            (r#"{"pie":{"update":"0"}}"#, "must be at least 10us"),
            (
                r#"{"pie":{"beta":-1}}"#,
                "`beta` is -1, but must be above 0",
            ),
            (
                r#"{"dualpi2":{"alpha":0}}"#,
                "`alpha` is 0, but must be above",
            ),
            (r#"{"dualpi2":{"update":"1us"}}"#, "usual is 16ms"),
            (r#"{"dualpi2":{"step":"0"}}"#, "`step` must be above 0"),
            (r#"{"dualpi2":{"coupling":0.5}}"#, "must be from 1 to 255"),
            (r#"{"dualpi2":{"classic-share":1}}"#, "above 0 and below 1"),
            (r#"{"cake":{"flows":4}}"#, "must be at least 8"),
            (r#"{"cake":{"flows":100}}"#, "must be a multiple of 8"),
            (r#"{"cake":{"quantum-bytes":0}}"#, "usual is 300 to 1514"),
            (
                r#"{"cake":{"interval":"1ms"}}"#,
                "must be longer than `target`",
            ),
        ] {
            let message = read(text).validate().unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }

    #[test]
    fn refuses_unknown_keys() {
        let error = serde_json::from_str::<QueueSpec>(r#"{"pie":{"tagret":"1ms"}}"#).unwrap_err();
        assert!(error.to_string().contains("tagret"), "{error}");
    }
}
