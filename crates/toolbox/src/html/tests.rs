//! Pages and what comes out of them.

use haft_net::Url;
use proptest::prelude::*;

use super::{MAX_OUTPUT, Page, markdown, text};

#[track_caller]
fn md(html: &str, want: &str) {
    assert_eq!(markdown(html, None), want, "{html}");
}

#[track_caller]
fn txt(html: &str, want: &str) {
    assert_eq!(text(html), want, "{html}");
}

#[test]
fn words_and_blocks() {
    md("", "");
    md("<p>a   b\n\n c</p><p>d</p>", "a b c\n\nd");
    md("<p>one<p>two<div>three<b>four", "one\n\ntwo\n\nthree**four**");
    md("<h2>A <em>b</em></h2>text<h3></h3>", "## A *b*\n\ntext");
    md("<h1>a<br>b</h1><p>1<br>2<br><br>3", "# a b\n\n1  \n2\n\n3");
    md("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb");
    md(
        "<blockquote><p>a</p><p>b</p><blockquote>c</blockquote></blockquote><blockquote>d</blockquote>",
        "> a\n>\n> b\n>\n> > c\n\n> d",
    );
    md("a<style>x</style><script>y</script><template>t</template><svg><title>i</title><text>s</text></svg>b", "ab");
    md("<p>a&nbsp;b&shy;c&#x200B;d</p>", "a bcd");
    md("<p hidden>1</p><p style='display:none'>2</p><dialog>3</dialog>4", "4");
    md("H<sub>2</sub>O, 10<sup>6</sup><sup>.</sup>", "H2O, 10^6^.");
    md("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)");
    md("<x-a><template shadowrootmode=open><p>in</p></template></x-a>", "in");
    md("<noscript>no</noscript><object><p>fallback</p></object>", "no\n\nfallback");
}

#[test]
fn emphasis_holds_words_only() {
    md("a<b> b </b>c", "a **b** c");
    md("<b></b><i> </i>x<b><strong>y</strong></b>", "x**y**");
    md("<b><p>a</p><p>b</p></b>", "**a**\n\n**b**");
    md("<em>a <del>b</del></em>", "*a ~~b~~*");
}

#[test]
fn lists() {
    md("<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</ul>", "- a\n- b\n  - c\n- d");
    md("<ol start=3><li>a<li value=9>b<li><p>c</p><p>d</p><li>e</ol>", "3. a\n9. b\n10. c\n\n    d\n11. e");
    md("<p>x</p><ul><li><p>a</p></li><li></li><li><pre>p\n\nq</pre></ul>y", "x\n\n- a\n- ```\n  p\n\n  q\n  ```\n\ny");
    md("<ul><li>a<ul><li>b</ul>c</ul>", "- a\n  - b\n\n  c");
    md("<li>loose", "- loose");
    md("<ul><li><input type=checkbox checked> x<li><input type=checkbox>y</ul>", "- [x] x\n- [ ] y");
    md("<ul><li><ul><li>a</ul></ul>", "- - a");
    md("<dl><dt>T1<dd>D1<dd>D2<dt>T2<dd><p>a<p>b</dl>", "T1\n: D1\n: D2\n\nT2\n: a\n\n  b");
    txt("<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>", "a\nb\nc");
}

#[test]
fn code() {
    md("<p>a<code> b  c </code>d", "a `b c` d");
    md("<code>a`b</code><code>`</code>", "``a`b```` ` ``");
    md(
        "<pre><code class='language-js'>let a = 1;\n  if (a &lt; 2) {}\n</code></pre>",
        "```js\nlet a = 1;\n  if (a < 2) {}\n```",
    );
    md("<pre>\n\ta\n</pre>", "```\n\ta\n```");
    md("<pre>```\nx</pre>", "````\n```\nx\n````");
    md("<pre><div>a</div><div>b</div>c<br>d</pre>", "```\na\nb\nc\nd\n```");
    md("<code><a href=/x title=T>Foo</a></code>", "`Foo`");
    txt("<p>x</p><pre>\n  a\n\n b\n</pre>y", "x\n\n  a\n\n b\n\ny");
}

#[test]
fn links_and_pictures() {
    md("<a href='/x' title='T'>y</a>", "[y](/x \"T\")");
    md("<a href='/x'><strong>Bold</strong> link</a>", "[**Bold** link](/x)");
    md("<a href='/x'><div><h3>Title</h3><p>words</p></div></a>", "### [Title](/x)\n\nwords");
    md("<a href='javascript:x()'>a</a> <a name=b>b</a> <a href=''>c</a> <a href='data:x,y'>d</a>", "a b c d");
    md("<a href=/x aria-label='Home page'><svg></svg></a><a href=/y></a>", "[Home page](/x)");
    md("<h2>Use<a href='#use'>¶</a></h2>", "## Use");
    md("<a href='#part'>part</a>", "[part](#part)");
    md("wow!<a href=/x>a]b</a>", "wow\\![a\\]b](/x)");
    md("<img src=a.png alt='A cat'>", "![A cat](a.png)");
    md("<a href=/x><img src=a.png></a>", "[![](a.png)](/x)");
    md(
        "x<img src='data:image/png;base64,AAAA' alt=big><img src='data:,'><img src=p.gif width=1 height=1>",
        "x![big]()",
    );
    md("<img src='data:,' data-src=real.png>", "![](real.png)");
    md("<iframe src=/v title='A film'>old</iframe><video><source src=a.mp4>old</video>", "[A film](/v)[video](a.mp4)");
}

#[test]
fn addresses_are_made_whole() {
    let base = Url::parse("https://a.example/b/c?d").unwrap();
    let whole = |html: &str| markdown(html, Some(&base));
    assert_eq!(whole("<a href='../x'>y</a><img src=z.png>"), "[y](https://a.example/x)![](https://a.example/b/z.png)");
    assert_eq!(whole("<base href='/deep/'><a href=x>y</a>"), "[y](https://a.example/deep/x)");
    assert_eq!(whole("<a href='#x'>y</a><a href='mailto:a@b'>z</a>"), "[y](#x)[z](mailto:a@b)");
    assert_eq!(whole("<a href='//b.example:x/'>y</a>"), "[y](//b.example:x/)");
}

#[test]
fn tables() {
    let head = "<tr><th>Name<th>Age";
    md(&format!("<table>{head}<tr><td>Ann<td>30</table>"), "| Name | Age |\n| --- | --- |\n| Ann | 30 |");
    md("<table><tr><td>a|b<td><code>x|y</code></table>", "|  |  |\n| --- | --- |\n| a\\|b | `x\\|y` |");
    md("<table><tr><td><b>a</b><p>b<td><ul><li>x<li>y</ul></table>", "|  |  |\n| --- | --- |\n| **a**<br>b | x<br>y |");
    md(
        &format!("<table><caption>Cap</caption>{head}<tr><td colspan=2>a<tr><td>b</table>z"),
        "Cap\n\n| Name | Age |\n| --- | --- |\n| a |  |\n| b |\n\nz",
    );
    md("<table><tr><td><h2>A</h2><td>b</table>", "## A\n\nb");
    md("<table><tr><td><table><tr><td>a<td>b</table><td>c</table>", "|  |  |\n| --- | --- |\n| a | b |\n\nc");
    md("<ul><li><table><tr><td>a<td>b</table></ul>", "- |  |  |\n  | --- | --- |\n  | a | b |");
    txt(&format!("<table>{head}<tr><td>Ann<td>30</table>"), "Name\tAge\nAnn\t30");
}

#[test]
fn signs_of_markdown_in_words_stay_words() {
    md("<p>snake_case _a_ 2*3 * 4 `x`", "snake_case \\_a\\_ 2\\*3 * 4 \\`x\\`");
    md("<p># a<p>1. b<p>- c<p>+ d<p>> e<p>---<p>* f", "\\# a\n\n1\\. b\n\n\\- c\n\n\\+ d\n\n\\> e\n\n\\---\n\n\\* f");
    md("<p><span>1</span>. a<p>1.5 #b -c x-y", "1\\. a\n\n1.5 #b -c x-y");
    md("<p>&lt;tag&gt; 1 &lt; 2 &amp; &amp;amp; a&amp;b", "\\<tag> 1 < 2 & \\&amp; a&b");
    md("<p>[a](b) [c] arr[0]: \\ \\n \\*", "[a]\\(b) [c] arr[0]\\: \\ \\n \\\\\\*");
    md("<h2># x #</h2>", "## \\# x \\#");
    txt("<p># a * b &lt;c&gt; _d_", "# a * b <c> _d_");
}

#[test]
fn the_title_comes_first_and_once() {
    md("<title> A\n b </title><p>c", "A b\n\nc");
    md("<title>A b</title><h1>A  <i>b</i></h1>c", "# A *b*\n\nc");
    txt("<title>A</title><p>c", "A\n\nc");
    md("<svg><title>icon</title></svg>x", "x");
}

#[test]
fn text_is_what_readers_see() {
    txt("<div>a</div><div>b<br>c</div><p>d</p>e", "a\nb\nc\n\nd\n\ne");
    txt("<p>See <a href=x>the <b>site</b> </a>.", "See the site .");
    txt("1 < 2 & 3 > 2", "1 < 2 & 3 > 2");
    txt("<p><noscript>n</noscript><object>o</object><iframe>i</iframe>x<q>y</q>", "x\"y\"");
    txt("<math><mi>x</mi><annotation encoding='application/x-tex'>x_1</annotation></math>", "x_1");
}

#[test]
fn a_page_tells_about_itself() {
    let page =
        Page::read("<meta http-equiv=Refresh content='0; url=/new'><script src=app.js></script><div id=root></div>");
    assert_eq!(page.refresh(), Some("/new"));
    assert!(page.needs_script());
    assert!(!Page::read("<div id=root></div>").needs_script(), "an empty page is empty");
    let article = format!("<script></script><p>{}", "word ".repeat(100));
    assert!(!Page::read(&article).needs_script());
}

/// Half a megabyte each of what takes a careless reader hours or all of its stack.
#[test]
fn large_hostile_pages_are_read_in_time() {
    let size = 512 * 1024;
    let full = |unit: &str| unit.repeat(size / unit.len());
    let many: String = (0..size / 10).map(|number| format!("<b id={number}>")).collect();
    for page in [
        full("<div>"),
        full("<b>"),
        full("<ul><li>"),
        full("<blockquote>x<br>"),
        full("<table><tr><td>"),
        full("<a href=x><p>"),
        full("</x><div>"),
        full("<p>x</p>"),
        full("<math><annotation-xml encoding=text/html>"),
        full("<dl><dt>"),
        full("&amp;`*_[]"),
        full("<table><tr><td colspan=1000>x"),
        format!("<p{}", full(" a")),
        format!("<code>{}", full("`")),
        format!("<pre>{}", full("`\n")),
        many,
    ] {
        let out = markdown(&page, None);
        assert!(out.len() <= MAX_OUTPUT + size, "{}", &page[..20]);
        assert!(text(&page).len() <= MAX_OUTPUT + size, "{}", &page[..20]);
    }
}

fn piece() -> impl Strategy<Value = String> {
    let tags = "(p|div|ul|ol|li|table|tr|td|th|b|i|a href=x|a|code|pre|br|h1|blockquote|dl|dt|dd|svg|math|template|select|option|img src=y|q|caption|form|script|object|noscript|ruby|rt|input type=checkbox)";
    let regex = |text: String| prop::string::string_regex(&text).unwrap();
    prop_oneof![
        4 => regex(format!("<{tags}>")),
        2 => regex(format!("</{tags}>")),
        2 => "[a-z*_`|\\[\\]()<>&#. \n-]{0,6}",
        1 => "\\PC{0,4}",
    ]
}

proptest! {
    #[test]
    fn no_page_does_harm(pieces in prop::collection::vec(piece(), 0..60)) {
        let html = pieces.concat();
        let out = markdown(&html, None);
        // Prefixes, fences and escapes are all that is added.
        prop_assert!(out.len() <= 200 * (html.len() + 10), "{out}");
        prop_assert!(text(&html).len() <= 4 * (html.len() + 10));
        let ends = out.starts_with('\n') || out.ends_with('\n');
        prop_assert!(!ends && !out.contains("\n\n\n") || html.contains("<pre"), "{out:?}");
    }

    #[test]
    fn no_text_does_harm(html in "\\PC{0,80}") {
        let _ = (markdown(&html, None), text(&html));
    }
}
