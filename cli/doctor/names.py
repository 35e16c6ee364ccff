"""What the parts of a deployed stage are called; infra/settings.py gives them these names."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one stage's resources."""

    stage: str

    def of(self, part: str = "") -> str:
        """A part's name, or that of the stack itself."""
        return f"leap-{self.stage}-{part}" if part else f"leap-{self.stage}"

    @property
    def stack(self) -> str:
        """CloudFormation's stack."""
        return self.of()

    @property
    def queue(self) -> str:
        """Where attempts wait to be filed."""
        return self.of("attempts")

    @property
    def dead_letters(self) -> str:
        """What could not be delivered or filed."""
        return self.of("attempts-dlq")

    @property
    def nightly_dead_letters(self) -> str:
        """Nights that could not be started."""
        return self.of("nightly-dlq")

    @property
    def ingest(self) -> str:
        """The function that files attempts."""
        return self.of("ingest")

    @property
    def rank(self) -> str:
        """The function that ranks."""
        return self.of("rank")

    @property
    def schedule(self) -> str:
        """What starts the nightly run."""
        return self.of("nightly")

    @property
    def alarm_topic(self) -> str:
        """What every alarm of the stage is told to."""
        return self.of("alarms")
