//! From submissions to the device: what is pending, how a list ends, how work is handed over.

pub(crate) mod addressed;
pub(crate) mod check;
pub(crate) mod commit;
pub(crate) mod context;
pub(crate) mod declared;
pub(crate) mod end;
pub(crate) mod event;
pub(crate) mod launch;
pub(crate) mod one_by_one;
pub(crate) mod predict;
pub(crate) mod prepare;
pub(crate) mod queues;
pub(crate) mod rebind;
pub(crate) mod schedule;
pub(crate) mod verify;
pub(crate) mod warnings;
