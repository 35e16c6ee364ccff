"""The job family: what makes "the same job again" the same.

A launcher that knows passes its own key (`job_family`). Where it does not, the key is the job name
without the parts that differ from run to run: stamps, hashes, counters, what a job manager appends.

Two families merged by mistake feed each other's history, which is worse than one family split: a
rule strips only what cannot well be a size, a version or a model, and what looks like both stays.
Case is kept for the same reason, and because a launcher repeats its own.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

RULES_VERSION: int = 1
"""Travels in the model artifact. Any change of what some name becomes is a new version."""

BLANK = "unnamed"
"""The family of a name with nothing visible in it."""

SEPARATORS = " -_./:,;#@=~|[](){}"
# Machinery of launchers. A name of nothing else (outputs/2026-01-03/10-11-12, slurm-12345) says
# nothing about the job: what is left of it would gather unrelated jobs.
_GENERIC = re.compile(
    r"\d+|(?i:jobs?|runs?|logs?|outputs?|results?|multiruns?|mlruns|wandb|slurm|raysubmit|pod"
    "|worker|trial|attempt|tmp)"
)
# Rules of the end look at this much of a part at a time: peeling a long name stays linear.
TAIL = 96

# Rules match between token borders, never inside a word; "_" parts words as "-" does.
LEFT, RIGHT = r"(?<![^\W_])", r"(?![^\W_])"
YEAR, MONTH, DAY = r"20(?:1[5-9]|[23]\d|40)", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
MON = "(?=[JFMASONDjfmasond])(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
HOUR, SIXTY = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_SEPS = ("-", "_", r"\.", "/", "")
YMD = f"{YEAR}(?:" + "|".join(f"{sep}{MONTH}{sep}{DAY}" for sep in _SEPS) + ")"
DMY = "|".join(f"{DAY}{sep}{MONTH}{sep}{YEAR}|{MONTH}{sep}{DAY}{sep}{YEAR}" for sep in _SEPS)
NAMED = rf"\d\d?[-_ ]?{MON}[-_ ]?{YEAR}|{MON}[-_ ]?\d\d?[-_, ]{{0,2}}{YEAR}"
CLOCK = "|".join(f"{HOUR}{sep}{SIXTY}{sep}{SIXTY}" for sep in "-_:")
HMS = (
    rf"(?:{CLOCK}|{HOUR}\.{SIXTY}\.{SIXTY})(?:[.,]\d{{1,9}})?"
    rf"|{HOUR}{SIXTY}{SIXTY}(?:[.,]\d{{1,9}}|\d{{3}}|\d{{6}})?"
)
HM = rf"(?!1024|1536|2048){HOUR}:?{SIXTY}"  # of hhmm and size, these three are the size
ZONE = r"(?:[Zz]|UTC|\+\d\d:?\d\d|-\d\d:\d\d)?"
MILLIS = r"(?!128|160|192|224|256|320|384|448|512|640|768|896)\d{3}"  # nor the side of an image
EPOCH = r"(?:14[2-9]|1[5-9]\d|2[01]\d)\d{7}(?:\d{3}){0,3}(?:\.\d{1,9})?"  # 2015 to 2039, s to ns
HEX = r"[\da-fA-F]"
UUID = "|".join(sep.join([f"{HEX}{{8}}", *[f"{HEX}{{4}}"] * 3, f"{HEX}{{12}}"]) for sep in "-_")
# Kubernetes draws pod suffixes from its own alphabet; a replica set's hash spells decimal digits.
SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"
SET_HASH = r"(?=\d{0,9}[bcdf])[4-9bcdf]{7,10}|[4-9]{9,10}"
CRON_MINUTE = r"(?:2[4-9]|3[0-6])\d{6}"  # minutes since 1970
# The number after these says which run it was; after "exp" or "task" it says which job.
LABEL = (
    "(?=[arstjARSTJ])(?i:run|rerun|attempt|att|try|retry|trial|result|restart|rep|repeat|seed|job"
    "|jobid)[-_.#= ]?"
)
# Vocabularies and class counts, other than multiples of 128: ImageNet-21k, BERT, GPT-2, RoBERTa.
KNOWN_SIZES = frozenset(("21841", "21843", "28996", "30522", "50257", "50265"))
REPLICA = r"(?:master|worker|chief|ps|evaluator|launcher)[-_]\d{1,4}|launcher"


class Rule(NamedTuple):
    """A run-specific piece. The pattern has no groups and no unbounded repeats."""

    name: str
    pattern: str
    why: str
    stays: Callable[[str], bool] = lambda _: False


def _is_size(number: str) -> bool:
    """Whether a long number counts something (32768, 100000) rather than names a run."""
    digits = number.partition("_")[0]
    rounded = int(digits) % 1000 == 0 or int(digits) % 128 == 0
    return digits in KNOWN_SIZES or (rounded and digits[0] != "0")


def _is_widths(clock: str) -> bool:
    """Whether hh-mm-ss reads as layer widths (16-32-32, 10-10-10), as 2 % of true times do."""
    groups = [int(group) for group in re.split("[-_:]", clock)]
    return len(set(groups)) == 1 or all(group % 4 == 0 for group in groups)


# Of two rules that match from one position the earlier counts.
# fmt: off
ANYWHERE: tuple[Rule, ...] = (
    Rule("pod", rf"(?:{SET_HASH}|{CRON_MINUTE})-{SUFFIX}(?=/|\Z)",
         "Kubernetes. The suffix alone stays: mpt7b and rwkv7 are of the same alphabet"),
    Rule("uuid", rf"(?:{UUID})(?:[:#]\d{{1,6}})?", "AWS Batch adds array index or attempt"),
    Rule("ray", r"raysubmit_[\da-zA-Z]{16}", "submission id of Ray"),
    Rule("stamp_ms", f"{YEAR}-{MONTH}-{DAY}-{HOUR}-{SIXTY}-{SIXTY}-{MILLIS}", "SageMaker"),
    Rule("stamp",
         rf"(?:{YMD}|{DMY}|{NAMED})(?:[-_ ./:tT@]{{0,2}}(?:{HMS}|{HM}){ZONE})?"
         rf"|{MON}{DAY}_(?:{HMS})",
         "a date in any order, with a time or not; Jan03_10-11-12 is TensorBoard's"),
    Rule("stamp_short",
         rf"(?:1[5-9]|[23]\d){MONTH}{DAY}[-_](?:{HMS}|{HM})(?:-\d{{3}}(?=-{HEX}{{8}}{RIGHT}))?",
         "yymmdd-hhmm; SageMaker tuning adds the number of the training job and a hash"),
    Rule("epoch", rf"{EPOCH}(?:-(?=[a-f]{{1,3}}\d|\d{{1,3}}[a-f])[\da-f]{{4}})?",
         "seconds since 1970; SageMaker's unique names add four hexadecimal digits"),
    Rule("hash",
         rf"(?=\d{{0,63}}[a-fA-F])(?=[a-fA-F]{{0,63}}\d)"
         rf"(?![a-fA-F]{{3,12}}\d{{1,4}}(?:[a-fA-F]{{3,9}})?{RIGHT})"
         rf"(?![a-fA-F][1-9]\d{{1,3}}[a-fA-F][1-9]\d{{0,3}}{RIGHT}){HEX}{{7,64}}",
         "commits, digests. Words (facade, decade10, face2face) and two sizes (d1024e90) stay"),
)
END: tuple[Rule, ...] = (  # of a part between slashes, again and again
    Rule("array", r"(?<!\d[.,])(?<!=)\d{5,40}_\d{1,7}", "Slurm: job and index", _is_size),
    Rule("tune", rf"{HEX}{{5}}_0\d{{4}}", "Ray Tune: id and number of the trial"),
    Rule("counter", rf"{LABEL}\d{{1,40}}(?:(?<=\d{{5}})_\d{{1,7}})?", "which run, in words"),
    Rule("rerun", r"(?<!(?i:seek)[-_])(?<!(?i:lora)[-_])(?<!(?i:rank)[-_])[rR](?:\d|1[0-579])",
         "r1, r12. Depths and ranks (r16, r18, r50, lora-r8) and deepseek-r1 stay"),
    Rule("replica", rf"(?:{REPLICA})(?:-{SUFFIX})?", "Kubeflow, Volcano: part of a job"),
    Rule("clock", rf"(?<!\d[-_:.])(?:{CLOCK})", "its date is elsewhere or missing", _is_widths),
    Rule("number", r"(?<!\d[.,])(?<!=)\d{5,40}",
         "ids of job managers. Round sizes, decimals (0.00001), values (steps=12345) stay",
         _is_size),
)
# fmt: on


def _compile(rules: tuple[Rule, ...], before: str, after: str) -> re.Pattern[str]:
    named = "|".join(f"(?P<{rule.name}>{rule.pattern})" for rule in rules)
    return re.compile(f"{LEFT}{before}(?:{named}){after}")


# A label in front of a stamp or hash goes with it: ctr-run-20260103 is ctr.
_ANYWHERE = _compile(ANYWHERE, f"(?:{LABEL})?", RIGHT)
_END = _compile(END, "", r"\Z")
_STAYS = {rule.name: rule.stays for rule in END}
# White space, controls, invisible marks, and surrogates (which no hash of the family could encode).
_FOLDED = re.compile(
    "[\\s\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]+"
)
_WORD = re.compile(r"[^\W_]+")


def family_of(job_name: str, job_family: str | None = None) -> str:
    """Key under which attempts of the same job share history.

    Parameters
    ----------
    job_name
        As launched, any text.
    job_family
        The launcher's own key: used as it is but for Unicode form and white space; blank is absent.

    Returns
    -------
    str
        Never empty. A name of ids only (a UUID, a date, `slurm-12345`) is its own family.
    """
    if job_family is not None and (given := _normalise(job_family)):
        return given
    whole = _normalise(job_name)
    return _named(_cut(whole)) or whole or BLANK


@lru_cache(maxsize=65_536)
def _named(cut: str) -> str:
    """What names the job in a name after its first cut; empty where nothing does. Kept, because
    runs of one job differ mostly in what the first cut takes away."""
    family = _peel(cut)
    while _ANYWHERE.search(family) or family != _normalise(family):
        family = _peel(_cut(_normalise(family)))  # what a cut brought together
    generic = all(_GENERIC.fullmatch(word[0]) for word in _WORD.finditer(family))
    return "" if generic else family


def _normalise(text: str) -> str:
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return _FOLDED.sub(" ", unicodedata.normalize("NFKC", text)).strip()


def _cut(name: str) -> str:
    """The name without the pieces found anywhere, one separator in the place of each."""
    kept, *others = _ANYWHERE.sub("\0", name).split("\0")  # a normalised name holds no NUL
    for other in others:
        left, right = kept.rstrip(SEPARATORS), other.lstrip(SEPARATORS)
        gap = kept[len(left) :] + other[: len(other) - len(right)]
        kept = left + ("/" if "/" in gap else gap[:1]) + right
    return kept


def _peel(name: str) -> str:
    """The name without the pieces at the end of its parts, and without parts that have no more."""
    parts = []
    for part in name.split("/"):
        rest = part.strip(SEPARATORS)
        while match := _END.search(rest, max(0, len(rest) - TAIL)):
            if _STAYS[match.lastgroup or ""](match[0]):
                break
            rest = rest[: match.start()].rstrip(SEPARATORS)
        if rest:
            parts.append(rest)
    return "/".join(parts)
