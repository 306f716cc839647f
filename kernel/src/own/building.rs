// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the programs with a law of one's own in their list.

use super::{LAYOUT, MAGIC, SOURCES};
use ebb_algorithms::{LawInfo, Side, own};
use libbpf_rs::{Linker, ObjectBuilder, libbpf_sys};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why the programs of a law of one's own could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no such compiler.
    #[error("{compiler}: {source}")]
    Compiler {
        /// What was called.
        compiler: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The compiler, or what it needs of the machine, does not do for the kernel's programs: it does not
    /// compile Ebb's own.
    #[error("{compiler} does not compile the kernel's programs:\n{told}")]
    Unsuitable {
        /// What was called.
        compiler: String,
        /// What it said.
        told: String,
    },
    /// The compiler refuses the header in the kernel's programs.
    #[error("{path}: does not compile for the kernel:\n{told}")]
    DoesNotCompile {
        /// The header.
        path: PathBuf,
        /// What the compiler said.
        told: String,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl BuildError {
    fn of(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }
}

/// Compiles the programs of the ends that these laws are for, with the header that has the laws, and
/// puts them at the end of the file that [`own::build`] made of it. What the kernel thinks of them
/// is found out when they are loaded.
///
/// *Errors:* all of [`BuildError`]; the file is as it was then, unless it could not be written.
pub fn add_programs(
    file: &Path,
    header: &Path,
    laws: &[&LawInfo],
    compiler: &str,
) -> Result<(), BuildError> {
    let whole = header.canonicalize().map_err(BuildError::of(header))?;
    let folder = tempfile::tempdir().map_err(BuildError::of(&std::env::temp_dir()))?;
    write_sources(folder.path()).map_err(BuildError::of(folder.path()))?;
    let mut end = Vec::new();
    let mut lengths = Vec::new();
    for side in [Side::Receiver, Side::Sender] {
        let before = end.len();
        if laws.iter().any(|law| law.side() == side) {
            end.extend(compile(folder.path(), (&whole, header), side, compiler)?);
        }
        lengths.push((end.len() - before) as u64);
    }
    for number in [LAYOUT].into_iter().chain(lengths) {
        end.extend(number.to_le_bytes());
    }
    end.extend(MAGIC);
    let appended = OpenOptions::new().append(true).open(file);
    appended
        .and_then(|mut file| file.write_all(&end))
        .map_err(BuildError::of(file))
}

/// The object of this end; what is wrong with the header is told by the name that it was given by.
fn compile(
    folder: &Path,
    (whole, header): (&Path, &Path),
    side: Side,
    compiler: &str,
) -> Result<Vec<u8>, BuildError> {
    let refused = |told| BuildError::DoesNotCompile {
        path: header.to_owned(),
        told,
    };
    let compiled = match compiled(folder, Some(whole), side, compiler)? {
        Ok(compiled) => compiled,
        // Whose fault it is, is seen without the header.
        Err(told) => {
            self::compiled(folder, None, side, compiler)?.map_err(|told| {
                BuildError::Unsuitable {
                    compiler: compiler.to_owned(),
                    told,
                }
            })?;
            return Err(refused(told));
        }
    };
    // What debuggers need and the kernel does not is left out by this.
    let linked = folder.join(format!("{side}.linked.o"));
    Linker::new(&linked)
        .and_then(|mut linker| {
            linker.add_file(&compiled)?;
            linker.link()
        })
        .map_err(|error| refused(format!("{error:#}")))?;
    open(&linked).map_err(refused)?;
    fs::read(&linked).map_err(BuildError::of(&linked))
}

/// Whether libbpf can open it, or what it says: it cannot where clang has put a table of a few bytes
/// among constants that may be merged.
fn open(object: &Path) -> Result<(), String> {
    let opened = ObjectBuilder::default().open_file(object);
    let hint =
        "if the law has a small table that is `static const`, make it `static const volatile`";
    opened.map_err(|error| format!("{error:#}\n({hint})"))?;
    Ok(())
}

/// The object of this end as the compiler, called as build.rs calls it for Ebb's laws, leaves it; or
/// what the compiler says.
fn compiled(
    folder: &Path,
    header: Option<&Path>,
    side: Side,
    compiler: &str,
) -> Result<Result<PathBuf, String>, BuildError> {
    let compiled = folder.join(format!("{side}.bpf.o"));
    let mut command = Command::new(compiler);
    command
        .args(["-target", "bpf", "-mcpu=v3", "-g", "-O2"])
        .args(["-fno-stack-protector", "-Wall", "-Wextra", "-Werror"])
        .arg("-Wno-unused-parameter")
        .arg(format!("-D__TARGET_ARCH_{}", target()))
        .arg(format!("-I{}", folder.display()))
        // Debian and Ubuntu keep <asm/types.h> there.
        .arg(format!(
            "-I/usr/include/{}-linux-gnu",
            std::env::consts::ARCH
        ))
        .args(header.map(|path| format!("-DEBB_OWN_LAW={:?}", path.display().to_string())))
        .arg("-c")
        .arg(folder.join(format!("{side}.bpf.c")))
        .arg("-o")
        .arg(&compiled);
    let ran = command.output().map_err(|source| BuildError::Compiler {
        compiler: compiler.to_owned(),
        source,
    })?;
    Ok(match ran.status.success() {
        true => Ok(compiled),
        false => Err(String::from_utf8_lossy(&ran.stderr).into_owned()),
    })
}

/// The machine, as the headers of libbpf call it.
fn target() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        "powerpc64" => "powerpc",
        "s390x" => "s390",
        "riscv64" => "riscv",
        "loongarch64" => "loongarch",
        other => other,
    }
}

fn write_sources(folder: &Path) -> io::Result<()> {
    own::write_headers(folder)?;
    let headers = folder.join("bpf");
    fs::create_dir_all(&headers)?;
    for (name, text) in libbpf_sys::API_HEADERS {
        fs::write(headers.join(name), text)?;
    }
    for (name, text) in SOURCES {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
