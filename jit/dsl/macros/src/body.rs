//! A body, written down twice.
//!
//! Both copies come from one walk, so that they cannot differ in what they mean. In the host's, operators and indexing are
//! calls of functions that cannot panic; the rest is as it was. In the staged one every expression is a call.

use std::collections::{HashMap, HashSet};

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Block, Error, Expr, Lifetime, Result, Stmt, Type};

use crate::{attribute, derive::root, refuse};

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

/// What a local name stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Value,
    /// What may have no value yet.
    Later,
    /// A closure, by its number.
    Closure(usize),
}

/// What `self` is on the host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum This {
    Value,
    Reference,
    /// A reference to what can be changed.
    Place,
}

/// What is known while a body is walked.
pub(crate) struct Walk {
    /// Names of locals and what they are, innermost last.
    scopes: Vec<HashMap<String, Name>>,
    /// Names that stand for fields of `self`.
    captures: HashSet<String>,
    pub(crate) returns: Returns,
    /// The type of what the function gives.
    pub(crate) result: Option<Type>,
    pub(crate) this: This,
    /// Whether it is that of a `const fn`, which can call no function of a trait on the host.
    pub(crate) is_const: bool,
    /// Whether it is the body of a closure, which `return` does not leave.
    pub(crate) in_closure: bool,
    /// Loops around, innermost last.
    pub(crate) loops: Vec<Round>,
    /// Assignments so far, and which of them is walked: what its label is distinguished by.
    assignments: usize,
    assignment: usize,
    /// Elements so far that were held.
    slots: usize,
    /// Types of the arguments of all closures.
    closures: Vec<Vec<Type>>,
    pub(crate) errors: Vec<Error>,
}

impl Walk {
    pub(crate) fn new(returns: Returns, captures: HashSet<String>) -> Walk {
        Walk {
            scopes: vec![HashMap::new()],
            captures,
            returns,
            result: None,
            this: This::Value,
            is_const: false,
            in_closure: false,
            slots: 0,
            closures: Vec::new(),
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

    /// Names for an element that is held, for what stands in where it is not there, and for its index.
    pub(crate) fn slot(&mut self) -> [Ident; 3] {
        self.slots += 1;
        ["__slot", "__nothing", "__index"]
            .map(|name| Ident::new(&format!("{name}{}", self.slots), Span::call_site()))
    }

    pub(crate) fn declare(&mut self, name: &Ident) {
        self.declare_as(name, Name::Value);
    }

    pub(crate) fn declare_as(&mut self, name: &Ident, what: Name) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_string(), what);
        }
    }

    fn known_as(&self, name: &Ident) -> Option<Name> {
        let name = name.to_string();
        self.scopes.iter().rev().find_map(|scope| scope.get(&name).copied())
    }

    pub(crate) fn is_local(&self, name: &Ident) -> bool {
        self.known_as(name).is_some()
    }

    pub(crate) fn declare_closure(&mut self, name: &Ident, arguments: Vec<Type>) {
        self.declare_as(name, Name::Closure(self.closures.len()));
        self.closures.push(arguments);
    }

    /// The types of the arguments of the closure that a name is.
    pub(crate) fn closure_named(&self, name: &Ident) -> Option<Vec<Type>> {
        match self.known_as(name) {
            Some(Name::Closure(k)) => self.closures.get(k).cloned(),
            _ => None,
        }
    }

    pub(crate) fn is_later(&self, name: &Ident) -> bool {
        self.known_as(name) == Some(Name::Later)
    }

    pub(crate) fn is_capture(&self, name: &Ident) -> bool {
        !self.is_local(name) && self.captures.contains(&name.to_string())
    }

    pub(crate) fn scoped<R>(&mut self, f: impl FnOnce(&mut Walk) -> R) -> R {
        self.scopes.push(HashMap::new());
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
        self.block_of(block, want, None)
    }

    /// A block whose value is of a type.
    pub(crate) fn block_of(&mut self, block: &Block, want: Want, ty: Option<&Type>) -> Both {
        self.scoped(|walk| {
            let mut both = Both::default();
            let count = block.stmts.len();
            for (k, stmt) in block.stmts.iter().enumerate() {
                let last = k + 1 == count;
                let part = match stmt {
                    Stmt::Expr(e, None) if last && want == Want::Value => walk.expr_of(e, ty),
                    stmt => walk.statement(stmt, if last { want } else { Want::Nothing }),
                };
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

    fn statement(&mut self, stmt: &Stmt, want: Want) -> Result<Both> {
        match stmt {
            Stmt::Local(local) => self.local(local),
            Stmt::Item(item @ syn::Item::Const(constant)) => {
                refuse::body_type(&constant.ty)?;
                // A constant of the body hides a local of its name; none of both is ever called alike.
                Ok(Both::new(quote!(#item), quote!(#item)))
            }
            Stmt::Item(syn::Item::Fn(item)) => attribute::inner_function(item),
            Stmt::Item(item) => Err(refuse::item(item)),
            Stmt::Macro(mac) => {
                let want = if mac.semi_token.is_none() { want } else { Want::Nothing };
                let Both { host, staged } = self.macro_call(&mac.mac, want)?;
                let end = (want == Want::Nothing).then(|| quote!(;));
                Ok(Both::new(quote!(#host #end), quote!(#staged #end)))
            }
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
}

/// Whether an expression ends its block.
pub(crate) fn diverges(e: &Expr) -> bool {
    matches!(e, Expr::Return(_) | Expr::Break(_) | Expr::Continue(_))
}
