// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What whoever looks at the page has to know.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::web::Request;

/// Among the records, which are root's alone: the address of the page, with the token.
const FILE: &str = "page.url";
const BYTES: usize = 32;

/// A secret of the page.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl Token {
    /// The token that is written there, so that a page that is open stays so; else a new one. The
    /// address of the page is written there with it.
    ///
    /// *Errors:* [`Error::File`]: the file cannot be written.
    pub(crate) fn at(records: &Path, address: SocketAddr) -> Result<Self> {
        let path = records.join(FILE);
        let failed = |source| Error::file(&path, source);
        let token = match read(&path) {
            Some(token) => token,
            None => Self::random().map_err(failed)?,
        };
        let new = records.join("page.url.new");
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&new).map_err(failed)?;
        let line = format!("http://{address}/#{}\n", token.0);
        file.write_all(line.as_bytes()).map_err(failed)?;
        fs::rename(&new, &path).map_err(failed)?;
        Ok(token)
    }

    fn random() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        Ok(Self(digits.collect()))
    }

    /// Whether it comes with a request. How long this takes does not depend on what is wrong.
    pub(crate) fn is_known_to(&self, request: &Request) -> bool {
        let said = request.field("authorization").unwrap_or_default();
        let said = said.strip_prefix("Bearer ").unwrap_or_default().as_bytes();
        let right = self.0.as_bytes();
        let pairs = said.iter().zip(right);
        said.len() == right.len() && pairs.fold(0, |all, (one, other)| all | (one ^ other)) == 0
    }
}

fn read(path: &Path) -> Option<Token> {
    let text = fs::read_to_string(path).ok()?;
    let (_, token) = text.trim().split_once('#')?;
    let is_right = token.len() == 2 * BYTES && token.bytes().all(|it| it.is_ascii_hexdigit());
    is_right.then(|| Token(token.to_owned()))
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}
