//! Kernels with the forms that people bring along: traits, operators, patterns, references, closures, elements by `[]`.

use std::ops::{Add, Div, Mul, Neg, Sub};

use bytemuck::{Pod, Zeroable};
use vkfuse::rust::{
    Captures, Grid, Item, Ranged, Read, ReadWrite, Shared, Task, Value, Vec2, Write,
    access::{Reads, Writes},
    device, kernel,
    value::Number,
};

/// What has a size: a trait with a method, a constant, and functions with and without bodies.
#[device]
pub trait Sized2: Value {
    const SIDES: u32;
    fn area(&self) -> u32;
    fn scaled(self, by: u32) -> Self;
    fn unit() -> Self;
    fn twice(&self) -> u32 {
        self.area() * 2 + Self::SIDES
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Value)]
#[repr(C)]
pub struct Square {
    pub side: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Value)]
#[repr(C)]
pub struct Rectangle {
    pub width: u32,
    pub height: u32,
}

#[device]
impl Sized2 for Square {
    const SIDES: u32 = 4;
    fn area(&self) -> u32 {
        self.side * self.side
    }
    fn scaled(self, by: u32) -> Square {
        Square { side: self.side * by }
    }
    fn unit() -> Self {
        Square { side: 1 }
    }
}

#[device]
impl Sized2 for Rectangle {
    const SIDES: u32 = 40;
    fn area(&self) -> u32 {
        self.width * self.height
    }
    fn scaled(self, by: u32) -> Rectangle {
        Rectangle { width: self.width * by, ..self }
    }
    fn unit() -> Self {
        Rectangle { width: 1, height: 2 }
    }
    fn twice(&self) -> u32 {
        self.area() + self.area() + 7
    }
}

#[device]
impl Default for Rectangle {
    fn default() -> Self {
        Rectangle { width: 6, height: 7 }
    }
}

#[device]
fn sizes<S: Sized2>(shape: S, by: u32) -> u32 {
    let large = shape.scaled(by);
    large.area() * 3 + S::twice(&large) + S::unit().area() + S::SIDES
}

/// Any accessor of any number.
#[device]
fn first_two<T: Number, A: Reads<Element = T>>(from: &A, i: u32) -> T {
    from.get(i) + from[i + 1]
}

#[device]
fn put<A: Writes<Element = u32>>(to: &A, i: u32, value: u32) {
    if i < to.len() {
        to.set(i, value);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Value)]
#[repr(C)]
pub struct Fraction<T> {
    pub over: T,
    pub under: T,
}

#[device]
impl<T: Number> Add for Fraction<T> {
    type Output = Fraction<T>;
    fn add(self, other: Self) -> Self {
        Fraction { over: self.over * other.under + other.over * self.under, under: self.under * other.under }
    }
}

#[device]
impl<T: Number> Sub<Fraction<T>> for Fraction<T> {
    type Output = Self;
    fn sub(self, other: Fraction<T>) -> Self::Output {
        Fraction { over: self.over * other.under - other.over * self.under, under: self.under * other.under }
    }
}

#[device]
impl<T: Number> Mul<T> for Fraction<T> {
    type Output = Fraction<T>;
    fn mul(self, by: T) -> Fraction<T> {
        Fraction { over: self.over * by, under: self.under }
    }
}

#[device]
impl Mul<Fraction<i32>> for i32 {
    type Output = Fraction<i32>;
    fn mul(self, by: Fraction<i32>) -> Fraction<i32> {
        by * self
    }
}

#[device]
impl Div for Fraction<i32> {
    type Output = i32;
    fn div(self, other: Fraction<i32>) -> i32 {
        (self.over * other.under) / (self.under * other.over)
    }
}

#[device]
impl Neg for Fraction<i32> {
    type Output = Fraction<i32>;
    fn neg(self) -> Fraction<i32> {
        Fraction { over: -self.over, under: self.under }
    }
}

#[derive(Captures)]
pub struct Traits {
    pub words: Read<u32>,
    pub part: Ranged<ReadWrite<u32>>,
    pub out: Write<u32>,
}

#[kernel]
impl Traits {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        let mut sum = sizes(Square { side: i }, 3) * 1000 + sizes(Rectangle::default(), i);
        sum += first_two(&self.words, i) + first_two(&self.part, i);
        sum += Square::unit().area() + <Rectangle as Sized2>::unit().twice() + Rectangle::SIDES;
        let half = Fraction { over: 1, under: 2 };
        let mut f = Fraction { over: i as i32, under: 3 } + half * 5;
        f = 2 * f - half;
        f += -half * 3;
        let vector = (2.0 * Vec2::new(i as f32, 1.0) - Vec2::splat(0.5) / 2.0) * 4.0;
        sum += (f.over * 31 + f.under) as u32 + (f / half) as u32 + vector.dot(vector) as u32;
        put(&self.out, i, sum);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Value)]
#[repr(u32)]
pub enum Mode {
    Off,
    Slow = 7,
    Fast,
}

#[device]
fn halved(n: u32) -> Option<u32> {
    if n % 2 == 0 { Some(n / 2) } else { None }
}

#[device]
fn quartered(n: u32) -> Option<(u32, f32)> {
    let half = halved(n)?;
    let quarter = halved(half)?;
    Some((quarter, half as f32))
}

#[device]
fn least_and_most(of: [u32; 3]) -> (u32, u32) {
    let [a, b, c] = of;
    (a.min(b).min(c), a.max(b).max(c))
}

#[device]
fn ways(mode: Mode) -> u32 {
    match mode {
        Mode::Off => 1,
        Mode::Slow | Mode::Fast if mode != Mode::Fast => 10,
        _ => 100 + mode as u32,
    }
}

#[derive(Captures)]
pub struct Patterns {
    pub mode: Mode,
    pub out: Write<u32>,
}

#[kernel]
impl Patterns {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        let (low, mut high) = least_and_most([i, 5, i * i]);
        high += 1;
        let whole;
        let mut left = if let Some((quarter, half)) = quartered(i) {
            whole = quarter * 3;
            half as u32
        } else {
            whole = 900;
            4
        };
        let Some(half) = halved(i + 1) else {
            self.out.set(i, whole + low + high * 10 + left * 100 + ways(self.mode));
            return;
        };
        let mut steps = 0;
        while let Some(next) = halved(left + half * 8) {
            steps += 1;
            left = next / 3 + 1;
            if steps > 5 {
                break;
            }
            if next == 5 {
                continue;
            }
            steps += 2;
        }
        let key = (half % 3, halved(half));
        let kind = match key {
            (0, None) => 1,
            (0, Some(n @ 3..)) => n * 10,
            (_, Some(n)) if n > 4 => n,
            (n, _) => 1000 + n,
        };
        let Square { side } = Square { side: kind };
        let nested = ((side, true), [i, 7]);
        let ((a, b), [_, c]) = nested;
        let pairs = [(1_u32, 2_i32), (i, -1)];
        let pair = pairs[i % 3];
        let spare = halved(i).unwrap_or(nested.1[0] + 50) + halved(i).is_some() as u32;
        let sum = a + b as u32 + c + spare + pair.0 + pair.1 as u32 + steps * 10_000;
        self.out.set(i, sum + whole + ways(Mode::Slow) + if halved(3).is_none() { 5 } else { 6 });
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Value, Pod, Zeroable)]
#[repr(C)]
pub struct Random {
    pub state: u32,
    pub count: u32,
}

#[device]
impl Random {
    fn next(&mut self) -> u32 {
        self.count += 1;
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        self.seen()
    }

    fn seen(&self) -> u32 {
        self.state + self.count
    }

    fn skip(&mut self, by: u32) {
        for _ in 0..by {
            self.next();
        }
    }
}

#[device]
fn raise(x: &mut u32, by: u32) -> bool {
    if by == 3 {
        return false;
    }
    *x += by;
    *x > 10
}

#[device]
fn exchange<T: Value>(a: &mut T, b: &mut T) {
    let kept = *a;
    *a = *b;
    *b = kept;
}

#[device]
fn total(of: &[u32; 4]) -> u32 {
    let mut sum = 0;
    for k in of {
        sum = sum * 10 + *k;
    }
    sum
}

#[derive(Captures)]
pub struct Places {
    pub seed: Random,
    pub out: Write<u32>,
}

#[kernel]
impl Places {
    fn run(&self, item: Item<1>) {
        fn tenfold(x: u32) -> u32 {
            const TEN: u32 = 10;
            x * TEN
        }

        let i = item.index();
        let mut random = self.seed;
        random.state += i;
        random.skip(2);
        let mut all = [random; 2];
        Random::next(&mut all[i % 3]);
        let mut table = [1, 2, 3, 4];
        let raised = raise(&mut table[i], i);
        let over = raise(&mut table[i % 4], 5);
        {
            let element = &mut table[i * 2];
            *element += 100;
            *element *= 2;
        }
        let (mut a, mut b) = (table[1], i);
        exchange(&mut a, &mut b);
        (a, table[3], _) = (a, table[3] + 1, b);
        let last = &table;
        let bias = a * 3;
        let mixed = |x: u32, y: u32| -> u32 { x * 7 + y + bias };
        let mut calls = 0;
        let mut count = |by: u32| calls += by;
        count(2);
        count(a);
        let mut sum = mixed(b, tenfold(calls)) + total(last) + total(&table);
        for element in table {
            if element == 2 {
                continue;
            }
            sum = sum * 3 + element;
        }
        sum += raised as u32 + over as u32 * 2 + random.next() + all[0].seen() + all[1].count;
        self.out.set(i, sum);
    }
}

#[derive(Captures)]
pub struct Row {
    pub factor: u32,
    pub data: Read<u32>,
}

#[derive(Captures)]
pub struct Elements {
    pub rows: [Row; 3],
    pub part: Ranged<ReadWrite<u32>>,
    pub many: ReadWrite<[u32; 3]>,
    pub states: ReadWrite<Random>,
    pub out: Write<u32>,
}

#[kernel]
impl Elements {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        let mut sum = self.rows[0].data[i] * self.rows[1].factor + self.rows[2].data[1];
        'rows: for row in &self.rows {
            if row.factor == 2 {
                continue;
            }
            for k in 0..3_u32 {
                if row.data[k] == i {
                    continue 'rows;
                }
                sum += row.data[k] * row.factor;
                if sum > 5000 {
                    break 'rows;
                }
            }
            if row.data[i] == 17 {
                break;
            }
            sum += 1;
        }
        self.part[i] += sum;
        self.many[i] = [i, sum, 3];
        self.many[i][i % 4] += 5;
        self.states[i].count = self.part[i] + 1;
        let middle = self.many[i][1] + self.states[i].seen();
        self.out[i] = middle + self.states[i].state;
        self.out[i + 1000] = 4;
    }
}

#[derive(Captures)]
pub struct Alone {
    pub out: ReadWrite<u32>,
    pub kept: Shared<u32, 4>,
}

#[kernel]
impl Alone {
    fn run(&self, _item: Task) {
        self.kept[1] = 5;
        self.kept[2] = self.kept[1] * 2;
        self.kept[2] += 1;
        self.kept[7] = 3;
        self.out[0] = self.kept[2] + self.kept[7] + self.out[0];
    }
}

/// Sums of neighbours, where those outside count as zero; and a part of a volume turned over.
#[derive(Captures)]
pub struct Grids {
    pub image: Grid<Read<u32>, 2>,
    pub sums: Grid<ReadWrite<u32>, 2>,
    pub volume: Grid<Read<Random>, 3>,
    pub turned: Grid<Write<u32>, 3>,
}

#[kernel]
impl Grids {
    fn run(&self, item: Item<2>) {
        let (x, y) = (item.id(0), item.id(1));
        let mut sum = self.image[[y, x]] * 4;
        for (dy, dx) in [(0, 1), (1, 0), (0, u32::MAX), (u32::MAX, 0)] {
            sum += self.image[[y + dy, x + dx]];
        }
        self.sums[[y, x]] += sum;
        self.sums[[y, x]] ^= 1;
        for z in 0..2_u32 {
            self.turned[[x, z, y]] = self.volume[[z, y, x]].state + z;
        }
    }
}
