// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds the module paths of a file: what begins with `crate::`, `super::` or `self::`, in use
//! trees of any form, in code and within macros.

use std::iter::Peekable;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree, token_stream::IntoIter};

/// What a path may begin with.
const BEGINNINGS: [&str; 3] = ["crate", "super", "self"];
/// So many names of a path tell whose it is.
const NAMES: usize = 2;

type Tokens = Peekable<IntoIter>;

/// Line and path from the root, at most two names of it, of each path in the text of a module.
///
/// Errors: the text is no Rust.
pub fn paths(text: &str, module: &[String]) -> Result<Vec<(usize, Vec<String>)>> {
    let tokens: TokenStream = text.parse().map_err(|error| anyhow!("{error}"))?;
    let mut found = Vec::new();
    search(tokens, module, &mut found);
    Ok(found)
}

fn search(tokens: TokenStream, module: &[String], found: &mut Vec<(usize, Vec<String>)>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut is_in_path = false;
    while let Some(token) = tokens.next() {
        let was_in_path = std::mem::take(&mut is_in_path);
        match token {
            TokenTree::Group(group) => search(group.stream(), module, found),
            TokenTree::Punct(punct) => is_in_path = punct.as_char() == ':' && colon(&mut tokens),
            TokenTree::Ident(name) if name == "mod" => search_module(&mut tokens, module, found),
            // `pub(in crate::a)` uses nothing.
            TokenTree::Ident(name) if name == "pub" => {
                tokens.next_if(|next| is_group(next, Delimiter::Parenthesis));
            }
            TokenTree::Ident(name) if !was_in_path && BEGINNINGS.iter().any(|it| name == it) => {
                let line = name.span().start().line;
                if separator(&mut tokens) {
                    let ends = tree(&mut tokens, vec![name.to_string()]);
                    let ends = ends.into_iter().map(|names| resolve(&names, module));
                    found.extend(ends.map(|path| (line, path)));
                }
            }
            TokenTree::Ident(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// A module within the file: `super` is the file's own there.
fn search_module(tokens: &mut Tokens, module: &[String], found: &mut Vec<(usize, Vec<String>)>) {
    let Some(TokenTree::Ident(name)) = tokens.next() else {
        return;
    };
    if let Some(TokenTree::Group(body)) = tokens.next_if(|next| is_group(next, Delimiter::Brace)) {
        search(
            body.stream(),
            &[module, &[name.to_string()]].concat(),
            found,
        );
    }
}

/// The ends of a use tree, or of a plain path, from behind a `::` on. A star ends at its folder.
fn tree(tokens: &mut Tokens, mut names: Vec<String>) -> Vec<Vec<String>> {
    loop {
        match tokens.peek() {
            Some(TokenTree::Ident(name)) => names.push(name.to_string()),
            Some(TokenTree::Group(list)) if list.delimiter() == Delimiter::Brace => {
                let ends = branches(list.stream(), &names);
                tokens.next();
                return ends;
            }
            _ => return vec![names],
        }
        tokens.next();
        if !separator(tokens) {
            return vec![names];
        }
    }
}

/// The ends of what stands in braces, between commas.
fn branches(list: TokenStream, names: &[String]) -> Vec<Vec<String>> {
    let mut ends = Vec::new();
    let mut tokens = list.into_iter().peekable();
    while tokens.peek().is_some() {
        ends.extend(tree(&mut tokens, names.to_vec()));
        let is_comma = |it: &TokenTree| matches!(it, TokenTree::Punct(it) if it.as_char() == ',');
        while tokens.next().is_some_and(|token| !is_comma(&token)) {}
    }
    ends
}

/// The path from the root that names say in a module.
fn resolve(names: &[String], module: &[String]) -> Vec<String> {
    let mut path = match names.first().map(String::as_str) {
        Some("crate") => Vec::new(),
        _ => module.to_vec(),
    };
    for name in names {
        match name.as_str() {
            "crate" | "self" => {}
            "super" => drop(path.pop()),
            _ => path.push(name.clone()),
        }
    }
    path.truncate(NAMES);
    path
}

/// Takes a `::`, if it is next.
fn separator(tokens: &mut Tokens) -> bool {
    colon(tokens) && colon(tokens)
}

fn colon(tokens: &mut Tokens) -> bool {
    let is_colon = |it: &TokenTree| matches!(it, TokenTree::Punct(it) if it.as_char() == ':');
    tokens.next_if(is_colon).is_some()
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}
