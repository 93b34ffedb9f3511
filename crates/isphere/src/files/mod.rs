//! Files on this machine: the inbound and the outbound folder.
