//! Sending: preview, gate, ledger.
