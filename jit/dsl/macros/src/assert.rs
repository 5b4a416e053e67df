//! Macros in bodies: assertions, which the checking mode looks at; all others are refused.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Expr, Macro, Result, Token, parse::Parser as _, punctuated::Punctuated, spanned::Spanned};

use crate::{
    body::{Both, Walk, Want},
    derive::root_at,
    refuse,
};

impl Walk {
    /// `assert!`, `debug_assert!` and `unreachable!`. On the host they panic.
    pub(crate) fn macro_call(&mut self, mac: &Macro, want: Want) -> Result<Both> {
        let name = mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let (root, span) = (root_at(mac.span()), mac.span());
        let path = &mac.path;
        match name.as_str() {
            "assert" | "debug_assert" => {
                let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
                let arguments = parser.parse2(mac.tokens.clone())?;
                let Some(condition) = arguments.first() else {
                    return refuse::error(mac, "`assert!` without a condition in a kernel: write it");
                };
                let text = said(path.span(), &format!("{name}!({})", words(&quote!(#condition))));
                let Both { host, staged } = self.condition(condition)?;
                Ok(Both::new(
                    quote_spanned!(span=> ::core::assert!(#host)),
                    quote_spanned!(span=> #root::stage::assert(#staged, #text)),
                ))
            }
            "unreachable" => {
                let text = said(path.span(), "unreachable!()");
                let staged = match want {
                    Want::Value => quote_spanned!(span=> #root::stage::nowhere(#text)),
                    Want::Nothing => {
                        quote_spanned!(span=> #root::stage::assert(#root::stage::constant(false), #text))
                    }
                };
                Ok(Both::new(quote_spanned!(span=> ::core::unreachable!()), staged))
            }
            name => {
                refuse::error(mac, format!("macro `{name}!` in a kernel: {}", refuse::macro_instead(name)))
            }
        }
    }
}

/// Tokens as they are usually written: without the blanks around points and inside of parentheses.
fn words(tokens: &TokenStream) -> String {
    let text: Vec<char> = tokens.to_string().chars().collect();
    let is_kept = |k: usize| {
        let (before, after) = (text[k.saturating_sub(1)], text.get(k + 1).copied().unwrap_or_default());
        text[k] != ' '
            || !(matches!(before, '.' | '(' | '&' | '!')
                || matches!(after, '.' | ')' | ',')
                || (before.is_alphanumeric() && after == '('))
    };
    (0..text.len()).filter(|&k| is_kept(k)).map(|k| text[k]).collect()
}

/// What the report says, with file and line.
fn said(span: proc_macro2::Span, what: &str) -> TokenStream {
    quote_spanned!(span=> ::core::concat!(::core::file!(), ":", ::core::line!(), ": ", #what))
}
