//! Notebooks: pages of cells follow each other without a gap, whatever the file holds.
#![no_main]

use haft_toolbox::notebook::render;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(page) = render(text, 1, usize::MAX) else { return };
    assert!(page.last <= page.total);
    if page.is_cut() {
        // A page that shows nothing would be asked for again and again.
        assert!(page.last >= page.first, "no cell fits");
        let next = render(text, page.last + 1, 1).unwrap();
        assert_eq!((next.first, next.total), (page.last + 1, page.total));
    }
    let _ = render(text, page.total + 1, 1).map(|page| assert!(page.text.is_empty()));
});
