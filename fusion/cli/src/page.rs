//! What the pages of `run --html` and `bench --html` share: one file each, with nothing that it would have to load.

use std::fmt::Write as _;

/// A page that is being written. In light or dark as the reader has it; what is too wide for a phone scrolls.
pub(crate) struct Page(String);

const STYLE: &str = "\
:root{--ink:#1d2430;--soft:#5c6675;--paper:#fff;--rim:#d8dee7;--bad:#b3261e;--good:#0b7a43;--accent:#1a56b8}\
@media(prefers-color-scheme:dark){:root{--ink:#e7eaf0;--soft:#a0aaba;--paper:#14171c;--rim:#39414d;--bad:#ff8d83;--good:#6fd39a;\
--accent:#8db8ff}}\
*{box-sizing:border-box}body{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;margin:1.5em auto;\
max-width:76em;padding:0 1em;color:var(--ink);background:var(--paper)}h1{font-size:1.5em;margin:.2em 0}h2{font-size:1.15em;\
margin:1.6em 0 .4em}h3{font-size:1em;margin:1em 0 .2em}p{margin:.4em 0;max-width:62em}details{margin:.4em 0;max-width:62em}summary{cursor:pointer;overflow-wrap:anywhere}code{font-size:.92em}.soft{color:var(--soft)}.bad{color:var(--bad);font-weight:600}.good{color:var(--good)}\
.wide{overflow-x:auto}.wide svg{display:block;max-width:100%;min-width:min(24em,var(--width));height:auto}.wide svg.r{min-width:34em}\
table{border-collapse:collapse;width:max-content}td,th{max-width:24em;padding:.25em .8em;text-align:right;border-bottom:1px solid var(--rim);vertical-align:top}\
th{max-width:9.5em}td:first-child,th:first-child{text-align:left;padding-left:0}table.text td,table.text th{text-align:left}\
a{color:var(--accent)}\
@media(max-width:36em){body{font-size:14px}table{width:auto}td,th{padding:.25em .4em}table.text td:last-child{min-width:11em}}";

impl Page {
    /// A page with this title, and with what it is about in one line.
    pub(crate) fn new(title: &str, about: &str) -> Page {
        let mut page =
            Page(String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"));
        page.0 += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">";
        page.0 += "<meta name=\"color-scheme\" content=\"light dark\">";
        let (title, about) = (escaped(title), escaped(about));
        let _ =
            writeln!(page.0, "<title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>");
        let _ = writeln!(page.0, "<p class=\"soft\">{about}</p>");
        page
    }

    pub(crate) fn heading(&mut self, text: &str) {
        let _ = writeln!(self.0, "<h2>{}</h2>", escaped(text));
    }

    /// A line of text, with a class of the style or none.
    pub(crate) fn line(&mut self, class: &str, text: &str) {
        let _ = writeln!(self.0, "<p class=\"{class}\">{}</p>", escaped(text));
    }

    /// A line of text. Of a long one only the beginning is shown, until the reader unfolds it.
    pub(crate) fn folded(&mut self, text: &str) {
        const SHOWN: usize = 180;
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) if text.len() > end + 80 => {
                let (start, all) = (escaped(&text[..end]), escaped(text));
                let _ = writeln!(self.0, "<details><summary>{start} …</summary>{all}</details>");
            }
            _ => self.line("", text),
        }
    }

    /// A line of text that ends with a link to a heading of this page.
    pub(crate) fn line_to(&mut self, class: &str, text: &str, anchor: &str) {
        let (text, anchor) = (escaped(text), escaped(anchor));
        let _ = writeln!(self.0, "<p class=\"{class}\">{text} <a href=\"#{anchor}\">{anchor}</a></p>");
    }

    /// A heading that can be linked to, and what is under it, as HTML.
    pub(crate) fn section(&mut self, anchor: &str, html: &str) {
        let anchor = escaped(anchor);
        let _ = writeln!(self.0, "<h3 id=\"{anchor}\">{anchor}</h3>\n{html}");
    }

    /// A picture, as SVG.
    pub(crate) fn picture(&mut self, svg: &str) {
        let width = svg.split("width=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("0");
        let _ = writeln!(self.0, "<div class=\"wide\" style=\"--width:{width}px\">{svg}</div>");
    }

    /// A table; nothing if it has no rows. `class` is `text` where the columns are no numbers.
    pub(crate) fn table(&mut self, class: &str, titles: &[&str], rows: &[Vec<String>]) {
        if rows.is_empty() {
            return;
        }
        let _ = write!(self.0, "<div class=\"wide\"><table class=\"{class}\"><tr>");
        titles.iter().for_each(|title| self.0 += &format!("<th>{}</th>", escaped(title)));
        self.0 += "</tr>\n";
        for row in rows {
            self.0 += "<tr>";
            row.iter().for_each(|cell| self.0 += &format!("<td>{}</td>", escaped(cell)));
            self.0 += "</tr>\n";
        }
        self.0 += "</table></div>\n";
    }

    pub(crate) fn finish(mut self) -> String {
        self.0 += "</body></html>\n";
        self.0
    }
}

/// Text as it stands in HTML and in SVG.
pub(crate) fn escaped(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A number with this many digits, or a dash.
pub(crate) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
}
