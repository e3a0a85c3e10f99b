{# The days as they were known some time after their end, for back-tests. Each run computes the last two weeks again, because states
   of recent days change; more of them with the variable gmsi_days_again, which must reach beyond the lookback of your jobs. After a
   backfill, an import, or a window that was loaded late, add --full-refresh. #}
{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key=['country', 'topic', 'match_type', 'day']) }}

-- depends_on: {{ source('gmsi', 'headlines_point_in_time') }}
select *
from gmsi.sentiment_daily_as_known(
  from_day => {% if is_incremental() %}(select max(day) + 1 - {{ var("gmsi_days_again", "14") }} from {{ this }}){% else %}null{% endif %},
  topic => nullif('{{ var("gmsi_topic", "") }}', ''),
  match_type => '{{ var("gmsi_match_type", "COMBINED") }}',
  delay => '{{ var("gmsi_delay", "1 hour") }}')
