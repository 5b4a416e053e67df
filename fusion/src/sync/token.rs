//! Values behind a lock that is somewhere else.
//!
//! The lock has a [`Token`] in it, with which everything under that token may be looked at. Such a value costs no lock of its own, and need
//! not be in the same place as the token.

use std::{
    cell::UnsafeCell,
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// The right to look at what is under it: not two of a number, and none can be copied.
#[derive(Debug)]
pub(crate) struct Token(TokenId);

/// Which token it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenId(u64);

impl Default for Token {
    fn default() -> Token {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Token(TokenId(NEXT.fetch_add(1, Relaxed)))
    }
}

impl Token {
    pub(crate) fn id(&self) -> TokenId {
        self.0
    }
}

/// A value guarded by a token that is held elsewhere.
pub(crate) struct TokenCell<T> {
    token: TokenId,
    value: UnsafeCell<T>,
}

// SAFETY: a shared `TokenCell` gives its value to the one that has the token exclusively, and there is one token of that number: to one thread at
// a time, as a mutex does. How the token came to that thread orders it after the thread that had it before.
unsafe impl<T: Send> Sync for TokenCell<T> {}

impl<T> TokenCell<T> {
    pub(crate) fn new(token: TokenId, value: T) -> TokenCell<T> {
        TokenCell { token, value: UnsafeCell::new(value) }
    }

    /// The value, for as long as the token is not used for another one.
    #[inline]
    pub(crate) fn get<'a>(&'a self, token: &'a mut Token) -> &'a mut T {
        assert!(self.token == token.0, "invariant: values of a context are under its token");
        // SAFETY: the token is the only one of its number (checked to be this value's), and it is borrowed exclusively for as long as
        // the result is used, so there is no other reference to the value; `self` is borrowed for as long.
        unsafe { &mut *self.value.get() }
    }
}

impl<T> fmt::Debug for TokenCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenCell")
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Mutex, thread};

    use super::*;

    #[test]
    fn a_value_is_counted_by_many_threads_under_one_token() {
        let token = Mutex::<Token>::default();
        let count = TokenCell::new(token.lock().unwrap().id(), 0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| *count.get(&mut token.lock().unwrap()) += 1));
            }
        });
        assert_eq!(*count.get(&mut token.lock().unwrap()), 4000);
    }

    #[test]
    fn one_token_is_for_several_values_in_turn() {
        let mut token = Token::default();
        let [a, b] = [1, 2].map(|value| TokenCell::new(token.id(), vec![value]));
        let taken = std::mem::take(a.get(&mut token));
        b.get(&mut token).extend(taken);
        assert_eq!((a.get(&mut token).len(), b.get(&mut token).len()), (0, 2));
    }

    #[test]
    #[should_panic(expected = "invariant")]
    fn another_token_does_not_fit() {
        let value = TokenCell::new(Token::default().id(), 0);
        value.get(&mut Token::default());
    }
}
