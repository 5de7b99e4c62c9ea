//! The loop, played with scripted models and real tools on a temporary folder.

mod crash;
mod ends;
mod loops;
mod scene;
