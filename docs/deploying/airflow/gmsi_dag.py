"""Airflow 3.2 or newer: syncs each job hourly, then checks it. The workers need gmsi on their PATH."""

from datetime import datetime, timedelta, timezone
from functools import cached_property

from airflow.providers.standard.hooks.subprocess import SubprocessHook
from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

FOLDER = "/etc/gmsi"  # contains jobs/; settings come from .env there, or from the workers' environment
JOBS = ["g7-inflation"]


class GmsiOperator(BaseOperator):
    """Runs a gmsi command. BashOperator could skip on 75, but would retry on 2."""

    def __init__(self, *, arguments, **kwargs):
        super().__init__(**kwargs)
        self.arguments = arguments

    @cached_property
    def process(self):
        return SubprocessHook()

    def execute(self, context):
        code = self.process.run_command(["gmsi", *self.arguments], cwd=FOLDER).exit_code
        if code == 75:
            raise AirflowSkipException("The month's request budget is spent.")
        if code == 2:
            raise AirflowFailException("A retry cannot help. Read the message above and fix it.")
        if code != 0:
            raise AirflowException(f"gmsi ended with code {code}.")

    def on_kill(self):
        self.process.send_sigterm()


with DAG(
    dag_id="gmsi",
    schedule="15 * * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,  # one sync loads every missing day
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=5)},
):
    for job in JOBS:
        sync = GmsiOperator(task_id=f"sync-{job}", arguments=["sync", job])
        check = GmsiOperator(task_id=f"check-{job}", arguments=["check", job], retries=0)
        sync >> check
