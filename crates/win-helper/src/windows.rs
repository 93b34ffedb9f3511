//! The calls into Windows behind [`crate::desktop`]; `elsewhere` there says what each function must do.

#![allow(unsafe_code, reason = "Windows is called through its C interfaces")]
