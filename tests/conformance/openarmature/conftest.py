"""What needs the specification's fixtures is collected only if their folder is named (``fixtures.py``)."""

from tests.conformance.openarmature.fixtures import FOLDER

collect_ignore = [] if FOLDER else ["test_harness_fixtures.py", "test_suspension_fixtures.py"]
