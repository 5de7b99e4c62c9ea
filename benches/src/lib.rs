//! A model served over HTTP that plays a scenario, and the measurements made with it.

pub mod model_server;
