//! Probes of the rules of `docs/fusion-model.md`, one by one: small lists of WGSL kernels with the expected result, that is whether
//! they may be fused, with how many barriers, and what may stay inside.
//!
//! Every list is also run in the interpreter, unfused and as planned, under each of its orders, and all bytes are
//! compared. The probes are data as well: `mutation` weakens one rule after the other and demands that some of them
//! notice.

#[macro_use]
mod lab;

mod arms;
mod arms_random;
mod blocks;
mod certain;
mod columns;
mod concatenations;
mod dimensions;
mod early_returns;
mod epilogue_halves;
mod epilogue_rows;
mod epilogues;
mod fetched;
mod floats;
mod glsl;
mod guards;
mod hazards;
mod images;
mod indices;
mod inline_rows;
mod inlining;
mod inlining_halves;
mod inlining_narrow;
mod kept_results;
mod kinds;
mod late_stores;
mod limits;
mod line_parts;
mod line_parts_random;
mod lockstep;
mod loops;
mod narrow;
mod neighbours;
mod normal;
mod numbers;
mod one_store;
mod order;
mod other_rows;
mod overlaps;
mod packed;
mod padding;
mod padding_random;
mod padding_subgroups;
mod placed_blocks;
mod placed_blocks_random;
mod placed_elements;
mod placed_grids;
mod placed_groups;
mod placed_groups_random;
mod placed_lines;
mod placed_rounds;
mod placement;
mod promotion;
mod recurrences;
mod rename;
mod returns;
mod robust;
mod rounds;
mod rows;
mod settled;
mod side_by_side;
mod sites;
mod splits;
mod squares;
mod subgroups;
mod tested_at_end;
mod texels;
mod texels_random;
mod unpromoted;
mod values;
mod views;
mod weaknesses;
mod written_out;

#[cfg(feature = "mutation")]
mod mutation;

#[cfg(all(feature = "certify", feature = "mutation"))]
mod proof;

#[cfg(all(feature = "certify", feature = "mutation"))]
#[path = "../solver/mod.rs"]
mod solver;
