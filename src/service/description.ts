import { isMap } from '../config/field-types.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import { storableJson, storableText } from '../feeds/reading/storable-json.ts';

/**
 * What the service says of itself, as texts by name: `version`, operations (`GET /v1/countries`), their parameters
 * (`GET /v1/countries limit`), fields (`Page.limit`) and lists of values.
 */
export type Description = Readonly<Record<string, string>>;

/** Limits, so that no answer can fill the warehouse: names, and characters of a name or a text. */
const most = { names: 5000, characters: 500 };

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** Reads an OpenAPI document. Anything in it that has another shape is skipped. @returns `undefined` if it is not one */
export function readDescription(document: unknown): Description | undefined {
  if (!isMap(document) || !isMap(document.paths)) return undefined;
  const found = new Map<string, string>();
  const note = (name: string, parts: readonly (string | false)[]) => {
    const text = parts.filter((part) => part !== false).join('; ');
    const [key, value] = [name, text].map((one) => storableText(one.slice(0, most.characters)));
    if (found.size < most.names) found.set(key!, value!);
  };
  const schemas = mapIn(mapIn(document.components).schemas);
  const typeOf = schemaReader(document);

  note('version', [textOf(mapIn(document.info).version ?? '')]);
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of methods) {
      const operation = mapIn(item)[method];
      if (!isMap(operation)) continue;
      const name = `${method.toUpperCase()} ${path}`;
      note(name, [operation.deprecated === true && 'deprecated']);
      for (const sent of [...listIn(mapIn(item).parameters), ...listIn(operation.parameters)]) {
        const parameter = mapIn(target(document, sent));
        if (typeof parameter.name !== 'string') continue;
        const need = parameter.required === true ? 'required' : 'optional';
        note(`${name} ${parameter.name}`, [textOf(parameter.in), need, typeOf(parameter.schema)]);
      }
    }
  }
  for (const [name, schema] of Object.entries(schemas)) {
    const required = listIn(mapIn(schema).required);
    if (mapIn(schema).enum) note(name, [typeOf(schema)]);
    for (const [field, type] of Object.entries(mapIn(mapIn(schema).properties)))
      note(`${name}.${field}`, [required.includes(field) ? 'required' : 'optional', typeOf(type)]);
  }
  return Object.fromEntries(found);
}

/** Returns a function that describes a schema in words. Follows references, because FastAPI names each list of values. */
function schemaReader(document: Readonly<Record<string, unknown>>) {
  const limits = ['format', 'minimum', 'maximum', 'default'];
  return function typeOf(sent: unknown, depth = 0): string {
    const schema = mapIn(target(document, sent));
    const variants = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => listIn(schema[name]));
    if (variants.length > 0 && depth < 2)
      return variants
        .slice(0, 5)
        .map((one) => typeOf(one, depth + 1))
        .join(' or ');
    const values = listIn(schema.enum).map(textOf);
    const type = values.length > 0 ? `one of ${values.join(', ')}` : textOf(schema.type ?? 'any');
    const known = limits.filter((name) => typeof schema[name] !== 'object' && schema[name] !== undefined);
    return [type, ...known.map((name) => `${name} ${schema[name]}`)].join('; ');
  };
}

/**
 * Follows a reference within the document, such as `#/components/schemas/MatchType`; only one, so that none can lead in a
 * circle.
 */
function target(document: Readonly<Record<string, unknown>>, sent: unknown): unknown {
  const reference = mapIn(sent).$ref;
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return sent;
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((part, name) => mapIn(part)[name], document);
}

/** Like String(), which an object with a key `toString` would break. */
function textOf(value: unknown): string {
  return typeof value === 'object' ? storableJson(value) : String(value);
}

function mapIn(value: unknown): Readonly<Record<string, unknown>> {
  return isMap(value) ? value : {};
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Describes how a description differs from the one before it. */
export function describeDifferences(before: Description, now: Description): string[] {
  const added = Object.keys(now).filter((name) => !Object.hasOwn(before, name));
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(now, name));
  const changed = Object.keys(now).filter((name) => !added.includes(name) && before[name] !== now[name]);
  return [
    ...changed.map((name) => `${name} was "${before[name]}" and is "${now[name]}"`),
    ...gone.map((name) => `${name} is gone`),
    ...added.map((name) => `${name} is new`),
  ];
}

/** Returns what gmsi sends to a feed by default, and the description does not name. */
export function missingFrom(description: Description, feed: Feed): string[] {
  const { method, parameters, matchTypes, variants, inPath, name, path } = feed;
  const variant = inPath.map((part) => `${part}=${variants[part]?.[0]}`).join('&');
  const series: Series = { feed: name, country: 'X', topic: 'X', ticker: 'X', match_type: '', variant };
  const sent = `${method} /v1${path(series)}`;
  const known = Object.keys(description);
  const operation = known.find((one) => isTemplateOf(one, sent));
  if (operation === undefined) return [`${name} is not in it`];
  // The parameters of a POST are in its body.
  if (method === 'POST') return [];
  const missing = Object.values(parameters).filter((one) => !known.includes(`${operation} ${one}`));
  const values = /one of ([^;]*)/.exec(description[`${operation} ${parameters.matchType}`] ?? '')?.[1];
  const refused = values === undefined ? [] : matchTypes.filter((one) => !values.split(', ').includes(one));
  return [
    ...missing.map((one) => `${name} has no ${one}`),
    ...refused.map((one) => `${name} has no ${parameters.matchType} ${one}`),
  ];
}

/** True for `GET /v1/feed/{country}` and `GET /v1/feed/X`. */
function isTemplateOf(operation: string, sent: string): boolean {
  const [parts, given] = [operation.split('/'), sent.split('/')];
  return (
    parts.length === given.length &&
    parts.every((part, at) => part === given[at] || /^\{[^{}]*\}$/.test(part))
  );
}
