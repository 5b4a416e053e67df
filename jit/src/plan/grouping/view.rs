//! How a submission by itself goes through its buffers.

use smallvec::SmallVec;

use crate::analysis::access::Texel;
use crate::analysis::affine::{Affine, Atom, Atoms};
use crate::analysis::dependence::Shape;
use crate::analysis::evaluate::{AccessForm, Evaluator};
use crate::plan::grouping::mapping::Layout;
use crate::plan::grouping::parts::Parts;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;
use crate::schedule::Domain;

/// The accesses of a submission over the ids of its own dispatch.
pub(in crate::plan) struct View {
    pub(in crate::plan) atoms: Atoms,
    pub(in crate::plan) shape: Shape,
    pub(in crate::plan) forms: Vec<AccessForm>,
    /// Of accesses to texels their coordinates, each by itself, as far as they are followed.
    pub(in crate::plan) coordinates: Vec<Option<SmallVec<[Affine; 3]>>>,
}

impl View {
    pub(in crate::plan) fn of(list: &[Submission], uses: &Uses, position: usize) -> Option<Self> {
        Self::alone(&list[position], uses, position)
    }

    /// The same of what stands at this position.
    pub(in crate::plan) fn alone(submission: &Submission, uses: &Uses, position: usize) -> Option<Self> {
        let analysis = analysis_of(submission).ok()?;
        let shape = Shape { groups: submission.groups, local: submission.kernel.interface.local_size };
        let mut forms = Vec::with_capacity(analysis.accesses.len());
        let mut coordinates = Vec::new();
        let atoms = ask(submission, uses, position, |evaluator, atoms| {
            for access in &analysis.accesses {
                forms.push(evaluator.access(atoms, access, submission.args[access.binding].offset));
                if submission.kernel.interface.has_images() {
                    let is_texel = matches!(access.texel, Some(Texel::At(_) | Texel::Fetched(_)));
                    coordinates.push(is_texel.then(|| evaluator.coordinates(atoms, access)).flatten());
                }
            }
        })?;
        Some(Self { atoms, shape, forms, coordinates })
    }

    /// Bytes by which a form moves with an id.
    pub(in crate::plan) fn weight(&self, form: &AccessForm, atom: Atom) -> i128 {
        self.atoms.find(&atom).map_or(0, |id| form.offset.coefficient(id))
    }
}

/// Asks something of the expressions of a submission that stands at this position, over the ids of its own dispatch.
pub(in crate::plan) fn ask(
    submission: &Submission,
    uses: &Uses,
    position: usize,
    question: impl FnOnce(&mut Evaluator, &mut Atoms),
) -> Option<Atoms> {
    let analysis = analysis_of(submission).ok()?;
    let shape = Shape { groups: submission.groups, local: submission.kernel.interface.local_size };
    let layout = Layout { domain: Domain::Grid, shape, free: false, parts: Parts::default() };
    let mut atoms = Atoms::default();
    let sizes = submission.sizes();
    let constants = uses.constants(submission);
    let env = layout.environment(&mut atoms, position, submission, &sizes, &constants)?;
    let mut evaluator = Evaluator::new(&atoms, analysis, &env);
    question(&mut evaluator, &mut atoms);
    Some(atoms)
}
