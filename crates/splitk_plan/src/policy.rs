//! Split policies: how many splits a call aims for, as a pure function of `(kv_len, num_kv_heads, profile)`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use crate::{DeviceProfile, PlanError};

/// What a policy may look at.
#[derive(Debug, Clone, Copy)]
pub struct PolicyInput<'a> {
    /// Keys of the call, at least 1.
    pub kv_len: u32,
    /// KV heads, at least 1.
    pub num_kv_heads: u32,
    /// The device that the plan is for.
    pub profile: &'a DeviceProfile,
    /// The `N` of `name:N`, at least 1; 0 for a policy that takes none.
    pub argument: u32,
}

/// What a policy answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// Aim for this many splits; the chunk follows, and is never below [`crate::MIN_CHUNK`]. 0 means 1.
    Target(u64),
    /// Cut every this many keys, however few.
    Chunk(u32),
}

/// One policy of the registry.
#[derive(Debug)]
pub struct PolicyRule {
    /// Its word, without the argument.
    pub name: &'static str,
    /// Whether it is written `name:N`.
    pub takes_argument: bool,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The rule. A target must not fall as `kv_len` grows, as [`crate::max_splits`] asks only at the capacity.
    pub grain: fn(PolicyInput<'_>) -> Grain,
}

/// Every policy. Adding a row is all that a new one takes.
pub const RULES: &[PolicyRule] = &[
    PolicyRule {
        name: "note",
        takes_argument: false,
        summary: "four blocks for each multiprocessor",
        grain: |input| Grain::Target(4 * u64::from(input.profile.sms) / u64::from(input.num_kv_heads)),
    },
    PolicyRule {
        name: "one-wave",
        takes_argument: false,
        summary: "as many blocks as are resident at once",
        grain: |input| Grain::Target(input.profile.wave() / u64::from(input.num_kv_heads)),
    },
    PolicyRule {
        name: "three-quarter-wave",
        takes_argument: false,
        summary: "three quarters of the blocks that are resident at once",
        // At most sms · blocks · 3 / 4, with 32-bit factors: widened so that the product by 3 cannot overflow.
        grain: |input| Grain::Target((u128::from(input.profile.wave()) * 3 / 4) as u64 / u64::from(input.num_kv_heads)),
    },
    PolicyRule {
        name: "fixed",
        takes_argument: true,
        summary: "N splits",
        grain: |input| Grain::Target(u64::from(input.argument)),
    },
    PolicyRule {
        name: "chunk",
        takes_argument: true,
        summary: "N keys a split, however few (to place split edges in tests)",
        grain: |input| Grain::Chunk(input.argument),
    },
];

/// A policy as it is asked for: a rule and its argument, written `name` or `name:N`.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    rule: &'static PolicyRule,
    argument: u32,
}

impl Policy {
    /// The policy of rule `name` with its `argument` (`None` where the rule takes none).
    ///
    /// # Errors
    /// When there is no such rule, an argument is missing or superfluous, or it is 0.
    pub fn new(name: &str, argument: Option<u32>) -> Result<Self, PlanError> {
        match RULES.iter().find(|rule| rule.name == name) {
            Some(rule) if rule.takes_argument == argument.is_some() && argument != Some(0) => {
                Ok(Self { rule, argument: argument.unwrap_or(0) })
            }
            _ => Err(Self::unknown(&argument.map_or_else(|| name.to_owned(), |n| format!("{name}:{n}")))),
        }
    }

    /// How every policy is written, `N` standing for its argument.
    pub fn spellings() -> impl Iterator<Item = String> {
        RULES.iter().map(|rule| if rule.takes_argument { format!("{}:N", rule.name) } else { rule.name.to_owned() })
    }

    /// The rule behind this policy.
    pub fn rule(&self) -> &'static PolicyRule {
        self.rule
    }

    /// The `N` of `name:N`; `None` for a rule that takes none.
    pub fn argument(&self) -> Option<u32> {
        self.rule.takes_argument.then_some(self.argument)
    }

    /// What the rule answers for a call.
    pub fn grain(&self, kv_len: u32, num_kv_heads: u32, profile: &DeviceProfile) -> Grain {
        (self.rule.grain)(PolicyInput { kv_len, num_kv_heads, profile, argument: self.argument })
    }

    fn unknown(word: &str) -> PlanError {
        let known: Vec<String> = Self::spellings().collect();
        let mut error = PlanError::unknown_word("policy", word, known.iter().map(String::as_str));
        error.allowed.push_str(" with N from 1 to 4294967295");
        error
    }
}

/// The policy that a call asks for, written as a [`Policy`] or `table`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PolicyChoice {
    /// The one in the tile table's row of the call.
    Table,
    /// This one, whatever the table says.
    Named(Policy),
}

impl PolicyChoice {
    /// How the table's own policy is asked for.
    pub const TABLE: &str = "table";

    /// The policy of a call in whose row of the table `row` stands.
    pub fn resolve(self, row: Policy) -> Policy {
        match self {
            Self::Table => row,
            Self::Named(policy) => policy,
        }
    }
}

impl From<Policy> for PolicyChoice {
    fn from(policy: Policy) -> Self {
        Self::Named(policy)
    }
}

impl FromStr for PolicyChoice {
    type Err = PlanError;

    fn from_str(word: &str) -> Result<Self, PlanError> {
        if word == Self::TABLE {
            return Ok(Self::Table);
        }
        word.parse().map(Self::Named).map_err(|mut error: PlanError| {
            error.allowed = format!("{}, {}", Self::TABLE, error.allowed);
            error
        })
    }
}

impl fmt::Display for PolicyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table => f.write_str(Self::TABLE),
            Self::Named(policy) => policy.fmt(f),
        }
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        self.rule.name == other.rule.name && self.argument == other.argument
    }
}

impl Eq for Policy {}

impl Hash for Policy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.rule.name, self.argument).hash(state);
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.argument() {
            Some(argument) => write!(f, "{}:{argument}", self.rule.name),
            None => f.write_str(self.rule.name),
        }
    }
}

impl FromStr for Policy {
    type Err = PlanError;

    fn from_str(word: &str) -> Result<Self, PlanError> {
        let Some((name, digits)) = word.split_once(':') else {
            return Self::new(word, None).map_err(|_| Self::unknown(word));
        };
        // Digits only: `parse` alone would let a sign through, and one policy must have one spelling in a plan key.
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        let argument = digits.parse().ok().filter(|_| plain).ok_or_else(|| Self::unknown(word))?;
        Self::new(name, Some(argument)).map_err(|_| Self::unknown(word))
    }
}
