//! Lists that ran before: graphs, their executables, and how these are launched.
//!
//! A list that came twice has a [`graph`], with buffers as slots. A graph on certain buffers is an [executable](exec), whose next launch only
//! submits what was recorded. What a launch rests on is asked before each, or kept where what ends it changes it:
//!
//! | condition | kept as | who ends it | under |
//! | --- | --- | --- | --- |
//! | the submissions are those of the graph | the list's way along it ([`predicted`]); a kept list is one | a submission that differs | the queue |
//! | no code of this context was found to be wrong | a flag (`Judged`), asked before | a comparison that fails | nothing |
//! | buffers hold the numbers that were planned with | bytes that the dependency graph knows | what may write them | the schedule |
//! | what is read is readable, what a launch does to contents is so, buffers are as they were planned for | `epoch` of the executable | a change of contents, an exposed address; a name, a promotion, a view of its buffers | nothing: a count |
//! | no list of another queue and no host is on its memory | the memory's [`Owner`](crate::submission::identity::Owner) | what takes memory from its owner | the schedule |
//! | its queue lists nothing else | `Mode`, `is_direct` | `start_fusion` | the queue |
//! | nothing but its own latest launch comes before | `mark` | work in conflict, put in the dependency graph; bytes that get known | the schedule |
//! | its commands are recorded | `lane`, `reusables` | a launch on another hardware queue; a buffer that goes | the schedule |
//! | all of these, and no one has looked since | `relaunches` | any other use of the schedule ([`settle`](exec::GraphExec::settle)) | the executable |
//!
//! The schedule orders all work and is behind one lock, where threads would meet that launch executables of their own, on queues and memory of
//! their own. Once nothing but its own latest launch comes before, an executable is *relaunched*: under its own lock, with the launches counted
//! there. The next one to take the schedule for anything else accounts for them first, and finds everything as if they had been made with it.
//!
//! Locks are taken in this order: the schedule, a queue, an executable, what a queue has run (`Past`).

pub(crate) mod cache;
pub(crate) mod exec;
pub(crate) mod graph;
pub(crate) mod launch;
pub(crate) mod predicted;
