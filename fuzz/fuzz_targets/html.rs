//! Pages: both forms of any text, within their bound.
#![no_main]

use haft_toolbox::html::{MAX_OUTPUT, Page};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|html: &str| {
    let page = Page::read(html);
    let (markdown, text) = (page.markdown(None), page.text());
    // The last word may end behind it.
    for out in [&markdown, &text] {
        assert!(out.len() <= MAX_OUTPUT + html.len() + 1024, "{} bytes", out.len());
    }
    let _ = (page.is_cut(), page.needs_script(), page.refresh());
});
