// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading a request: its head by `httparse`, and what of it matters here.

use std::net::IpAddr;

use super::answer::Status;

/// A head has so many bytes at the most.
pub(super) const LONGEST_HEAD_BYTES: usize = 8 << 10;
/// And so many lines.
const MOST_HEADERS: usize = 64;
/// What follows has so many bytes at the most.
pub(super) const LONGEST_BODY_BYTES: usize = 4 << 10;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// To be told something.
    Get,
    /// The same, without what is told.
    Head,
    /// To change something.
    Post,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// What is asked for.
    pub method: Method,
    /// Of what, without what follows a question mark.
    pub path: String,
    /// Names of fields, in small letters, and what they have.
    fields: Vec<(String, String)>,
    /// What follows the head.
    pub body: Vec<u8>,
}

/// How far a request has come.
#[derive(Debug)]
pub(super) enum Read {
    /// More is to come.
    Partly,
    /// All of it is there.
    Whole(Request),
    /// It is none, or none that is served.
    Refused(Status, String),
}

impl Request {
    /// The field of a name that is given in small letters; none, too, where there are several.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(field, _)| field == name);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value)
    }

    /// Whether it is this machine that is asked, by a name that nobody else can give to an address
    /// of his own: otherwise a page from anywhere could ask what is here, under that name.
    pub(super) fn is_for_this_machine(&self) -> bool {
        let Some(host) = self.field("host") else {
            return false;
        };
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let is_loopback = name.parse().is_ok_and(|it: IpAddr| it.is_loopback());
        is_loopback || name.eq_ignore_ascii_case("localhost")
    }
}

/// Reads a request, as far as its bytes have come.
pub(super) fn read(bytes: &[u8]) -> Read {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let head_bytes = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(head_bytes)) if head_bytes <= LONGEST_HEAD_BYTES => {
            head_bytes
        }
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD_BYTES => return Read::Partly,
        Ok(_) => {
            let why = format!("the head of a request has {LONGEST_HEAD_BYTES} bytes at the most");
            return Read::Refused(Status::HeadTooLarge, why);
        }
        Err(httparse::Error::TooManyHeaders) => {
            let why = format!("a request has {MOST_HEADERS} fields at the most");
            return Read::Refused(Status::HeadTooLarge, why);
        }
        Err(error) => return Read::Refused(Status::BadRequest, format!("no HTTP: {error}")),
    };
    match of_head(&parsed) {
        Err((status, why)) => Read::Refused(status, why),
        Ok((mut request, body_bytes)) => match bytes.get(head_bytes..head_bytes + body_bytes) {
            None => Read::Partly,
            Some(body) => {
                request.body = body.to_vec();
                Read::Whole(request)
            }
        },
    }
}

/// The request, and how many bytes follow.
fn of_head(parsed: &httparse::Request<'_, '_>) -> Result<(Request, usize), (Status, String)> {
    let method = match parsed.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        Some("POST") => Method::Post,
        _ => {
            let why = "there are GET, HEAD and POST".to_owned();
            return Err((Status::WrongMethod, why));
        }
    };
    let fields = parsed.headers.iter().map(|header| {
        let value = String::from_utf8_lossy(header.value).trim().to_owned();
        (header.name.to_ascii_lowercase(), value)
    });
    let path = parsed.path.unwrap_or_default();
    let request = Request {
        method,
        path: path.split('?').next().unwrap_or_default().to_owned(),
        fields: fields.collect(),
        body: Vec::new(),
    };
    let body_bytes = body_bytes(&request)?;
    Ok((request, body_bytes))
}

fn body_bytes(request: &Request) -> Result<usize, (Status, String)> {
    let is_there = |name: &str| request.fields.iter().any(|(field, _)| field == name);
    if is_there("transfer-encoding") {
        let why = "say how long it is by Content-Length".to_owned();
        return Err((Status::LengthRequired, why));
    }
    if !is_there("content-length") {
        return Ok(0);
    }
    let length = request.field("content-length").unwrap_or_default();
    let is_number = !length.is_empty() && length.bytes().all(|sign| sign.is_ascii_digit());
    match length.parse::<usize>() {
        _ if !is_number => Err((Status::BadRequest, "Content-Length is no number".to_owned())),
        Ok(length) if length <= LONGEST_BODY_BYTES => Ok(length),
        _ => {
            let why = format!("{LONGEST_BODY_BYTES} bytes may follow a head");
            Err((Status::BodyTooLarge, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Status {
        match read(text.as_bytes()) {
            Read::Refused(status, why) => {
                assert!(!why.is_empty());
                status
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    fn whole(text: &str) -> Request {
        match read(text.as_bytes()) {
            Read::Whole(request) => request,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_request_is_read_once_all_of_it_is_there() {
        let text = "POST /switch?x=1 HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: 4\r\n\
                    Authorization: Bearer a\r\n\r\nbody";
        for length in 0..text.len() {
            let read = read(&text.as_bytes()[..length]);
            assert!(matches!(read, Read::Partly), "{length}: {read:?}");
        }
        let request = whole(text);
        assert_eq!(request.method, Method::Post);
        assert_eq!(request.path, "/switch");
        assert_eq!(request.field("authorization"), Some("Bearer a"));
        assert_eq!(request.body, b"body");
        assert!(request.is_for_this_machine());
    }

    #[test]
    fn what_is_no_request_or_too_large_is_refused_with_what_would_be_right() {
        let long = "x".repeat(LONGEST_HEAD_BYTES);
        let many = "a: b\r\n".repeat(MOST_HEADERS + 1);
        for (text, status) in [
            (
                "\x16\x03\x01\x02\x00\r\n\r\n".to_owned(),
                Status::BadRequest,
            ),
            ("GET /\r\n\r\n".to_owned(), Status::BadRequest),
            ("BREW / HTTP/1.1\r\n\r\n".to_owned(), Status::WrongMethod),
            (format!("GET /{long}"), Status::HeadTooLarge),
            (
                format!("GET / HTTP/1.1\r\na: {long}\r\n\r\n"),
                Status::HeadTooLarge,
            ),
            (
                format!("GET / HTTP/1.1\r\n{many}\r\n"),
                Status::HeadTooLarge,
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 4097\r\n\r\n".to_owned(),
                Status::BodyTooLarge,
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n".to_owned(),
                Status::BodyTooLarge,
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: +4\r\n\r\n".to_owned(),
                Status::BadRequest,
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".to_owned(),
                Status::BadRequest,
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
                Status::LengthRequired,
            ),
        ] {
            assert_eq!(refused(&text), status, "{text}");
        }
    }

    #[test]
    fn a_name_that_somebody_gave_to_loopback_is_not_this_machine_s() {
        for (host, is_ours) in [
            ("localhost", true),
            ("LOCALHOST:9750", true),
            ("127.0.0.1:9750", true),
            ("127.9.9.9", true),
            ("[::1]:9750", true),
            ("[::1]", true),
            ("evil.example:9750", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example", false),
            ("192.0.2.1:9750", false),
            ("[2001:db8::1]:9750", false),
            ("", false),
        ] {
            let request = whole(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert_eq!(request.is_for_this_machine(), is_ours, "{host}");
        }
        assert!(!whole("GET / HTTP/1.1\r\n\r\n").is_for_this_machine());
        let twice = "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n";
        assert!(!whole(twice).is_for_this_machine());
    }
}
