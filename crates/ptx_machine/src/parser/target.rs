//! Which PTX version first knows an architecture.

use crate::ast::Target;

type Version = (u32, u32);

/// Architecture, and the first version that has it: plain, and with the suffixes `a` and `f` where there are such.
const FIRST: &[(u32, Version, Option<Version>, Option<Version>)] = &[
    (10, (1, 0), None, None),
    (11, (1, 0), None, None),
    (12, (1, 2), None, None),
    (13, (1, 2), None, None),
    (20, (2, 0), None, None),
    (21, (2, 0), None, None),
    (30, (3, 0), None, None),
    (32, (4, 0), None, None),
    (35, (3, 1), None, None),
    (37, (4, 1), None, None),
    (50, (4, 0), None, None),
    (52, (4, 1), None, None),
    (53, (4, 2), None, None),
    (60, (5, 0), None, None),
    (61, (5, 0), None, None),
    (62, (5, 0), None, None),
    (70, (6, 0), None, None),
    (72, (6, 1), None, None),
    (75, (6, 3), None, None),
    (80, (7, 0), None, None),
    (86, (7, 1), None, None),
    (87, (7, 4), None, None),
    (88, (9, 0), None, None),
    (89, (7, 8), None, None),
    (90, (7, 8), Some((8, 0)), None),
    (100, (8, 6), Some((8, 6)), Some((8, 8))),
    (101, (8, 6), Some((8, 6)), Some((8, 8))),
    (103, (8, 8), Some((8, 8)), Some((8, 8))),
    (107, (9, 4), Some((9, 4)), Some((9, 4))),
    (110, (9, 0), Some((9, 0)), Some((9, 0))),
    (120, (8, 7), Some((8, 7)), Some((8, 8))),
    (121, (8, 8), Some((8, 8)), Some((8, 8))),
];

/// What is wrong with a target in a text of this version, if anything.
pub(super) fn refuse_target(target: &Target, version: Version) -> Option<String> {
    let name = &target.name;
    let found = FIRST.iter().find(|(sm, ..)| *sm == target.sm).and_then(|&(_, plain, a, f)| match target.suffix {
        None => Some(plain),
        Some('a') => a,
        Some(_) => f,
    });
    let Some(first) = found else {
        let all: Vec<String> = FIRST.iter().map(|(sm, ..)| format!("sm_{sm}")).collect();
        return Some(format!("target {name} is not known; allowed: {}, some with a or f behind it", all.join(", ")));
    };
    let (major, minor) = first;
    (version < first)
        .then(|| format!("target {name} needs .version {major}.{minor} or later, not {}.{}", version.0, version.1))
}
