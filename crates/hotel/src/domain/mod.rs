//! What the hotel talks about: orders, their keys, tasks and warnings. Pure rules, no I/O.

pub mod keys;
pub mod local_time;
pub mod order;
pub mod proposal;
pub mod role;
pub mod search;
pub mod task;
pub mod task_name;
pub mod warning;
