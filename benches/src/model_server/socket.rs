//! A socket that notes when it was written to.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::log::Log;

pub(super) struct Socket {
    inner: TokioIo<TcpStream>,
    log: Arc<Log>,
    current: Current,
}

/// Which request a connection answers.
#[derive(Clone)]
pub(super) struct Current(Arc<AtomicUsize>);

/// The number of no request.
const NONE: usize = usize::MAX;

impl Current {
    pub(super) fn set(&self, number: usize) {
        self.0.store(number, Ordering::Relaxed);
    }
}

impl Socket {
    pub(super) fn new(socket: TcpStream, log: Arc<Log>) -> Self {
        Self { inner: TokioIo::new(socket), log, current: Current(Arc::new(AtomicUsize::new(NONE))) }
    }

    pub(super) fn current(&self) -> Current {
        self.current.clone()
    }

    fn note(&self, wrote: &Poll<io::Result<usize>>) {
        let number = self.current.0.load(Ordering::Relaxed);
        if matches!(wrote, Poll::Ready(Ok(1..))) && number != NONE {
            self.log.wrote(number, Instant::now());
        }
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl Write for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.note(&wrote);
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write_vectored(context, buffers);
        self.note(&wrote);
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
