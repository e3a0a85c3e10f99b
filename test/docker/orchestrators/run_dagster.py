"""Materializes the assets in a file (1st argument) in a folder (2nd), with the few names of Dagster that they use. Prints each end.

Signatures and meanings are those of dagster-io/dagster: asset, asset_check, Failure and RetryPolicy.
"""

import importlib.util
import json
import logging
import os
import re
import signal
import sys
import types
from collections import namedtuple

from cancel import cancel_with


class Interrupted(BaseException):
    """As DagsterExecutionInterruptedError, which is raised in the op when its run is cancelled."""


class Failure(Exception):
    def __init__(self, description=None, metadata=None, allow_retries=None):
        self.allow_retries = allow_retries is not False


RetryPolicy = namedtuple("RetryPolicy", "max_retries delay", defaults=(1, None))
Definition = namedtuple("Definition", "name group compute retries")
Schedule = namedtuple("Schedule", "name cron_schedule target")
AssetCheckResult = namedtuple("AssetCheckResult", "passed")


class AssetSelection:
    @staticmethod
    def groups(*names):
        return names


def asset(*, name, group_name, output_required=True, retry_policy=None):
    assert re.fullmatch(r"\w+", name) and output_required is False
    return lambda compute: Definition(name, group_name, compute, retry_policy.max_retries)


def asset_check(*, asset, name):
    return lambda compute: Definition(f"{asset.name}:{name}", asset.group, compute, 0)


def attempt(definition, compute):
    """Returns what compute returns, or "failed", and how often it was called."""
    attempts = 0
    while True:
        attempts += 1
        try:
            return compute(), attempts
        except Failure as failure:
            if not failure.allow_retries or attempts > definition.retries:
                return "failed", attempts


dagster = sys.modules["dagster"] = types.ModuleType("dagster")
dagster.asset, dagster.asset_check, dagster.Failure, dagster.RetryPolicy = asset, asset_check, Failure, RetryPolicy
dagster.AssetCheckResult, dagster.AssetSelection, dagster.ScheduleDefinition = AssetCheckResult, AssetSelection, Schedule
dagster.MaterializeResult = namedtuple("MaterializeResult", "")
dagster.AssetExecutionContext = namedtuple("AssetExecutionContext", "log")
dagster.Definitions = namedtuple("Definitions", "assets asset_checks schedules")

spec = importlib.util.spec_from_file_location("example", sys.argv[1])
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
example.FOLDER = sys.argv[2]
defs = example.defs
for one in defs.assets:
    assert all(one.group in schedule.target for schedule in defs.schedules)


def interrupt(*_):
    raise Interrupted


signal.signal(signal.SIGINT, interrupt)
if os.environ["SYNC"] == "wait":
    cancel_with(signal.SIGINT, f"{sys.argv[2]}/ready")
context = dagster.AssetExecutionContext(logging.getLogger())
ends = {}
try:
    for one, check in zip(defs.assets, defs.asset_checks):
        result, attempts = attempt(one, lambda: list(one.compute(context)))
        end = result if result == "failed" else "materialized" if result else "not materialized"
        ends[one.name] = [end, attempts]
        if end == "materialized":  # else its check is skipped
            result, attempts = attempt(check, check.compute)
            end = result if result == "failed" else "passed" if result.passed else "not passed"
            ends[check.name] = [end, attempts]
except Interrupted:
    ends = {"run": ["canceled", 1]}
print(json.dumps(ends))
