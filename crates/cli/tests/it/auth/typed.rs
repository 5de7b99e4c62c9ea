//! A person at a terminal who signs in.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::server::SignIn;
use super::{file, stored};
use crate::support::Machine;
use crate::terminal::{Terminal, WIDE};

/// What stands where an answer is typed. What comes before it is no answer to it.
const PROMPT: &str = "a number, or a part of the name:";

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

#[test]
fn a_vendor_is_found_by_a_part_of_its_name_and_its_key_is_not_shown() {
    let machine = Machine::with(&[]);
    let mut terminal = Terminal::open(&machine.command(&["auth", "login"]), WIDE);
    terminal.wait_for(PROMPT);
    terminal.type_text("deepse\n");
    terminal.wait_for("? API key of DeepSeek (it is not shown):");
    terminal.type_text("sk-marker-key\n");
    terminal.wait_for("the key of DeepSeek is stored");
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    assert!(!terminal.bytes().contains("sk-marker-key"), "{}", terminal.screen());
    assert_eq!(stored(&machine), json!({"deepseek": {"type": "api", "key": "sk-marker-key"}}));
}

#[test]
fn a_list_that_is_too_long_is_narrowed() {
    let machine = Machine::with(&[]);
    let mut terminal = Terminal::open(&machine.command(&["auth", "login"]), WIDE);
    terminal.wait_for(PROMPT);
    terminal.type_text("open\n");
    terminal.wait_for_times(PROMPT, 2);
    assert!(terminal.screen().contains("OpenRouter"), "{}", terminal.screen());
    terminal.type_text("openai\n");
    terminal.wait_for("? Sign in to OpenAI how?");
    terminal.wait_for_times(PROMPT, 3);
    terminal.type_text("key\n");
    terminal.wait_for("? API key of OpenAI");
    terminal.type_text("sk-1\n");
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    assert_eq!(stored(&machine)["openai"]["key"], "sk-1");
}

#[test]
fn who_stops_stores_nothing_and_sees_what_they_type_again() {
    for stop in [CTRL_C, CTRL_D] {
        let machine = Machine::with(&[]);
        let mut terminal = Terminal::open(&machine.command(&["auth", "login", "groq"]), WIDE);
        terminal.wait_for("(it is not shown):");
        terminal.type_text(stop);
        assert_eq!(terminal.wait_exit(), 130, "{}", terminal.screen());
        assert!(terminal.screen().contains("stopped; nothing was stored"), "{}", terminal.screen());
        assert!(!file(&machine).exists());
        assert!(terminal.echoes(), "the terminal is left as it was");
    }
}

#[test]
fn chatgpts_page_comes_back() {
    let machine = Machine::with(&[]);
    let server =
        SignIn::plays(vec![json!({"access_token": "a-marker", "refresh_token": "r-marker", "expires_in": 3600})]);
    let mut login = machine.command(&["auth", "login", "openai", "--method", "browser", "--no-browser"]);
    let mut terminal = Terminal::open(login.env("HAFT_AUTH_SERVER", server.url()), 1000);
    terminal.wait_for("waiting for at most 5 minutes");
    let screen = terminal.screen();
    let url = screen.split_whitespace().find(|word| word.contains("/oauth/authorize?")).unwrap();
    let field = |name: &str| {
        let rest = url.split_once(&format!("{name}=")).unwrap().1;
        rest.split('&').next().unwrap().replace("%3A", ":").replace("%2F", "/")
    };
    let back = field("redirect_uri");
    let address = back.strip_prefix("http://localhost:").unwrap().split_once('/').unwrap().0;
    let visit = |query: &str| {
        let mut socket = TcpStream::connect(format!("127.0.0.1:{address}")).unwrap();
        write!(socket, "GET /auth/callback?{query} HTTP/1.1\r\nhost: localhost:{address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(visit("code=evil&state=guess").starts_with("HTTP/1.1 400"));
    assert!(visit(&format!("code=c1&state={}", field("state"))).contains("You are signed in"));
    terminal.wait_for("signed in to OpenAI");
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    assert!(!terminal.bytes().contains("marker"));
    assert_eq!(stored(&machine)["openai"]["refresh"], "r-marker");
    assert!(server.bodies()[0].contains("code=c1"), "{:?}", server.bodies());
}
