"""A crash must never be counted as a pass."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "count_tests.py"

REPORT = """<testsuites><testsuite>
<testcase name="a" status="run" result="completed"/>
<testcase name="b" status="run" result="completed"><failure/></testcase>
<testcase name="c" status="run" result="skipped"><skipped/></testcase>
<testcase name="d" status="notrun" result="suppressed"/>
<testcase name="e"><error/></testcase>
</testsuite></testsuites>"""


def count(tmp_path, text, exit_code):
    report = tmp_path / "report.xml"
    if text is not None:
        report.write_text(text)
    return subprocess.check_output(
        [sys.executable, SCRIPT, report, str(exit_code)], text=True
    ).strip()


def test_outcomes_are_told_apart(tmp_path):
    assert count(tmp_path, REPORT, 1) == "1 2 2"


def test_crash_without_report_is_one_failure(tmp_path):
    assert count(tmp_path, None, 139) == "0 1 0"
    assert count(tmp_path, None, 0) == "0 1 0"


def test_torn_report_is_a_failure(tmp_path):
    assert count(tmp_path, REPORT[:60], 134) == "0 1 0"


def test_crash_after_a_good_report_is_a_failure(tmp_path):
    text = "<testsuites><testcase name='a'/></testsuites>"
    assert count(tmp_path, text, 1) == "1 1 0"
