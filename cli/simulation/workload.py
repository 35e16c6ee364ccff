"""What one training step asks of the machine."""

from dataclasses import dataclass

from cli.simulation.arrays import Bools, Floats, Ints

PRECISIONS = ("fp32", "fp16", "bf16", "fp8")
FP32, FP16, BF16, FP8 = range(len(PRECISIONS))


@dataclass(frozen=True)
class Workload:
    """One job an element; every field has shape (rows,).

    Attributes
    ----------
    kind : int
        Architecture class, index into `CLASSES`.
    gmacs : float
        Billions of multiply-accumulates of one sample's forward pass.
    params_m, embedding_params_m, activations_m : float
        Dense and embedding parameters, and values kept a sample for the backward pass, in millions.
    pooled_kb : float
        Looked-up embeddings of one sample, in kB.
    layers, trainers, readers : float
        Depth; hosts; data readers of the whole job.
    batch : float
        Samples per trainer per step.
    tensor_parallel, pipeline_parallel, accumulation : float
        Accelerators that share a layer; pipeline stages; micro-batches a step.
    checkpointing, compiled : bool
        Activations computed again in the backward pass; graph compiled ahead.
    precision : int
        Index into `PRECISIONS`.
    reader_rate : float
        Samples per second of one reader.
    software : float
        Speed of the framework version, 1 for the reference.
    """

    kind: Ints
    gmacs: Floats
    params_m: Floats
    embedding_params_m: Floats
    activations_m: Floats
    pooled_kb: Floats
    layers: Floats
    trainers: Floats
    readers: Floats
    batch: Floats
    tensor_parallel: Floats
    pipeline_parallel: Floats
    accumulation: Floats
    checkpointing: Bools
    compiled: Bools
    precision: Ints
    reader_rate: Floats
    software: Floats
