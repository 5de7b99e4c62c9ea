//! How a tool fails.

use haft_permission::Denied;

/// Why a call failed. The text is for the model: it says what to do next.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ToolError {
    /// The arguments do not fit.
    #[error("{0}")]
    BadInput(String),
    /// It was not allowed.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The user stopped it.
    #[error("stopped by the user before it finished; what it had done until then stays done")]
    Cancelled,
    /// It did not work.
    #[error("{0}")]
    Failed(String),
}

impl ToolError {
    /// The word programs read: `bad_input`, `denied`, `cancelled` or `failed`.
    pub fn kind(&self) -> &'static str {
        match self {
            ToolError::BadInput(_) => "bad_input",
            ToolError::Denied(_) => "denied",
            ToolError::Cancelled => "cancelled",
            ToolError::Failed(_) => "failed",
        }
    }
}

/// Says aloud that an error is for the model.
pub trait TellModel<T> {
    /// Turns the error and its causes into [`ToolError::Failed`].
    ///
    /// # Errors
    ///
    /// When `self` is one.
    fn tell_model(self) -> Result<T, ToolError>;
}

impl<T, E: std::error::Error> TellModel<T> for Result<T, E> {
    fn tell_model(self) -> Result<T, ToolError> {
        self.map_err(|error| ToolError::Failed(with_causes(&error)))
    }
}

/// An error and its causes in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
