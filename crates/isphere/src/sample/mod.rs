//! A generated organisation, for the mock source and for sample stores.
