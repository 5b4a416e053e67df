//! Values where a type is known. That one is of another type is said once: of `let` with a type, results, indices and conditions for both
//! copies, by `side::given`; of arguments, fields and elements by Rust of the host's copy, while the staged one lets it pass, by `stage::fit`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Expr, Lit, Result, Type, parse_quote, spanned::Spanned as _};

use crate::{
    body::{Both, Walk, Want},
    derive::{own, root_at},
    operator::is_assignment,
};

/// Whether it is what has a value in any case, and no choice of others.
fn is_plain(e: &Expr) -> bool {
    match e {
        Expr::Paren(e) => is_plain(&e.expr),
        Expr::Group(e) => is_plain(&e.expr),
        Expr::Binary(e) => !is_assignment(&e.op),
        Expr::Tuple(e) => !e.elems.is_empty(),
        Expr::Lit(_)
        | Expr::Path(_)
        | Expr::Field(_)
        | Expr::Index(_)
        | Expr::Unary(_)
        | Expr::Cast(_)
        | Expr::Array(_)
        | Expr::Repeat(_)
        | Expr::Struct(_)
        | Expr::Call(_)
        | Expr::MethodCall(_) => true,
        _ => false,
    }
}

/// Whether it is a type of values.
fn is_of_values(ty: &Type) -> bool {
    match ty {
        Type::Reference(_) | Type::Infer(_) => false,
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        _ => true,
    }
}

impl Walk {
    /// An expression whose type is known, if one is given.
    pub(crate) fn expr_of(&mut self, e: &Expr, ty: Option<&Type>) -> Result<Both> {
        let Some(ty) = ty.filter(|ty| is_of_values(ty)) else { return self.expr(e, Want::Value) };
        match e {
            Expr::If(e) => self.branch(e, Want::Value, Some(ty)),
            Expr::Match(e) => self.choice(e, Want::Value, Some(ty)),
            Expr::Block(e) if e.label.is_none() => {
                let span = e.span();
                let Both { host, staged } = self.block_of(&e.block, Want::Value, Some(ty));
                Ok(Both::new(quote_spanned!(span=> { #host }), quote_spanned!(span=> { #staged })))
            }
            e => {
                let both = self.expr(e, Want::Value)?;
                Ok(if is_plain(e) { self.typed(both, ty, e.span()) } else { both })
            }
        }
    }

    /// An index into what has one dimension.
    pub(crate) fn number(&mut self, e: &Expr) -> Result<Both> {
        self.expr_of(e, Some(&parse_quote!(u32)))
    }

    /// What `if`, `while` and `assert!` ask.
    pub(crate) fn condition(&mut self, e: &Expr) -> Result<Both> {
        match e {
            Expr::Paren(inner) if matches!(&*inner.expr, Expr::Binary(_)) => self.expr(e, Want::Value),
            Expr::Binary(_) => self.expr(e, Want::Value),
            e => self.expr_of(e, Some(&parse_quote!(bool))),
        }
    }

    /// An expression that Rust says of, in the host's copy, whether it is of the type of a handle.
    pub(crate) fn fitting(&mut self, e: &Expr, handle: &TokenStream) -> Result<Both> {
        let mut both = self.expr(e, Want::Value)?;
        if is_plain(e) {
            both.staged = fit(&both.staged, handle, e.span());
        }
        Ok(both)
    }

    /// Expressions of any types.
    pub(crate) fn each<'a>(&mut self, all: impl Iterator<Item = &'a Expr>) -> Result<Alike> {
        let (mut hosts, mut stages) = (Vec::new(), Vec::new());
        for e in all {
            let Both { host, staged } = self.expr(e, Want::Value)?;
            hosts.push(host);
            stages.push(staged);
        }
        Ok(Alike { hosts, stages, before: TokenStream::new() })
    }

    /// Expressions of one type, all but the first as that, which `like` says.
    pub(crate) fn alike<'a>(&mut self, all: impl Iterator<Item = &'a Expr>, like: &str) -> Result<Alike> {
        let (mut hosts, mut stages) = (Vec::new(), Vec::new());
        let (mut first, mut name) = (None, None);
        for e in all {
            let Both { host, mut staged } = self.expr(e, Want::Value)?;
            hosts.push(host);
            let span = e.span();
            match &first {
                None => first = Some(e),
                Some(first) if is_plain(e) && !are_one_kind(first, e) => {
                    let name = name.get_or_insert_with(|| own("__first", first.span()));
                    let (root, like) = (root_at(span), Ident::new(like, span));
                    staged = quote_spanned!(span=> #root::stage::#like(#name, #staged).fit());
                }
                Some(_) => {}
            }
            stages.push(staged);
        }
        let mut before = TokenStream::new();
        if let (Some(name), Some(first)) = (name, stages.first_mut()) {
            before = quote!(let #name = #first;);
            *first = quote!(#name);
        }
        Ok(Alike { hosts, stages, before })
    }

    /// What is assigned, to what is there.
    pub(crate) fn assigned_value(&self, at: &Both, new: Both, span: Span) -> Both {
        let (root, typed) = (root_at(span), Ident::new("typed", span));
        let (host_at, staged_at, host, staged) = (&at.host, &at.staged, new.host, new.staged);
        if self.is_const {
            let fit = Ident::new("fit", span);
            return Both::new(
                host,
                quote_spanned!(span=> #root::stage::assigned(#staged_at, #staged).#fit()),
            );
        }
        Both::new(
            quote_spanned!(span=> #root::side::assigned(&#host_at, #host).#typed()),
            quote_spanned!(span=> #root::side::stage_assigned(#staged_at, #staged).#typed()),
        )
    }

    fn typed(&self, both: Both, ty: &Type, span: Span) -> Both {
        let (root, typed) = (root_at(span), Ident::new("typed", span));
        let Both { host, staged } = both;
        if self.is_const {
            return Both::new(host, fit(&staged, &quote!(#root::stage::Val<#ty>), span));
        }
        Both::new(
            quote_spanned!(span=> #root::side::given::<#root::side::Host, _, #ty>(#host).#typed()),
            quote_spanned!(span=> #root::side::given::<#root::side::Staged, _, #ty>(#staged).#typed()),
        )
    }
}

/// Expressions, one after the other.
pub(crate) struct Alike {
    pub(crate) hosts: Vec<TokenStream>,
    pub(crate) stages: Vec<TokenStream>,
    /// What the staged copy does first.
    pub(crate) before: TokenStream,
}

/// A handle where one of a type is expected.
fn fit(staged: &TokenStream, handle: &TokenStream, span: Span) -> TokenStream {
    let root = root_at(span);
    quote_spanned!(span=> #root::stage::fit::<_, #handle>(#staged).fit())
}

/// Whether both are literals of one type, or of what may become one.
fn are_one_kind(a: &Expr, b: &Expr) -> bool {
    fn kind(e: &Expr) -> Option<(bool, String)> {
        match e {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(int) => Some((false, int.suffix().to_owned())),
                Lit::Float(float) => Some((true, float.suffix().to_owned())),
                _ => None,
            },
            Expr::Unary(e) => kind(&e.expr),
            _ => None,
        }
    }
    kind(a).is_some_and(|of| Some(of) == kind(b))
}
