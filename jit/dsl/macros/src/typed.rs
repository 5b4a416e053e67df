//! Values where a type is known: `let` with a type, results, indices, conditions, arguments. That one is of another type is said once
//! for both copies, by `side::given`; Rust itself would say it of each.

use proc_macro2::{Ident, Span};
use quote::quote_spanned;
use syn::{Expr, Path, PathArguments, Result, Type, parse_quote, spanned::Spanned as _};

use crate::{
    attribute::given_name,
    body::{Both, Walk, Want},
    derive::root_at,
    expr::single,
    operator::is_assignment,
};

/// What is called, as far as it says of what types arguments are.
#[derive(Clone, Copy)]
pub(crate) enum Callee<'a> {
    /// A marked function.
    Function(&'a Path),
    /// A function of `Self`.
    Own(&'a Ident),
    /// A method of an accessor or an item, which takes a number first.
    Element,
    /// What says nothing.
    Other,
}

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

    /// An argument of a call.
    pub(crate) fn argument(&mut self, e: &Expr, callee: Callee<'_>, k: usize) -> Result<Both> {
        let (path, of) = match callee {
            Callee::Function(path) => (path.clone(), None),
            Callee::Own(name) => (Path::from(Ident::new("Self", e.span())), Some(name)),
            Callee::Element if k == 0 => return self.number(e),
            Callee::Element | Callee::Other => return self.expr(e, Want::Value),
        };
        let both = self.expr(e, Want::Value)?;
        let is_lent = match e {
            Expr::Path(e) => single(&e.path).is_some_and(|name| self.is_lent(name) || name == "self"),
            _ => false,
        };
        if self.is_const || is_lent || !is_plain(e) {
            return Ok(both);
        }
        let span = e.span();
        let (root, typed, given) = (root_at(span), Ident::new("typed", span), given_name(k, of, span));
        let mut path = path;
        if let Some(last) = path.segments.last_mut() {
            last.arguments = PathArguments::None;
        }
        let Both { host, staged } = both;
        Ok(Both::new(
            quote_spanned!(span=> #path::#given::<#root::side::Host, _>(#host).#typed()),
            quote_spanned!(span=> #path::#given::<#root::side::Staged, _>(#staged).#typed()),
        ))
    }

    /// What is assigned, to what is there.
    pub(crate) fn assigned_value(&self, at: &Both, new: Both, span: Span) -> Both {
        if self.is_const {
            return new;
        }
        let (root, typed) = (root_at(span), Ident::new("typed", span));
        let (host_at, staged_at, host, staged) = (&at.host, &at.staged, new.host, new.staged);
        Both::new(
            quote_spanned!(span=> #root::side::assigned(&#host_at, #host).#typed()),
            quote_spanned!(span=> #root::side::stage_assigned(#staged_at, #staged).#typed()),
        )
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
