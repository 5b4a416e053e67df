//! Values where a type is known: `let` with a type, results, indices, conditions, arguments. That one is of another type is said once
//! for both copies, by `side::given`; Rust itself would say it of each.

use proc_macro2::{Ident, Span};
use quote::{format_ident, quote_spanned};
use syn::{Expr, Path, PathArguments, Result, Type, parse_quote, spanned::Spanned as _};

use crate::{
    body::{Both, Walk, Want},
    derive::root_at,
    expr::single,
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
            Expr::Binary(_) => self.expr(e, Want::Value),
            e => self.expr_of(e, Some(&parse_quote!(bool))),
        }
    }

    /// An argument of a marked function that `function` names, which takes it through a function of its own.
    pub(crate) fn argument(&mut self, e: &Expr, function: &Path, k: usize) -> Result<Both> {
        let both = self.expr(e, Want::Value)?;
        let is_lent = matches!(e, Expr::Path(path) if single(&path.path).is_some_and(|name| self.is_lent(name) || name == "self"));
        if self.is_const || is_lent || !is_plain(e) {
            return Ok(both);
        }
        let span = e.span();
        let (root, typed, given) =
            (root_at(span), Ident::new("typed", span), format_ident!("__given{k}", span = span));
        let mut function = function.clone();
        if let Some(last) = function.segments.last_mut() {
            last.arguments = PathArguments::None;
        }
        let Both { host, staged } = both;
        Ok(Both::new(
            quote_spanned!(span=> #function::#given::<#root::side::Host, _>(#host).#typed()),
            quote_spanned!(span=> #function::#given::<#root::side::Staged, _>(#staged).#typed()),
        ))
    }

    fn typed(&self, both: Both, ty: &Type, span: Span) -> Both {
        if self.is_const {
            return both;
        }
        let (root, typed) = (root_at(span), Ident::new("typed", span));
        let Both { host, staged } = both;
        Both::new(
            quote_spanned!(span=> #root::side::given::<#root::side::Host, _, #ty>(#host).#typed()),
            quote_spanned!(span=> #root::side::given::<#root::side::Staged, _, #ty>(#staged).#typed()),
        )
    }
}
