import { useEffect, useId, useState } from 'preact/hooks';
import { addressWith } from './address.ts';
import { type Answer, addressOf } from './api.ts';
import { report } from './report.ts';
import { isDay, moment, zone } from './time.ts';

/** A button that copies a text and briefly says so. */
export function Copy({ text, label, title = 'Copy' }: { text: string; label?: string; title?: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <button
      type="button"
      aria-label={label}
      onClick={() => {
        // Browsers give a clipboard only to pages of this machine, or over TLS.
        if (navigator.clipboard) void navigator.clipboard.writeText(text).then(() => setCopied(true));
        else prompt('Copy this text:', text);
      }}
    >
      {isCopied ? 'Copied' : title}
    </button>
  );
}

interface Sharing {
  readonly of: Answer;
  /** Selects the chart of these data, which also gets its links and its picture. */
  readonly chart?: string;
  /** The first day of the chart, if its data begin before it. */
  readonly from?: string;
}

export function Share({ of, ...others }: Sharing) {
  const id = useId();
  const [title, setTitle] = useState<string>();
  if (report) return null;
  return (
    <div class="share end">
      <button type="button" popovertarget={id}>
        Share
      </button>
      <dialog
        id={id}
        popover="auto"
        aria-label="Share"
        // There before it is shown, so that its first button gets the focus, and until it is hidden, so that the focus comes back.
        onBeforeToggle={({ newState, currentTarget }) =>
          newState === 'open' &&
          setTitle(
            currentTarget.closest('section:has(h2), .headline')?.querySelector('h2')?.textContent ?? '',
          )
        }
        onToggle={({ newState }) => newState === 'closed' && setTitle(undefined)}
      >
        {title !== undefined && <Ways answer={of} title={title} {...others} />}
      </dialog>
    </div>
  );
}

function Ways({ answer, title, chart, from }: Omit<Sharing, 'of'> & { answer: Answer; title: string }) {
  const { path, parameters } = answer;
  const named = titleWith(
    title,
    chart ? { ...parameters, country: [], topic: [], from: from ?? parameters.from } : parameters,
  );
  const name = `gmsi-${named.replace(/[^\p{L}\d]+/gu, '-').slice(0, 150)}`;
  const pinned = typeof parameters.as_of === 'string' ? parameters.as_of : answer.asOf;
  return (
    <dl>
      {chart && (
        <>
          <dt>Link</dt>
          <dd>
            <Copy title="Living" label="Copy the living link" text={location.href} />
            <span class="quiet">Always the latest data; relative periods move on.</span>
          </dd>
          <dd>
            <Copy title="Fixed" label="Copy the fixed link" text={fixedLink(answer, from)} />
            <span class="quiet">
              {'as_of' in parameters && pinned
                ? `These days, as known at ${moment(pinned)} ${zone.value}.`
                : 'These days; a later load may change their numbers.'}
            </span>
          </dd>
          <dt>Picture</dt>
          <dd>
            {/* Plots can be drawn as vectors; other charts are tables. */}
            {(chart === '.chart' ? (['png', 'svg'] as const) : (['png'] as const)).map((type) => (
              <button
                key={type}
                type="button"
                onClick={() =>
                  void import('./draw/picture.ts').then(({ savePicture }) =>
                    savePicture(chart, type, { title: named, name, at: pinned }),
                  )
                }
              >
                {type.toUpperCase()}
              </button>
            ))}
            <span class="quiet">Slides, 16:9.</span>
          </dd>
        </>
      )}
      <dt>Data</dt>
      <dd>
        <a class="button" href={addressOf(path, parameters, '.csv')} download={`${name}.csv`}>
          CSV
        </a>
        <a class="button" href={addressOf(path, parameters, '.sql')} target="_blank" rel="noreferrer">
          Exact SQL
        </a>
      </dd>
      <dt>Code</dt>
      <dd>
        <Code answer={answer} />
      </dd>
    </dl>
  );
}

function titleWith(title: string, { feed, country, topic, from, to }: Answer['parameters']): string {
  const isNew = (one: unknown) => Boolean(one) && !title.includes(String(one));
  const days = [from, to].filter((day) => isDay(String(day)) && isNew(day)).join(' to ');
  return [title, ...[feed, country, topic, days].flat().filter(isNew)].join(' · ');
}

/** As many values of a parameter as somebody chooses; more are all that is loaded, which an address need not name. */
const mostChosen = 12;

/**
 * Returns the address with what the answer was asked, and as of its moment. A transaction commits at most seconds after the time of
 * its rows, and the page then asks again: so an answer that stays for seconds is that of its moment for ever.
 */
function fixedLink({ parameters, asOf }: Answer, from: string | undefined): string {
  const values = Object.entries({ ...parameters, ...(from && { from }) }).flatMap(([name, value]) => {
    const fixed = name === 'as_of' ? (value ?? asOf) : value;
    const isChosen = fixed !== null && fixed !== undefined && [fixed].flat().length <= mostChosen;
    return isChosen ? [[name, Array.isArray(fixed) ? fixed : String(fixed)] as const] : [];
  });
  return new URL(addressWith(Object.fromEntries(values)), location.href).href;
}

function Code({ answer }: { answer: Answer }) {
  const codes = { pandas, R, SQL };
  const [shown, show] = useState<keyof typeof codes>('pandas');
  const [isGuarded, setGuarded] = useState(false);
  useEffect(() => {
    // A program has no cookie.
    fetch('api/state', { credentials: 'omit' }).then(
      ({ status }) => setGuarded(status === 401),
      () => {},
    );
  }, []);
  const offered = (Object.keys(codes) as (keyof typeof codes)[]).filter(
    (name) => codes[name](answer, isGuarded) !== undefined,
  );
  const code = codes[shown](answer, isGuarded);
  return (
    <>
      {offered.map((name) => (
        <button key={name} type="button" aria-pressed={name === shown} onClick={() => show(name)}>
          {name}
        </button>
      ))}
      <span class="end">
        <Copy text={code!} label={`Copy the code for ${shown}`} />
      </span>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: without it, arrow keys could not scroll it */}
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </>
  );
}

/** The address of an answer as CSV for programs, which run no formulas. */
function csvOf({ path, parameters }: Answer): string {
  return new URL(addressOf(path, { ...parameters, raw: 'true' }, '.csv'), location.href).href;
}

const aboutToken = '# GMSI_SERVE_TOKEN: the token of this server';

function pandas(answer: Answer, isGuarded: boolean): string {
  const hasTimes = answer.rows.some((row) => 'at' in row);
  const options = [
    `"${csvOf(answer)}"`,
    isGuarded && 'storage_options={"Authorization": "Bearer " + os.environ["GMSI_SERVE_TOKEN"]}',
    'float_precision="round_trip", keep_default_na=False, na_values=[""]',
    hasTimes && 'parse_dates=["at"]',
  ];
  const lines = options.flatMap((option) => (option ? [`    ${option},\n`] : []));
  return `${isGuarded ? `import os  ${aboutToken}\n` : ''}import pandas as pd

data = pd.read_csv(
${lines.join('')})`;
}

function R(answer: Answer, isGuarded: boolean): string {
  const address = `"${csvOf(answer)}"`;
  if (!isGuarded) return `data <- read.csv(\n  ${address},\n  na.strings = ""\n)`;
  return `header <- paste("Bearer", Sys.getenv("GMSI_SERVE_TOKEN"))  ${aboutToken}
data <- read.csv(
  url(${address}, headers = c(Authorization = header)),
  na.strings = ""
)`;
}

/** Returns short SQL for daily sentiment as it is known now; nothing for other answers, which have exact SQL. */
function SQL({ path, parameters }: Answer): string | undefined {
  const { by, as_of, from, to } = parameters;
  const lists = (['country', 'topic', 'match_type'] as const).map((name) => {
    const values = [parameters[name] ?? []].flat().map((value) => `'${String(value).replaceAll("'", "''")}'`);
    return `${name} ${values.length === 1 ? `= ${values[0]}` : `in (${values.join(', ')})`}`;
  });
  const isShort = path === 'sentiment' && by === 'day' && !as_of;
  // psql would obey a line of a value that begins with a backslash.
  if (!isShort || lists.some((list) => /[\\\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(list)))
    return undefined;
  return `-- days that were requested
select country, topic, match_type, day, state, directional_mean, semantic_mean, all_count
from gmsi.sentiment_by_day
where ${lists.join(' and ')} and day between '${from}' and '${to}'
order by country, topic, match_type, day;`;
}
