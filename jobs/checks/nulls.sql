-- check: Columns that the service fills are filled
-- why: If the service renames a field, its column is empty from that day on. See fields in docs/service.md.
-- needs: job_headlines
-- setting: share = 0.2, share of a month's headlines that may lack a value
-- setting: least = 100, months with fewer headlines are not checked

-- A column is checked from the first month in which it was filled; a documented one, always.
with months as (
  select date_trunc('month', published_at at time zone 'UTC')::date as month, count(*) as headlines,
         count(headline) as headline, count(language) as language, count(source) as source, count(url) as url,
         count(topic_probability) as topic_probability, count(directional_positive) as directional_positive,
         count(directional_neutral) as directional_neutral, count(directional_negative) as directional_negative,
         count(directional_score) as directional_score, count(semantic_positive) as semantic_positive,
         count(semantic_neutral) as semantic_neutral, count(semantic_negative) as semantic_negative,
         count(semantic_score) as semantic_score
  from job_headlines
  group by 1
), columns as (
  select m.month, m.headlines, c.column, c.filled, c.is_documented,
         sum(c.filled) over (partition by c.column order by m.month) > 0 as is_known
  from months m
  cross join lateral (values
    ('headline', m.headline, false),
    ('language', m.language, false),
    ('source', m.source, false),
    ('url', m.url, false),
    ('topic_probability', m.topic_probability, true),
    ('directional_positive', m.directional_positive, true),
    ('directional_neutral', m.directional_neutral, true),
    ('directional_negative', m.directional_negative, true),
    ('directional_score', m.directional_score, true),
    ('semantic_positive', m.semantic_positive, false),
    ('semantic_neutral', m.semantic_neutral, false),
    ('semantic_negative', m.semantic_negative, false),
    ('semantic_score', m.semantic_score, false)
  ) as c ("column", filled, is_documented)
)
select c.month, c.column, c.headlines, c.headlines - c.filled as nulls,
       round((c.headlines - c.filled)::numeric / c.headlines, 4) as share
from columns c
cross join setting
where (c.is_known or c.is_documented)
  and c.headlines >= setting.least
  and c.headlines - c.filled > setting.share * c.headlines
order by c.month desc, c.column
