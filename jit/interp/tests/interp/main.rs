//! The reference interpreter: results against host references, and each rule it reports.

mod arithmetic;
mod barriers;
mod blocks;
mod bounds;
mod harness;
mod images;
mod limits;
mod memory;
mod races;
mod results;
mod speed;
mod subgroups;
mod undefined;
