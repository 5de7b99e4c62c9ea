//! Asks a model one question and prints what it answers as it comes.
//!
//! ```sh
//! cargo run -p haft-llm --example ask -- http://127.0.0.1:11434/v1 llama3.2 "Why is the sky blue?"
//! ```
//!
//! A key is read from `API_KEY`, if the server wants one.

use std::io::{Write, stderr, stdout};

use anyhow::Context;
use futures::StreamExt;
use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::{Chunk, Content, Key, Message, Provider, Request, Secret, Server};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = || arguments.next().context("usage: ask BASE_URL MODEL QUESTION");
    let (base_url, model, question) = (argument()?, argument()?, argument()?);

    let key = std::env::var("API_KEY").ok().map(|key| Key::Plain(Secret::new(key)));
    let server = Server { provider: "the server".to_owned(), base_url, key, ..Server::default() };
    let chat = Chat::new(&server, ChatManners::default())?;
    let messages = vec![Message::User { content: vec![Content::text(question)] }.into()];
    let mut answer = chat.stream(Request { model, messages: messages.into(), ..Request::default() });

    while let Some(chunk) = answer.next().await {
        match chunk? {
            Chunk::Text(words) => write!(stdout(), "{words}")?,
            Chunk::TextEnd { .. } => writeln!(stdout())?,
            // Thinking and counting go where a pipe does not see them.
            Chunk::Reasoning(words) => write!(stderr(), "{words}")?,
            Chunk::ReasoningEnd { .. } => writeln!(stderr())?,
            Chunk::Usage(usage) => writeln!(stderr(), "{} tokens read, {} written", usage.input, usage.output)?,
            Chunk::ToolInput { .. } | Chunk::ToolCall { .. } | Chunk::Vendor(_) | Chunk::Finish(_) => {}
        }
        stdout().flush()?;
    }
    Ok(())
}
