//! Chains of conditions that may bind names: `if a && let Some(x) = b && x > c`.
//!
//! On the host they stay as they are. In the staged copy each condition stands inside of the one before it, with its names, and
//! what comes otherwise stands once behind all of them.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{BinOp, Expr, ExprIf, ExprWhile, Result, spanned::Spanned};

use crate::{
    body::{Both, Walk, Want},
    derive::{own, root, root_at},
    flow::staged_label,
};

/// One condition of a chain: what is before it is evaluated, what it asks, and the names that it binds.
struct Link {
    before: TokenStream,
    condition: TokenStream,
    names: TokenStream,
}

/// Whether a condition is a chain.
pub(crate) fn is(condition: &Expr) -> bool {
    let mut parts = Vec::new();
    parts_of(condition, &mut parts);
    parts.len() > 1 && parts.iter().any(|part| matches!(part, Expr::Let(_)))
}

/// The conditions between `&&`, in order. What is in parentheses binds no names, and is one.
fn parts_of<'a>(condition: &'a Expr, parts: &mut Vec<&'a Expr>) {
    match condition {
        Expr::Binary(both) if matches!(both.op, BinOp::And(_)) => {
            parts_of(&both.left, parts);
            parts_of(&both.right, parts);
        }
        one => parts.push(one),
    }
}

/// What comes if all hold, inside of them.
fn inside(links: Vec<Link>, innermost: TokenStream) -> TokenStream {
    let root = root();
    links.into_iter().rev().fold(innermost, |inner, Link { before, condition, names }| {
        quote!({ #before #root::stage::if_then(#condition, || { #names #inner }); })
    })
}

impl Walk {
    /// The conditions for the host, and for the staged copy. The names are those of a scope that the caller has begun.
    fn links(&mut self, condition: &Expr) -> Result<(TokenStream, Vec<Link>)> {
        let mut parts = Vec::new();
        parts_of(condition, &mut parts);
        let (mut hosts, mut links) = (Vec::new(), Vec::new());
        for part in parts {
            let Expr::Let(matched) = part else {
                let Both { host, staged } = self.expr(part, Want::Value)?;
                // Of lower precedence than `&&`, some would take what is before them along.
                hosts.push(quote!((#host)));
                links.push(Link { before: quote!(), condition: staged, names: quote!() });
                continue;
            };
            let (on, condition, names) = self.matched(matched)?;
            let (pat, value, on_host, on) =
                (&matched.pat, own("__on", matched.pat.span()), on.host, on.staged);
            hosts.push(quote_spanned!(matched.span()=> let #pat = #on_host));
            links.push(Link { before: quote!(let #value = #on;), condition, names });
        }
        Ok((quote!(#(#hosts)&&*), links))
    }

    pub(crate) fn if_chain(&mut self, e: &ExprIf, want: Want) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        let (host_c, links, then) = self.scoped(|walk| {
            let (host, links) = walk.links(&e.cond)?;
            Ok::<_, syn::Error>((host, links, walk.block(&e.then_branch, want)))
        })?;
        let (host_t, staged_t) = (then.host, then.staged);
        let Some((_, other)) = &e.else_branch else {
            return Ok(Both::new(quote_spanned!(span=> if #host_c { #host_t }), inside(links, staged_t)));
        };
        let Both { host: host_o, staged: staged_o } = self.expr(other, want)?;
        let end = (want == Want::Nothing).then(|| quote!(;));
        let chain = own("__chain", span);
        let staged = inside(links, quote!(#chain.holds(|| { #staged_t #end });));
        Ok(Both::new(
            quote_spanned!(span=> if #host_c { #host_t } else { #host_o }),
            quote_spanned!(span=> #root::stage::if_chain(|#chain| #staged, || { #staged_o #end })),
        ))
    }

    pub(crate) fn while_chain(&mut self, e: &ExprWhile) -> Result<Both> {
        let (root, span) = (root_at(e.span()), e.span());
        let (label, named) = (&e.label, staged_label(&e.label));
        let (host_c, links, body) = self.scoped(|walk| {
            let (host, links) = walk.links(&e.cond)?;
            let (body, _) = walk.rounds(label, false, |walk| Ok(walk.block(&e.body, Want::Nothing)))?;
            Ok::<_, syn::Error>((host, links, body))
        })?;
        let (host, staged) = (body.host, body.staged);
        let chain = own("__chain", span);
        let staged = inside(links, quote!(#chain.holds(|| { #staged; });));
        Ok(Both::new(
            quote_spanned!(span=> #label while #host_c { #host }),
            quote_spanned!(span=> {
                #named
                #root::stage::loop_(|| #root::stage::if_chain(|#chain| #staged, || #root::stage::break_()))
            }),
        ))
    }
}
