//! Makes a wrong list shorter while it stays wrong: submissions, promotions, numbers, then statements.

use std::rc::Rc;

use vkfuse_jit::plan::Promote;

use crate::compile::Treatment;
use crate::list::List;
use crate::pool::{self, Pool, Source};
use crate::tree;

/// Most statements tried in a kernel; each costs a run of the front end.
const TRIES: usize = 60;

/// The shortest list found that is still wrong, with the pool that it is about.
pub fn shrunk(pool: &Pool, list: &List, wrong: &mut dyn FnMut(&Pool, &List) -> bool) -> (Pool, List) {
    let mut best = list.clone();
    let mut at = 0;
    while at < best.shots.len() && best.shots.len() > 1 {
        let mut less = best.clone();
        less.shots.remove(at);
        if wrong(pool, &less) {
            best = less;
        } else {
            at += 1;
        }
    }
    for object in 0..best.objects.len() {
        let mut less = best.clone();
        less.objects[object].promote = Promote::None;
        if less != best && wrong(pool, &less) {
            best = less;
        }
    }
    let mut plain = best.clone();
    plain.shape = 0;
    if wrong(pool, &plain) {
        best = plain;
    }
    let mut pool = Rc::new(pool.clone());
    for number in 0..best.shots.len() {
        let kernel = best.shots[number].kernel;
        if best.shots[..number].iter().any(|shot| shot.kernel == kernel) {
            continue;
        }
        pool = fewer_statements(pool, kernel, &best, wrong);
    }
    (Rc::unwrap_or_clone(pool), best)
}

fn fewer_statements(
    mut pool: Rc<Pool>,
    number: usize,
    list: &List,
    wrong: &mut dyn FnMut(&Pool, &List) -> bool,
) -> Rc<Pool> {
    let mut attempt = |pool: &Rc<Pool>, source: Source| -> Option<Rc<Pool>> {
        let kernel = pool::build(source).ok()?;
        let mut other = Pool::clone(pool);
        other.kernels[number] = kernel;
        wrong(&other, list).then(|| Rc::new(other))
    };
    let Source::Tree { mut kernel, env, mut treatment } = pool.kernels[number].source.clone() else {
        return pool;
    };
    let plain = Source::Tree { kernel: kernel.clone(), env, treatment: Treatment::Plain };
    if let Some(other) = attempt(&pool, plain) {
        pool = other;
        treatment = Treatment::Plain;
    }
    let mut tries = 0;
    let mut at = 0;
    while at < tree::count(&kernel.body) && tries < TRIES {
        let mut done = false;
        for unwrap in [false, true] {
            let mut less = kernel.clone();
            less.body = tree::without(&kernel.body, at, unwrap);
            if less.body == kernel.body {
                continue;
            }
            tries += 1;
            let source = Source::Tree { kernel: less.clone(), env, treatment: treatment.clone() };
            if let Some(other) = attempt(&pool, source) {
                pool = other;
                kernel = less;
                done = true;
                break;
            }
        }
        if !done {
            at += 1;
        }
    }
    pool
}
