#!/usr/bin/env bash
# Fuzzes the PTX machine with libFuzzer, on the stable toolchain and without cargo-fuzz: needs cargo and a C++ compiler.
#
#   scripts/fuzz.sh SECONDS   every target in turn, SECONDS in all; ends at the first finding, with exit code 1
#   scripts/fuzz.sh corpus    makes the corpus the smallest that covers what it and the last runs have reached
#
# A finding is a file in target/fuzz/findings. Once it is mended, put the file into the target's corpus: `cargo test`
# replays that.
set -euo pipefail
cd "$(dirname "$0")/.."

fuzz=crates/ptx_machine/fuzz
out=${CARGO_TARGET_DIR:-target}/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
targets=(parse run forms)
# A launch may need the 512 MiB that the machine allows a block, and as much for the module's variables.
limits=(-timeout=20 -rss_limit_mb=4096 -max_len=2048)

usage() { echo "usage: scripts/fuzz.sh SECONDS | corpus" >&2; exit 2; }
[[ $# == 1 && ($1 == corpus || $1 =~ ^[1-9][0-9]*$) ]] || usage
command -v c++ > /dev/null || { echo "scripts/fuzz.sh: needs a C++ compiler, c++, to build libFuzzer" >&2; exit 2; }

# What cargo-fuzz would pass without a sanitizer. A target is named so that build scripts are not instrumented.
passes=(sancov-module)
coverage=(level=4 inline-8bit-counters pc-table trace-compares)
flags="--cfg fuzzing -Cpasses=${passes[*]}"
for option in "${coverage[@]}"; do flags+=" -Cllvm-args=-sanitizer-coverage-$option"; done
RUSTFLAGS=$flags CARGO_TARGET_DIR=$out \
    cargo build --locked --quiet --release --manifest-path "$fuzz/Cargo.toml" --target "$host"

mkdir -p "$out/findings"
# The words of the opcode table, quoted as libFuzzer wants them.
grep -oh '"[A-Za-z0-9_.|!:]*"' py_builder_kernel/opcodes.toml | sort -u > "$out/words"

# `parse` and `run` take the same texts.
corpus_of() { if [[ $1 == forms ]]; then echo "$fuzz/corpus/forms"; else echo "$fuzz/corpus/text"; fi; }

shrink() {
  local target=$1 corpus smallest
  shift
  corpus=$(corpus_of "$target")
  smallest=$(mktemp -d "$out/smallest.XXXXXX")
  "$out/$host/release/$target" -set_cover_merge=1 "${limits[@]}" "$smallest" "$corpus" "$@" 2> "$out/$target.log"
  rm -rf "$corpus"
  mv "$smallest" "$corpus"
  chmod 755 "$corpus"
  echo "$corpus: $(find "$corpus" -type f | wc -l) files, $(cat "$corpus"/* | wc -c) bytes"
}

for target in "${targets[@]}"; do mkdir -p "$out/found/$target"; done
if [[ $1 == corpus ]]; then
  shrink run "$out/found/run" "$out/found/parse"
  shrink forms "$out/found/forms"
  exit
fi

seconds=$(($1 / ${#targets[@]}))
for target in "${targets[@]}"; do
  binary=$out/$host/release/$target
  if ! "$binary" -max_total_time="$((seconds > 0 ? seconds : 1))" "${limits[@]}" -dict="$out/words" \
      -artifact_prefix="$out/findings/$target-" "$out/found/$target" "$(corpus_of "$target")" 2> "$out/$target.log"; then
    tail -n 40 "$out/$target.log" >&2
    echo "$target: a finding; run $binary FILE to see it again" >&2
    exit 1
  fi
  sed -n "s/^Done /$target: no finding in /p" "$out/$target.log"
done
