//! TypeScript to JavaScript: types come off, what only TypeScript has is written out. Pure.

use std::path::Path;

use oxc::allocator::Allocator;
use oxc::codegen::{Codegen, CodegenOptions};
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::transformer::{HelperLoaderMode, TransformOptions, Transformer};

/// Longest source, in bytes.
pub(crate) const MAX_SOURCE: usize = 8 * 1024 * 1024;

/// A source without types.
#[derive(Debug)]
pub(crate) struct Stripped {
    pub(crate) code: String,
    pub(crate) lines: Lines,
}

/// Where each piece of the code stood in the source: line and column there, line and column here, all from 0; in the order
/// of the code.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<[u32; 4]>);

impl Lines {
    /// Where the place `line`, `column` of the code stood, all counted from 1.
    pub(crate) fn original(&self, line: u32, column: u32) -> Option<(u32, u32)> {
        let at = [line.checked_sub(1)?, column.saturating_sub(1)];
        let before = self.0.partition_point(|[code_line, code_column, ..]| [*code_line, *code_column] <= at);
        let [_, _, line, column] = self.0.get(before.checked_sub(1)?)?;
        Some((line + 1, column + 1))
    }
}

/// Takes the types off `source`.
///
/// # Errors
///
/// `FILE:LINE:COLUMN: what is wrong`, for the first mistake.
pub(crate) fn strip(source: &str, path: &Path) -> Result<Stripped, String> {
    let shown = path.display();
    if source.len() > MAX_SOURCE {
        return Err(format!("{shown} has {} bytes; a script may have {MAX_SOURCE}", source.len()));
    }
    let kind = SourceType::from_path(path).unwrap_or_else(|_| SourceType::ts());
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, kind).parse();
    if let Some(error) = parsed.diagnostics.iter().next() {
        let offset = error.labels.first().map_or(0, |label| label.offset());
        return Err(at(source, path, offset as usize, &error.message));
    }
    let mut program = parsed.program;
    let semantic = SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true).build(&program);
    let scoping = semantic.semantic.into_scoping();
    let mut options = TransformOptions::default();
    options.decorator.legacy = true;
    options.helper_loader.mode = HelperLoaderMode::External;
    let transformed = Transformer::new(&allocator, path, &options).build_with_scoping(scoping, &mut program);
    if let Some(error) = transformed.diagnostics.iter().next() {
        let offset = error.labels.first().map_or(0, |label| label.offset());
        return Err(at(source, path, offset as usize, &error.message));
    }
    let options = CodegenOptions { source_map_path: Some(path.to_path_buf()), ..CodegenOptions::default() };
    let made = Codegen::new().with_options(options).with_source_text(source).build(&program);
    let lines = made.map.as_ref().map_or_else(Lines::default, |map| {
        let of = map.get_tokens();
        Lines(of.map(|one| [one.get_dst_line(), one.get_dst_col(), one.get_src_line(), one.get_src_col()]).collect())
    });
    Ok(Stripped { code: made.code, lines })
}

/// Takes the types off what comes over standard input, whose first line is the path of the file, for a host. Gives up
/// all rights before it is called, where it can.
///
/// # Errors
///
/// What is wrong with it, for standard error.
pub fn strip_types(from: impl std::io::Read) -> Result<String, String> {
    let mut text = String::new();
    let mut from = from.take(MAX_SOURCE as u64 + 4096);
    std::io::Read::read_to_string(&mut from, &mut text).map_err(|error| error.to_string())?;
    let (path, source) = text.split_once('\n').ok_or("there is no path before it")?;
    strip(source, Path::new(path)).map(|stripped| stripped.code)
}

/// `FILE:LINE:COLUMN: message` for the byte `offset`.
fn at(source: &str, path: &Path, offset: usize, message: &str) -> String {
    let before = source.get(..offset).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{}:{line}:{column}: {message}", path.display())
}
