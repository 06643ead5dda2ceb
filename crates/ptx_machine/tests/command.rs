//! The command `ptx-machine`, from outside.
#![cfg(feature = "cli")]

use std::path::Path;
use std::process::{Command, Output};

const SCALE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.entry scale(.param .u64 in, .param .u64 out, .param .f32 by) {\n\
    .reg .u32 %t; .reg .u64 %a, %b; .reg .f32 %f, %by;\nmov.u32 %t, %tid.x; ld.param.u64 %a, [in]; ld.param.u64 %b, [out];\n\
    ld.param.f32 %by, [by]; mad.wide.u32 %a, %t, 4, %a; mad.wide.u32 %b, %t, 4, %b;\nld.global.f32 %f, [%a];\n\
    mul.rn.f32 %f, %f, %by; st.global.f32 [%b], %f; ret; }\n";

fn machine(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptx-machine")).current_dir(folder).args(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// A folder of its own with `scale.ptx` and `in.npy`, the f32 0 to 7.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("scale.ptx"), SCALE).unwrap();
    npyz::to_file_1d(folder.join("in.npy"), (0..8u8).map(f32::from)).unwrap();
    folder
}

fn floats(file: &Path) -> (Vec<u64>, Vec<f32>) {
    let array = npyz::NpyFile::new(std::fs::File::open(file).unwrap()).unwrap();
    (array.shape().to_vec(), array.into_vec().unwrap())
}

#[test]
fn a_kernel_runs_over_npy_files() {
    let folder = folder("runs");
    let run =
        ["run", "scale.ptx", "--block", "8", "--arg", "in:in.npy", "--arg", "out:out.npy:f4:2x4", "--arg", "f32:0.5"];
    let output = machine(&folder, &run);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).starts_with("scale: 1 blocks, 1 warps, 10 warp instructions, 80 thread"),
        "{}",
        text(&output.stdout)
    );
    assert_eq!(floats(&folder.join("out.npy")), (vec![2, 4], (0..8u8).map(|i| f32::from(i) / 2.0).collect()));
    let run = [
        "run",
        "scale.ptx",
        "--portable",
        "--block",
        "4",
        "--arg",
        "inout:in.npy",
        "--arg",
        "out:o.npy:<f4:8",
        "--arg",
        "-2",
    ];
    let output = machine(&folder, &run);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("o.npy: 16 of 32 bytes were never written"), "{}", text(&output.stderr));
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files.len(), 4, "{files:?}");
}

#[test]
fn faults_exit_with_1_and_write_nothing() {
    let folder = folder("faults");
    let run = ["run", "scale.ptx", "--block", "9", "--arg", "in:in.npy", "--arg", "out:out.npy:f4:9", "--arg", "1.0"];
    let output = machine(&folder, &run);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("scale.ptx:8: out-of-bounds in scale, block (0, 0, 0), warp 0, lane 8"), "{error}");
    assert!(error.contains("0 bytes past the end of `in`, 32 bytes"), "{error}");
    assert!(!folder.join("out.npy").exists());
}

#[test]
fn bad_input_exits_with_2_and_one_line() {
    let folder = folder("bad");
    std::fs::write(folder.join("bad.ptx"), SCALE.replace("mul.rn", "mul")).unwrap();
    std::fs::write(folder.join("cut.npy"), [0x93, b'N', b'U', b'M']).unwrap();
    let huge = std::fs::File::create(folder.join("huge.ptx")).unwrap();
    huge.set_len(50 << 20).unwrap();
    let arg = |a: &'static str| ["run", "scale.ptx", "--block", "8", "--arg", a, "--arg", "0", "--arg", "0"];
    let cases: [(&[&str], &str); 9] = [
        (&["check", "none.ptx"], "none.ptx: No such file"),
        (&["check", "bad.ptx"], "bad.ptx:9: mul.f32 is refused in strict mode"),
        (&["check", "huge.ptx"], "huge.ptx: the source is too large; allowed: up to 16777216 bytes"),
        (&["run", "scale.ptx", "--block", "8", "--entry", "other"], "entry: other is not allowed; allowed: scale"),
        (&["run", "scale.ptx", "--block", "8"], "number of arguments: 0 is not allowed"),
        (&arg("in:none.npy"), "none.npy: No such file"),
        (&arg("in:cut.npy"), "cut.npy: is no .npy file"),
        (&arg("u64:-1"), "argument 0 (u64 in): -1 is not allowed"),
        (
            &["run", "scale.ptx", "--block", "0", "--arg", "0", "--arg", "0", "--arg", "0"],
            "block: (0, 1, 1) is not allowed",
        ),
    ];
    for (args, message) in cases {
        let output = machine(&folder, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = text(&output.stderr);
        assert!(error.contains(message) && error.lines().count() == 1, "{args:?}: {error}");
    }
    for args in [&["run", "scale.ptx", "--block", "1,2,3,4"][..], &arg("out:x:y:z"), &arg("zz"), &arg("q9:1"), &[]] {
        assert_eq!(machine(&folder, args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn check_lists_entries() {
    let folder = folder("check");
    let output = machine(&folder, &["check", "scale.ptx"]);
    assert_eq!(output.status.code(), Some(0));
    let out = text(&output.stdout);
    assert!(out.starts_with("PTX 8.0, sm_80, 1 entries\nscale(u64 in, u64 out, f32 by)\n"), "{out}");
    assert!(machine(&folder, &["check", "scale.ptx", "--lax"]).status.success());
}
