//! The page of reasons, as HTML: for pages that need nothing beside them.

use crate::page::escaped;

/// `docs/reasons.md`.
const PAGE: &str = include_str!("../reasons.md");

/// The heading in a reference to the page.
pub(crate) fn anchor(explained_at: &str) -> &str {
    explained_at.rsplit_once('#').map_or("", |(_, anchor)| anchor)
}

/// What the page says under a heading: paragraphs and lists.
pub(crate) fn html(anchor: &str) -> Option<String> {
    let (_, rest) = PAGE.split_once(&format!("\n### {anchor}\n"))?;
    let end = rest.find("\n## ").into_iter().chain(rest.find("\n### ")).min().unwrap_or(rest.len());
    let blocks = rest[..end].split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    Some(blocks.map(block).collect())
}

fn block(text: &str) -> String {
    let Some(list) = text.strip_prefix("- ") else {
        return format!("<p>{}</p>\n", inline(text));
    };
    let items = list.split("\n- ").map(|item| format!("<li>{}</li>", inline(item)));
    format!("<ul>{}</ul>\n", items.collect::<String>())
}

/// Code, and links as their text: where they lead is not on the page.
fn inline(text: &str) -> String {
    let mut html = String::new();
    for (number, part) in text.split('`').enumerate() {
        let part = escaped(&part.split_whitespace().collect::<Vec<_>>().join(" "));
        if number % 2 == 1 {
            html += &format!(" <code>{part}</code> ");
        } else {
            html += &unlinked(&part);
        }
    }
    let punctuated = [(" .", "."), (" ,", ","), (" :", ":"), (" ;", ";"), (" )", ")"), ("( ", "(")];
    punctuated.iter().fold(html, |html, (from, to)| html.replace(from, to)).trim().to_owned()
}

fn unlinked(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((target, after)) = after.split_once(')') else { break };
        let (before, name) = before.rsplit_once('[').unwrap_or((before, target));
        plain += before;
        plain += name;
        rest = after;
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_paragraphs_and_lists() {
        let html = html("cross-group").expect("it is on the page");
        assert!(html.starts_with("<p>Two kernels touch the same bytes"), "{html}");
        assert!(html.contains("<ul><li>If each invocation really uses its own elements"), "{html}");
        assert!(html.contains("<code>gl_GlobalInvocationID.x</code>"), "{html}");
        assert!(html.contains("cannot be followed (unknown-index)."), "{html}");
        assert!(!html.contains("##") && !html.contains("]("), "{html}");
        assert!(super::html("no-such-reason").is_none());
        assert_eq!(anchor("docs/reasons.md#kernel-call"), "kernel-call");
    }
}
