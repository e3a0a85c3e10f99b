"""Runs the DAG in a file (1st argument) in a folder (2nd), with the few names of Airflow that it uses. Prints each task's end.

Signatures and meanings are those of apache/airflow: SubprocessHook, BashOperator and airflow.sdk.exceptions.
"""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import types
from collections import namedtuple

from cancel import cancel_with

tasks = []


class AirflowException(Exception): ...


class AirflowFailException(AirflowException): ...


class AirflowSkipException(AirflowException): ...


class SubprocessHook:
    sub_process = None

    def run_command(self, command, env=None, output_encoding="utf-8", cwd=None):
        self.sub_process = subprocess.Popen(command, cwd=cwd, stdout=sys.stderr, start_new_session=True)
        return namedtuple("SubprocessResult", "exit_code output")(self.sub_process.wait(), "")

    def send_sigterm(self):
        self.sub_process.send_signal(signal.SIGTERM)


class DAG:
    open = None

    def __init__(self, dag_id, *, schedule, start_date, catchup, max_active_runs, default_args):
        assert start_date.tzinfo
        self.schedule, self.default_args = schedule, default_args

    def __enter__(self):
        DAG.open = self

    def __exit__(self, *_):
        DAG.open = None


class BaseOperator:
    def __init__(self, *, task_id, **options):
        assert re.fullmatch(r"[\w.-]+", task_id)
        options = {**DAG.open.default_args, **options}
        self.task_id, self.retries, self.upstream = task_id, options.pop("retries"), []
        assert set(options) <= {"retry_delay"}
        tasks.append(self)

    def __rshift__(self, other):
        other.upstream.append(self)


def run(task):
    """Sets task.state and task.attempts. The default trigger rule is all_success."""
    task.attempts = 0
    before = [other.state for other in task.upstream]
    if any(state != "success" for state in before):
        task.state = "skipped" if "skipped" in before else "upstream_failed"
        return
    while True:
        task.attempts += 1
        try:
            task.execute({})
            task.state = "success"
        except AirflowSkipException:
            task.state = "skipped"
        except AirflowFailException:
            task.state = "failed"
        except Exception:
            if task.attempts <= task.retries:
                continue
            task.state = "failed"
        return


def module(name, **names):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(names)


for package in ["airflow", "airflow.providers", "airflow.providers.standard", "airflow.providers.standard.hooks"]:
    module(package)
module("airflow.providers.standard.hooks.subprocess", SubprocessHook=SubprocessHook)
module("airflow.sdk", DAG=DAG, BaseOperator=BaseOperator)
module(
    "airflow.sdk.exceptions",
    AirflowException=AirflowException,
    AirflowFailException=AirflowFailException,
    AirflowSkipException=AirflowSkipException,
)
spec = importlib.util.spec_from_file_location("example", sys.argv[1])
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
example.FOLDER = sys.argv[2]
# Airflow calls on_kill in its handler of SIGTERM.
signal.signal(signal.SIGTERM, lambda *_: tasks[0].on_kill())
if os.environ["SYNC"] == "wait":
    cancel_with(signal.SIGTERM, f"{sys.argv[2]}/ready")
for task in tasks:
    run(task)
print(json.dumps({task.task_id: [task.state, task.attempts] for task in tasks}))
