{# Returns the keys that more than one row has. Put this folder into the tests/ of your project. Limit a large table to recent rows
   by a config of the test in sources.yml: config: { where: "published_at >= now() - interval '14 days'" } #}
{% test unique_together(model, columns) %}
select {{ columns | join(', ') }}, count(*) as number_of_rows
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1
{% endtest %}
