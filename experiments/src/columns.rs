// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A comparison as a table for other programs: CSV and Parquet, the same columns in both.
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::{Cell, Comparison, Engine, ExperimentError, Unit};

/// A column: its head and one value for each line.
struct Column {
    head: String,
    values: Values,
}

enum Values {
    Text(Vec<String>),
    Whole(Vec<i64>),
    Flag(Vec<bool>),
    Number(Vec<Option<f64>>),
}

impl Comparison {
    /// As CSV: a line for each cell, units in the heads of columns.
    ///
    /// *Errors:* the CSV library's, which writing to memory does not have.
    pub fn to_csv(&self) -> Result<String, ExperimentError> {
        let columns = self.columns();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(columns.iter().map(|column| &column.head))?;
        for line in 0..self.cells.len() {
            writer.write_record(columns.iter().map(|column| column.values.text(line)))?;
        }
        let bytes = writer
            .into_inner()
            .map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// As Parquet, with the columns of the CSV; what is empty there is null.
    ///
    /// *Errors:* the Parquet library's, which writing to memory does not have.
    pub fn to_parquet(&self) -> Result<Vec<u8>, ExperimentError> {
        let columns = self.columns();
        let fields = columns.iter().map(Column::field);
        let fields: Vec<TypePtr> = fields.collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("cells").with_fields(fields);
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, Arc::new(schema.build()?), Default::default())?;
        let mut group = writer.next_row_group()?;
        for column in &columns {
            if let Some(mut into) = group.next_column()? {
                column.values.write(&mut into)?;
                into.close()?;
            }
        }
        group.close()?;
        writer.close()?;
        Ok(bytes)
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = self.names();
        let mut units: Vec<Unit> = Vec::new();
        for cell in &self.cells {
            if !units.contains(&cell.unit) {
                units.push(cell.unit);
            }
        }
        let is_lab = self.engine == Engine::Lab;
        for unit in units {
            let of_lab = is_lab.then_some(SIMULATED);
            columns.extend(VALUES.into_iter().chain(of_lab).map(|(head, value)| {
                let of_cell = |cell: &Cell| (cell.unit == unit).then(|| value(cell)).flatten();
                Column {
                    head: format!("{head}_{}", unit.column()),
                    values: Values::Number(self.cells.iter().map(of_cell).collect()),
                }
            }));
        }
        columns
    }

    /// What a value is, and how it was judged.
    fn names(&self) -> Vec<Column> {
        let text = |head: &str, value: &dyn Fn(&Cell) -> String| Column {
            head: head.to_owned(),
            values: Values::Text(self.cells.iter().map(value).collect()),
        };
        let runs = self.cells.iter().map(|cell| cell.values.len() as i64);
        let mut columns = vec![
            text("id", &|_| self.id.clone()),
            text("engine", &|_| self.engine.name().into()),
            Column {
                head: "runs".into(),
                values: Values::Whole(runs.collect()),
            },
            Column {
                head: "is_quick".into(),
                values: Values::Flag(vec![self.is_quick; self.cells.len()]),
            },
            text("row", &|cell| cell.row.clone()),
            text("case", &|cell| cell.case.clone()),
        ];
        if self.cells.iter().any(|cell| cell.policy.is_some()) {
            let policy = |cell: &Cell| cell.policy.clone().unwrap_or_default();
            columns.push(text("policy", &policy));
        }
        columns.extend([
            text("is", &|cell| cell.kind.name().into()),
            text("chosen", &|cell| cell.chosen.name().into()),
            text("bound", &|cell| cell.bound.name().into()),
            text("verdict", &|cell| cell.verdict.name().into()),
        ]);
        columns
    }
}

/// A head, and what stands below it.
type NamedValue = (&'static str, fn(&Cell) -> Option<f64>);

/// Columns of each unit.
const VALUES: [NamedValue; 4] = [
    ("paper", |cell| Some(cell.paper)),
    ("ours", |cell| cell.ours),
    ("ours_half_width_95", |cell| cell.half_width_95),
    ("tolerance", Cell::within),
];

/// After them where the lab ran it.
const SIMULATED: NamedValue = ("simulated", |cell| cell.simulated);

impl Column {
    fn field(&self) -> Result<TypePtr, ParquetError> {
        let (physical, logical, repetition) = match &self.values {
            Values::Text(_) => (
                Physical::BYTE_ARRAY,
                Some(LogicalType::String),
                Repetition::REQUIRED,
            ),
            Values::Whole(_) => (Physical::INT64, None, Repetition::REQUIRED),
            Values::Flag(_) => (Physical::BOOLEAN, None, Repetition::REQUIRED),
            Values::Number(_) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
        };
        let field = Type::primitive_type_builder(&self.head, physical)
            .with_logical_type(logical)
            .with_repetition(repetition);
        Ok(Arc::new(field.build()?))
    }
}

impl Values {
    fn text(&self, line: usize) -> String {
        match self {
            Self::Text(values) => values[line].clone(),
            Self::Whole(values) => values[line].to_string(),
            Self::Flag(values) => values[line].to_string(),
            Self::Number(values) => values[line].map_or(String::new(), |value| value.to_string()),
        }
    }

    fn write(&self, into: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Self::Text(values) => {
                let values: Vec<ByteArray> =
                    values.iter().map(|text| text.as_str().into()).collect();
                into.typed::<ByteArrayType>()
                    .write_batch(&values, None, None)
            }
            Self::Whole(values) => into.typed::<Int64Type>().write_batch(values, None, None),
            Self::Flag(values) => into.typed::<BoolType>().write_batch(values, None, None),
            Self::Number(values) => {
                let levels: Vec<i16> = values.iter().map(|it| i16::from(it.is_some())).collect();
                let known: Vec<f64> = values.iter().copied().flatten().collect();
                into.typed::<DoubleType>()
                    .write_batch(&known, Some(&levels), None)
            }
        }
        .map(|_| ())
    }
}
