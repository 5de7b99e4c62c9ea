//! `--verbose`: what haft does, in a line for a person.

use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::render::{self, Paint};

/// Longest value that is told, in characters.
const MAX_VALUE: usize = 300;

/// Prints each event to stderr.
pub(super) struct Told;

/// The name of the tool that a span is about.
struct ToolName(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Told {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let (Some(name), Some(span)) = (fields.tool, context.span(id)) {
            span.extensions_mut().insert(ToolName(name));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let within = context.event_scope(event).into_iter().flatten();
        let tool = within.filter_map(|span| span.extensions().get::<ToolName>().map(|name| name.0.clone())).next();
        let paint = Paint::new(render::errors_are_terminal());
        let line = paint.dim(&render::clean(&fields.line(tool.as_deref())));
        render::print_beside(&format!("{line}\n"));
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: String,
    tool: Option<String>,
}

impl Fields {
    fn line(&self, tool: Option<&str>) -> String {
        let tool = tool.map_or_else(String::new, |tool| format!(" {tool}"));
        format!("· {}{tool}{}", self.message, self.others).replace('\n', " ")
    }

    fn add(&mut self, field: &Field, value: String) {
        let value: String = value.chars().take(MAX_VALUE).collect();
        match field.name() {
            "message" => self.message = value,
            "tool.name" => self.tool = Some(value),
            // Writing to a text cannot fail.
            name => drop(write!(self.others, " {name}={value}")),
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, format!("{value:?}"));
    }
}
