//! The halves of the product as the commands use them: opened from the configuration, and served.

pub(crate) mod hotel;
pub(crate) mod isphere;

use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::commands::CommandError;

/// The caller in the audit trail when a command names no person.
pub(crate) const LOCAL: &str = "local";

/// Takes the address that `flag` chose, so that nothing else is begun when it is in use.
pub(crate) async fn bind(
    address: &str,
    flag: &'static str,
) -> Result<(TcpListener, SocketAddr), CommandError> {
    let refused = |reason| CommandError::Listen { address: address.to_owned(), flag, reason };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    Ok((listener, bound))
}
