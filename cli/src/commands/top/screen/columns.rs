// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is said of each connection, and how much room that has.

use ebb_keeper::Direction;

use super::super::sample::SeenFlow;

/// From here on there is room for round trips and laws.
const WIDE: u16 = 110;
/// Of a program's name and number where its peer wants the rest; the mark stands before it.
const LEAST_PROGRAM_WIDTH: usize = 15;
/// Between two columns.
const GAP: usize = 1;

/// The columns that there is room for.
pub struct Columns {
    shown: Vec<Column>,
    program_width: usize,
    peer_width: usize,
}

impl Columns {
    /// In lines of so many characters: programs and peers have what those of these connections
    /// need, or what is left.
    pub fn in_width(width: u16, flows: &[SeenFlow]) -> Self {
        let is_wide = width >= WIDE;
        let shown = Column::ALL.into_iter();
        let shown: Vec<Column> = shown
            .filter(|column| is_wide || column.is_always_there())
            .collect();
        let fixed: usize = shown.iter().map(|column| column.width().unwrap_or(0)).sum();
        let gaps = GAP * (shown.len() - 1);
        let room = usize::from(width).saturating_sub(fixed + gaps);
        let longest = |column: Column| {
            let texts = flows.iter().map(|flow| column.of(flow).chars().count());
            texts.max().unwrap_or(0).max(column.head().len())
        };
        let (program, peer) = (longest(Column::Program) + 1, longest(Column::Peer));
        let least = program.min(LEAST_PROGRAM_WIDTH).min(room);
        let program_width = room.saturating_sub(peer).clamp(least, program.max(least));
        Self {
            shown,
            program_width,
            peer_width: peer.min(room - program_width),
        }
    }

    /// The names of the columns.
    pub fn heads(&self) -> impl Iterator<Item = String> {
        let heads = self.shown.iter();
        heads.map(|column| match column {
            Column::Program => format!(" {}", column.head()),
            column => column.head().to_owned(),
        })
    }

    /// What is said of a connection, behind a mark.
    pub fn cells(&self, mark: char, flow: &SeenFlow) -> impl Iterator<Item = String> {
        self.shown.iter().map(move |column| {
            let text = column.of(flow);
            match column {
                Column::Program => {
                    let name =
                        shorten(&text, text.rfind('['), self.program_width.saturating_sub(1));
                    format!("{mark}{name}")
                }
                Column::Peer => {
                    // The bracket belongs to the address.
                    let port = text.rfind(':').map(|at| match text[..at].ends_with(']') {
                        true => at - 1,
                        false => at,
                    });
                    shorten(&text, port, self.peer_width)
                }
                _ => text,
            }
        })
    }

    /// How wide they are.
    pub fn widths(&self) -> impl Iterator<Item = u16> {
        self.shown.iter().map(|column| {
            let width = match column {
                Column::Program => self.program_width,
                Column::Peer => self.peer_width,
                column => column.width().unwrap_or(0),
            };
            u16::try_from(width).unwrap_or(u16::MAX)
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Program,
    Way,
    Peer,
    Rate,
    Limit,
    RoundTrip,
    Queue,
    Mode,
    Law,
    Why,
}

impl Column {
    const ALL: [Self; 10] = [
        Self::Program,
        Self::Way,
        Self::Peer,
        Self::Rate,
        Self::Limit,
        Self::RoundTrip,
        Self::Queue,
        Self::Mode,
        Self::Law,
        Self::Why,
    ];

    fn is_always_there(self) -> bool {
        !matches!(self, Self::RoundTrip | Self::Law)
    }

    fn head(self) -> &'static str {
        match self {
            Self::Program => "PROGRAM",
            Self::Way => "WAY",
            Self::Peer => "PEER",
            Self::Rate => "BIT/S",
            Self::Limit => "LIMIT",
            Self::RoundTrip => "RTT",
            Self::Queue => "QUEUE",
            Self::Mode => "MODE",
            Self::Law => "LAW",
            Self::Why => "HELD BACK",
        }
    }

    /// In characters; none: what is left.
    fn width(self) -> Option<usize> {
        match self {
            Self::Program | Self::Peer => None,
            Self::Way => Some(4),
            Self::Rate | Self::RoundTrip | Self::Queue | Self::Mode => Some(5),
            Self::Limit => Some(7),
            Self::Law => Some(10),
            Self::Why => Some(15),
        }
    }

    fn of(self, flow: &SeenFlow) -> String {
        let view = &flow.view;
        match self {
            Self::Program => flow.whose(),
            Self::Way => match view.direction {
                Direction::Down => "down".to_owned(),
                Direction::Up => "up".to_owned(),
            },
            Self::Peer => view.peer.to_string(),
            Self::Rate => bits(flow.rate_bit_per_s),
            Self::Limit => match view.pace_bytes_per_s {
                Some(pace) => pace_in_bits(pace),
                None => bytes(view.window_bytes),
            },
            Self::RoundTrip => milliseconds(view.rtt_us),
            Self::Queue => milliseconds(view.queue_us),
            Self::Mode => view.mode.clone(),
            Self::Law => view.law.clone(),
            Self::Why => view.reason.clone(),
        }
    }
}

/// What stands from `tail` on is kept; what is before it gives way.
pub fn shorten(text: &str, tail: Option<usize>, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let (front, tail) = text.split_at(tail.unwrap_or(text.len()));
    // The mark of what is left out is a character as well.
    let room = width.saturating_sub(tail.chars().count() + 1);
    let front: String = front.chars().take(room).collect();
    format!("{front}…{tail}")
}

fn milliseconds(us: Option<u32>) -> String {
    us.map_or_else(
        || "-".to_owned(),
        |us| match f64::from(us) / 1e3 {
            ms @ ..9.95 => format!("{ms:.1}ms"),
            ms @ ..999.5 => format!("{ms:.0}ms"),
            ms @ ..99_950.0 => format!("{:.1}s", ms / 1e3),
            ms => format!("{:.0}s", ms / 1e3),
        },
    )
}

const DECIMAL: [&str; 5] = ["", "k", "M", "G", "T"];
const BITS: [&str; 5] = ["bit", "kbit", "Mbit", "Gbit", "Tbit"];
const BYTES: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// A rate as it stands in a sentence.
pub fn bits_per_second(value: f64) -> String {
    let text = bits(value);
    match text.strip_suffix(char::is_alphabetic) {
        Some(number) => format!("{number} {}bit/s", &text[number.len()..]),
        None => format!("{text} bit/s"),
    }
}

fn bits(value: f64) -> String {
    scaled(value, 3, 1000.0, DECIMAL)
}

/// Bits per second; "/s" has no room, but nothing else is told in bits.
fn pace_in_bits(bytes_per_s: u64) -> String {
    scaled(bytes_per_s as f64 * 8.0, 2, 1000.0, BITS)
}

fn bytes(value: u32) -> String {
    scaled(f64::from(value), 2, 1024.0, BYTES)
}

/// So many digits at the least, and their unit.
fn scaled(value: f64, digits: i32, step: f64, units: [&str; 5]) -> String {
    let mut value = value;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    // As many of them behind the point as rounding leaves there.
    let fits = |behind: &i32| value < 10_f64.powi(digits - behind) - 0.5 * 10_f64.powi(-behind);
    let behind_point = match unit {
        0 => 0,
        _ => (1..digits).rev().find(fits).unwrap_or(0),
    };
    let behind_point = behind_point.cast_unsigned() as usize;
    format!("{value:.behind_point$}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_columns() {
        assert_eq!(bits(0.0), "0");
        assert_eq!(bits(999.4), "999");
        assert_eq!(bits(1_000.0), "1.00k");
        assert_eq!(bits(99_960.0), "100k");
        assert_eq!(bits(2.5e9), "2.50G");
        assert_eq!(bits_per_second(0.0), "0 bit/s");
        assert_eq!(bits_per_second(2.5e9), "2.50 Gbit/s");
        assert_eq!(bytes(65_536), "64KiB");
        assert_eq!(bytes(1_023 * 1_024), "1.0MiB");
        assert_eq!(pace_in_bits(345_000), "2.8Mbit");
        assert_eq!(pace_in_bits(1_249_000), "10Mbit");
        assert_eq!(pace_in_bits(34_500_000), "276Mbit");
        assert_eq!(milliseconds(Some(9_940)), "9.9ms");
        assert_eq!(milliseconds(Some(999_400)), "999ms");
        assert_eq!(milliseconds(Some(1_500_000)), "1.5s");
        let width = |column: Column| column.width().unwrap();
        let widest = 9.94_f64;
        for factor in [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8] {
            let value = widest * factor;
            assert!(bits(value).len() <= width(Column::Rate), "{value}");
            assert!(pace_in_bits(value as u64).len() <= width(Column::Limit));
            assert!(bytes(value as u32).len() <= width(Column::Limit));
            assert!(milliseconds(Some(value as u32)).len() <= width(Column::Queue));
        }
    }

    #[test]
    fn names_give_way_to_numbers_and_addresses_to_ports() {
        assert_eq!(shorten("curl[42]", Some(4), 8), "curl[42]");
        assert_eq!(shorten("python3[4194303]", Some(7), 14), "pyth…[4194303]");
        let peer = "[2001:db8::1234:5678]:873";
        assert_eq!(shorten(peer, Some(20), 16), "[2001:db8:…]:873");
        assert_eq!(shorten("x[4194303]", Some(1), 3), "…[4194303]");
        assert_eq!(shorten("nameless", None, 5), "name…");
    }
}
