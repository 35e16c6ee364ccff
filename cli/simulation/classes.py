"""The architecture classes of the fleet: what kinds of model are trained, and how large."""

from dataclasses import dataclass

import numpy as np

from cli.simulation.arrays import Floats, Ints

Spread = tuple[float, float]  # median, standard deviation of the natural logarithm


@dataclass(frozen=True)
class ArchitectureClass:
    """One kind of model.

    Attributes
    ----------
    share : float
        Share of the fleet's attempts.
    names : tuple of str
        What its model types are called, before the product they serve.
    params_m, reuse : Spread
        Dense parameters in millions, and how often one sample uses each of them; for
        classes with `sequence` the reuse is the sequence length times this spread.
    activations_m : Spread
        Values kept for the backward pass of one sample, in millions.
    layers : Spread
        Depth.
    sequence : tuple of int
        Sequence lengths in use; empty where the class has none.
    embedding_params_m : Spread or None
        Embedding parameters in millions.
    batch, trainers : Spread
        Samples per trainer per step; hosts.
    reader_rate : Spread
        Samples per second one reader delivers.
    peak_share : float
        Share of the peak that the mature software reaches with a large batch.
    half_batch : float
        Samples per accelerator at which half of that is reached, on 100 TFLOP/s.
    """

    name: str
    share: float
    names: tuple[str, ...]
    params_m: Spread
    reuse: Spread
    activations_m: Spread
    layers: Spread
    sequence: tuple[int, ...]
    embedding_params_m: Spread | None
    batch: Spread
    trainers: Spread
    reader_rate: Spread
    peak_share: float
    half_batch: float


# fmt: off
CLASSES: tuple[ArchitectureClass, ...] = (
    ArchitectureClass(
        "ranking", 0.555, ("ctr", "cvr", "multitask_rank", "value_model", "quality_rank"),
        params_m=(100, 0.45), reuse=(9, 0.3), activations_m=(0.12, 0.5), layers=(14, 0.4),
        sequence=(), embedding_params_m=(30000, 1.4),
        batch=(4096, 0.6), trainers=(4, 0.82), reader_rate=(700, 0.4),
        peak_share=0.22, half_batch=300),
    ArchitectureClass(
        "sequence_ranking", 0.18, ("user_sequence", "session_transformer", "generative_rank"),
        params_m=(110, 0.42), reuse=(0.14, 0.25), activations_m=(1.2, 0.4), layers=(8, 0.4),
        sequence=(64, 128, 256), embedding_params_m=(15000, 1.2),
        batch=(2048, 0.6), trainers=(4, 0.82), reader_rate=(500, 0.4),
        peak_share=0.32, half_batch=100),
    ArchitectureClass(
        "retrieval", 0.17, ("two_tower", "candidate_gen", "graph_retrieval"),
        params_m=(80, 0.45), reuse=(8, 0.3), activations_m=(0.06, 0.4), layers=(8, 0.4),
        sequence=(), embedding_params_m=(12000, 1.3),
        batch=(8192, 0.6), trainers=(3, 0.82), reader_rate=(1100, 0.4),
        peak_share=0.20, half_batch=500),
    ArchitectureClass(
        "cnn", 0.04, ("image_cnn", "video_cnn", "detector"),
        params_m=(28, 0.6), reuse=(120, 0.4), activations_m=(16, 0.4), layers=(60, 0.4),
        sequence=(), embedding_params_m=None,
        batch=(768, 0.6), trainers=(2, 0.8), reader_rate=(220, 0.4),
        peak_share=0.30, half_batch=12),
    ArchitectureClass(
        "vision_transformer", 0.02, ("vit", "image_text", "video_transformer"),
        params_m=(90, 0.6), reuse=(1.0, 0.1), activations_m=(30, 0.4), layers=(14, 0.3),
        sequence=(197, 257, 577), embedding_params_m=None,
        batch=(512, 0.6), trainers=(3, 0.65), reader_rate=(200, 0.4),
        peak_share=0.42, half_batch=6),
    ArchitectureClass(
        "language_model", 0.013, ("decoder_lm", "encoder_lm", "code_lm", "dialogue_lm"),
        params_m=(1500, 1.4), reuse=(1.05, 0.05), activations_m=(450, 0.4), layers=(28, 0.3),
        sequence=(512, 1024, 2048, 4096), embedding_params_m=(120, 0.5),
        batch=(48, 0.7), trainers=(6, 0.9), reader_rate=(40, 0.4),
        peak_share=0.50, half_batch=0.4),
    ArchitectureClass(
        "speech", 0.008, ("asr", "speaker_id", "tts"),
        params_m=(120, 0.6), reuse=(1.0, 0.2), activations_m=(60, 0.4), layers=(18, 0.3),
        sequence=(400, 750, 1500), embedding_params_m=None,
        batch=(256, 0.5), trainers=(2, 0.7), reader_rate=(60, 0.4),
        peak_share=0.33, half_batch=3),
    ArchitectureClass(
        "diffusion", 0.005, ("text_to_image", "video_diffusion"),
        params_m=(900, 0.7), reuse=(1.0, 0.2), activations_m=(400, 0.4), layers=(28, 0.3),
        sequence=(1024, 4096), embedding_params_m=None,
        batch=(64, 0.6), trainers=(4, 0.65), reader_rate=(20, 0.4),
        peak_share=0.40, half_batch=1.0),
)
# fmt: on

LANGUAGE_MODEL = next(i for i, kind in enumerate(CLASSES) if kind.name == "language_model")


def spread(attribute: str, kind: Ints) -> tuple[Floats, Floats]:
    """Medians and log standard deviations of `attribute` for the classes `kind` (rows,).

    A class without the attribute has median 0.
    """
    table = np.array([getattr(entry, attribute) or (0.0, 0.0) for entry in CLASSES])
    return table[kind, 0], table[kind, 1]


def constant(attribute: str, kind: Ints) -> Floats:
    """The number `attribute` of the classes `kind` (rows,)."""
    return np.array([getattr(entry, attribute) for entry in CLASSES], dtype=np.float64)[kind]
