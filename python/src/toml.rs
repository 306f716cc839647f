// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A scenario that is a dictionary becomes the file that it stands for, value by value.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

/// The text of the file.
pub fn text(scenario: &Bound<'_, PyDict>) -> PyResult<String> {
    let mut document = DocumentMut::new();
    *document.as_table_mut() = table(scenario, "")?;
    Ok(document.to_string())
}

/// As `--set` of the command line takes it: text as it stands, anything else as TOML.
pub fn setting(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.extract::<String>() {
        Ok(text) => Ok(format!("{key}={text}")),
        Err(_) => Ok(format!("{key}={}", plain(value, key)?)),
    }
}

fn table(entries: &Bound<'_, PyDict>, path: &str) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, value) in entries.iter() {
        let (key, path) = below(path, &key)?;
        table.insert(&key, item(&value, &path)?);
    }
    Ok(table)
}

/// Tables and lists of them stand by themselves, as people would write them.
fn item(value: &Bound<'_, PyAny>, path: &str) -> PyResult<Item> {
    if let Ok(entries) = value.cast::<PyDict>() {
        return Ok(Item::Table(table(entries, path)?));
    }
    if let Some(items) = items(value) {
        let items = items?;
        let tables: Vec<_> = items
            .iter()
            .filter_map(|it| it.cast::<PyDict>().ok())
            .collect();
        if !items.is_empty() && tables.len() == items.len() {
            let mut list = ArrayOfTables::new();
            for (place, entries) in tables.into_iter().enumerate() {
                list.push(table(entries, &format!("{path}[{place}]"))?);
            }
            return Ok(Item::ArrayOfTables(list));
        }
    }
    plain(value, path).map(Item::Value)
}

/// A value that fits into a line.
fn plain(value: &Bound<'_, PyAny>, path: &str) -> PyResult<Value> {
    if let Ok(entries) = value.cast::<PyDict>() {
        let mut inline = InlineTable::new();
        for (key, value) in entries.iter() {
            let (key, path) = below(path, &key)?;
            inline.insert(&key, plain(&value, &path)?);
        }
        return Ok(Value::InlineTable(inline));
    }
    if let Some(items) = items(value) {
        let mut list = Array::new();
        for (place, item) in items?.iter().enumerate() {
            list.push(plain(item, &format!("{path}[{place}]"))?);
        }
        return Ok(Value::Array(list));
    }
    scalar(value).ok_or_else(|| {
        let kind = value.get_type();
        PyTypeError::new_err(format!(
            "{path}: {kind} is no value of a scenario; text, a number, True, False, a list or a \
             dictionary is needed, or leave the key out"
        ))
    })
}

/// NumPy's numbers are numbers, too.
fn scalar(value: &Bound<'_, PyAny>) -> Option<Value> {
    if let Ok(text) = value.cast::<PyString>() {
        return Some(Value::from(text.to_cow().ok()?.as_ref()));
    }
    let is_integer = value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
    if let (false, Ok(flag)) = (is_integer, value.extract::<bool>()) {
        return Some(Value::from(flag));
    }
    if value.is_instance_of::<PyFloat>() {
        return value.extract::<f64>().ok().map(Value::from);
    }
    let number = value.extract::<i64>().ok().map(Value::from);
    number.or_else(|| value.extract::<f64>().ok().map(Value::from))
}

fn items<'py>(value: &Bound<'py, PyAny>) -> Option<PyResult<Vec<Bound<'py, PyAny>>>> {
    let is_list = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    is_list.then(|| value.try_iter()?.collect())
}

/// A key and the path of its value.
fn below(path: &str, key: &Bound<'_, PyAny>) -> PyResult<(String, String)> {
    let Ok(key) = key.extract::<String>() else {
        let message = format!("{path}: {key} is no key; keys are text");
        return Err(PyTypeError::new_err(message));
    };
    let path = match path {
        "" => key.clone(),
        _ => format!("{path}.{key}"),
    };
    Ok((key, path))
}
