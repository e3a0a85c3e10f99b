# The same windows with dlt (pip install "dlt[postgres]"): its rest_api source follows the cursors, and its load merges by id, which
# is its upsert. All else is as dlt sets it.
# python3 dlt-pipeline.py <service> <database> <windows as JSON>
import json
import os
import sys
import tempfile

import dlt
from dlt.sources.rest_api import rest_api_resources

service, database, windows = sys.argv[1:]


def resource(number, window):
    return {
        "name": f"window_{number}",
        "table_name": "headlines",
        "primary_key": "id",
        "write_disposition": "merge",
        "endpoint": {
            "path": f"/v1/headlines/feed/historical/gmsi/{window['country']}",
            "params": {
                "topic": window["topic"],
                "match_type": "COMBINED",
                "start_date": window["startDate"],
                "end_date": window["endDate"],
                "limit": 1000,
            },
            "data_selector": "data",
            "paginator": {"type": "cursor", "cursor_path": "next_token", "cursor_param": "next_token"},
        },
    }


key = {"type": "api_key", "name": "x-api-key", "api_key": os.environ["GMSI_API_KEY"], "location": "header"}
with tempfile.TemporaryDirectory() as folder:
    pipeline = dlt.pipeline(
        pipeline_name="bench",
        pipelines_dir=folder,
        dataset_name="bench",
        destination=dlt.destinations.postgres(credentials=database),
    )
    pipeline.run(
        rest_api_resources(
            {
                "client": {"base_url": service, "auth": key},
                "resources": [resource(number, window) for number, window in enumerate(json.loads(windows))],
            }
        )
    )
    with pipeline.sql_client() as client:
        print(client.execute_sql("select count(*) from headlines")[0][0])
