//! What tools keep for a session between its calls.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// One session's things, one of each type. A handle, cheap to clone; with the last one they are dropped, which must
/// stop whatever they still do.
///
/// There are no more of them than there are types that ask.
#[derive(Clone, Default)]
pub struct Belongings {
    inner: Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

impl Belongings {
    /// The one `T` of this session, made when it is first asked for.
    pub fn of<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        // The map is whole after each line, so a panic elsewhere does no harm to it.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let found = inner.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        // What is kept under the id of a type is of that type.
        Arc::clone(found).downcast().unwrap_or_default()
    }
}

impl fmt::Debug for Belongings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Belongings")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static DROPPED: AtomicUsize = AtomicUsize::new(0);

    #[derive(Default)]
    struct Job {
        number: AtomicUsize,
    }

    impl Drop for Job {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn each_type_has_one_place_and_all_go_with_the_session() {
        let belongings = Belongings::default();
        belongings.of::<Job>().number.store(7, Ordering::Relaxed);
        let other = belongings.clone();
        assert_eq!(other.of::<Job>().number.load(Ordering::Relaxed), 7);
        assert_eq!(*other.of::<String>(), "");
        drop(belongings);
        assert_eq!(DROPPED.load(Ordering::Relaxed), 0);
        drop(other);
        assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
    }
}
