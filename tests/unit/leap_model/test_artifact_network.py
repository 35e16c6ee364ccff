"""Artifacts with a network and references: whole they answer as before, else not at all."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leap_model.artifact import Artifact, load, pack, publish
from leap_model.columns import Floats, Jobs
from leap_model.errors import ArtifactError
from leap_model.features.schema import CategoryColumn, NumberColumn, Schema
from leap_model.history import family_hashes
from leap_model.model import Model
from leap_model.network import Shape
from leap_model.prediction import predict
from leap_model.references import COLUMNS, Cells, References
from leap_model.sealed import SealedFolder
from leap_model.store import LocalStore
from tests.unit.leap_model.altering import change, npy, refusal, sealed, write
from tests.unit.leap_model.builders import jobs_of, tiny_artifact
from tests.unit.leap_model.cells_by_hand import HARDWARE, NOW, PLAIN, cell, cells_of
from tests.unit.leap_model.residual import network_of

PREFIX = "models/throughput/v"
SHAPE = Shape((0, 1), (1,), ((2, 2), (3, 3)), width=4, blocks=1, vector=2)
SCHEMA = Schema(
    (
        NumberColumn("job.num_trainers"),
        NumberColumn("ratio.log_peak", 3.0),
        CategoryColumn("job.model_type", ("bert",), other=True),
        CategoryColumn("hardware.hardware_type", HARDWARE, other=False),
    ),
    (),
).with_numbers(COLUMNS)
REFERENCES = References(
    cells_of(cell("a", 0.3, level=1.5), cell("a", -0.2, on="mid-8"), cell("b", 0.1, far=np.nan)),
    cells_of(cell("bert", 0.4, votes=3), cell("resnet", -0.6, on="slow-4")),
    HARDWARE,
    PLAIN,
)
ARTIFACT = replace(
    tiny_artifact(),
    model=Model.of_networks([network_of(SHAPE)], 7, 1, (4, 5, 6), PLAIN.most).checked(),
    schema=SCHEMA,
    references=REFERENCES,
)
PACKED = pack(ARTIFACT)
NETWORK = "networks/network-0.npy"
CELLS = [
    f"references/{by}/{name}.npy" for by in ("families", "model_types") for name in Cells.__slots__
]
JOBS = jobs_of(
    [
        {"family": family, "model_type": model_type, "hardware_type": on, "launched_at": NOW}
        for family in ("a", "b", "never ran")
        for model_type in ("bert", "resnet", "unseen")
        for on in (*HARDWARE, "unpriced-8", "nobody's")
    ]
)


def predicted(artifact: Artifact, jobs: Jobs = JOBS) -> Floats:
    """(n,) what an artifact predicts of jobs, as a ranking asks."""
    families = family_hashes(jobs.family)
    history, known = artifact.snapshot.lookup(families), artifact.known(jobs, families)
    parts = (artifact.target, artifact.model, artifact.schema, jobs, history, artifact.catalogue)
    return predict(*parts, known=known)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The version as it was published. Read it only."""
    store = LocalStore(tmp_path_factory.mktemp("published"))
    publish(store, PREFIX, PACKED)
    return store.folder(PREFIX)


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    """A copy of the version, to be altered."""
    return Path(shutil.copytree(published, tmp_path / "version"))


def test_predictions_survive_bit_for_bit(folder: Path) -> None:
    loaded = load(folder, PACKED.manifest_sha256)
    expected = predicted(ARTIFACT)
    assert predicted(loaded).tobytes() == expected.tobytes()
    assert len(np.unique(expected)) > 20
    again = load(folder, PACKED.manifest_sha256)  # found whole before
    assert predicted(again).tobytes() == expected.tobytes()


def test_what_resembles_a_job_counts(folder: Path) -> None:
    loaded = load(folder, PACKED.manifest_sha256)
    alone = replace(
        loaded, references=replace(REFERENCES, families=cells_of(), model_types=cells_of())
    )
    moved = predicted(loaded) != predicted(alone)
    assert moved.reshape(3, 3, 5)[0].all()  # its own family, wherever it is to run
    assert moved.reshape(3, 3, 5)[2, :2].all()  # a family that never ran, by its model type
    assert not moved.reshape(3, 3, 5)[2, 2].any()  # nobody like it


def test_a_loaded_artifact_packs_to_the_same_bytes(folder: Path) -> None:
    again = pack(load(folder))
    assert again.manifest == PACKED.manifest
    assert again.files == PACKED.files


def test_every_file_is_listed() -> None:
    assert {NETWORK, "references.json", *CELLS} <= PACKED.files.keys()


@pytest.mark.parametrize("change_of", ["rest", "recall", "network"])
def test_other_content_has_another_name(change_of: str) -> None:
    families = replace(REFERENCES.families, rest=REFERENCES.families.rest + np.float32(1e-6))
    others = {
        "rest": replace(ARTIFACT, references=replace(REFERENCES, families=families)),
        "recall": replace(
            ARTIFACT, references=replace(REFERENCES, recall=replace(PLAIN, shrink=2.0))
        ),
        "network": replace(
            ARTIFACT, model=Model.of_networks([network_of(SHAPE, 1)], 7, 1, (4, 5, 6), PLAIN.most)
        ),
    }
    assert pack(others[change_of]).version != PACKED.version


def test_references_without_a_cell_survive(store: LocalStore) -> None:
    bare = replace(ARTIFACT, references=References(cells_of(), cells_of(), (), PLAIN))
    packed = pack(bare)
    publish(store, PREFIX, packed)
    loaded = load(store.folder(PREFIX), packed.manifest_sha256)
    assert predicted(loaded).tobytes() == predicted(bare).tobytes()


def test_a_network_alone_needs_no_references(store: LocalStore) -> None:
    model = Model.of_networks([network_of(SHAPE)], 4, 1).checked()
    schema = Schema(SCHEMA.columns[:4], ())
    alone = replace(ARTIFACT, model=model, schema=schema, references=None)
    packed = pack(alone)
    publish(store, PREFIX, packed)
    loaded = load(store.folder(PREFIX), packed.manifest_sha256)
    assert loaded.references is None
    assert predicted(loaded).tobytes() == predicted(alone).tobytes()


@pytest.mark.parametrize("name", [NETWORK, "references.json", *CELLS])
def test_a_file_altered_cut_or_missing_is_refused(folder: Path, name: str) -> None:
    path = folder / name
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[-1] ^= 1
    for changed in (
        bytes(flipped),
        content[:-1],
        content[: len(content) // 2],
        b"",
        content + b"0",
    ):
        path.write_bytes(changed)
        refusal(folder, PACKED.manifest_sha256)
    path.unlink()
    refusal(folder, PACKED.manifest_sha256)


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_altered_on_a_disk_that_does_not_say_so_is_not_recalled(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(folder, PACKED.manifest_sha256)
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1
    (folder / name).write_bytes(content)
    monkeypatch.setattr(SealedFolder, "was_whole", lambda self: True)
    artifact = load(folder, PACKED.manifest_sha256)
    for _ in range(2):
        with pytest.raises(ArtifactError, match="was altered"):
            predicted(artifact)


Alter = Callable[[Path], None]


def arrayed(name: str, change_of: Callable[[Any], Any]) -> Alter:
    """An array of a file passed through a function."""

    def altered(folder: Path) -> None:
        (folder / name).write_bytes(npy(change_of(np.load(folder / name))))

    return altered


def valued(name: str, at: int, value: float) -> Alter:
    """One value of an array."""

    def put(array: Any) -> Any:
        array[at] = value
        return array

    return arrayed(name, put)


def removed(name: str) -> Alter:
    return lambda folder: (folder / name).unlink()


def recalling(**values: Any) -> Alter:
    recall = PLAIN.to_json() | values
    return change("references.json", recall=recall)


def other_type(array: Any) -> Any:
    return array.astype({"u": "<i8", "i": "<f8", "f": "<f8"}[array.dtype.kind])


SHAPED = SHAPE.to_json()
STEPS = [dict(step) for step in ARTIFACT.model.steps]


def stepped(at: int, **values: Any) -> Alter:
    """One step of the model changed."""
    steps = [step | values if at == place else step for place, step in enumerate(STEPS)]
    return change("model.json", steps=steps)


def networked(**values: Any) -> Alter:
    """The shape of the network changed."""
    return change("model.json", networks={"network": SHAPED | values})


# Changes that keep every digest right.
RESEALED: dict[str, Alter] = {
    **{f"no {name}": removed(name) for name in (NETWORK, "references.json", *CELLS)},
    **{f"{name} of another type": arrayed(name, other_type) for name in (NETWORK, *CELLS)},
    **{
        f"{name} in the other byte order": arrayed(name, lambda a: a.astype(a.dtype.newbyteorder()))
        for name in (NETWORK, *CELLS)
    },
    **{f"one fewer in {name}": arrayed(name, lambda a: a[:-1]) for name in (NETWORK, *CELLS)},
    **{f"{name} of another rank": arrayed(name, lambda a: a[None]) for name in (NETWORK, *CELLS)},
    **{f"{name} is one value": arrayed(name, lambda a: a.flat[0]) for name in (NETWORK, *CELLS)},
    **{f"{name} is no array": write(name, b"no array") for name in (NETWORK, *CELLS)},
    **{f"{name} is empty": write(name, b"") for name in (NETWORK, *CELLS, "references.json")},
    **{f"{name} cut": write(name, PACKED.files[name][:-3]) for name in (NETWORK, *CELLS)},
    **{
        f"{value} in {name}": valued(name, -1, value)
        for name in (NETWORK, *(c for c in CELLS if c.endswith(("rest.npy", "level.npy"))))
        for value in (np.nan, np.inf, -np.inf)
    },
    **{
        f"{value} votes in {name}": valued(name, 0, value)
        for name in CELLS
        if name.endswith("votes.npy")
        for value in (np.nan, np.inf, -1.0)
    },
    **{
        f"hardware {value} in {name}": valued(name, 0, value)
        for name in CELLS
        if name.endswith("hardware.npy")
        for value in (-1, 3, 2**31 - 1)
    },
    **{
        f"{name} descends": arrayed(name, lambda a: a[::-1])
        for name in CELLS
        if name.endswith("key.npy")
    },
    "fewer hardware types": change("references.json", hardware=["fast-8"]),
    "no hardware types": change("references.json", hardware=None),
    "references of another form": write("references.json", b"[]"),
    "references that are no JSON": write("references.json", b"{"),
    "no recall": change("references.json", recall=None),
    "a constant too many": recalling(more=1.0),
    "a constant of text": recalling(days="many"),
    "a constant below nothing": recalling(own=-0.1),
    "a constant that divides by nothing": recalling(shrink=0.0),
    "no network": change("model.json", networks={}),
    "networks of another form": change("model.json", networks=5),
    "a network of another name": change("model.json", networks={"other": SHAPED}),
    "a network outside of its folder": change("model.json", networks={"../x": SHAPED}),
    "a wider network": networked(width=5),
    "a network of no width": networked(width=0),
    "a network of more blocks": networked(blocks=2),
    "a network without gaps": networked(gaps=[]),
    "a gap of no number": networked(gaps=[2]),
    "a column beyond the matrix": networked(numbers=[0, 7]),
    "a column before the matrix": networked(numbers=[0, -1]),
    "a category beyond the matrix": networked(categories=[[2, 2], [7, 3]]),
    "a step of no network": stepped(0, network="other"),
    "a step of no operation": stepped(0, op="networks"),
    "a step of no column": stepped(2, column=7),
    "a mean of nothing": stepped(1, of=[]),
    "a mean of what is not there": stepped(1, of=["network-1"]),
    "a blend of one": stepped(-1 % len(STEPS), of=["corrected"]),
    "a blend of three": stepped(-1 % len(STEPS), of=["corrected", "own level", "rest"]),
    "a blend by nothing": stepped(-1 % len(STEPS), by="other"),
    "a blend that goes back": stepped(-1 % len(STEPS), most=-1.0),
    "a blend without an end": stepped(-1 % len(STEPS), most=None),
    "a blend of text": stepped(-1 % len(STEPS), most="far"),
}


def test_a_version_sealed_anew_loads(folder: Path) -> None:
    assert predicted(load(folder, sealed(folder))).tobytes() == predicted(ARTIFACT).tobytes()


@pytest.mark.parametrize("alter", RESEALED.values(), ids=RESEALED)
def test_content_that_does_not_fit_is_refused_though_its_digests_are_right(
    folder: Path, alter: Alter
) -> None:
    alter(folder)
    with pytest.raises(ArtifactError) as caught:
        load(folder, sealed(folder))
    assert "\n" not in str(caught.value)


def test_cells_of_a_key_may_lie_together(folder: Path) -> None:
    for name in CELLS:
        if "/families/" in name:
            arrayed(name, lambda array: array[[0, 0, 1, 2]])(folder)
    assert len(predicted(load(folder, sealed(folder)))) == len(JOBS)
