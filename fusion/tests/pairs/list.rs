//! A list under construction, which computes on the host what it submits.

use vkfuse::{FusionProperties, Promote};

use crate::support::{Buf, Size, Submit, Workload};
use crate::table::Table;
use crate::tensor::{Real, Tensor, numbers};

/// A list, and what it makes last.
#[derive(Default)]
pub(crate) struct List {
    work: Workload,
    last: Option<Tensor>,
}

impl List {
    /// Numbers that are given.
    pub(crate) fn given(&mut self, count: usize, real: Real) -> Tensor {
        let seed = self.work.count() as u32;
        self.numbers(&numbers(count, seed), real)
    }

    /// These numbers.
    pub(crate) fn numbers(&mut self, numbers: &[f32], real: Real) -> Tensor {
        let (host, words) = real.store(numbers);
        Tensor { buffer: self.work.words("given", words), host, real }
    }

    /// Words that are given.
    pub(crate) fn words(&mut self, words: Vec<u32>) -> Buf {
        self.work.words("words", words)
    }

    /// Submits a kernel with these buffers from binding 0 on, and its result at binding 2, which is `host` on the host.
    pub(crate) fn run(
        &mut self,
        kernel: &str,
        groups: [u32; 3],
        buffers: &[Buf],
        push: &[u32],
        (host, real): (Vec<f32>, Real),
    ) -> Tensor {
        let buffer = self.room(host.len(), real);
        self.run_into(buffer, kernel, groups, buffers, push);
        let made = Tensor { buffer, host: real.rounded(host), real };
        self.last = Some(made.clone());
        made
    }

    /// A buffer for a result of this many numbers.
    fn room(&mut self, count: usize, real: Real) -> Buf {
        let buffer = self.work.poisoned("made", real.len(count));
        self.work.promote(buffer, Promote::Auto);
        buffer
    }

    /// Submits a kernel with these buffers from binding 0 on that stores to another one at binding 2.
    fn run_into(&mut self, buffer: Buf, kernel: &str, groups: [u32; 3], buffers: &[Buf], push: &[u32]) {
        let submit = Submit::new(&format!("pairs/{kernel}"), Size::Groups(groups));
        let submit = buffers.iter().zip(0..).fold(submit, |submit, (&from, at)| submit.read(at, from));
        let submit = push.iter().fold(submit.write(2, buffer), |submit, &word| submit.push(word));
        self.work.submit(submit);
    }

    /// Matrices with these numbers of columns, next to each other, each by a kernel of its own: by elements (`line`) or on a `grid`.
    pub(crate) fn parts(&mut self, hows: &[&str], rows: usize, columns: &[usize]) -> Tensor {
        let length: usize = columns.iter().sum();
        let buffer = self.room(rows * length, Real::Single);
        let mut host = vec![0.0; rows * length];
        let mut first = 0;
        for (&columns, how) in columns.iter().zip(hows.iter().cycle()) {
            let own = self.given(rows * columns, Real::Single);
            for (row, own) in host.chunks_mut(length).zip(own.host.chunks(columns)) {
                row[first..first + columns].copy_from_slice(own);
            }
            let push = [rows, columns, length, first].map(|n| n as u32);
            let groups = match *how {
                "grid" => [columns.div_ceil(16) as u32, rows.div_ceil(16) as u32, 1],
                _ => [(rows * columns).div_ceil(256) as u32, 1, 1],
            };
            self.run_into(buffer, &format!("part.{how}"), groups, &[own.buffer], &push);
            first += columns;
        }
        let made = Tensor { buffer, host, real: Real::Single };
        self.last = Some(made.clone());
        made
    }

    /// Runs it unfused and fused, compares both with each other and with the host, and adds a line to the table.
    #[track_caller]
    pub(crate) fn check(mut self, table: &mut Table, name: &str) {
        let last = self.last.take().expect("a list that does something");
        self.work.promote(last.buffer, Promote::None);
        let unfused = self.work.run_unfused(table.rig);
        let run = |properties: FusionProperties| {
            let fused = self.work.try_fused(table.rig, &properties).ok()?;
            fused.assert_equals(&unfused);
            last.real.assert_close(&last.real.load(fused.words(last.buffer)), &last.host, name);
            Some(fused.report())
        };
        let report = run(FusionProperties::default()).expect("a list that completes");
        // Forced, it is one dispatch or an error.
        let forced = (report.dispatches > 1).then(|| run(FusionProperties::default().force_fusion()));
        table.add(name, &report, forced.flatten().as_deref());
    }
}
