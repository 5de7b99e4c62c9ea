//! Tools that other programs offer, as [`AnyTool`](haft_tool::AnyTool)s: [`client`], which signs in with [`oauth`] where
//! it has to. And the registry offered to other programs: [`server`].
//!
//! Both speak the Model Context Protocol.
//!
//! **Never here:** rules and their files (`permission`, `config`), how a program is caged (`project`), what a session is.
//! A client is given what it needs in a [`client::World`].

pub mod client;
pub mod oauth;
pub mod server;

/// The protocol's own types, which [`server::Offer`] speaks in.
pub use rmcp;
