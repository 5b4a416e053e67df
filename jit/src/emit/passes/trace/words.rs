//! Words of 32 bits as polynomials over unknown words, modulo `2^32`.
//!
//! Sums, differences and products are those of a ring, whatever wraps. So two words with one polynomial are the same.

use smallvec::SmallVec;

use crate::ir::entity::Value;

/// Most words that are multiplied, and most products that are summed up; what has more is a word of its own.
const MOST_FACTORS: usize = 3;
const MOST_TERMS: usize = 8;

/// A product of words, by their ids.
type Product = SmallVec<[Value; MOST_FACTORS]>;

/// A product with its factor.
pub(in crate::emit::passes) type Factored = (Product, u32);

/// Products with their factors, sorted by product; none of the factors is zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::emit::passes) struct Polynomial(SmallVec<[(Product, u32); 4]>);

impl Polynomial {
    pub(in crate::emit::passes) fn constant(value: u32) -> Self {
        Self::sum([(Product::new(), value)].into_iter()).unwrap_or_else(|| Self(SmallVec::new()))
    }

    pub(in crate::emit::passes) fn word(word: Value) -> Self {
        Self([(Product::from_slice(&[word]), 1)].into_iter().collect())
    }

    fn sum(terms: impl Iterator<Item = (Product, u32)>) -> Option<Self> {
        let mut all: SmallVec<[(Product, u32); 4]> = SmallVec::new();
        for (product, factor) in terms {
            match all.binary_search_by(|(other, _)| other.cmp(&product)) {
                Ok(at) => all[at].1 = all[at].1.wrapping_add(factor),
                Err(at) => all.insert(at, (product, factor)),
            }
        }
        all.retain(|(_, factor)| *factor != 0);
        (all.len() <= MOST_TERMS).then_some(Self(all))
    }

    /// `self + factor * other`.
    pub(in crate::emit::passes) fn plus(&self, factor: u32, other: &Self) -> Option<Self> {
        let scaled = other.0.iter().map(|(product, by)| (product.clone(), by.wrapping_mul(factor)));
        Self::sum(self.0.iter().cloned().chain(scaled))
    }

    pub(in crate::emit::passes) fn times(&self, other: &Self) -> Option<Self> {
        let longest = |all: &Self| all.0.iter().map(|(product, _)| product.len()).max().unwrap_or(0);
        if longest(self) + longest(other) > MOST_FACTORS || self.0.len() * other.0.len() > MOST_TERMS {
            return None;
        }
        let pairs = self.0.iter().flat_map(|one| other.0.iter().map(move |two| (one, two)));
        Self::sum(pairs.map(|((a, x), (b, y))| {
            let mut product: Product = a.iter().chain(b).copied().collect();
            product.sort_unstable();
            (product, x.wrapping_mul(*y))
        }))
    }

    /// Its value, if it is a number.
    pub(in crate::emit::passes) fn as_constant(&self) -> Option<u32> {
        match self.0.as_slice() {
            [] => Some(0),
            [(product, value)] if product.is_empty() => Some(*value),
            _ => None,
        }
    }

    /// The word, if it is one.
    pub(in crate::emit::passes) fn as_word(&self) -> Option<Value> {
        self.as_product().filter(|&(_, factor)| factor == 1).map(|(word, _)| word)
    }

    /// A word and its factor, if it is their product.
    pub(in crate::emit::passes) fn as_product(&self) -> Option<(Value, u32)> {
        match self.0.as_slice() {
            [(product, factor)] => match product.as_slice() {
                [word] => Some((*word, *factor)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What it is without its constant, and that.
    pub(in crate::emit::passes) fn split(&self) -> (Self, u32) {
        let (constant, rest): (SmallVec<[_; 4]>, SmallVec<[_; 4]>) =
            self.0.iter().cloned().partition(|(product, _)| product.is_empty());
        (Self(rest), constant.first().map_or(0, |(_, value)| *value))
    }

    /// Its products with their factors, these words left out.
    pub(in crate::emit::passes) fn without(&self, words: &[Value]) -> impl Iterator<Item = Factored> {
        let other =
            |product: &Product| product.iter().copied().filter(|word| !words.contains(word)).collect();
        self.0.iter().map(move |(product, factor)| (other(product), *factor))
    }

    /// What it is multiplied by wherever it has a word: products without the word, and their factors.
    pub(in crate::emit::passes) fn per(&self, word: Value) -> SmallVec<[Factored; 2]> {
        let with = self.0.iter().filter(|(product, _)| product.contains(&word));
        let left = with.map(|(product, factor)| {
            let mut rest = product.clone();
            rest.iter().position(|&one| one == word).map(|at| rest.remove(at));
            (rest, *factor)
        });
        left.collect()
    }

    /// Whether it is a multiple of `of` apart from its constant, if the products `known`, times their factors, are multiples.
    pub(in crate::emit::passes) fn is_multiple(&self, of: u32, known: &[Factored]) -> bool {
        let has = |product: &Product, part: &Product| {
            let mut left = product.iter();
            part.iter().all(|word| left.any(|other| other == word))
        };
        self.0.iter().filter(|(product, _)| !product.is_empty()).all(|(product, factor)| {
            let follows = |(part, by): &Factored| !part.is_empty() && factor % by == 0 && has(product, part);
            factor % of == 0 || known.iter().any(follows)
        })
    }

    /// Factor of a word and constant, if it is made of that word alone.
    pub(in crate::emit::passes) fn of(&self, word: Value) -> Option<(u32, u32)> {
        let (rest, constant) = self.split();
        match rest.0.as_slice() {
            [(product, factor)] if product.as_slice() == [word] => Some((*factor, constant)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Polynomial as P;
    use crate::ir::entity::{Entity as _, Value};

    fn word(number: usize) -> P {
        P::word(Value::new(number))
    }

    #[test]
    fn equal_words_are_equal_polynomials() {
        let (x, w) = (word(7), word(3));
        let one = P::constant(1);
        // ((x + 1) - 1) w = x w, also where x + 1 wraps.
        let there = x.plus(1, &one).unwrap();
        let back = there.plus(u32::MAX, &one).unwrap();
        assert_eq!(back, x);
        assert_eq!(back.times(&w), w.times(&x));
        // (x + 1) w - w = x w.
        let next = there.times(&w).unwrap();
        assert_eq!(next.plus(u32::MAX, &w), x.times(&w));
        assert_ne!(next, x.times(&w).unwrap());
        assert_eq!(x.plus(u32::MAX, &x).unwrap().as_constant(), Some(0));
    }

    #[test]
    fn what_grows_too_large_is_left() {
        let x = word(7);
        let cube = x.times(&x).unwrap().times(&x).unwrap();
        assert_eq!(cube.times(&x), None);
        let mut sum = P::constant(0);
        for number in 1..=8 {
            sum = sum.plus(1, &word(number)).unwrap();
        }
        assert_eq!(sum.plus(1, &word(9)), None);
    }
}
