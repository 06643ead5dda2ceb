//! The command `ptx-machine`, from outside.
#![cfg(feature = "cli")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

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
    for args in [
        &["run", "scale.ptx", "--block", "1,2,3,4"][..],
        &arg("out:x:y:z"),
        &arg("scratch:f4:8"),
        &arg("zz"),
        &arg("q9:1"),
        &[],
    ] {
        assert_eq!(machine(&folder, args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn scratch_takes_values_that_no_one_wrote() {
    let folder = folder("scratch");
    let run = |to: &str| {
        machine(&folder, &["run", "scale.ptx", "--block", "8", "--arg", "scratch:a:f4:8", "--arg", to, "--arg", "2.0"])
    };
    assert_eq!(run("scratch:b:f4:2x4").status.code(), Some(0));
    let output = run("out:b.npy:f4:8");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("stores a value that was never written"), "{}", text(&output.stderr));
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

/// The command with `input` on its standard input.
fn machine_reading(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptx-machine"));
    let command = command.current_dir(folder).args(args).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_text_may_come_from_standard_input() {
    let folder = folder("stdin");
    let output = machine_reading(&folder, &["check", "-"], SCALE);
    assert!(output.status.success() && text(&output.stdout).contains("scale(u64 in, u64 out, f32 by)"));
    let output = machine_reading(&folder, &["check", "-"], &SCALE.replace("mul.rn", "mul"));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("ptx-machine: <stdin>:9: mul.f32"), "{}", text(&output.stderr));
}

#[test]
fn summaries_and_faults_as_json() {
    let folder = folder("json");
    let run = |block: &str, more: &[&str]| {
        let args = ["run", "scale.ptx", "--json", "--block", block, "--arg", "in:in.npy", "--arg", "out:o.npy:f4:9"];
        let output = machine(&folder, &[&args[..], &["--arg", "2"], more].concat());
        (output.status.code(), serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON"))
    };
    let (code, summary) = run("8", &["--profile"]);
    assert_eq!(code, Some(0));
    assert_eq!(summary["stats"]["thread_instructions"], 80);
    assert_eq!((&summary["fault"], &summary["entry"]), (&serde_json::Value::Null, &"scale".into()));
    assert_eq!(summary["profile"]["total"]["executed"], 80);
    let (code, summary) = run("9", &[]);
    assert_eq!(code, Some(1));
    assert_eq!(summary["fault"]["kind"], "out-of-bounds");
    assert_eq!((&summary["fault"]["line"], &summary["fault"]["lane"]), (&8.into(), &8.into()));
    assert_eq!((&summary["stats"], &summary["profile"]), (&serde_json::Value::Null, &serde_json::Value::Null));
    let output = machine(&folder, &["check", "scale.ptx", "--json"]);
    let listing: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(listing["entries"][0]["params"][2]["type"], "f32");
    let output = machine(&folder, &["forms", "shfl", "--json"]);
    let forms: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&forms[0]["opcode"], &forms[0]["sm"]), (&"shfl".into(), &30.into()));
}

#[test]
fn traces_and_profiles_go_to_files_that_are_whole() {
    let folder = folder("watched");
    let run = |more: &[&str]| {
        let args = ["run", "scale.ptx", "--block", "8", "--arg", "in:in.npy", "--arg", "out:o.npy:f4:8", "--arg", "2"];
        machine(&folder, &[&args[..], more].concat())
    };
    let output = run(&["--trace", "0:0", "--trace-file", "t.txt", "--profile-json", "p.json", "--trace-lanes", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let trace = std::fs::read_to_string(folder.join("t.txt")).unwrap();
    assert!(
        trace.starts_with("#1 line 6 lanes 000000ff: mov.u32 %t, %tid.x\n        %tid.x = 3\n     -> %t = 3\n"),
        "{trace}"
    );
    assert_eq!(trace.lines().filter(|line| line.starts_with('#')).count(), 10);
    let profile: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("p.json")).unwrap()).unwrap();
    assert_eq!(profile["lines"].as_array().map(Vec::len), Some(10));
    assert_eq!(profile["total"]["global"]["sectors"], 2);
    let shown = run(&["--trace", "0:0", "--trace-lines", "8-9", "--profile", "--profile-lines", "2"]);
    let shown = text(&shown.stdout);
    assert!(shown.starts_with("#1 line 8 lanes 000000ff: ld.global.f32 %f, [%a]\n"), "{shown}");
    assert!(
        shown.contains("     -> %f = 0.0 + lane\n") && shown.contains("8 more lines: --profile-lines\n"),
        "{shown}"
    );
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(files.iter().all(|name| !name.to_string_lossy().contains("part")), "{files:?}");
}

#[test]
fn buffers_of_halves_zeros_and_bytes() {
    let folder = folder("halves");
    let add = ".version 8.0\n.target sm_80\n.address_size 64\n.entry add(.param .u64 in, .param .u64 sum, \
               .param .align 4 .b8 by[8]) {\n.reg .u64 %i, %s; .reg .b16 %h; .reg .f32 %f, %g;\n\
               ld.param.u64 %i, [in]; ld.param.u64 %s, [sum]; ld.global.b16 %h, [%i+2]; cvt.f32.f16 %f, %h;\n\
               ld.param.f32 %g, [by+4]; add.rn.f32 %f, %f, %g; ld.global.f32 %g, [%s]; add.rn.f32 %f, %f, %g;\n\
               st.global.f32 [%s], %f; ret; }\n";
    std::fs::write(folder.join("add.ptx"), add).unwrap();
    // A .npy file of two f16, 1 and 3: npyz has no such type, so written out.
    let header = format!("{:<117}\n", "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(header.as_bytes());
    file.extend([0x00, 0x3c, 0x00, 0x42]);
    std::fs::write(folder.join("h.npy"), file).unwrap();
    let run = |bytes: &str| {
        let args = ["run", "add.ptx", "--block", "1", "--arg", "in:h.npy", "--arg", "zeros:s.npy:f4:1", "--arg", bytes];
        machine(&folder, &args)
    };
    let output = run("bytes:0000000000000040");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(floats(&folder.join("s.npy")), (vec![1], vec![5.0]));
    for (bytes, message) in [
        ("bytes:00", "argument 2 (b8[8] by): 1 bytes is not allowed; allowed: 8 bytes"),
        ("bytes:0", "bytes:0 is no hexadecimal"),
        ("bytes:+1+1", "bytes:+1+1 is no hexadecimal"),
        ("1", "argument 2 (b8[8] by)"),
    ] {
        let output = run(bytes);
        assert_eq!(output.status.code(), Some(2), "{bytes}");
        assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
    }
}

#[test]
fn watching_refuses_what_there_is_not() {
    let folder = folder("watching");
    let cases: [(&[&str], &str); 7] = [
        (&["--trace", "0:1"], "--trace: 0,0,0:1 is not in the launch; allowed: blocks 0,0,0 to 0,0,0, warps 0 to 0"),
        (&["--trace", "1,0,0:0"], "--trace: 1,0,0:0 is not in the launch"),
        (&["--trace", "0"], "allowed: BLOCK:WARP"),
        (&["--trace", "0:0", "--trace-lines", "9-8"], "allowed: A-B"),
        (&["--trace-limit", "3"], "--trace"),
        (&["--trace", "0:0", "--json"], "--trace: goes to standard output, as --json does"),
        (&["--trace", "0:0", "--trace-file", "no/such/folder"], "no/such/folder: "),
    ];
    for (more, message) in cases {
        let args = ["run", "scale.ptx", "--block", "8", "--arg", "in:in.npy", "--arg", "out:o.npy:f4:8", "--arg", "2"];
        let output = machine(&folder, &[&args[..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(text(&output.stderr).contains(message), "{more:?}: {}", text(&output.stderr));
    }
    assert!(!folder.join("o.npy").exists());
    assert_eq!(machine(&folder, &["forms", "no-such-form"]).status.code(), Some(2));
}

#[test]
fn a_buffer_goes_to_no_float_and_no_narrow_parameter() {
    let folder = folder("pointers");
    let args =
        ["run", "scale.ptx", "--block", "8", "--arg", "in:in.npy", "--arg", "out:o.npy:f4:8", "--arg", "in:in.npy"];
    let output = machine(&folder, &args);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains("argument 2 (f32 by): a u64 value is not allowed"), "{error}");
}

/// Each block stores its number to the same word.
fn last_wins(store: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 out) {{\n.reg .u32 %c; .reg .u64 %a;\n\
         mov.u32 %c, %ctaid.x; ld.param.u64 %a, [out];\n{store}.u32 [%a], %c; ret; }}\n"
    )
}

#[test]
fn results_that_depend_on_the_order_of_execution_are_reported() {
    let folder = folder("orders");
    let run = |name: &str, store: &str, options: &[&str]| {
        std::fs::write(folder.join(name), last_wins(store)).unwrap();
        let base = ["run", name, "--grid", "3", "--block", "1", "--arg", "out:out.npy:u4:1"];
        machine(&folder, &[&base, options].concat())
    };
    let race = run("race.ptx", "st.global", &[]);
    assert_eq!(race.status.code(), Some(1));
    assert!(text(&race.stderr).contains("race.ptx:7: race in k, block (1, 0, 0)"), "{}", text(&race.stderr));
    assert!(!folder.join("out.npy").exists());
    assert_eq!(run("race.ptx", "st.global", &["--no-races"]).status.code(), Some(0));
    assert_eq!(run("strong.ptx", "st.relaxed.gpu.global", &["--schedule", "7"]).status.code(), Some(0));
    let order = run("strong.ptx", "st.relaxed.gpu.global", &["--schedules", "20", "--threads", "1"]);
    assert_eq!(order.status.code(), Some(1));
    let error = text(&order.stderr);
    assert!(error.starts_with("ptx-machine: schedule ") && error.lines().count() == 1, "{error}");
    assert!(error.contains("out.npy: element 0 is 0x0000000") && error.contains("but was 0x00000002"), "{error}");
    let run = ["run", "scale.ptx", "--block", "8", "--arg", "in:in.npy", "--arg", "out:o.npy:f4:8", "--arg", "0.5"];
    let same = machine(&folder, &[&run[..], &["--schedules", "5"]].concat());
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
    assert!(folder.join("o.npy").exists());
}
