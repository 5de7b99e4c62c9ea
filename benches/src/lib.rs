//! A model served over HTTP that plays a scenario, and the measurements made with it.

pub mod agent;
pub mod bare;
pub mod child;
pub mod crowd;
pub mod home;
pub mod install;
pub mod limits;
pub mod long;
pub mod model_server;
pub mod rows;
pub mod sample;
pub mod scene;
pub mod served;
pub mod size;
pub mod stats;
pub mod table;
pub mod talk;
pub mod tools;
pub mod wire;

/// As in the binary, so that what is measured here costs what it costs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
