//! Making a connection.

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;

use super::World;
use super::http;
use super::link::Link;
use super::settings::{Place, Settings};
use super::status::Failure;
use super::stdio::{MAX_MESSAGE, Program};
use super::traffic::{Handler, Traffic};

/// Connects to the server of `settings`.
///
/// # Errors
///
/// Why it cannot be used.
pub(super) async fn connect(world: &World, settings: &Settings) -> Result<Link, Failure> {
    let traffic = Arc::new(Traffic::new(&settings.name, world.root.clone(), settings.sampling));
    let limit = settings.to_connect();
    match &settings.place {
        Place::Remote(remote) => {
            let signing = world.tokens.clone().zip(settings.account());
            let service = http::connect(remote, signing.as_ref(), &traffic, limit).await?;
            Ok(Link::new(service, traffic, None).signing(signing))
        }
        Place::Local(local) => {
            let (program, output, input) = Program::start(world, &settings.name, local).await?;
            // The reader has an end of its own, which comes first.
            let transport = AsyncRwTransport::new_client(output, input).with_max_line_length(MAX_MESSAGE + 1);
            let serving = Handler(Arc::clone(&traffic)).serve(transport);
            match tokio::time::timeout(limit, serving).await {
                Ok(Ok(service)) => Ok(Link::new(service, traffic, Some(program))),
                Ok(Err(error)) => {
                    let said = haft_tool::with_causes(&error);
                    program.falls_silent().await;
                    Err(Failure::Broken(format!("{said}{}", program.last_words())))
                }
                Err(_) => {
                    let words = program.last_words();
                    Err(Failure::Broken(format!("it did not answer within {} s{words}", limit.as_secs_f64())))
                }
            }
        }
    }
}
