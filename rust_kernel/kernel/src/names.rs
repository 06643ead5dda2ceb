//! Entry names, checked while compiling: they carry the tile (section 8), and the table in `lib.rs` spells both out.

/// Fails to compile a table line whose name does not say what the line stamps.
pub const fn assert_partial(name: &str, storage: &str, heads: usize, head_dim: usize, warps: usize, rows: usize) {
    let name = name.as_bytes();
    let mut at = skip(name, 0, "splitk_partial_");
    at = skip(name, at, storage);
    at = skip_number(name, skip(name, at, "_g"), heads);
    at = skip_number(name, skip(name, at, "_d"), head_dim);
    at = skip_number(name, skip(name, at, "_w"), warps);
    at = skip_number(name, skip(name, at, "r"), rows);
    assert!(at == name.len(), "the entry name goes on after its tile");
}

/// The same for the reduce kernel.
pub const fn assert_reduce(name: &str, head_dim: usize) {
    let name = name.as_bytes();
    let at = skip_number(name, skip(name, 0, "splitk_reduce_d"), head_dim);
    assert!(at == name.len(), "the entry name goes on after its head dimension");
}

/// The place after `text`, which has to stand at `at`.
const fn skip(name: &[u8], at: usize, text: &str) -> usize {
    let text = text.as_bytes();
    let mut i = 0;
    while i < text.len() {
        assert!(at + i < name.len() && name[at + i] == text[i], "the entry name differs from its line in the table");
        i += 1;
    }
    at + text.len()
}

/// The place after the decimal `number`, which has to stand at `at`.
const fn skip_number(name: &[u8], at: usize, number: usize) -> usize {
    let mut value = 0;
    let mut end = at;
    while end < name.len() && name[end].is_ascii_digit() {
        value = value * 10 + (name[end] - b'0') as usize;
        end += 1;
    }
    assert!(end > at && value == number, "a number in the entry name differs from its line in the table");
    end
}
