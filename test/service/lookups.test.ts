import { describe, expect, test } from 'vitest';
import { CursorBroken, LookupUnreadable } from '../../src/service/errors.ts';
import { fetchCodes, fetchTopics } from '../../src/service/lookups.ts';
import type { ServiceRequest } from '../../src/service/page.ts';

const never = new AbortController().signal;

/** A client that answers with one body after the other and remembers what it was asked. */
function answering(...bodies: unknown[]) {
  const asked: ServiceRequest[] = [];
  return {
    asked,
    async getJson(request: ServiceRequest) {
      asked.push(request);
      return bodies[asked.length - 1];
    },
  };
}

const us = { code: 'US', name: 'United States', extra: {} };

describe('fetchCodes', () => {
  test.each([
    ['objects in a bare array', [{ code: 'US', name: 'United States' }]],
    ['other names of the fields', [{ country_code: 'US', country_name: 'United States' }]],
    ['a country that is the name', [{ country: 'United States', iso2: 'US' }]],
    ['a country that is the code', [{ country: 'US', name: 'United States' }]],
    ['the envelope', { data: [{ code: 'US', name: 'United States' }], has_more: false, next_token: null }],
    ['an object named after the lookup', { countries: [{ code: 'US', name: 'United States' }] }],
  ])('reads %s', async (_name, body) => {
    await expect(fetchCodes(answering(body), 'countries', never)).resolves.toEqual([us]);
  });

  test('reads bare strings as codes', async () => {
    await expect(fetchCodes(answering(['US', 'GB']), 'countries', never)).resolves.toEqual([
      { code: 'US', name: null, extra: {} },
      { code: 'GB', name: null, extra: {} },
    ]);
  });

  test('keeps what it has no field for', async () => {
    const body = [{ code: 'US', name: 'United States', region: { id: 3 } }];
    await expect(fetchCodes(answering(body), 'countries', never)).resolves.toEqual([
      { ...us, extra: { region: { id: 3 } } },
    ]);
  });

  test('counts a country that is listed twice once', async () => {
    await expect(
      fetchCodes(answering([{ code: 'US', name: 'United States' }, 'US']), 'countries', never),
    ).resolves.toEqual([us]);
  });

  test('follows the pages of an envelope', async () => {
    const client = answering(
      { data: ['US'], has_more: true, next_token: 'a+b' },
      { data: ['GB'], has_more: false, next_token: null },
    );
    const countries = await fetchCodes(client, 'countries', never);
    expect(countries.map(({ code }) => code)).toEqual(['US', 'GB']);
    expect(client.asked.map(({ query }) => query)).toEqual([{}, { next_token: 'a+b' }]);
  });

  test('does not follow pages in a circle, nor takes half a list for all of it', async () => {
    const more = { data: ['US'], has_more: true, next_token: 'A' };
    await expect(fetchCodes(answering(more, more), 'countries', never)).rejects.toThrow(CursorBroken);
    await expect(fetchCodes(answering({ data: ['US'], has_more: true }), 'countries', never)).rejects.toThrow(
      CursorBroken,
    );
  });

  test.each([
    ['nothing', []],
    ['null', null],
    ['a text', 'US'],
    ['an object without a list', { detail: 'busy' }],
    ['numbers', [1]],
    ['an empty text', ['']],
    ['an entry without a code', [{ name: 'United States' }]],
    ['an entry that is null', [null]],
  ])('says that it cannot read %s', async (_name, body) => {
    await expect(fetchCodes(answering(body), 'countries', never)).rejects.toThrow(LookupUnreadable);
  });
});

describe('fetchTopics', () => {
  test('reads names, categories and rules, and keeps the rest', async () => {
    const rule = { directional: 'up is good', semantic_sentiment: 'tone' };
    const body = [
      { name: 'Elections', category: 'Politics', classification_rule: rule, id: 7 },
      { topic_name: 'Public Debt' },
      'Wars',
    ];
    await expect(fetchTopics(answering(body), never)).resolves.toEqual([
      { name: 'Elections', category: 'Politics', classificationRule: rule, extra: { id: 7 } },
      { name: 'Public Debt', category: null, classificationRule: null, extra: {} },
      { name: 'Wars', category: null, classificationRule: null, extra: {} },
    ]);
  });

  test('takes out what no text of PostgreSQL can hold', async () => {
    const body = [{ name: 'Wars\0', classification_rule: { directional: '\ud800' }, 'a\0': 'b\udc00' }];
    await expect(fetchTopics(answering(body), never)).resolves.toEqual([
      {
        name: 'Wars\ufffd',
        category: null,
        classificationRule: { directional: '\ufffd' },
        extra: { 'a\ufffd': 'b\ufffd' },
      },
    ]);
  });

  test('says which fields an entry without a name has', async () => {
    await expect(fetchTopics(answering({ topics: [{ id: 7 }] }), never)).rejects.toThrow(
      'GET /headlines/topics/gmsi lists an entry without a code or name (it has id).',
    );
  });
});
