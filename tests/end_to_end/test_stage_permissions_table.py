"""Every right of the deployed stage was looked at, and the documentation says what came of it.

Last of its folder: it looks at what the tests before it measured.
"""

from cli.local_aws.paths import CHECKOUT
from tests.end_to_end.conftest import STAGE, Stage
from tests.end_to_end.permissions import TABLE, Rights
from tests.end_to_end.test_stage_permissions import GRANTS as OF_FUNCTIONS
from tests.end_to_end.test_stage_permissions_nights import GRANTS as OF_NIGHTS
from tests.end_to_end.test_stage_permissions_ranker import GRANTS as OF_RANKER
from tests.end_to_end.test_stage_permissions_services import GRANTS as OF_SERVICES

DOCUMENT = CHECKOUT / "docs" / "permissions.md"
LOOKED_AT = [*OF_FUNCTIONS, *OF_RANKER, *OF_NIGHTS, *OF_SERVICES]


def test_every_right_that_the_stack_gives_is_taken_away_by_a_test(stage: Stage) -> None:
    given = Rights(f"leap-{STAGE}", STAGE).grants()
    assert sorted(LOOKED_AT) == sorted(given)
    assert len(set(given)) == len(given)


def test_the_documentation_has_what_was_measured_and_every_right() -> None:
    rows = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    shown = {line for line in rows if not line.startswith("| identity")}
    assert set(TABLE.lines()) - shown == set()
    named = {tuple(cell.strip(" `") for cell in line.split("|")[1:4]) for line in shown}
    assert named == {(grant.identity, grant.action, grant.resource) for grant in LOOKED_AT}
    assert len(shown) == len(LOOKED_AT)
