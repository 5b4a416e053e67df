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
        let buffer = self.work.poisoned("made", real.len(host.len()));
        self.work.promote(buffer, Promote::Auto);
        let submit = Submit::new(&format!("pairs/{kernel}"), Size::Groups(groups));
        let submit = buffers.iter().zip(0..).fold(submit, |submit, (&from, at)| submit.read(at, from));
        let submit = push.iter().fold(submit.write(2, buffer), |submit, &word| submit.push(word));
        self.work.submit(submit);
        let made = Tensor { buffer, host: real.rounded(host), real };
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
