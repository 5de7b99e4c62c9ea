use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::super::Paint;
use super::*;

const PLAIN: Look = Look { columns: 40, paint: Paint::OFF };

/// Everything at once, by one walk over what the parser made of the whole.
fn at_once(text: &str, look: Look) -> Vec<String> {
    let source: String = text
        .split_inclusive('\n')
        .map(|line| match line.strip_suffix('\n') {
            Some(line) => safe(line) + "\n",
            None => safe(line),
        })
        .collect();
    let found = parsed(&source);
    let budget = Budget::default();
    let layout = Layout { source: &source, look, budget: &budget };
    let mut events: Events<'_, '_> = found.iter().peekable();
    let (mut lines, mut last) = (Vec::new(), None);
    while let Some((event, range)) = events.peek() {
        let next = kind(event);
        if last.is_some_and(|last| is_apart(last, next, is_blank_before(&source, range.start))) {
            lines.push(Line::new());
        }
        lines.extend(layout.block(&mut events, look.columns, 0));
        last = Some(next);
    }
    lines.iter().map(|line| painted(line, look.paint)).collect()
}

/// The same in pieces of so many bytes, looked at after each.
fn in_pieces(text: &str, look: Look, sizes: &[usize]) -> Vec<String> {
    let mut markdown = Markdown::new(look);
    let mut lines = Vec::new();
    let mut rest = text;
    for size in sizes.iter().cycle() {
        let end = (*size..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        markdown.push(&rest[..end]);
        rest = &rest[end..];
        lines.extend(markdown.settle());
        assert!(markdown.tail(3).len() <= 3);
        if rest.is_empty() {
            break;
        }
    }
    lines.extend(markdown.end());
    lines
}

#[track_caller]
fn check(text: &str, look: Look, want: Expect) {
    let lines = at_once(text, look);
    want.assert_eq(&lines.join("\n").replace('\u{1b}', "␛"));
    for sizes in [&[1][..], &[3], &[7, 2], &[1000]] {
        assert_eq!(in_pieces(text, look, sizes), lines, "in pieces of {sizes:?}");
    }
}

#[test]
fn words_are_broken_at_the_edge_and_lines_stay_lines() {
    check(
        "Some *slanted*, **bold**, ~~struck~~ and `coded` words that are too long for a line.\nAnother line.\n\nNext paragraph.",
        PLAIN,
        expect![[r#"
            Some *slanted*, **bold**, ~~struck~~ and
            `coded` words that are too long for a
            line.
            Another line.

            Next paragraph."#]],
    );
}

#[test]
fn blocks_stand_apart() {
    check(
        "# One\n## Two\n### Three\ntext\n***\n> a quote\n> of two lines\n>\n> - with a list\n\n    indented code\n",
        PLAIN,
        expect![[r#"
            # One

            ## Two

            ### Three

            text

            ────────────────────────────────────────

            │ a quote
            │ of two lines
            │
            │ • with a list

              indented code"#]],
    );
}

#[test]
fn lists_lie_in_each_other() {
    check(
        "Steps:\n- one\n  more of it\n- two\n  1. first\n  2. second\n\n     below it\n- [x] done\n- [ ] open and so long that it has to be broken somewhere\n\n3. three\n3. four\n\n\n3. five\n* other\n",
        PLAIN,
        expect![[r#"
            Steps:
            • one
              more of it
            • two
              1. first
              2. second

                 below it
            [✓] done
            [ ] open and so long that it has to be
              broken somewhere

            3. three
            4. four

            5. five

            • other"#]],
    );
}

#[test]
fn code_is_shown_as_it_is() {
    check(
        "Look:\n```rust\nfn main() {\n\tprintln!(\"a line of code that is too long for the screen\");\n\n}\n```\nand\n~~~\n```\n~~~\n- in a list:\n  ```sh\n  ls\n  ```\n\n```\nnever ended\n",
        PLAIN,
        expect![[r#"
            Look:

              fn main() {
                  println!("a line of code that is too long for the screen");

              }

            and

              ```

            • in a list:
                ls

              never ended"#]],
    );
}

#[test]
fn tables_fit() {
    let text = "| Name | What it is | Cost |\n|:--|:-:|--:|\n| `read` | reads a file or a folder or a picture | 1 |\n| 漢字 | **wide** | 200 |\n| short |\n";
    check(
        text,
        PLAIN,
        expect![[r#"
        Name   │        What it is        │ Cost
        ───────┼──────────────────────────┼─────
        `read` │ reads a file or a folder │    1
               │       or a picture       │
        漢字   │         **wide**         │  200
        short  │                          │"#]],
    );
    check(
        text,
        Look { columns: 18, ..PLAIN },
        expect![[r#"
        Name: `read`
        What it is: reads
        a file or a folder
        or a picture
        Cost: 1

        Name: 漢字
        What it is:
        **wide**
        Cost: 200

        Name: short
        What it is:
        Cost:"#]],
    );
    check(
        text,
        Look { columns: 100, ..PLAIN },
        expect![[r#"
        Name   │              What it is               │ Cost
        ───────┼───────────────────────────────────────┼─────
        `read` │ reads a file or a folder or a picture │    1
        漢字   │               **wide**                │  200
        short  │                                       │"#]],
    );
}

#[test]
fn links_say_where_they_lead() {
    check(
        "[here](https://a.b/c), <https://d.e>, [https://f.g](https://f.g), ![a cat](cat.png), [ref][1] and [x\u{202e}y](http://a\u{200b}.b).\n\n[1]: https://h.i",
        Look { columns: 200, ..PLAIN },
        expect![[r#"
            here (https://a.b/c), https://d.e, https://f.g, picture: a cat (cat.png), [ref][1] and xy (http://a\u{200b}.b).

            [1]: https://h.i"#]],
    );
}

#[test]
fn styles_are_painted() {
    check(
        "# One\nA *b* **c** `d` [e](f).\n\n- g\n\n> h\n\n```rust\nlet x = 1;\n```\n",
        Look { columns: 40, paint: Paint::ON },
        expect![[r#"
            ␛[1;4mOne␛[0m

            A ␛[3mb␛[0m ␛[1mc␛[0m ␛[36md␛[0m ␛[4me␛[0m␛[2m (f)␛[0m.

            ␛[2m• ␛[0mg

            ␛[2m│ ␛[0mh

              ␛[35mlet␛[0m x ␛[35m=␛[0m ␛[33m1␛[0m;"#]],
    );
}

#[test]
fn raw_html_is_text() {
    check(
        "<div>\n<b>x</b>\n</div>\n\na <b>c</b> <!-- d -->\n",
        PLAIN,
        expect![[r#"
        <div>
        <b>x</b>
        </div>

        a <b>c</b> <!-- d -->"#]],
    );
}

#[test]
fn nothing_drives_the_terminal() {
    let hostile = "a\u{1b}[2J\u{1b}]0;t\u{7}b";
    let text = format!(
        "{hostile} `{hostile}` [{hostile}](http://{hostile})\n\n```{hostile}\n{hostile}\n```\n\n|{hostile}|\n|-|\n|{hostile}|\n\n<p>{hostile}</p>\n\n&#27;[2J &#x1b;]0;t&#7; [x](&#27;c)\n\n```&#27;c\n```\n"
    );
    for sizes in [&[1][..], &[5], &[10_000]] {
        let shown = in_pieces(&text, PLAIN, sizes).join("\n");
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    }
}

#[test]
fn deep_nesting_is_bounded() {
    for text in ["> ".repeat(5_000) + "x", "- ".repeat(5_000) + "x", "*".repeat(20_000) + "x", "[".repeat(20_000)] {
        let lines = in_pieces(&text, PLAIN, &[4096]);
        assert!(lines.len() < 5_000, "{}", lines.len());
    }
}

/// Lines that make and end every kind of block, in every order.
fn line() -> impl Strategy<Value = String> {
    let lines = [
        "",
        " ",
        "a",
        "b c",
        "# h",
        "- i",
        "  - j",
        "    k",
        "1. n",
        "2) o",
        "* p",
        "> q",
        ">",
        "> - r",
        "```",
        "```rust",
        "  ```",
        "~~~",
        "````",
        "---",
        "===",
        "***",
        "|a|b|",
        "|-|-|",
        "| c | d |",
        "<div>",
        "</div>",
        "<!-- x",
        "-->",
        "[l]: http://m",
        "[l]",
        "\t t",
        "   - deep",
        "     x",
        "-",
        "1.",
        "`u",
        "**v",
        "v**",
        "\\",
        "    ```",
        "- ```",
        "  x",
        "<pre>",
        "</pre>",
        "10. z",
        "- [ ] w",
        "a  ",
        ":-:|-",
        "a|b",
        "&#96;",
        "* * *",
        "- - x",
        "+",
        "   ",
        "#",
        "#x",
        "[l]:",
        "http://m",
        "\"t\"",
    ];
    prop::sample::select(lines.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_pieces_do_not_matter(lines in prop::collection::vec(line(), 0..14), sizes in prop::collection::vec(1_usize..12, 1..6), ended: bool) {
        let mut text = lines.join("\n");
        if ended {
            text.push('\n');
        }
        prop_assert_eq!(in_pieces(&text, PLAIN, &sizes), at_once(&text, PLAIN), "{:?}", text);
    }

    #[test]
    fn any_text_can_be_shown(text in "\\PC{0,60}|(?s).{0,60}", sizes in prop::collection::vec(1_usize..12, 1..6), columns in 0_usize..30) {
        let look = Look { columns, ..PLAIN };
        prop_assert_eq!(in_pieces(&text, look, &sizes), at_once(&text, look), "{:?}", text);
    }
}
