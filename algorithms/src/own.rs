// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws of one's own: a header becomes a shared object ([`build`]), whose laws policies then name
//! as they name any other ([`load`]). What hosts that do not run laws natively need of a law they
//! put at the end of its file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;

use crate::native::{NativeOwn, NativeReceiverLaw, NativeSenderLaw};
use crate::registry::{LawInfo, add_own, counter_laws, describe, describe_sender, laws};

include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// Numbers of one's own begin here; Ebb's laws never have such ones.
pub const FIRST_NUMBER: u32 = 1000;

/// What can be wrong with a law of one's own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnLawError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// There is no such compiler.
    #[error("{compiler}: {source} (name a C compiler with --compiler)")]
    Compiler {
        /// What was called.
        compiler: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The compiler refuses the header.
    #[error("{path}: does not compile:\n{told}")]
    DoesNotCompile {
        /// The header.
        path: PathBuf,
        /// What the compiler said.
        told: String,
    },
    /// The file is no shared object, or none that was built from a law.
    #[error("{path}: no law in it: {problem} (ebb law build makes one from a header)")]
    NoLaw {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// It was built with other headers.
    #[error("{path}: built for another Ebb; build it again: ebb law build HEADER")]
    OtherEbb {
        /// The file.
        path: PathBuf,
    },
    /// Its number could be one of Ebb's.
    #[error(
        "{path}: {name} has the number {number}; those of one's own are {FIRST_NUMBER} or more"
    )]
    Number {
        /// The file.
        path: PathBuf,
        /// The law.
        name: &'static str,
        /// Its number.
        number: u32,
    },
    /// A law that is loaded with it has its name or its number.
    #[error("{path}: {name} has the name or the number of {other}, {number}: give it another")]
    Twice {
        /// The file.
        path: PathBuf,
        /// The law.
        name: &'static str,
        /// Its number.
        number: u32,
        /// Whose that is.
        other: &'static str,
    },
    /// Ebb has a law of this name.
    #[error("{path}: {name} is the name of a law of Ebb's: give it another")]
    Taken {
        /// The file.
        path: PathBuf,
        /// The law.
        name: &'static str,
    },
}

/// Compiles a header into a shared object, and tells the laws in it. They are loaded then.
///
/// *Errors:* all of [`OwnLawError`].
pub fn build(
    header: &Path,
    out: &Path,
    compiler: &str,
) -> Result<Vec<&'static LawInfo>, OwnLawError> {
    let of = |path: &Path| {
        let path = path.to_owned();
        |source| OwnLawError::File { path, source }
    };
    let whole = header.canonicalize().map_err(of(header))?;
    let folder = tempfile::tempdir().map_err(of(&std::env::temp_dir()))?;
    write_headers(folder.path()).map_err(of(folder.path()))?;
    let built = folder.path().join("law.so");
    let ran = Command::new(compiler)
        .args(["-std=c11", "-O2", "-fPIC", "-shared", "-ffreestanding"])
        .args(["-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(folder.path())
        .arg(format!("-DEBB_OWN_LAW={:?}", whole.display().to_string()))
        .arg(format!("-DEBB_OWN_LAYOUT={LAYOUT}ull"))
        .arg(folder.path().join("own_law.c"))
        .arg("-o")
        .arg(&built)
        .output()
        .map_err(|source| OwnLawError::Compiler {
            compiler: compiler.to_owned(),
            source,
        })?;
    if !ran.status.success() {
        return Err(OwnLawError::DoesNotCompile {
            path: header.to_owned(),
            told: String::from_utf8_lossy(&ran.stderr).into_owned(),
        });
    }
    let laws = load(&built).map_err(|error| error.of(header))?;
    fs::copy(&built, out).map_err(of(out))?;
    Ok(laws)
}

/// Loads the laws of a shared object that [`build`] made, in place of older ones of their names and
/// numbers.
/// What they do is not checked: it runs in this process, as any of its code.
///
/// *Errors:* [`OwnLawError::File`], [`OwnLawError::NoLaw`], [`OwnLawError::OtherEbb`],
/// [`OwnLawError::Number`], [`OwnLawError::Twice`], [`OwnLawError::Taken`].
pub fn load(path: &Path) -> Result<Vec<&'static LawInfo>, OwnLawError> {
    let file = fs::read(path).map_err(|source| OwnLawError::File {
        path: path.to_owned(),
        source,
    })?;
    let table = table(&file).map_err(|problem| OwnLawError::NoLaw {
        path: path.to_owned(),
        problem,
    })?;
    if table.layout != LAYOUT {
        return Err(OwnLawError::OtherEbb {
            path: path.to_owned(),
        });
    }
    let laws = described(table);
    if laws.is_empty() {
        let problem = "it defines neither EBB_OWN_RECEIVER_LAWS nor EBB_OWN_SENDER_LAWS".into();
        let path = path.to_owned();
        return Err(OwnLawError::NoLaw { path, problem });
    }
    for (place, law) in laws.iter().enumerate() {
        check(law, path)?;
        refuse_twice(law, laws[..place].iter(), path)?;
    }
    // As long as the law that is from it.
    let file: &'static [u8] = Box::leak(file.into_boxed_slice());
    let laws: Vec<&'static LawInfo> = laws
        .into_iter()
        .map(|law| &*Box::leak(Box::new(law)))
        .collect();
    for law in &laws {
        add_own(law, file);
    }
    Ok(laws)
}

/// What the object exports. It is loaded from a copy, which nobody changes, and never unloaded.
fn table(file: &[u8]) -> Result<&'static NativeOwn, String> {
    let copy = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    fs::write(copy.path(), file).map_err(|error| error.to_string())?;
    // SAFETY: whoever names a file as a law wants its code to run here.
    let library = unsafe { Library::new(copy.path()) }.map_err(|error| error.to_string())?;
    let library = Box::leak(Box::new(library));
    // SAFETY: own_law.c exports this name as such a struct; its first field, which every version
    // of it has, is held against this version before any other is read.
    let table = unsafe { library.get::<*const NativeOwn>(b"ebb_native_own") };
    let table = table.map_err(|error| error.to_string())?;
    // SAFETY: as above; the object stays for as long as the process.
    unsafe { table.as_ref() }.ok_or_else(|| "its table is nowhere".into())
}

fn described(table: &'static NativeOwn) -> Vec<LawInfo> {
    // SAFETY: own_law.c gives the lengths of its own arrays.
    let receivers: &'static [NativeReceiverLaw] =
        unsafe { std::slice::from_raw_parts(table.receivers, table.receiver_count as usize) };
    // SAFETY: as above.
    let senders: &'static [NativeSenderLaw] =
        unsafe { std::slice::from_raw_parts(table.senders, table.sender_count as usize) };
    let receivers = receivers.iter().map(describe);
    receivers
        .chain(senders.iter().map(describe_sender))
        .collect()
}

/// Refuses a law with the name or the number of one of these: by its number a law is known in the
/// kernel and in traces.
///
/// *Errors:* [`OwnLawError::Twice`], of the file that the law is from.
pub fn refuse_twice<'a>(
    law: &LawInfo,
    mut others: impl Iterator<Item = &'a LawInfo>,
    path: &Path,
) -> Result<(), OwnLawError> {
    let other = others.find(|it| it.name == law.name || it.number == law.number);
    match other {
        Some(LawInfo { name: other, .. }) => Err(OwnLawError::Twice {
            path: path.to_owned(),
            name: law.name,
            number: law.number,
            other,
        }),
        None => Ok(()),
    }
}

fn check(law: &LawInfo, path: &Path) -> Result<(), OwnLawError> {
    let (path, name) = (path.to_owned(), law.name);
    if laws()
        .iter()
        .chain(counter_laws())
        .any(|it| it.name == name)
    {
        return Err(OwnLawError::Taken { path, name });
    }
    let number = law.number;
    match number < FIRST_NUMBER {
        true => Err(OwnLawError::Number { path, name, number }),
        false => Ok(()),
    }
}

/// Writes all headers that a law can include, and those of the contracts, into a folder.
///
/// *Errors:* the system's.
pub fn write_headers(folder: &Path) -> io::Result<()> {
    for (name, text) in HEADERS {
        let path = folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

impl OwnLawError {
    /// The same of the header: nobody has seen the file that was built from it.
    fn of(self, header: &Path) -> Self {
        let path = header.to_owned();
        match self {
            Self::File { source, .. } => Self::File { path, source },
            Self::NoLaw { problem, .. } => Self::NoLaw { path, problem },
            Self::OtherEbb { .. } => Self::OtherEbb { path },
            Self::Number { name, number, .. } => Self::Number { path, name, number },
            Self::Twice {
                name,
                number,
                other,
                ..
            } => Self::Twice {
                path,
                name,
                number,
                other,
            },
            Self::Taken { name, .. } => Self::Taken { path, name },
            other => other,
        }
    }
}
