//! A body, written down twice.
//!
//! Both copies come from one walk, so that they cannot differ in what they mean. In the host's, operators and indexing are
//! calls of functions that cannot panic; the rest is as it was. In the staged one every expression is a call.

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Block, Error, Expr, Lifetime, Local, Pat, Result, Stmt, spanned::Spanned};

use crate::{derive::root, refuse};

/// The two copies of a part.
#[derive(Default)]
pub(crate) struct Both {
    pub(crate) host: TokenStream,
    pub(crate) staged: TokenStream,
}

impl Both {
    pub(crate) fn new(host: TokenStream, staged: TokenStream) -> Both {
        Both { host, staged }
    }
}

/// Whether the value of an expression is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Value,
    Nothing,
}

/// What a `return` does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returns {
    /// Ends the kernel.
    Kernel,
    /// Leaves a function that gives nothing.
    Nothing,
    /// Leaves a function with a value.
    Value,
}

/// A loop around.
pub(crate) struct Round {
    pub(crate) label: Option<String>,
    /// Whether it is a `loop`, which `break` can give a value.
    pub(crate) endless: bool,
    /// Whether a `break` gives it one.
    pub(crate) gives: bool,
}

/// What is known while a body is walked.
pub(crate) struct Walk {
    /// Names of locals, innermost last.
    scopes: Vec<HashSet<String>>,
    /// Names that stand for fields of `self`.
    captures: HashSet<String>,
    pub(crate) returns: Returns,
    /// Whether `self` is a reference on the host.
    pub(crate) by_reference: bool,
    /// Loops around, innermost last.
    pub(crate) loops: Vec<Round>,
    /// Assignments so far, and which of them is walked: what its label is told apart by.
    assignments: usize,
    assignment: usize,
    pub(crate) errors: Vec<Error>,
}

impl Walk {
    pub(crate) fn new(returns: Returns, captures: HashSet<String>) -> Walk {
        Walk {
            scopes: vec![HashSet::new()],
            captures,
            returns,
            by_reference: false,
            loops: Vec::new(),
            assignments: 0,
            assignment: 0,
            errors: Vec::new(),
        }
    }

    /// Walks the left side of an assignment, with a label of its own to leave it by.
    pub(crate) fn assigned<R>(&mut self, f: impl FnOnce(&mut Walk) -> R) -> R {
        self.assignments += 1;
        let outer = std::mem::replace(&mut self.assignment, self.assignments);
        let result = f(self);
        self.assignment = outer;
        result
    }

    /// What leaves the assignment.
    pub(crate) fn skip(&self) -> Lifetime {
        Lifetime::new(&format!("'__skip{}", self.assignment), Span::call_site())
    }

    pub(crate) fn declare(&mut self, name: &Ident) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_string());
        }
    }

    pub(crate) fn is_local(&self, name: &Ident) -> bool {
        let name = name.to_string();
        self.scopes.iter().any(|scope| scope.contains(&name))
    }

    pub(crate) fn is_capture(&self, name: &Ident) -> bool {
        !self.is_local(name) && self.captures.contains(&name.to_string())
    }

    pub(crate) fn scoped<R>(&mut self, f: impl FnOnce(&mut Walk) -> R) -> R {
        self.scopes.push(HashSet::new());
        let result = f(self);
        self.scopes.pop();
        result
    }

    /// Keeps an error and goes on, so that all of a body's are reported at once.
    pub(crate) fn take(&mut self, result: Result<Both>) -> Both {
        result.unwrap_or_else(|error| {
            self.errors.push(error);
            Both::new(quote!(::core::unreachable!()), quote!(::core::unreachable!()))
        })
    }

    /// All errors as one.
    pub(crate) fn finish(self) -> Result<()> {
        let all = self.errors.into_iter().reduce(|mut all, error| {
            all.combine(error);
            all
        });
        all.map_or(Ok(()), Err)
    }

    /// The statements of a block, without its braces.
    pub(crate) fn block(&mut self, block: &Block, want: Want) -> Both {
        self.scoped(|walk| {
            let mut both = Both::default();
            let count = block.stmts.len();
            for (k, stmt) in block.stmts.iter().enumerate() {
                let last = k + 1 == count;
                let part = walk.statement(stmt, if last { want } else { Want::Nothing }, last);
                let part = walk.take(part);
                both.host.extend(part.host);
                both.staged.extend(part.staged);
            }
            let ends = matches!(block.stmts.last(), Some(Stmt::Expr(e, Some(_))) if diverges(e));
            if want == Want::Value && ends {
                let root = root();
                both.staged.extend(quote!(#root::stage::never()));
            }
            both
        })
    }

    fn statement(&mut self, stmt: &Stmt, want: Want, last: bool) -> Result<Both> {
        match stmt {
            Stmt::Local(local) => self.local(local),
            Stmt::Item(item @ syn::Item::Const(constant)) => {
                refuse::body_type(&constant.ty)?;
                // A constant of the body hides a local of its name; none of both is ever called alike.
                Ok(Both::new(quote!(#item), quote!(#item)))
            }
            Stmt::Item(item) => Err(refuse::item(item)),
            Stmt::Macro(mac) => {
                let name = mac.mac.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
                refuse::error(mac, format!("macro `{name}!` in a kernel: {}", refuse::macro_instead(&name)))
            }
            Stmt::Expr(e, None) if last && want == Want::Value => self.expr(e, Want::Value),
            Stmt::Expr(e, None) => {
                let Both { host, staged } = self.expr(e, Want::Nothing)?;
                Ok(Both::new(host, quote!(#staged;)))
            }
            Stmt::Expr(e, Some(_)) => {
                let Both { host, staged } = self.expr(e, Want::Nothing)?;
                Ok(Both::new(quote!(#host;), quote!(#staged;)))
            }
        }
    }

    fn local(&mut self, local: &Local) -> Result<Both> {
        let root = root();
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        let Some(init) = &local.init else {
            return refuse::error(local, "a `let` without a value in a kernel: give it one here");
        };
        if let Some((_, other)) = &init.diverge {
            return refuse::error(other, "`let … else` in a kernel: use `if`");
        }
        if let Some(ty) = ty {
            refuse::body_type(ty)?;
        }
        let Both { host, staged } = self.expr(&init.expr, Want::Value)?;
        let staged_type = ty.map(|ty| quote!(: #root::stage::Staged<#ty>));
        let host_type = ty.map(|ty| quote!(: #ty));
        match pat {
            Pat::Wild(_) => {
                Ok(Both::new(quote!(let _ #host_type = #host;), quote!(let _ #staged_type = #staged;)))
            }
            Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => {
                self.declare(&ident.ident);
                let (name, span) = (&ident.ident, ident.span());
                Ok(if ident.mutability.is_some() {
                    let typed =
                        quote_spanned!(span=> { let value #staged_type = #staged; #root::stage::var(value) });
                    Both::new(quote!(let mut #name #host_type = #host;), quote!(let #name = #typed;))
                } else {
                    let bound = quote_spanned!(span=> #root::stage::bind(#staged));
                    Both::new(quote!(let #name #host_type = #host;), quote!(let #name #staged_type = #bound;))
                })
            }
            pat => Err(refuse::binding(pat)),
        }
    }
}

/// Whether an expression ends its block.
pub(crate) fn diverges(e: &Expr) -> bool {
    matches!(e, Expr::Return(_) | Expr::Break(_) | Expr::Continue(_))
}
