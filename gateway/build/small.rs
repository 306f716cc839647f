// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Objects for a small router: without names of places in the code, which clang 14 leaves there, and
//! without lines of the source, which only a verifier that refuses would tell. Together they are
//! more than a half of an object. What sections are like: the kernel's documentation of BTF.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Does so if somebody says by what program (EBB_OBJCOPY).
pub fn make(object: &Path) {
    println!("cargo::rerun-if-env-changed=EBB_OBJCOPY");
    let Some(objcopy) = env::var_os("EBB_OBJCOPY") else {
        return;
    };
    let copy = |arguments: &[&str]| {
        let mut command = Command::new(&objcopy);
        command.args(arguments).arg(object);
        let status = command.status();
        assert!(
            status.as_ref().is_ok_and(|status| status.success()),
            "{command:?}: {status:?} (EBB_OBJCOPY names llvm-objcopy)"
        );
    };
    let files = ["BTF", "BTF.ext"].map(|name| object.with_extension(name));
    let [types, more] = &files;
    let of_types = format!(".BTF={}", types.display());
    let of_more = format!(".BTF.ext={}", more.display());
    copy(&["--wildcard", "--strip-symbol=LBB*"]);
    copy(&["--dump-section", &of_types, "--dump-section", &of_more]);
    let mut words = files
        .each_ref()
        .map(|file| fs::read(file).expect("it was just written"));
    shorten(&mut words);
    for (file, left) in files.iter().zip(words) {
        fs::write(file, left).expect("it can be written again");
    }
    copy(&["--update-section", &of_types, "--update-section", &of_more]);
}

/// The sections `.BTF` and `.BTF.ext` without lines, and without strings that are then nobody's.
fn shorten([types, more]: &mut [Vec<u8>; 2]) {
    if !drop_lines(more) {
        return;
    }
    let strings = (word(types, 4) + word(types, 16)) as usize;
    let mut names = Names {
        old: types[strings..strings + word(types, 20) as usize].to_vec(),
        new: vec![0],
        places: HashMap::from([(0, 0)]),
    };
    names.keep_of_types(types);
    names.keep_of_functions(more);
    types.truncate(strings);
    types.extend_from_slice(&names.new);
    set_word(types, 20, names.new.len() as u32);
}

/// Not where there are relocations, which have strings, too: these programs ask for none.
fn drop_lines(more: &mut Vec<u8>) -> bool {
    let header = word(more, 4) as usize;
    let (lines, length) = (word(more, 16) as usize, word(more, 20) as usize);
    if header >= 32 && word(more, 28) > 0 {
        return false;
    }
    more.drain(header + lines..header + lines + length);
    set_word(more, 20, 0);
    if header >= 32 {
        set_word(more, 24, lines as u32);
    }
    true
}

/// The strings of an object, and those that somebody has asked for.
struct Names {
    old: Vec<u8>,
    new: Vec<u8>,
    places: HashMap<u32, u32>,
}

impl Names {
    fn keep_of_types(&mut self, types: &mut [u8]) {
        let mut place = (word(types, 4) + word(types, 8)) as usize;
        let end = place + word(types, 12) as usize;
        while place < end {
            self.keep(types, place);
            let about = word(types, place + 4);
            let (kind, count) = (about >> 24 & 31, (about & 0xffff) as usize);
            place += 12;
            // How many words follow, and of how many each part with a name is.
            let (alone, each) = match kind {
                1 | 14 | 17 => (1, 0),
                3 => (3, 0),
                4 | 5 | 19 => (0, 3),
                6 | 13 => (0, 2),
                15 => (3 * count, 0),
                _ => (0, 0),
            };
            for part in 0..if each > 0 { count } else { 0 } {
                self.keep(types, place + 4 * each * part);
            }
            place += 4 * (alone + each * count);
        }
    }

    /// By sections: their name, how many functions, and these.
    fn keep_of_functions(&mut self, more: &mut [u8]) {
        let begin = (word(more, 4) + word(more, 8)) as usize;
        let end = begin + word(more, 12) as usize;
        let entry_bytes = word(more, begin) as usize;
        let mut place = begin + 4;
        while place < end {
            self.keep(more, place);
            place += 8 + entry_bytes * word(more, place + 4) as usize;
        }
    }

    /// Keeps the string that this word of a section names.
    fn keep(&mut self, section: &mut [u8], place: usize) {
        let named = word(section, place);
        let kept = *self.places.entry(named).or_insert_with(|| {
            let text = self.old[named as usize..].split_inclusive(|byte| *byte == 0);
            let at = self.new.len() as u32;
            self.new.extend(text.take(1).flatten());
            at
        });
        set_word(section, place, kept);
    }
}

fn word(section: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(section[place..place + 4].try_into().expect("four bytes"))
}

fn set_word(section: &mut [u8], place: usize, value: u32) {
    section[place..place + 4].copy_from_slice(&value.to_le_bytes());
}
