//! An object that a submission names: borrowed, or owned.

use std::{ops::Deref, sync::Arc};

/// A borrowed or an owned reference. Borrowing counts no reference, since most submissions only compare the object.
#[derive(Debug)]
pub(crate) enum Held<'a, T> {
    Lent(&'a Arc<T>),
    Own(Arc<T>),
}

impl<T> Clone for Held<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Held::Lent(inner) => Held::Lent(inner),
            Held::Own(inner) => Held::Own(inner.clone()),
        }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = Arc<T>;

    #[inline]
    fn deref(&self) -> &Arc<T> {
        match self {
            Held::Lent(inner) => inner,
            Held::Own(inner) => inner,
        }
    }
}

impl<T> Held<'_, T> {
    #[inline]
    pub(crate) fn into_inner(self) -> Arc<T> {
        match self {
            Held::Lent(inner) => inner.clone(),
            Held::Own(inner) => inner,
        }
    }
}
