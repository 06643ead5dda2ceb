//! docs/ptx-machine.md says what the command says: each `console` block is run, and its output compared.
//!
//! After a change that is meant, `UPDATE_DOCS=1 cargo test -p ptx_machine --test docs` writes the new output.
#![cfg(feature = "cli")]

use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ptx-machine.md");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");

/// A folder with the examples and the input that the page has Python make.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for example in std::fs::read_dir(EXAMPLES).unwrap() {
        let example = example.unwrap();
        std::fs::copy(example.path(), folder.join(example.file_name())).unwrap();
    }
    npyz::to_file_1d(folder.join("x.npy"), (0..1024u16).map(f32::from)).unwrap();
    folder
}

/// Standard output and standard error of a command, as a terminal shows them. A fault or a refusal must fail.
fn shown(folder: &Path, command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    assert_eq!(words[0], "ptx-machine", "{command}");
    let output =
        Command::new(env!("CARGO_BIN_EXE_ptx-machine")).current_dir(folder).args(&words[1..]).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(text[1].is_empty(), output.status.success(), "{command}: {}", text[1]);
    text.concat()
}

/// The page with the output of every command in its `console` blocks.
fn rendered(page: &str, folder: &Path) -> (String, usize) {
    let (mut out, mut commands, mut inside) = (Vec::new(), 0, false);
    for line in page.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => {
                let Some(command) = line.strip_prefix("$ ") else { continue };
                commands += 1;
                out.push(line.to_owned());
                out.extend(shown(folder, command).lines().map(|line| line.trim_end().to_owned()));
                continue;
            }
            (false, _) => {}
        }
        out.push(line.to_owned());
    }
    (out.join("\n") + "\n", commands)
}

#[test]
fn the_page_shows_what_the_commands_print() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (now, commands) = rendered(&page, &folder("page"));
    assert!(commands >= 9, "{commands} commands");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, now).unwrap();
    } else {
        assert_eq!(page, now);
    }
}

#[test]
fn the_page_names_every_option() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let folder = folder("options");
    for command in ["run", "check", "forms"] {
        let help = shown(&folder, &format!("ptx-machine {command} --help"));
        let options = help.lines().filter_map(|line| line.trim().strip_prefix("--")?.split([' ', ',']).next());
        let options: Vec<&str> = options.filter(|name| *name != "help").collect();
        assert!(!options.is_empty(), "{help}");
        for option in options {
            assert!(page.contains(&format!("`--{option}")), "--{option} of {command}");
        }
    }
}

#[test]
fn the_page_names_every_kind_of_fault() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let source = include_str!("../src/fault.rs");
    let names: Vec<&str> =
        source.lines().filter_map(|line| line.trim().strip_prefix("Self::")?.split('"').nth(1)).collect();
    assert!(names.len() > 12, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("| `{name}` | ")), "{name}");
    }
}

#[test]
fn the_mended_sum_is_right() {
    let folder = folder("mended");
    let run = "ptx-machine run block_sum.ptx --grid 4 --block 256 --arg in:x.npy --arg out:sums.npy:f4:4";
    shown(&folder, run);
    let sums: Vec<f32> =
        npyz::NpyFile::new(std::fs::File::open(folder.join("sums.npy")).unwrap()).unwrap().into_vec().unwrap();
    assert_eq!(sums, [32_640.0, 98_176.0, 163_712.0, 229_248.0]);
}
