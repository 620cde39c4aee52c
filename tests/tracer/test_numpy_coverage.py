"""The page about NumPy's functions says what the table of calls says."""

from pathlib import Path

from tests.helpers.numpy_coverage import find_status, make_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numpy_coverage.md"


def test_the_page_is_up_to_date(update_golden):
    if update_golden:
        PAGE.write_text(make_page())
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 400
    made = [line for line in make_page().splitlines() if line.startswith("| `")]
    listed = {_name(row) for row in rows}
    installed = {_name(row) for row in made}  # this NumPy may have other functions than the page
    assert [row for row in rows if _name(row) in installed] == [
        row for row in made if _name(row) in listed
    ]


def _name(row):
    return row.split("`")[1]


def test_statuses_follow_the_calls():
    assert find_status("nansum") == ("yes", "")
    assert find_status("median") == ("yes", "host")
    assert find_status("union1d") == ("yes", "evaluates")
    assert find_status("nested_iters")[0] == "no"
