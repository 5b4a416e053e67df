//! Kernels with chains of conditions, and with atomics of ranges and of work-group memory.

use vkfuse::rust::{Captures, GroupItem, Item, Ranged, ReadWrite, Shared, Write, device, kernel};

#[device]
fn halved(n: u32) -> Option<u32> {
    if n % 2 == 0 { Some(n / 2) } else { None }
}

/// The first element by which a number is divided without a rest, and how often.
#[device]
fn divided(n: u32, by: [u32; 3]) -> Option<(u32, u32)> {
    for k in 0..3 {
        let (mut left, mut times) = (n, 0);
        while left != 0
            && let rest @ 0 = left % by[k]
            && times < 5
        {
            left = left / by[k] + rest;
            times += 1;
        }
        if times > 0 {
            return Some((k, times));
        }
    }
    None
}

#[derive(Captures)]
pub struct Chains {
    pub by: [u32; 3],
    pub out: Write<u32>,
}

#[kernel]
impl Chains {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        // One name hides the other.
        let mut sum = if i > 3
            && let Some(i) = halved(i)
            && let Some(i) = halved(i)
            && i != 4
        {
            1000 + i
        } else if let Some(half) = halved(i)
            && half < 3
        {
            2000 + half
        } else {
            3000 + i
        };
        if let Some((k, times)) = divided(i + 1, self.by)
            && k < 2
        {
            sum += 10_000 * times + 100_000 * k;
            if times == 3
                && let 7 = i
            {
                self.out.set(i, sum);
                return;
            }
        }
        // What is left, and gone on with, is the loop's around it.
        let mut left = i;
        'all: for k in (0..9_u32).rev() {
            while left > 2
                && let Some(next) = halved(left)
            {
                if next == 5 {
                    break 'all;
                }
                left = next;
                if k > 6
                    && let Some(half) = halved(next)
                    && half == 6
                {
                    continue 'all;
                } else {
                    sum += k;
                }
            }
            left += k;
        }
        self.out.set(i, sum * 100 + left);
    }
}

macro_rules! tallies {
    ($($name:ident $ty:ty;)+) => {$(
        /// What each does to an element of a range and of work-group memory does not depend on the order of the items.
        #[derive(Captures)]
        pub struct $name {
            pub part: Ranged<ReadWrite<$ty>>,
            pub out: Write<u32>,
            pub taken: Shared<u32, 8>,
        }

        #[kernel]
        impl $name {
            fn run(&self, item: GroupItem<1>) {
                let (k, i) = (item.local(0), item.global(0));
                if k < 8 {
                    self.taken.set(k, 100);
                }
                item.barrier();
                let n = i as $ty;
                self.part.fetch_add(0, n);
                self.part.fetch_min(1, n * 7 - 60);
                self.part.fetch_max(2, n * 5 - 60);
                self.part.fetch_and(3, !((1 as $ty) << (i % 16)));
                self.part.fetch_or(4, (1 as $ty) << (i % 20));
                self.part.fetch_xor(5, n);
                if i == 9 {
                    let old = self.part.get(6);
                    self.part.compare_exchange(6, old + 1, 88);
                    self.part.compare_exchange(7, old, 77);
                }
                // The range has eight elements: no one is there.
                let gone = self.part.exchange(20, 5) + self.part.compare_exchange(21, 0, 1);
                // One item of four finds the first value, and the others find that item's.
                let first = self.taken.compare_exchange(k % 4, 100, k) == 100;
                let mine = self.taken.compare_exchange(4 + k % 4, 100, 7);
                item.barrier();
                let own = self.taken.compare_exchange(k % 4, k, k) == k;
                let seen = self.taken.compare_exchange(4 + k % 4, 3, 9);
                let right = first == own && (mine == 100 || mine == 7) && seen == 7 && gone == 0;
                self.out.set(i, right as u32);
            }
        }
    )+};
}

tallies! {
    TalliesU32 u32;
    TalliesI32 i32;
    TalliesU64 u64;
    TalliesI64 i64;
}
