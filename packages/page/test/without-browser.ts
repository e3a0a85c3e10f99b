import { afterAll, beforeAll, vi } from 'vitest';

const location = { search: '' };
const stubs = {
  location,
  history: {
    pushState: (_state: unknown, _title: string, next: string) => {
      location.search = next;
    },
  },
  addEventListener: () => {},
  matchMedia: () => ({ matches: false, addEventListener: () => {} }),
};

/** Stands in for what modules of the page look for when they are loaded, and when the address changes. */
export async function withoutBrowser<Result>(use: () => Promise<Result>): Promise<Result> {
  for (const [name, stub] of Object.entries(stubs)) vi.stubGlobal(name, stub);
  try {
    return await use();
  } finally {
    vi.unstubAllGlobals();
  }
}

/** Zones of machines, on both sides of UTC and with summer time. */
export const machineZones = ['UTC', 'America/New_York', 'Pacific/Auckland'];

/** Lets the tests beside it run as if the machine were in a zone. */
export function onMachineIn(zone: string): void {
  const before = process.env.TZ;
  beforeAll(() => {
    process.env.TZ = zone;
  });
  afterAll(() => {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  });
}
