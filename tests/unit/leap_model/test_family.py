"""Families: what merges, what stays apart, and that nothing a launcher sends can break it."""

import gzip
import itertools
import json
import random
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model import family
from leap_model.family import ANYWHERE, END, TAIL, family_of

REAL = Path(__file__).parents[3].parent / "shared" / "data" / "training.jsonl.gz"

# (family, names of its runs)
SAME_JOB = [
    # dates and times
    ("resnet50", ["resnet50-20260103-101112", "resnet50-20260104-235959", "resnet50-20260104"]),
    ("ctr/v2", ["ctr/v2/2026-01-03", "ctr/v2/2026-01-03_10-11-12", "ctr/v2/03-01-2026"]),
    ("ctr", ["ctr-2026-01-03T10:11:12Z", "ctr-20260103T101112Z", "ctr_2026_01_03", "ctr"]),
    ("ctr", ["ctr-2026-01-03T10:11:12.345+01:00", "ctr 2026-01-03 10:11:12", "ctr.2026.01.03"]),
    ("ctr-v2", ["ctr-20260103-v2", "ctr-2026-01-03-10-11-12-v2", "20260103-101112-ctr-v2"]),
    (
        "ctr",
        ["ctr-20260103101112", "ctr-20260103101112123456", "ctr-20260103-1011", "ctr-03Jan2026"],
    ),
    ("ctr", ["ctr-10-11-12", "ctr-23-46-13", "ctr_23_46_13", "ctr-220426-0009"]),
    ("ctr", ["ctr/2026/01/03", "ctr/2026/01/04/10-11-12"]),
    ("runs/ctr/host7", ["runs/ctr/Jan03_10-11-12_host7", "runs/ctr/Feb04_11-12-13_host7"]),
    ("H100_80GB/PyTorch_SSD_FP16", ["H100_80GB/PyTorch_SSD_FP16/15-10-2022_23-46-13"]),
    # epochs
    (
        "bert",
        ["bert-1735893072", "bert-1735893072123", "bert_1735893072123456", "bert-1735893072.25"],
    ),
    ("bert-large", ["bert-1735893072-large", "bert-1835893072-large", "1735893072_bert-large"]),
    # ids and hashes
    (
        "bert",
        ["bert-7d3c8b1a-9f10-4e55-9c3e-1a2b3c4d5e6f", "bert-7D3C8B1A-9F10-4E55-9C3E-1A2B3C4D5E6F"],
    ),
    (
        "bert",
        [
            "bert-0123456789abcdef0123456789abcdef",
            "bert-3f2a9c1",
            "bert-a3f5e9c1b7",
            "bert.1e5a9b0",
        ],
    ),
    (
        "bert",
        [
            "bert-7d3c8b1a-9f10-4e55-9c3e-1a2b3c4d5e6f:7",
            "bert-7d3c8b1a-9f10-4e55-9c3e-1a2b3c4d5e6f#2",
        ],
    ),
    ("llm-7b-sft", ["llm-7b-3f2a9c1-sft", "llm-7b-9d0e1f2a-sft"]),
    # counters
    ("llama-2-7b", ["llama-2-7b-r1", "llama-2-7b-r2", "llama-2-7b-r12", "llama-2-7b_R3"]),
    ("ctr", ["ctr-run3", "ctr-run-3", "ctr_run_3", "ctr/run.12", "ctr-Run3", "ctr run 4"]),
    (
        "ctr",
        ["ctr-att-3", "ctr-attempt-3", "ctr-try2", "ctr-retry-1", "ctr-retry1", "ctr-trial-17"],
    ),
    ("ctr", ["ctr-seed123", "ctr-seed=7", "ctr-job-0012345", "ctr-rerun2-seed-4", "ctr-restart1"]),
    ("Dell/R750xa/bert", ["Dell/R750xa/bert/result_0", "Dell/R750xa/bert/result_12"]),
    ("ctr", ["ctr-run-20260103", "ctr-run-2026-01-03", "ctr-job-1735893072", "ctr-run-3f2a9c1-r2"]),
    # job managers
    ("v2-ranker", ["v2-ranker-6d4f5d4b7f-zx9pl", "v2-ranker-77cd495ccc-xm9jg", "v2-ranker"]),
    ("nightly-ctr", ["nightly-ctr-29456789-zx9pl", "nightly-ctr-29456790-9dm7x"]),
    ("mmpose", ["mmpose-master-0", "mmpose-worker-0", "mmpose-worker-12", "mmpose-launcher"]),
    ("mmpose", ["mmpose-launcher-zx9pl", "mmpose-worker-3-zx9pl"]),
    (
        "ctr",
        ["ctr_1234567", "ctr-12345_7", "ctr-1234567_12", "ctr-job-1234567_12", "ctr[1234567_8]"],
    ),
    ("ctr", ["ctr-2972163892", "ctr-3972262959", "ctr-987654321"]),
    (
        "ctr/raytrain",
        ["ctr/raytrain/raysubmit_4LamXRuQpYdSMg7J", "ctr/raytrain/raysubmit_abcdEFGH12345678"],
    ),
    ("train_fn", ["train_fn_ab12c_00000", "train_fn_9f31d_00017"]),
    ("sage-img", ["sage-img-2018-11-15-17-28-13-642", "sage-img-2026-01-03-10-11-12-345"]),
    ("xgboost", ["xgboost-220426-0009-001-a1b2c3d4", "xgboost-220427-1510-012-0f9e8d7c"]),
    ("sage-img", ["sage-img-1735893072-3f2a", "sage-img-1735893999-b01d"]),
    # what is left is tidy, and the user's prefix stays
    (
        "asmith/ctr",
        ["asmith/ctr-20260103", "asmith/20260103/ctr", "asmith/20260103-101112/ctr/run_3"],
    ),
    ("asmith@example.com-ctr", ["asmith@example.com-ctr-r1", "asmith@example.com-ctr (20260103)"]),
]

APART = [
    ("resnet50-20260103-101112", "resnet101-20260103-101112"),
    ("llama-2-7b-r1", "llama-2-70b-r1"),
    ("t5-3b", "t5-11b"),
    ("vit-b16", "vit-b32"),
    ("gpt2-xl", "gpt2"),
    ("yolov8n-640", "yolov8n-1280"),
    ("ctr-v2", "ctr-v3"),
    ("facade-train", "decade-train"),
    ("sd-xl-1-0", "sd-xl-1-5"),
    ("traffic-generator", "traffic-collector"),
    ("v2-ranker-6d4f5d4b7f-zx9pl", "v3-ranker-6d4f5d4b7f-zx9pl"),
    # sizes after a stamp or before one
    ("yolov8n-20260103-101112-640", "yolov8n-20260103-101112-1280"),
    ("yolov8n-2026-01-03-10-11-12-640", "yolov8n-2026-01-03-10-11-12-320"),
    ("ctr-20260103-1024", "ctr-20260103-2048"),
    ("ctr-bs128-20260103", "ctr-bs256-20260103"),
    ("gpt-ctx-32768", "gpt-ctx-65536"),
    ("gpt-100000-steps", "gpt-200000-steps"),
    ("gpt-50000", "gpt-100000"),
    ("imagenet-21841", "imagenet-21843"),
    ("gpt-vocab-50257", "gpt-vocab-50304"),
    ("gpt-lr-0.00001", "gpt-lr-0.00003"),
    ("gpt-steps=12345", "gpt-steps=23456"),
    # models whose names look like a piece
    ("faster-rcnn-r50", "faster-rcnn-r101"),
    ("faster-rcnn-r18", "faster-rcnn-r34"),
    ("llama-lora-r8", "llama-lora-r4"),
    ("llama-r16", "llama-r64"),
    ("deepseek-r1", "deepseek-r2"),
    ("DeepSeek-R1-20260103", "DeepSeek-R2-20260103"),
    ("mpt7b", "rwkv7"),
    ("train-mpt7b", "train-rwkv7"),
    ("train-mpt7b-worker-0", "train-rwkv7-worker-0"),
    ("train-mpt7b-20260103", "train-rwkv7-20260103"),
    ("train-dpn92", "train-dpn68"),
    ("moe-fp8-e4m3", "moe-fp8-e5m2"),
    ("gpt-1e5", "gpt-1e6"),
    ("gpt-1e-5", "gpt-3e-5"),
    ("unet-3d", "unet-2d"),
    ("wav2vec2", "wav2vec"),
    ("nerf-face2face", "nerf-face3face"),
    ("decade10", "decade20"),
    ("facade1", "facade2"),
    ("gpt-d1024e90", "gpt-d2048e90"),
    ("mlp-16-32-16", "mlp-16-16-16"),
    ("mlp-10-10-10", "mlp-20-20-20"),
    ("mlp-08-16-24-32", "mlp-08-16-24-48"),
    ("a100_80gbx64", "a100_80gbx128"),
    ("tput-mpt-1b/a100_40gbx16", "tput-mpt-1b/a100_40gbx128"),
    ("tpu-v3-32/resnet", "tpu-v4-32/resnet"),
    ("dgxa100_n8_ngc22.04", "dgxa100_n8_ngc23.04"),
    ("tf-2.12.0", "tf-2.11.0"),
    ("efficientnet-b0", "efficientnet-b7"),
    ("exp-12/ctr", "exp-13/ctr"),
    ("task-2", "task-3"),
    ("ctr-fold3", "ctr-fold4"),
    ("run-3-stages", "run-4-stages"),
    ("ResNet-50-bs32", "ResNet-18-bs32"),
    ("asmith/ctr", "bjones/ctr"),
    ("ctr", "CTR"),
    ("c-net", "cpp-net"),
    ("模型甲-20260103", "模型乙-20260103"),
    ("earnest-sunset-1", "glowing-shadows-8"),
]

ONLY_IDS = [
    "7d3c8b1a-9f10-4e55-9c3e-1a2b3c4d5e6f",
    "12345",
    "2026-01-03",
    "deadbeef",
    "3f2a9c1",
    "10-11-12",
    "1735893072",
    "run-3",
    "job-0012345",
    "12345_7",
    "slurm-12345",
    "worker-0",
    "raysubmit_4LamXRuQpYdSMg7J",
    "outputs/2026-01-03/10-11-12",
    "multirun/2026-01-03/10-11-12/0",
    "logs/runs/2026-01-03_10-11-12",
    "6d4f5d4b7f-zx9pl",
    "---",
    "/",
    "🚀",
]

# fmt: off
pieces = st.sampled_from([
    "-", "_", ".", "/", ":", " ", "--", "2026", "01", "03", "2026-01-03", "20260103", "101112",
    "10-11-12", "r1", "run", "run3", "job", "12345", "640", "1735893072", "3f2a9c1", "6d4f5d4b7f",
    "zx9pl", "7d3c8b1a-9f10-4e55-9c3e-1a2b3c4d5e6f", "worker-0", "launcher", "resnet50", "v2", "a",
    "Jan", "1", "0", "é", "\u0301", "İ", "\uff52\uff11", "²", "١٢٣٤٥", "\ufb01", "\u1100", "\u1161",
])
# fmt: on
built_names = st.lists(pieces, max_size=24).map("".join)
any_text = st.text(st.characters(), max_size=64)


@pytest.mark.parametrize(
    ("expected", "name"), [(key, name) for key, names in SAME_JOB for name in names]
)
def test_runs_of_one_job_share_the_name_without_the_run(expected: str, name: str) -> None:
    assert family_of(name) == expected


@pytest.mark.parametrize(("one", "other"), APART)
def test_different_jobs_stay_apart(one: str, other: str) -> None:
    assert family_of(one) != family_of(other)


@pytest.mark.parametrize("suffix", ["-20260103-101112", "-r1", "/run_3", "-3f2a9c1", "-1234567"])
@pytest.mark.parametrize(("one", "other"), APART)
def test_different_jobs_stay_apart_with_a_run_behind_them(
    one: str, other: str, suffix: str
) -> None:
    assert family_of(one + suffix) != family_of(other + suffix)


@pytest.mark.parametrize("name", ONLY_IDS)
def test_a_name_of_ids_only_is_its_own_family(name: str) -> None:
    assert family_of(name) == name


@pytest.mark.parametrize("rule", [*ANYWHERE, *END], ids=lambda rule: rule.name)
def test_every_rule_is_named_explained_and_linear_by_construction(rule: family.Rule) -> None:
    assert rule.why
    bare = re.sub(r"\[[^]]*\]", "", re.sub(r"\\.", "", rule.pattern))
    assert not re.search(r"[*+]|\{\d*,\}", bare), "unbounded repeat"
    assert re.compile(rule.pattern).groups == 0, "a group would hide which rule matched"


def test_names_of_rules_are_unique() -> None:
    assert max(Counter(rule.name for rule in (*ANYWHERE, *END)).values()) == 1


@pytest.mark.parametrize(
    "piece",
    ["attempt-" + "1" * 40, "1" * 40 + "_1234567", "evaluator-1234-zx9pl", "launcher-zx9pl"],
)
def test_the_longest_pieces_fit_the_tail_that_is_searched(piece: str) -> None:
    assert len(piece) < TAIL
    assert family_of("x" * 900 + "-" + piece) == "x" * 900


def test_digits_longer_than_the_tail_are_not_cut_in_the_middle() -> None:
    assert family_of("ctr-" + "1" * 500) == "ctr-" + "1" * 500


ADVERSARIAL = [
    "1" * 1024, "0" * 1023 + "x", "a1" * 512, "f" * 1023 + "1", "abcdef1" * 146, "run" * 341,
    "-" * 1024, "/" * 1024, "a/" * 512, "a-" * 512, " " * 1024, "a" + " " * 1022 + "b",
    "r1-" * 341, "x-" + "r1-" * 340, "run-" * 256, "x" + "-run-3" * 170, "12345_" * 170,
    "2026-01-03" * 102, "20260103-" * 113, "2026-" * 60 + "2026-01-03" + "-01-03" * 60,
    "jan-" * 256, "Jan03_" * 170, "\u0301" * 1024, "ﷺ" * 56,
]  # fmt: skip


@pytest.mark.parametrize("name", ADVERSARIAL, ids=lambda name: f"{name[:12]!r}")
def test_an_adversarial_name_takes_steps_in_proportion_to_its_length(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps, not seconds: each search of an end sees a bounded tail, each pass cuts something."""

    class Counting:
        def __init__(self, pattern: re.Pattern[str]) -> None:
            self.pattern, self.calls, self.widest = pattern, 0, 0

        def search(self, text: str, start: int = 0) -> re.Match[str] | None:
            self.calls += 1
            self.widest = max(self.widest, len(text) - start)
            return self.pattern.search(text, start)

        def sub(self, replacement: str, text: str) -> str:
            return self.pattern.sub(replacement, text)

    end, anywhere = Counting(family._END), Counting(family._ANYWHERE)
    monkeypatch.setattr(family, "_END", end)
    monkeypatch.setattr(family, "_ANYWHERE", anywhere)
    assert family_of(name)
    assert end.widest <= TAIL
    assert end.calls <= len(name) + 8
    assert anywhere.calls <= len(name) / 8 + 2  # the shortest stamp has six characters and borders


@given(any_text | built_names)
def test_never_empty_never_raises_and_the_same_again(name: str) -> None:
    key = family_of(name)
    assert key.strip()
    assert key == family_of(name)
    assert family_of(key) == key
    key.encode()  # hashed by those who sample by family


@given(built_names, st.none() | st.sampled_from(["", "  ", "\n\t", "\u200b"]))
def test_a_blank_key_of_the_launcher_counts_as_absent(name: str, blank: str | None) -> None:
    assert family_of(name, blank) == family_of(name)


@given(any_text, any_text.filter(lambda text: family_of("", text) != family.BLANK))
def test_the_key_of_the_launcher_decides_whatever_the_name(name: str, key: str) -> None:
    assert family_of(name, key) == family_of("another", key)
    assert family_of(name, family_of(name, key)) == family_of(name, key)


@pytest.mark.parametrize("key", ["ctr-20260103", "run-3", "12345", "A/b", "-", "ctr-r1"])
def test_the_key_of_the_launcher_is_used_as_it_is(key: str) -> None:
    assert family_of("resnet50-20260103", key) == key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  ctr \t\n v2\r\n", "ctr v2"),
        ("ctr\x00\x1b\x85v2", "ctr v2"),
        ("ctr\u200b\u2028v2\ufeff", "ctr v2"),
        ("\uff43\uff54\uff52\uff0d\uff56\uff12", "ctr-v2"),
        ("re\u0301sumé", "résumé"),
        ("ctr\ud800", "ctr"),
    ],
)
def test_unicode_form_and_white_space_are_folded_in_names_and_keys(
    text: str, expected: str
) -> None:
    assert family_of(text) == expected
    assert family_of("other", text) == expected


@pytest.mark.parametrize("name", ["", " ", "\n", "\x00", "\ud800", "\u200b"])
def test_a_name_without_anything_visible_has_a_family_too(name: str) -> None:
    assert family_of(name) == family.BLANK


def test_a_forged_log_line_in_a_name_loses_its_line_break() -> None:
    assert "\n" not in family_of('asmith@example.com-ctr\n{"level":"ERROR"}')


def test_full_width_stamps_are_stamps() -> None:
    assert family_of("ctr-\uff12\uff10\uff12\uff16-\uff10\uff11-\uff10\uff13") == "ctr"


def test_random_hashes_of_every_length_are_stripped_nearly_always() -> None:
    draw = random.Random(7)
    for length in (7, 8, 10, 12, 16, 20, 32, 40, 64):
        hashes = ["".join(draw.choices("0123456789abcdef", k=length)) for _ in range(2000)]
        left = sum(family_of(f"ctr-{text}-x") != "ctr-x" for text in hashes)
        # At 7, one in 27 has no letter; some spell two sizes or a word with a number.
        assert left / 2000 < {7: 0.11, 8: 0.08, 10: 0.02}.get(length, 0.005), length


def test_pods_of_replica_sets_share_a_family() -> None:
    draw = random.Random(7)
    for _ in range(500):
        number = str(draw.randrange(10**8, 2**32))
        replica_set = number.translate(str.maketrans("0123456789", "456789bcdf"))
        pod = "".join(draw.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
        assert family_of(f"ranker-{replica_set}-{pod}") == "ranker"


@pytest.mark.real_data
@pytest.mark.skipif(not REAL.exists(), reason="the shared measured throughput is absent")
def test_real_names_group_as_their_publishers_grouped_them() -> None:
    given_of: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    together: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    with gzip.open(REAL, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            key = family_of(row["job_name"])
            given_of[row["source"]][key].add(row["job_family"])
            together[row["source"]][row["job_family"], key] += 1

    def pairs(counts: Counter[str]) -> int:
        return sum(count * (count - 1) // 2 for count in counts.values())

    # Nothing is merged, also where the given family is coarser than the name (batch size, shape).
    merged = {
        source: {key for key, families in keys.items() if len(families) > 1}
        for source, keys in given_of.items()
    }
    assert not any(merged.values()), merged
    for source in ("mlperf", "lambda"):
        given_sizes: Counter[str] = Counter()
        for (job_family, _), count in together[source].items():
            given_sizes[job_family] += count
        kept = sum(count * (count - 1) // 2 for count in together[source].values())
        assert kept / pairs(given_sizes) > 0.999, source


def test_all_families_of_the_tables_are_distinct() -> None:
    expected = {key for key, _ in SAME_JOB}
    for one, other in itertools.combinations(sorted(expected), 2):
        assert family_of(one) != family_of(other)
