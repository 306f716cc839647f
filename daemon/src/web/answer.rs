// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is answered to a request.

use std::sync::Arc;

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It is told, or done.
    Ok,
    /// Who asks does not say who may.
    Unauthorized,
    /// It could not be told, or done.
    Failed,
    /// It is no request.
    BadRequest,
    /// It is not for this machine.
    Misdirected,
    /// There is no such thing.
    NotFound,
    /// It is not asked for in this way.
    WrongMethod,
    /// What follows the head has no length.
    LengthRequired,
    /// What follows the head is too long.
    BodyTooLarge,
    /// The head is too long.
    HeadTooLarge,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(super) status: Status,
    kind: &'static str,
    /// Of the head, whole lines.
    lines: &'static str,
    pub(super) body: Arc<[u8]>,
}

impl Status {
    fn in_words(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::Unauthorized => "401 Unauthorized",
            Self::Failed => "500 Internal Server Error",
            Self::BadRequest => "400 Bad Request",
            Self::Misdirected => "421 Misdirected Request",
            Self::NotFound => "404 Not Found",
            Self::WrongMethod => "405 Method Not Allowed",
            Self::LengthRequired => "411 Length Required",
            Self::BodyTooLarge => "413 Content Too Large",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
        }
    }
}

impl Answer {
    /// What is asked for, of this kind of content.
    pub(crate) fn of(kind: &'static str, body: Arc<[u8]>) -> Self {
        Self {
            status: Status::Ok,
            kind,
            lines: "",
            body,
        }
    }

    /// The same, with these lines in its head.
    pub(crate) fn with(self, lines: &'static str) -> Self {
        Self { lines, ..self }
    }

    /// Why it is not, and what would be right, in words for people.
    pub(crate) fn refusal(status: Status, why: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            lines: match status {
                Status::Unauthorized => "WWW-Authenticate: Bearer\r\n",
                Status::WrongMethod => "Allow: GET, HEAD, POST\r\n",
                _ => "",
            },
            body: Arc::from(format!("{why}\n").into_bytes()),
        }
    }

    /// What goes before the body. Nothing of it is to be kept, or taken for something else.
    pub(super) fn head(&self) -> Vec<u8> {
        let Self { kind, lines, .. } = self;
        format!(
            "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n{lines}\r\n",
            self.status.in_words(),
            self.body.len(),
        )
        .into_bytes()
    }
}
