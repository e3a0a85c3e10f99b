import type { Page } from 'playwright-core';

export const days = { from: '2016-01-01', to: '2025-12-31', count: 3653 };
export const countries = Array.from({ length: 97 }, (_, index) => `C${String(index + 1).padStart(2, '0')}`);
/** Seven groups of ten, by the text before the hyphen. */
export const topics = Array.from(
  { length: 70 },
  (_, index) => `Group ${Math.floor(index / 10) + 1}-Topic ${index % 10}`,
);
/** Of each country, what became of one topic beside the covered days. */
const troubled: Readonly<Record<string, readonly [topic: string, failed: number]>> = {
  C01: ['Group 1-Topic 1', 30],
  C90: ['Group 7-Topic 9', 1],
};

export function answer(columns: string, rows: readonly (readonly unknown[])[]) {
  const body = JSON.stringify({ columns: columns.split(' '), rows });
  return { body, contentType: 'application/json' };
}

/** All pairs over ten years, as a warehouse with all of them would answer. */
export async function answerWithAllPairs(page: Page): Promise<void> {
  const answers = {
    feeds: answer('feed match_type series oldest newest', [
      ['gmsi-headlines', 'COMBINED', 6790, days.from, days.to],
    ]),
    series: answer('kind code name', [
      ...countries.map((code) => ['country', code, `Country ${code}`]),
      ...topics.map((topic) => ['topic', topic, null]),
    ]),
    coverage: answer(
      'country topic ticker variant covered running failed refused pending settling timeline',
      countries.flatMap((country) =>
        topics.map((topic) => {
          const [where, some] = troubled[country] ?? ['', 0];
          const failed = topic === where ? some : 0;
          const covered = days.count - failed - 400 - 3;
          const timeline = [
            `refused 100`,
            `covered ${covered}`,
            ...(failed ? [`failed ${failed}`] : []),
            'pending 300',
            'settling 3',
          ];
          return [country, topic, '', '', covered, 0, failed, 100, 300, 3, timeline.join(', ')];
        }),
      ),
    ),
  };
  await answerWith(page, answers);
}

/** Answers addresses of the API in place of the server. */
export async function answerWith(
  page: Page,
  answers: Readonly<Record<string, ReturnType<typeof answer>>>,
): Promise<void> {
  for (const [path, one] of Object.entries(answers))
    await page.route(new RegExp(`/api/${path}(\\?.*)?$`), (route) => route.fulfill(one));
}
