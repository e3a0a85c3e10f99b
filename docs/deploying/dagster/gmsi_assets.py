"""Dagster 1.10 or newer: an asset for each job, synced hourly, then checked. Needs gmsi on the PATH."""

import subprocess

import dagster as dg

FOLDER = "/etc/gmsi"  # contains jobs/; settings come from .env there, or from the environment
JOBS = ["g7-inflation"]


def gmsi(*arguments):
    with subprocess.Popen(["gmsi", *arguments], cwd=FOLDER) as process:
        try:
            return process.wait()
        except BaseException:  # the run is cancelled: gmsi commits the pages in flight and ends
            process.terminate()
            raise


def define(job):
    retries = dg.RetryPolicy(max_retries=2, delay=300)

    @dg.asset(name=job.replace("-", "_"), group_name="gmsi", output_required=False, retry_policy=retries)
    def synced(context: dg.AssetExecutionContext):
        code = gmsi("sync", job)
        if code == 0:
            yield dg.MaterializeResult()
        elif code == 75:  # nothing is materialized, and the check is skipped
            context.log.warning("The month's request budget is spent.")
        else:
            raise dg.Failure(f"gmsi sync ended with code {code}.", allow_retries=code != 2)

    @dg.asset_check(asset=synced, name="gmsi_check")
    def checked():
        code = gmsi("check", job)
        if code not in (0, 1):
            raise dg.Failure(f"gmsi check ended with code {code}.", allow_retries=False)
        return dg.AssetCheckResult(passed=code == 0)

    return synced, checked


assets, checks = zip(*map(define, JOBS))
hourly = dg.ScheduleDefinition(
    name="gmsi_hourly", cron_schedule="15 * * * *", target=dg.AssetSelection.groups("gmsi")
)
defs = dg.Definitions(assets=assets, asset_checks=checks, schedules=[hourly])
