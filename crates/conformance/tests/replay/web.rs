//! The pages that calls of `webfetch` were made to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use anyhow::Result;
use base64::Engine;

/// The largest body that is fetched, and one byte.
const TOO_LARGE: usize = 5 * 1024 * 1024 + 1;

/// Serves the pages on a port of this machine until the program ends.
///
/// `page` is what stands at `/`, and `png` a picture in base64.
pub(crate) fn serve(page: String, png: &str) -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    let png = base64::engine::general_purpose::STANDARD.decode(png)?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (page, png) = (page.clone(), png.clone());
            // Whoever hangs up early misses the rest, as on the web.
            std::thread::spawn(move || drop(answer(stream, &page, &png)));
        }
    });
    Ok(port)
}

fn answer(mut stream: TcpStream, page: &str, png: &[u8]) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        headers.push(line.trim_end().to_owned());
    }
    let header = |name: &str| {
        let found =
            headers.iter().find_map(|line| line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)));
        found.map_or(String::new(), |(_, value)| value.to_owned())
    };
    let mut send = |status: &str, kind: &str, more: &str, body: &[u8]| {
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{more}connection: close\r\n\r\n"
        )?;
        stream.write_all(body)
    };
    match first.split(' ').nth(1).unwrap_or_default() {
        "/" => send("200 OK", "text/html; charset=utf-8", "", page.as_bytes()),
        "/plain" => send("200 OK", "text/plain", "", b"plain text\n"),
        "/json" => send("200 OK", "application/json", "", b"{\"a\":1}"),
        "/png" => send("200 OK", "image/png", "", png),
        "/big" => send("200 OK", "text/plain", "", &vec![b'b'; TOO_LARGE]),
        "/redir" => send("302 Found", "text/plain", "location: /plain\r\n", b""),
        // Says nothing for as long as anybody listens.
        "/slow" => reader.read_to_end(&mut Vec::new()).map(drop),
        "/hdr" => {
            let told = ["accept", "accept-language", "user-agent"].map(|name| format!("{name}: {}", header(name)));
            send("200 OK", "text/plain", "", told.join("\n").as_bytes())
        }
        "/cf" if header("user-agent").contains("Mozilla") => {
            send("403 Forbidden", "text/plain", "cf-mitigated: challenge\r\n", b"challenge")
        }
        "/cf" => send("200 OK", "text/plain", "", format!("ua={}", header("user-agent")).as_bytes()),
        _ => send("404 Not Found", "text/plain", "", b"no such page"),
    }
}
