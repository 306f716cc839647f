// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables that others read where they lie: by Arrow's C data interface, without a copy.

use std::ffi::CStr;

use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, OffsetBufferBuilder};
use arrow_data::ffi::FFI_ArrowArray;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Fields};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::failure::defect;

/// Columns of equal length, for pyarrow, pandas, polars and whoever else speaks Arrow.
#[pyclass(frozen, module = "ebb")]
pub struct Table {
    /// A struct, of which each field is a column.
    data: ArrayData,
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let DataType::Struct(fields) = self.data.data_type() else {
            return Vec::new();
        };
        fields.iter().map(|field| field.name().clone()).collect()
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.data.len()
    }

    /// The table of pyarrow, which has to be installed.
    fn to_arrow<'py>(self_: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let pyarrow = research(self_.py(), "pyarrow")?;
        pyarrow.call_method1("table", (self_,))
    }

    /// The frame of pandas, which has to be installed beside pyarrow.
    fn to_pandas<'py>(self_: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        research(self_.py(), "pandas")?;
        Self::to_arrow(self_)?.call_method0("to_pandas")
    }

    /// Arrow's C data interface: what the columns are.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.data.data_type()).map_err(of_arrow)?;
        capsule(py, schema, c"arrow_schema")
    }

    /// Arrow's C data interface: what the columns are, and the columns.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // Whoever gives an array may leave it as it is: the one who asks casts it.
        drop(requested_schema);
        let array = capsule(py, FFI_ArrowArray::new(&self.data), c"arrow_array")?;
        Ok((self.__arrow_c_schema__(py)?, array))
    }

    fn __len__(&self) -> usize {
        self.data.len()
    }

    fn __repr__(&self) -> String {
        let names = self.column_names().join(", ");
        format!("<ebb.Table of {} rows: {names}>", self.data.len())
    }
}

/// Its owner moves the struct out of the capsule, or the capsule releases it.
fn capsule<'py, T: Send + 'static>(
    py: Python<'py>,
    value: T,
    name: &'static CStr,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, value, name)
}

fn research<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        let hint = format!("{name} is missing ({error}): pip install 'ebb[research]'");
        PyImportError::new_err(hint)
    })
}

fn of_arrow(error: ArrowError) -> PyErr {
    defect(&error.to_string())
}

/// A table that is made column by column, from the same rows.
pub struct Columns<'r, R> {
    rows: &'r [R],
    fields: Vec<Field>,
    columns: Vec<ArrayData>,
}

impl<'r, R> Columns<'r, R> {
    pub fn of(rows: &'r [R]) -> Self {
        Self {
            rows,
            fields: Vec::new(),
            columns: Vec::new(),
        }
    }

    pub fn text<'t>(self, name: &str, value: impl Fn(&'r R) -> &'t str) -> PyResult<Self> {
        self.maybe_text(name, |row| Some(value(row)))
    }

    pub fn maybe_text<'t>(
        self,
        name: &str,
        value: impl Fn(&'r R) -> Option<&'t str>,
    ) -> PyResult<Self> {
        let values: Vec<Option<&str>> = self.rows.iter().map(value).collect();
        let mut ends = OffsetBufferBuilder::<i32>::new(values.len());
        let mut bytes = Vec::new();
        for text in &values {
            let text = text.unwrap_or("");
            ends.push_length(text.len());
            bytes.extend_from_slice(text.as_bytes());
        }
        let ends: OffsetBuffer<i32> = ends.finish();
        let data = ArrayData::builder(DataType::Utf8)
            .add_buffer(ends.into_inner().into_inner())
            .add_buffer(Buffer::from_vec(bytes));
        self.column(name, data, values.iter().map(Option::is_some))
    }

    pub fn number(self, name: &str, value: impl Fn(&'r R) -> f64) -> PyResult<Self> {
        self.maybe_number(name, |row| Some(value(row)))
    }

    pub fn maybe_number(self, name: &str, value: impl Fn(&'r R) -> Option<f64>) -> PyResult<Self> {
        let values: Vec<Option<f64>> = self.rows.iter().map(value).collect();
        let filled = values.iter().map(|it| it.unwrap_or(0.0)).collect();
        let data =
            ArrayData::builder(DataType::Float64).add_buffer(Buffer::from_vec::<f64>(filled));
        self.column(name, data, values.iter().map(Option::is_some))
    }

    pub fn count(self, name: &str, value: impl Fn(&'r R) -> u64) -> PyResult<Self> {
        self.maybe_count(name, |row| Some(value(row)))
    }

    /// With a sign: differences of counts may be negative. *Units:* as the name says.
    pub fn maybe_count(self, name: &str, value: impl Fn(&'r R) -> Option<u64>) -> PyResult<Self> {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let values: Vec<Option<u64>> = self.rows.iter().map(value).collect();
        let filled = values.iter().map(|it| it.map_or(0, signed)).collect();
        let data = ArrayData::builder(DataType::Int64).add_buffer(Buffer::from_vec::<i64>(filled));
        self.column(name, data, values.iter().map(Option::is_some))
    }

    /// Any number of 64 bits.
    pub fn seed(self, name: &str, value: impl Fn(&'r R) -> u64) -> PyResult<Self> {
        let values: Vec<u64> = self.rows.iter().map(value).collect();
        let is_known = vec![true; values.len()];
        let data = ArrayData::builder(DataType::UInt64).add_buffer(Buffer::from_vec(values));
        self.column(name, data, is_known.into_iter())
    }

    fn column(
        mut self,
        name: &str,
        data: ArrayDataBuilder,
        is_known: impl Iterator<Item = bool>,
    ) -> PyResult<Self> {
        let nulls = NullBuffer::from(is_known.collect::<Vec<bool>>());
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        let column = data.len(self.rows.len()).nulls(nulls).build();
        let column = column.map_err(of_arrow)?;
        self.fields
            .push(Field::new(name, column.data_type().clone(), true));
        self.columns.push(column);
        Ok(self)
    }

    pub fn finish(self) -> PyResult<Table> {
        let data = ArrayData::builder(DataType::Struct(Fields::from(self.fields)))
            .len(self.rows.len())
            .child_data(self.columns)
            .build()
            .map_err(of_arrow)?;
        Ok(Table { data })
    }
}
