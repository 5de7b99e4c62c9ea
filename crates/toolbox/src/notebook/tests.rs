use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, want: &Expect) {
    want.assert_eq(&render(text, 1, 100).unwrap().text);
}

const FOUR: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "a",
   "metadata": {},
   "source": [
    "# Title\n",
    "\n",
    "![plot](attachment:plot.png)"
   ],
   "attachments": {"plot.png": {"image/png": "QUJD"}}
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "metadata": {},
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
    {"output_type": "stream", "name": "stdout", "text": "three\n"},
    {"output_type": "stream", "name": "stderr", "text": "a warning\n"},
    {"output_type": "execute_result", "data": {"text/html": "<b>2</b>", "text/plain": ["2"]}, "execution_count": 3},
    {"output_type": "display_data", "data": {"image/png": "REVG\nRw==\n", "text/plain": "<Figure>"}},
    {"output_type": "display_data", "data": {"application/vnd.plotly.v1+json": {"x": 1}}},
    {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["\u001b[0;31mValueError\u001b[0m: bad"]}
   ],
   "source": [
    "print(\"one\")\n",
    "1 + 1"
   ]
  },
  {"cell_type": "raw", "source": "a\nb", "metadata": {}},
  {"cell_type": "code", "source": [], "outputs": [], "execution_count": null}
 ],
 "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
 "nbformat": 4,
 "nbformat_minor": 5
}"##;

#[test]
fn cells_come_with_the_lines_they_stand_in() {
    check(
        FOUR,
        &expect![[r#"
        [cell 1: markdown, lines 8-10 of the file]
        8: # Title
        9: 
        10: ![plot](attachment:plot.png)
        [attachment plot.png: image/png, attached as image-1.png]

        [cell 2: code, run 3, lines 28-29 of the file]
        28: print("one")
        29: 1 + 1
        [output: stdout]
        | one
        | two
        | three
        [output: stderr]
        | a warning
        [output: text/plain]
        | 2
        [output: image/png, attached as image-2.png]
        [output: application/vnd.plotly.v1+json, not shown]
        [output: error]
        | ValueError: bad

        [cell 3: raw, line 32 of the file]
        32: a
        32: b

        [cell 4: code, empty, at line 33 of the file]
    "#]],
    );
    let rendered = render(FOUR, 1, 100).unwrap();
    let images: Vec<_> = rendered.images.iter().map(|one| (one.name.as_str(), one.base64.as_str())).collect();
    assert_eq!(images, [("image-1.png", "QUJD"), ("image-2.png", "REVGRw==")]);
    assert_eq!(rendered.language.as_deref(), Some("python"));
    // The numbers are true: what stands there is the line as JSON.
    let file: Vec<&str> = FOUR.lines().collect();
    for line in rendered.text.lines() {
        if let Some((number, text)) = line.split_once(": ")
            && let Ok(number) = number.parse::<usize>()
        {
            let json = serde_json::to_string(text).unwrap();
            assert!(file[number - 1].contains(json.trim_matches('"')), "{line}");
        }
    }
}

#[test]
fn version_3_has_worksheets_and_other_names() {
    let text = r#"{"nbformat": 3, "worksheets": [{"cells": [
        {"cell_type": "heading", "level": 2, "source": "Title"},
        {"cell_type": "code", "prompt_number": 7, "input": ["x = 1\n", "x"], "outputs": [
            {"output_type": "pyout", "prompt_number": 7, "text": ["1"]},
            {"output_type": "stream", "stream": "stderr", "text": "hm"},
            {"output_type": "display_data", "png": "QUJD"},
            {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": []}]}
    ]}]}"#;
    check(
        text,
        &expect![[r#"
        [cell 1: heading 2, line 2 of the file]
        2: Title

        [cell 2: code, run 7, line 3 of the file]
        3: x = 1
        3: x
        [output: text]
        | 1
        [output: stderr]
        | hm
        [output: image/png, attached as image-1.png]
        [output: error]
        | E: v
    "#]],
    );
}

#[test]
fn odd_cells_are_shown_as_far_as_they_go() {
    let text = r#"{"nbformat": 4, "cells": [
        5,
        {},
        {"cell_type": "sql", "source": ["one part ", "of a line\n", 7, "two"]},
        {"cell_type": "code", "source": {"a": 1}, "outputs": [5, {}, {"data": {}}], "execution_count": "x"}
    ]}"#;
    check(
        text,
        &expect![[r#"
        [cell 1: cannot be read, at line 2 of the file]

        [cell 2: of unknown type, empty, at line 3 of the file]

        [cell 3: of unknown type, line 4 of the file]
        4: one part of a line
        4: two

        [cell 4: code, empty, at line 5 of the file]
        [output that cannot be read]
        [output: nothing, not shown]
        [output: nothing, not shown]
    "#]],
    );
}

#[test]
fn cells_are_paged() {
    let cell = |number: usize, size: usize| {
        format!("{{\"cell_type\": \"code\", \"source\": \"{number}{}\"}}", "\\nx = 1234567".repeat(size))
    };
    let cells: Vec<String> = (1..=40).map(|number| cell(number, 200)).collect();
    let text = format!("{{\"nbformat\": 4, \"cells\": [{}]}}", cells.join(",\n"));
    let page = |first, limit| {
        let page = render(&text, first, limit).unwrap();
        assert!(page.text.len() <= MAX_PAGE);
        (page.first, page.last, page.is_cut(), page.is_past_the_end())
    };
    assert_eq!(page(3, 2), (3, 4, true, false));
    assert_eq!(page(40, 2), (40, 40, false, false));
    assert_eq!(page(41, 2), (41, 40, false, true));
    assert_eq!(page(1, 0), (1, 0, true, false));
    let (_, last, cut, _) = page(1, 100);
    assert!((2..40).contains(&last) && cut);
    // One cell after the other, each is shown once.
    let mut seen = Vec::new();
    while seen.len() < 40 {
        let page = render(&text, seen.len() + 1, 100).unwrap();
        seen.extend(page.first..=page.last);
    }
    assert_eq!(seen, (1..=40).collect::<Vec<_>>());
    // One that is larger than all is cut, and says where the rest is.
    let text = format!("{{\"nbformat\": 4,\n\"cells\": [\n{}]}}", cell(1, 20_000));
    let page = render(&text, 1, 1).unwrap();
    assert!(
        page.text.len() <= MAX_PAGE
            && page.text.ends_with(" more lines of this cell are in the JSON, from line 3 on]\n")
    );
}

#[test]
fn the_largest_cell_fits() {
    let attachment = |at: usize| format!("\"{at}{}\": {{\"image/png\": \"QUJD\"}}", "\u{1d400}".repeat(100));
    let attachments: Vec<String> = (0..20).map(attachment).collect();
    for output in ["\\n", "y", "y\\n", "\u{1d400}"] {
        let output = format!("{{\"data\": {{\"text/plain\": \"y{}y\"}}}}", output.repeat(9000));
        let text = format!(
            "{{\"nbformat\": 4, \"cells\": [{{\"source\": \"{}\", \"attachments\": {{{}}}, \"outputs\": [{}]}}]}}",
            format!("{}\\n", "\u{1d400}".repeat(999)).repeat(40),
            attachments.join(","),
            vec![output.as_str(); 30].join(",")
        );
        let page = render(&text, 1, 9).unwrap();
        assert!((1..=MAX_PAGE).contains(&page.text.len()), "{}", page.text.len());
    }
}

proptest! {
    #[test]
    fn whatever_a_notebook_holds_it_is_bounded_and_does_no_harm(
        changes in prop::collection::vec((0..FOUR.len(), 0..9usize, "[\\[\\]{}\",:a-z0-9\\\\ü]{0,6}"), 0..6),
        (first, limit) in (0..9usize, 0..9usize),
    ) {
        let mut text = FOUR.to_owned();
        for (at, size, new) in changes {
            let from = text.floor_char_boundary(at.min(text.len()));
            let to = text.ceil_char_boundary((from + size).min(text.len()));
            text.replace_range(from..to, &new);
        }
        if let Ok(page) = render(&text, first, limit) {
            prop_assert!(page.text.len() <= MAX_PAGE && page.images.len() <= MAX_IMAGES);
            prop_assert!(page.first >= 1 && page.last <= page.total.max(page.first - 1));
        }
    }
}

#[test]
fn outputs_and_images_are_bounded() {
    let outputs = |one: &str, count: usize| {
        let outputs = vec![one; count].join(",");
        format!(
            "{{\"nbformat\": 4, \"cells\": [{{\"cell_type\": \"code\", \"source\": \"x\", \"outputs\": [{outputs}]}}]}}"
        )
    };
    let text = outputs(&format!("{{\"data\": {{\"text/plain\": \"{}\"}}}}", "y".repeat(100_000)), 50);
    let page = render(&text, 1, 9).unwrap();
    assert!(page.text.len() < 20_000 && page.text.contains(" more outputs]\n"), "{}", page.text.len());
    let page = render(&outputs("{\"data\": {\"text/plain\": \"y\"}}", 20), 1, 9).unwrap();
    assert!(page.text.ends_with("[4 more outputs]\n"), "{}", page.text);
    let page = render(&outputs("{\"data\": {\"image/png\": \"QUJD\"}}", 10), 1, 9).unwrap();
    assert_eq!((page.images.len(), page.text.matches("not attached: too many images").count()), (MAX_IMAGES, 2));
    let big = format!("{{\"data\": {{\"image/png\": \"{}\"}}}}", "Q".repeat(MAX_IMAGE_BYTES / 2));
    assert_eq!(render(&outputs(&big, 3), 1, 9).unwrap().images.len(), 2);
}

#[test]
fn what_is_no_notebook_is_said() {
    let row = |text: &str, want: &str| assert_eq!(render(text, 1, 9).unwrap_err().to_string(), want);
    row("", "EOF while parsing a value at line 1 column 0");
    row("{\"nbformat\": 4,\n \"cells\": [", "EOF while parsing a list at line 2 column 11");
    row("[]", "invalid length 0, expected struct Notebook with 4 elements at line 1 column 2");
    row("{}", "nbformat is not 3 or 4");
    row("{\"nbformat\": 5, \"cells\": []}", "nbformat is not 3 or 4");
    let empty = render("{\"nbformat\": 4, \"cells\": []}", 1, 9).unwrap();
    assert_eq!((empty.text.as_str(), empty.total, empty.is_past_the_end()), ("", 0, false));
    assert!(render(&"[".repeat(100_000), 1, 9).is_err());
}
