//! The nearest of a list of words, for error messages.

/// The word with the smallest edit distance to `given`, if that is at most half of the longer one's length.
pub(crate) fn closest<'a>(given: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Distances cost time in the product of the lengths; no supported form is longer than this.
    let given = given.get(..given.len().min(64)).unwrap_or("");
    let scored = words.into_iter().map(|w| (distance(given, w), w));
    let best = scored.min_by_key(|(d, _)| *d)?;
    (best.0 * 2 <= given.len().max(best.1.len())).then_some(best.1)
}

/// Number of insertions, deletions and replacements that turn `a` into `b`.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
