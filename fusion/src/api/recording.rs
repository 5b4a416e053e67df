//! Lists that another process recorded, built or explained on a context.

use crate::{
    api::{context::Context, fusion::PlannedList},
    code::{
        ahead::{Explanation, Labelled, plan_only},
        log::RecordedList,
    },
    error::Error,
    jit,
    report::list::StepReport,
    runtime::check,
};

impl RecordedList {
    /// Builds what the list needs on a context, and runs nothing. Says where it came from, for each dispatch.
    ///
    /// # Errors
    ///
    /// A kernel that cannot run on this device, or not with what was recorded; code that cannot be built.
    pub fn warm(&self, context: &Context) -> Result<Vec<StepReport>, Error> {
        context.inner.programs.warm(&self.steps(context)?)
    }

    /// Says where the code of each dispatch would come from, and why. Changes nothing.
    ///
    /// # Errors
    ///
    /// A kernel that cannot run on this device, or not with what was recorded.
    pub fn explain(&self, context: &Context) -> Result<Vec<Explanation>, Error> {
        Ok(context.inner.programs.explain(&self.steps(context)?))
    }

    /// Plans and builds the list on a context, and runs nothing: see [`FusedList::plan`](crate::FusedList::plan).
    ///
    /// # Errors
    ///
    /// A kernel that cannot run on this device, or not with what was recorded; code that cannot be built.
    pub fn plan(&self, context: &Context) -> Result<PlannedList, Error> {
        PlannedList::on(context, &self.submissions(context)?, &self.options)
    }

    fn steps(&self, context: &Context) -> Result<Vec<Labelled>, Error> {
        let submissions = self.submissions(context)?;
        Ok(plan_only(&submissions, &self.options, &context.inner.limits)?.1)
    }

    fn submissions(&self, context: &Context) -> Result<Vec<jit::Submission>, Error> {
        let submissions = self.submissions.iter().map(|one| {
            let kernel = context.kernel(&one.module, Some(&one.entry))?;
            let constants = kernel.spec_constants().iter();
            let values: Vec<_> = constants
                .filter_map(|constant| {
                    let bits = one.spec.iter().find(|(id, _)| *id == constant.id)?.1;
                    Some((constant.id, constant.ty.value(bits)))
                })
                .collect();
            check::recorded(
                &context.inner,
                &kernel.inner.jit.specialize(&values)?,
                one.groups,
                &one.args,
                &one.push,
            )
        });
        submissions.collect()
    }
}
