// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values that come before those of a file: `bottleneck.queue=500`.
use std::fmt;
use std::str::FromStr;

use ebb_algorithms::nearest;
use toml_edit::{DocumentMut, Item, Key, Table, TableLike, Value};

use crate::ScenarioError;

/// A key of a scenario file and the value that it is to have: `bottleneck.queue=500`,
/// `flow.mine.receiver=vulture`, `flow.*.tcp.ecn=true`.
///
/// Flows, links and groups are named after `flow`, `link` and `sharing`, all of them by
/// `*`; entries of other lists by their number: `sharing.home.change.1.at=60s`. The value is TOML, or else text, so that text needs no quotes.
#[derive(Clone, Debug)]
pub struct Setting {
    text: String,
    keys: Vec<String>,
    value: Value,
}

impl FromStr for Setting {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let wrong = |problem: &str| ScenarioError::Setting {
            setting: text.to_owned(),
            problem: problem.to_owned(),
        };
        const USAGE: &str = "write KEY=VALUE, like bottleneck.queue=500 or flow.mine.start=10s";
        let (path, value) = text.split_once('=').ok_or_else(|| wrong(USAGE))?;
        // `*` is no bare key of TOML.
        let path = path.replace(".*.", ".\"*\".");
        let keys = Key::parse(&path).map_err(|_| wrong(USAGE))?;
        let value = value.trim();
        Ok(Self {
            text: text.to_owned(),
            keys: keys.iter().map(|key| key.get().to_owned()).collect(),
            value: value.parse().unwrap_or_else(|_| Value::from(value)),
        })
    }
}

/// As it was written.
impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Setting {
    /// The text of a scenario file with these values in it.
    ///
    /// *Errors:* [`ScenarioError::Setting`] for one that finds no place.
    pub fn apply_all(settings: &[Self], text: &str) -> Result<String, ScenarioError> {
        let mut document: DocumentMut = text.parse().map_err(|error| ScenarioError::Setting {
            setting: "scenario".into(),
            problem: format!("{error}"),
        })?;
        for setting in settings {
            let wrong = |problem| ScenarioError::Setting {
                setting: setting.text.clone(),
                problem,
            };
            setting.apply(document.as_table_mut()).map_err(wrong)?;
        }
        Ok(document.to_string())
    }

    fn apply(&self, root: &mut Table) -> Result<(), String> {
        match self.keys.as_slice() {
            [list, name, rest @ ..] if NAMED.contains(&list.as_str()) => {
                self.apply_to_named(root, list, name, rest)
            }
            keys => self.set(root, keys),
        }
    }

    /// Sets a key of one table of `[[flow]]`, `[[link]]` or `[[sharing]]`, or of all.
    fn apply_to_named(
        &self,
        root: &mut Table,
        list: &str,
        name: &str,
        keys: &[String],
    ) -> Result<(), String> {
        let tables = root.get_mut(list).and_then(Item::as_array_of_tables_mut);
        let tables = tables.ok_or_else(|| format!("there is no [[{list}]]"))?;
        let name_of = |table: &Table| Some(table.get("name")?.as_str()?.to_owned());
        let names: Vec<String> = tables.iter().filter_map(name_of).collect();
        let mut is_found = false;
        for table in tables.iter_mut() {
            if name == "*" || name_of(table).as_deref() == Some(name) {
                self.set(table, keys)?;
                is_found = true;
            }
        }
        if is_found {
            return Ok(());
        }
        Err(match nearest(name, names.iter().map(String::as_str)) {
            Some(nearest) => format!("there is no {list} `{name}`; did you mean `{nearest}`?"),
            None => format!(
                "there is no {list} `{name}`; there are: {}",
                names.join(", ")
            ),
        })
    }

    fn set(&self, table: &mut dyn TableLike, keys: &[String]) -> Result<(), String> {
        match keys {
            [] => Err("the key is missing, as in flow.mine.start=10s".into()),
            [key] => {
                table.insert(key, Item::Value(self.value.clone()));
                Ok(())
            }
            [key, number, rest @ ..] if table.get(key).is_some_and(Item::is_array_of_tables) => {
                let tables = table.get_mut(key).and_then(Item::as_array_of_tables_mut);
                let tables = tables.ok_or_else(|| format!("`{key}` is no list"))?;
                let place = number.parse::<usize>().ok();
                let place = place.and_then(|number| number.checked_sub(1));
                let count = tables.len();
                match place.and_then(|place| tables.get_mut(place)) {
                    Some(entry) => self.set(entry, rest),
                    None => Err(format!(
                        "`{key}` has {count} entries; write {key}.1 for the first"
                    )),
                }
            }
            [key, rest @ ..] => {
                let is_table = table.get(key).is_some_and(Item::is_table_like);
                if !is_table {
                    // `tcp = "paper"` and then one key of it: the profile stays.
                    let profile = table.get(key).filter(|_| key == "tcp").cloned();
                    table.insert(key, Item::Table(Table::new()));
                    if let (Some(profile), Some(inner)) = (profile, inner(table, key)) {
                        inner.insert("profile", profile);
                    }
                }
                match inner(table, key) {
                    Some(inner) => self.set(inner, rest),
                    None => Err(format!("`{key}` is no table")),
                }
            }
        }
    }
}

/// Lists of tables that have names.
const NAMED: [&str; 3] = ["flow", "link", "sharing"];

fn inner<'t>(table: &'t mut dyn TableLike, key: &str) -> Option<&'t mut dyn TableLike> {
    table.get_mut(key)?.as_table_like_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
duration = \"10s\"
tcp = \"paper\"
[bottleneck]
queue = 86
[[flow]]
name = \"mine\"
[[flow]]
name = \"other\"
";

    fn applied(settings: &[&str]) -> String {
        let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
        match Setting::apply_all(&settings, TEXT) {
            Ok(text) => text,
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn values_are_toml_or_else_text() {
        let text = applied(&[
            "bottleneck.queue=500",
            "bottleneck.rate=10mbit",
            "duration=20s",
        ]);
        for line in ["queue = 500", "rate = \"10mbit\"", "duration = \"20s\""] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn one_flow_is_named_or_all_of_them() {
        let text = applied(&["flow.mine.receiver=ebb:target_us=5000"]);
        assert!(
            text.contains("name = \"mine\"\nreceiver = \"ebb:target_us=5000\"\n"),
            "{text}"
        );
        assert_eq!(
            applied(&["flow.*.start=1s"])
                .matches("start = \"1s\"")
                .count(),
            2
        );
        let error = applied(&["flow.mien.start=1s"]);
        assert_eq!(
            error,
            "flow.mien.start=1s: there is no flow `mien`; did you mean `mine`?"
        );
    }

    #[test]
    fn a_key_of_a_profile_keeps_the_profile() {
        let text = applied(&["tcp.mss=1460"]);
        assert!(
            text.contains("[tcp]\nprofile = \"paper\"\nmss = 1460\n"),
            "{text}"
        );
    }

    #[test]
    fn entries_of_a_list_without_names_are_counted_from_one() {
        let list = "[[sharing]]\nname = \"home\"\n[[sharing.change]]\nat = \"1s\"\n";
        let set = |setting: &str| Setting::apply_all(&[setting.parse().unwrap()], list);
        let text = set("sharing.home.change.1.at=9s").unwrap();
        assert!(text.contains("at = \"9s\""), "{text}");
        for number in ["0", "2", "first"] {
            let error = set(&format!("sharing.home.change.{number}.at=9s")).unwrap_err();
            assert!(
                error.to_string().contains("`change` has 1 entries"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_not_key_and_value_is_refused() {
        for text in ["bottleneck", "=5", "a..b=1"] {
            let error = text.parse::<Setting>().unwrap_err().to_string();
            assert!(error.contains("write KEY=VALUE"), "{error}");
        }
    }
}
