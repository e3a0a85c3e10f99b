import { describe, expect, it } from 'vitest';
import { feedNamed } from '../../src/feeds/catalog.ts';
import { missingFrom, readDescription } from '../../src/service/description.ts';

const path = '/v1/headlines/feed/historical/gmsi/{country_code}';
const operation = `GET ${path}`;

function aDocument(parameters: readonly unknown[], components = {}) {
  return { info: { version: '1.4' }, paths: { [path]: { get: { parameters } } }, components };
}

describe('a description', () => {
  it('is versions, operations, parameters, fields and lists of values, as texts', () => {
    const components = {
      parameters: {
        Limit: { name: 'limit', in: 'query', schema: { type: 'integer', maximum: 1000, default: 100 } },
      },
      schemas: {
        MatchType: { type: 'string', enum: ['COMBINED', 'DOMESTIC'] },
        Headline: {
          required: ['time'],
          properties: {
            time: { type: 'string', format: 'date-time' },
            url: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          },
        },
      },
    };
    const parameters = [
      { $ref: '#/components/parameters/Limit' },
      { name: 'match_type', in: 'query', required: true, schema: { $ref: '#/components/schemas/MatchType' } },
      'nonsense',
    ];
    expect(readDescription(aDocument(parameters, components))).toEqual({
      version: '1.4',
      [operation]: '',
      [`${operation} limit`]: 'query; optional; integer; maximum 1000; default 100',
      [`${operation} match_type`]: 'query; required; one of COMBINED, DOMESTIC',
      MatchType: 'one of COMBINED, DOMESTIC',
      'Headline.time': 'required; string; format date-time',
      'Headline.url': 'optional; string or null',
    });
  });

  it.each([null, [], 'text', {}, { paths: [] }])('is not %j', (document) => {
    expect(readDescription(document)).toBeUndefined();
  });

  it('survives what no service should send', () => {
    const circle = {
      anyOf: [{ $ref: '#/components/schemas/Circle' }, { $ref: '#/components/schemas/Circle' }],
    };
    const document = JSON.parse(`{
      "info": { "version": { "toString": 1 } },
      "paths": { "__proto__": { "get": { "parameters": [{ "name": "a\\u0000b", "in": { "toString": 1 } }] } }, "/x": null },
      "components": { "schemas": { "Circle": ${JSON.stringify({ properties: { x: circle } })}, "No": 1 } }
    }`);
    const read = readDescription(document)!;
    expect(Object.keys(read)).toEqual(['version', 'GET __proto__', 'GET __proto__ a�b', 'Circle.x']);
    const many = Object.fromEntries(Array.from({ length: 6000 }, (_, at) => [`/${at}`, { get: {} }]));
    expect(
      Object.keys(readDescription({ paths: { ...many, ['/'.repeat(9000)]: { get: {} } } })!),
    ).toHaveLength(5000);
  });

  it('lacks what gmsi sends to a feed, whatever the parts of the path are called', () => {
    const feed = feedNamed('gmsi-headlines');
    const named = (names: string[], schema = {}) =>
      missingFrom(readDescription(aDocument(names.map((name) => ({ name, in: 'query', schema }))))!, feed);
    const all = ['topic', 'match_type', 'start_date', 'end_date', 'limit', 'next_token'];
    expect(named(all)).toEqual([]);
    expect(named(all, { enum: ['COMBINED', 'DOMESTIC'] })).toEqual([
      'gmsi-headlines has no match_type INTERNATIONAL',
    ]);
  });
});
