"""Figures as people read them; what is unknown says so."""

UNKNOWN = "unknown"


def percent(share: float | None) -> str:
    """A share, to a tenth of a percent."""
    return UNKNOWN if share is None else f"{share * 100:.1f} %"


def points(share: float | None) -> str:
    """A difference of shares in percentage points, with its sign."""
    return UNKNOWN if share is None else f"{share * 100:+.1f}"


def amount(value: float | None) -> str:
    """A quantity of any size, to three digits."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0"
    if 0.001 <= abs(value) < 999_500:
        digits = max(0, 2 - _magnitude(value))
        return f"{value:,.{digits}f}"
    return f"{value:.2e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def _magnitude(value: float) -> int:
    """The power of ten of a value of at least a thousandth."""
    return int(f"{abs(value):.2e}".partition("e")[2])
