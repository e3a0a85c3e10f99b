import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
  type Request,
} from 'playwright-core';
import { expect, onTestFinished } from 'vitest';

/** A Chromium of this machine, if it has one; the first has no windows of its own, and shows pages with three quarters of the work. */
export const browserPath = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
  .map((program) => `/usr/bin/${program}`)
  .find((path) => existsSync(path));

/** A real browser that asks nobody but the page. */
export function aBrowser(): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--disable-background-networking',
    '--disable-component-update',
    // One process shows all pages, in turn: with a new one for each, the tests of views take a seventh more.
    '--disable-site-isolation-trials',
    '--renderer-process-limit=1',
  ];
  // Without the library of faketime, under which a browser draws ten times slower; pages are given that time by `aTab`.
  const { LD_PRELOAD: _, ...env } = process.env as Record<string, string>;
  return chromium.launch({ executablePath: browserPath!, args, env });
}

/** A page that has the time of the tests, also if that is not the machine's. */
async function aNewPage(browser: Browser): Promise<Page> {
  // Where a page scrolls, it is there at once.
  const page = await browser.newPage({ reducedMotion: 'reduce' });
  const ahead = Date.now() - (await page.evaluate<number>('Date.now()'));
  if (Math.abs(ahead) < 3_600_000) return page;
  await page.addInitScript(`{
    const Real = Date;
    globalThis.Date = class extends Real {
      constructor(...given) { super(...(given.length > 0 ? given : [Real.now() + ${ahead}])); }
      static now() { return Real.now() + ${ahead}; }
    };
  }`);
  return page;
}

/** How a tab shows a page: 1440 × 900 px and light, unless it says otherwise. */
export type Look = Pick<BrowserContextOptions, 'viewport' | 'colorScheme'>;

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Tabs whose tests are over: one that has shown the page before shows it again with a third of the work. */
const free = new WeakMap<Browser, Page>();

/** A tab as good as new, which remembers what a page should never do. */
export async function aTab(browser: Browser, { viewport, colorScheme }: Look = {}) {
  const page = free.get(browser) ?? (await aNewPage(browser));
  free.delete(browser);
  await page.setViewportSize(viewport ?? { width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: colorScheme ?? 'light' });
  const complaints: string[] = [];
  const asking = new Set<Request>();
  // The page looks every second whether the warehouse has changed.
  const isOfState = (request: Request) => request.url().endsWith('/api/state');
  let lastAt = performance.now();
  page.on('console', (message) => {
    // Answers with an error status, which the page shows.
    if (/^(error|warning)$/.test(message.type()) && !/Failed to load resource/.test(message.text()))
      complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|data:|blob:)/.test(request.url()))
      complaints.push(`asks ${request.url()}`);
    if (isOfState(request)) return;
    asking.add(request);
    lastAt = performance.now();
  });
  for (const event of ['requestfinished', 'requestfailed'] as const)
    page.on(event as 'requestfinished', (request) => {
      if (isOfState(request)) return;
      asking.delete(request);
      lastAt = performance.now();
    });
  return {
    page,
    complaints,
    /** Waits until all answers are there, and the page has asked nothing more because of them. */
    quiet: () => expect.poll(() => asking.size === 0 && performance.now() - lastAt > 100).toBe(true),
    async [Symbol.asyncDispose]() {
      for (const event of ['console', 'pageerror', 'request', 'requestfinished', 'requestfailed'])
        page.removeAllListeners(event);
      await page.unrouteAll();
      await page.context().clearCookies();
      await page.evaluate('localStorage.clear(); sessionStorage.clear()');
      await page.goto('about:blank');
      free.set(browser, page);
    },
  };
}

/** Opens an address in a tab that closes with the test, and that must have complained of nothing by then. */
export async function opened(browser: Browser, url: string, look?: Look) {
  const tab = await aTab(browser, look);
  onTestFinished(async () => {
    await tab[Symbol.asyncDispose]();
    expect(tab.complaints).toEqual([]);
  });
  await tab.page.goto(url);
  return Object.assign(tab.page, { quiet: tab.quiet });
}

/** What axe finds wrong with a page, a line each. */
export async function axeFindings(page: Page): Promise<string[]> {
  // Evaluated by the debugger, which the page's policy does not bind.
  await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    "axe.run({ resultTypes: ['violations'], preload: false })",
  )) as {
    violations: { id: string; help: string; nodes: { html: string }[] }[];
  };
  return violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
  );
}

/** Waits until a text is there. */
export const shown = (on: Page | Locator, text: string | RegExp) => on.getByText(text).first().waitFor();

/** Chooses a moment, by default that before the last load that changed something. */
export async function goAsOf(page: Page, text?: string): Promise<void> {
  await page.getByRole('button', { name: /^As of/ }).click();
  const before = page.locator('datalist option', { hasText: 'before the last load' });
  await page.getByLabel(/^Day, moment/).fill(text ?? (await before.getAttribute('value'))!);
  for (const key of ['Enter', 'Escape']) await page.keyboard.press(key);
}

/** What something says, or how many of it there are, which a test waits for. */
export const textOf = (what: Locator) => expect.poll(() => what.innerText());
export const countOf = (what: Locator) => expect.poll(() => what.count());

export const expectFocus = (what: Locator) => countOf(what.and(what.page().locator(':focus'))).toBe(1);

/** A parameter of the page's address. */
export const asked = (page: Page, name: string) => new URL(page.url()).searchParams.get(name);

export async function expectToFit(page: Page): Promise<void> {
  expect(await fits(page)).toBe(true);
}

/** Shows the page small and dark, then wide and light: whether it fits, and axe finds nothing. */
export async function expectGoodLooks(page: Page): Promise<void> {
  for (const [width, colorScheme] of [
    [360, 'dark'],
    [1440, 'light'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    // A chart is drawn anew for the width.
    await expect.poll(() => fits(page)).toBe(true);
    expect(await axeFindings(page), `${width} px, ${colorScheme}`).toEqual([]);
  }
}

/** Whether everything fits the width: a page that has to be pushed sideways is careless, and so is a table with a cut column. */
async function fits(page: Page): Promise<boolean> {
  return page.evaluate(
    "document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll('.scroll:has(> :is(.small, .news, .causes))')].every((one) => one.scrollWidth <= one.clientWidth)",
  );
}
