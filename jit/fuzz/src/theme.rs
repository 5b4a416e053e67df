//! What the kernels of a pool have in common.

use crate::body::rows;
use crate::layout::Block;
use crate::place::{Family, ROOM};
use crate::random::Random;

/// What the kernels of a pool have in common, so that lists of them fit together now and then.
#[derive(Clone, Debug)]
pub(crate) struct Theme {
    pub(crate) blocks: Vec<Block>,
    pub(crate) families: Vec<Family>,
    pub(crate) local: [u32; 3],
    pub(crate) two_dimensions: bool,
    /// How many of a hundred kernels know their work-group.
    pub(crate) grouped: u32,
    /// How many of a hundred kernels are short and straight.
    pub(crate) straight: u32,
    /// Kernels keep to the pool's families and rarely to anything else, so that much can be promoted.
    pub(crate) tidy: bool,
    /// How many of a hundred tidy kernels have nothing but loads, arithmetic and a last store: lists of these are fused and
    /// promoted unless loops or views differ.
    pub(crate) calm: u32,
    /// How many of a hundred calm kernels have one thing that disturbs them.
    pub(crate) odd: u32,
    /// Tidy kernels begin with the same range guard.
    pub(crate) guarded: bool,
    /// The array of each block that tidy kernels keep to, and whether they go over an invocation's elements in loops.
    pub(crate) arrays: Vec<usize>,
    pub(crate) looped: bool,
    /// How many of a hundred loops go round as often as the invocation or memory says.
    pub(crate) uneven: u32,
    /// How many of a hundred loops over an invocation's elements are tested behind the store.
    pub(crate) late: u32,
    /// How many of a hundred views of a block with matrices see them in the other major.
    pub(crate) turned: u32,
    /// Kernels take a number from one small buffer that no kernel writes.
    pub(crate) cells: bool,
    /// Kernels go over rows of this many elements, and do nothing else.
    pub(crate) rows: Option<u32>,
}

impl Theme {
    pub(crate) fn random(random: &mut Random, rows: bool) -> Self {
        let mut theme = Self::any(random);
        if random.percent(40) {
            theme.become_chain(random);
        }
        if random.percent(20) || rows {
            theme.rows = Some(random.one(&[2, 3, 4, 4]));
            theme.blocks = vec![rows::words(), rows::words()];
            theme.two_dimensions = false;
            theme.local = random.one(&[[4, 1, 1], [8, 1, 1], [16, 1, 1]]);
        }
        theme
    }

    /// Makes it one of calm kernels, which would all be fused and promoted, except for how often loops go round, or how the parts
    /// of an element lie.
    fn become_chain(&mut self, random: &mut Random) {
        (self.tidy, self.calm, self.straight) = (true, 90, 20);
        (self.guarded, self.looped, self.cells) = (random.percent(30), false, random.percent(10));
        self.odd = 5;
        match random.below(4) {
            0 => {
                // Elements of an invocation that no other one comes near.
                let apart =
                    [Family::Blocked(4), Family::Blocked(4), Family::Blocked(5), Family::Strided(None)];
                self.families = vec![random.one(&apart)];
                self.blocks.truncate(1);
                (self.looped, self.uneven, self.late) = (true, 50, random.one(&[40, 80]));
            }
            1 => {
                self.families =
                    vec![random.one(&[Family::Own, Family::Own, Family::Blocked(2), Family::Reversed])];
                self.blocks = vec![Block::of_matrices(random, ROOM)];
                (self.uneven, self.turned) = (0, 40);
            }
            _ => {
                self.families =
                    vec![random.one(&[Family::Own, Family::Own, Family::Own, Family::Blocked(2)])];
                (self.uneven, self.odd) = (0, 50);
            }
        }
        self.arrays = self.blocks.iter().map(|block| random.below(block.arrays.len())).collect();
    }

    fn any(random: &mut Random) -> Self {
        let two_dimensions = random.percent(15);
        let local = if two_dimensions {
            random.one(&[[4, 2, 1], [2, 4, 1], [8, 2, 1], [4, 4, 1]])
        } else {
            random.one(&[[4, 1, 1], [8, 1, 1], [8, 1, 1], [16, 1, 1], [16, 1, 1], [32, 1, 1], [6, 1, 1]])
        };
        let tidy = random.percent(65);
        let grouped = if tidy { random.one(&[0, 0, 0, 40, 100]) } else { random.one(&[0, 0, 30, 60, 100]) };
        let count = if tidy { 1 } else { random.between(1, 3) };
        let mut families: Vec<Family> = (0..count).map(|_| Family::random(random, grouped > 50)).collect();
        if tidy && random.percent(25) {
            families = vec![Family::Own];
        }
        let count = if tidy { random.between(1, 2) } else { random.between(2, 3) };
        let blocks: Vec<Block> = (0..count).map(|_| Block::random(random, ROOM)).collect();
        let arrays = blocks.iter().map(|block| random.below(block.arrays.len())).collect();
        let guarded = random.percent(50);
        let many = matches!(families[0], Family::Blocked(_) | Family::Strided(_));
        let looped = random.percent(if many { 70 } else { 20 });
        let calm = if tidy { random.one(&[0, 0, 0, 50]) } else { 0 };
        if looped {
            // A kernel that loops over four elements has blocks of four.
            for family in &mut families {
                if let Family::Blocked(2 | 3) = family {
                    *family = Family::Blocked(4);
                }
            }
        }
        let uneven = random.one(&[0, 20, 60]);
        let late = random.one(&[10, 40, 80]);
        let turned = random.one(&[0, 10, 40]);
        let cells = families.iter().any(|family| matches!(family, Family::Cell(..))) || random.percent(15);
        let straight = random.one(&[20, 40, 80]);
        Self {
            blocks,
            families,
            local,
            two_dimensions,
            grouped,
            straight,
            tidy,
            calm,
            odd: 20,
            guarded,
            arrays,
            looped,
            uneven,
            late,
            turned,
            cells,
            rows: None,
        }
    }
}
