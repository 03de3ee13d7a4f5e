"""Counts the results in one test report: `passed failed skipped`.

    count_tests.py REPORT.xml EXIT_CODE

REPORT.xml is what GoogleTest or pytest wrote. A missing or torn report, or a
non-zero exit without a failure in the report, is a crash: one failure.
"""

import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") == "notrun":
        return "skipped"
    return "passed"


def count(report, exit_code):
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        for case in ElementTree.parse(report).iter("testcase"):
            totals[outcome(case)] += 1
    except (OSError, ElementTree.ParseError):
        exit_code = exit_code or 1
    if exit_code != 0 and totals["failed"] == 0:
        totals["failed"] = 1
    return totals


if __name__ == "__main__":
    print(*count(sys.argv[1], int(sys.argv[2])).values())
