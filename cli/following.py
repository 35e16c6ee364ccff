"""What a deployed stage's readers go by follows what a command moved."""

from leap_model.store import LocalStore, Store


def follow(store: Store, stage: str, target: str) -> None:
    """Make the stage's parameter say what the pointer in a bucket says.

    A store in a folder has none: its readers read the pointer itself.

    Raises
    ------
    StoreError
        The parameter could not be set; the next nightly run, or the command again, sets it.
    """
    if isinstance(store, LocalStore):
        return
    from leap_model.parameters import Parameters, follow_pointer

    follow_pointer(Parameters(), store, stage, target)
