//! `ebb`. 
fn main() {}
