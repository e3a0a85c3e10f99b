{# The days as they are known now. A count of 0 means no news, a null that the day is not loaded. #}
{{ config(materialized='view') }}

select *
from {{ source('gmsi', 'sentiment_by_day') }}
where match_type = '{{ var("gmsi_match_type", "COMBINED") }}'
