//! The set of PTX files: what is in the library, which file a device runs, and what is refused.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use splitk_cuda::{Error, PtxFile, PtxSet, plans_by_tile};
use splitk_plan::profile::PROFILES;
use splitk_plan::storage::STORAGES;
use splitk_plan::{MAX_GROUP_SIZE, Plan, PlanRequest, PolicyChoice, SUPPORTED_HEAD_DIMS, TileTable};

const LONGEST: u32 = i32::MAX as u32;

fn embedded() -> &'static PtxSet {
    PtxSet::embedded().expect("the files belong to their manifest")
}

/// Most shared memory of a block, in bytes, on every device for which the file is the nearest one: the file of `sm_80` serves
/// devices of `sm_86` too, which have less than `sm_80`.
fn block_limit(file: &PtxFile) -> u32 {
    match file.arch() {
        90 => 227 << 10,
        _ => 99 << 10,
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rust_kernel/ptx")
}

fn manifest() -> String {
    fs::read_to_string(folder().join("manifest.json")).expect("the manifest is there")
}

fn texts() -> BTreeMap<u32, Cow<'static, str>> {
    embedded().files().iter().map(|file| (file.arch(), Cow::Owned(file.text().to_owned()))).collect()
}

fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::PtxSet(line)) => {
            assert!(!line.contains('\n'), "{line}");
            line
        }
        other => panic!("{other:?}"),
    }
}

/// A plan of every tile that any call of any supported shape has.
fn all_plans() -> Vec<Plan> {
    let (table, policy) = (TileTable::built_in(), "fixed:1".parse::<PolicyChoice>().expect("a policy"));
    let mut plans = Vec::new();
    for profile in PROFILES {
        for (storage, ..) in STORAGES {
            for (group_size, head_dim) in
                (1..=MAX_GROUP_SIZE).flat_map(|g| SUPPORTED_HEAD_DIMS.iter().map(move |d| (g, *d)))
            {
                let request = PlanRequest {
                    kv_len: LONGEST,
                    num_q_heads: group_size,
                    num_kv_heads: 1,
                    head_dim,
                    storage: *storage,
                    policy,
                    profile: *profile,
                };
                plans.extend(plans_by_tile(&request, &table).expect("a supported shape"));
            }
        }
    }
    plans
}

#[test]
fn every_file_is_of_the_architecture_that_it_is_named_after() {
    let targets: Vec<String> = embedded().files().iter().map(PtxFile::target).collect();
    assert_eq!(targets, ["sm_80", "sm_89", "sm_90", "sm_120", "sm_121"]);
    for file in embedded().files() {
        let stated = file.text().lines().find_map(|line| line.strip_prefix(".target ")).map(str::trim);
        assert_eq!(stated, Some(file.target().as_str()));
    }
}

#[test]
fn a_file_has_every_kernel_that_plans_for_its_architecture_ask_for() {
    let plans = all_plans();
    assert!(plans.len() >= 16);
    for plan in &plans {
        let file = embedded().choose(plan.profile.arch).expect("a file").file;
        assert_eq!(file.arch(), plan.profile.arch);
        let (_, [threads, ..]) = plan.partial_launch();
        let bytes = file.dynamic_shared_bytes(&plan.partial_entry(), threads);
        assert!(bytes.is_ok_and(|bytes| bytes <= block_limit(file)), "{}: {}", file.name(), plan.partial_entry());
        let (_, [threads, ..]) = plan.reduce_launch();
        assert_eq!(file.dynamic_shared_bytes(&plan.reduce_entry(), threads), Ok(0));
    }
}

#[test]
fn every_file_has_every_kernel_that_plans_for_any_device_ask_for() {
    for plan in all_plans().iter().filter(|plan| plan.profile.name == "generic") {
        for file in embedded().files() {
            let (_, [threads, ..]) = plan.partial_launch();
            assert!(file.dynamic_shared_bytes(&plan.partial_entry(), threads).is_ok(), "{}", file.name());
        }
    }
}

#[test]
fn a_kernel_waits_where_its_own_text_does() {
    let mut texts = texts();
    let entry = |name: &str, body: &str| format!("\n.visible .entry {name}(\n)\n{{\n\t{body}\n}}\n");
    let added = [
        entry("waits", "@%p1 griddepcontrol.wait;"),
        entry("waits_not", "griddepcontrol.launch_dependents; // griddepcontrol.wait;"),
        entry("wait", "ret;"),
    ];
    let text = added.concat();
    let sha256 = Sha256::digest(text.as_bytes()).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest()).expect("a manifest");
    manifest["targets"]["sm_90"]["sha256"] = sha256.into();
    texts.insert(90, Cow::Owned(text));
    let set = PtxSet::new(&manifest.to_string(), texts).expect("a set");
    let file = set.file("sm_90").expect("a file");
    let found: Vec<bool> = ["waits", "waits_not", "wait", "other"].iter().map(|name| file.waits(name)).collect();
    assert_eq!(found, [true, false, false, false]);
    // Only from sm_90 on is there such an instruction.
    for file in embedded().files().iter().filter(|file| file.arch() < 90) {
        assert!(file.entries().all(|entry| !file.waits(entry)), "{}", file.name());
    }
}

#[test]
fn a_decoder_loads_one_kernel_a_tile() {
    for plan in all_plans() {
        let request = PlanRequest {
            kv_len: LONGEST,
            num_q_heads: plan.num_q_heads(),
            num_kv_heads: plan.num_kv_heads(),
            head_dim: plan.head_dim(),
            storage: plan.storage(),
            policy: plan.policy.into(),
            profile: plan.profile,
        };
        let table = TileTable::built_in();
        let tiles: Vec<_> = plans_by_tile(&request, &table).expect("a plan").iter().map(|plan| plan.tile).collect();
        for kv_len in [1, 64, 65, 8192, 16_383, 16_384, 65_535, 65_536, 262_144, LONGEST] {
            let tile = Plan::new(&PlanRequest { kv_len, ..request }).expect("a plan").tile;
            assert_eq!(tiles.iter().filter(|known| **known == tile).count(), 1);
        }
    }
}

#[test]
fn a_device_runs_its_own_file_or_the_nearest_older_one() {
    let rows = [
        (80, 80),
        (86, 80),
        (87, 80),
        (89, 89),
        (90, 90),
        (100, 90),
        (103, 90),
        (110, 90),
        (120, 120),
        (121, 121),
        (130, 121),
    ];
    for (device, file) in rows {
        let choice = embedded().choose(device).expect("a file runs");
        assert_eq!(choice.file.arch(), file, "sm_{device}");
        assert_eq!(choice.fallback().is_some(), device != file);
    }
    let line = embedded().choose(86).expect("a file runs").fallback();
    assert_eq!(line.as_deref(), Some("no PTX for sm_86: the kernels of sm_80 run, assembled by the driver"));
}

#[test]
fn a_device_older_than_every_file_is_refused() {
    for device in [0, 61, 75, 79] {
        let error = embedded().choose(device).expect_err("too old");
        assert_eq!(error, Error::Unavailable(format!("the device is sm_{device}; allowed: sm_80 and later")));
    }
}

#[test]
fn a_folder_gives_the_set_that_is_in_the_library() {
    assert_eq!(PtxSet::open(&folder()).as_ref(), Ok(embedded()));
    let absent = folder().join("absent");
    assert!(refused(PtxSet::open(&absent)).contains("absent/manifest.json cannot be read: "));
}

#[test]
fn an_altered_file_is_found() {
    for arch in texts().into_keys() {
        let mut altered = texts();
        altered.entry(arch).and_modify(|text| *text = Cow::Owned(text.replacen("fma.rn", "fma.rz", 1)));
        let line = refused(PtxSet::new(&manifest(), altered));
        assert_eq!(line, format!("sm_{arch}.ptx is not the file that manifest.json describes"));
    }
}

#[test]
fn a_manifest_of_another_form_or_contract_is_refused() {
    let schema = manifest().replacen("manifest/1", "manifest/2", 1);
    let line = refused(PtxSet::new(&schema, texts()));
    assert_eq!(line, r#"manifest.json: schema is "splitk-oxide-manifest/2"; allowed: "splitk-oxide-manifest/1""#);
    let contract = manifest().replacen(r#""splitk/1""#, r#""splitk/7""#, 1);
    let line = refused(PtxSet::new(&contract, texts()));
    assert_eq!(line, r#"manifest.json: contract is "splitk/7"; allowed: "splitk/1""#);
    for text in ["", "{", "[]", "{}", "\u{0}", r#"{"schema": "splitk-oxide-manifest/1"}"#] {
        assert!(refused(PtxSet::new(text, texts())).starts_with("manifest.json is no manifest: "));
    }
}

#[test]
fn files_and_manifest_name_each_other() {
    let mut fewer = texts();
    fewer.remove(&90);
    assert_eq!(refused(PtxSet::new(&manifest(), fewer)), "manifest.json names sm_90, but there is no sm_90.ptx");
    let mut more = texts();
    more.insert(100, Cow::Borrowed(".version 8.6"));
    assert_eq!(refused(PtxSet::new(&manifest(), more)), "manifest.json does not name sm_100.ptx");
    let renamed = manifest().replacen(r#""sm_90": {"#, r#""gfx90": {"#, 1);
    let line = refused(PtxSet::new(&renamed, texts()));
    assert_eq!(line, r#"manifest.json: an architecture is "gfx90"; allowed: sm_ and a number"#);
}

#[test]
fn a_missing_kernel_and_one_for_other_blocks_are_refused() {
    let file = embedded().file("sm_90").expect("there is one");
    let line = refused(file.dynamic_shared_bytes("splitk_partial_f16_g4_d256_w5r4", 160));
    assert_eq!(line, "sm_90.ptx has no entry splitk_partial_f16_g4_d256_w5r4: its kernels are of another tile table");
    let line = refused(file.dynamic_shared_bytes("splitk_reduce_d256", 128));
    assert_eq!(line, "manifest.json: threads of splitk_reduce_d256 is 256; allowed: 128");
    let error = embedded().file("sm_91").expect_err("there is none");
    assert_eq!(error.to_string(), r#"target is "sm_91"; allowed: sm_80, sm_89, sm_90, sm_120, sm_121"#);
}
