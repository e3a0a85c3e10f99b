const day = 86_400_000;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);
const holidays = ['2025-09-01', '2025-11-27', '2025-12-25', '2026-01-01', '2026-01-19', '2026-02-16'];
const halfDays = ['2025-11-28', '2025-12-24'];

/** The closes in New York, apart from gmsi.market_closes: the clocks were put back on November 2. */
export function closesOfNewYork(): { day: string; at: number }[] {
  const days: string[] = [];
  for (let it = Date.parse('2025-08-29'); it <= Date.parse('2026-03-06'); it += day) days.push(dayOf(it));
  return days
    .filter((it) => ![0, 6].includes(new Date(it).getUTCDay()) && !holidays.includes(it))
    .map((it) => {
      const close = halfDays.includes(it) ? '18:00' : it < '2025-11-02' ? '20:00' : '21:00';
      return { day: it, at: Date.parse(`${it}T${close}:00Z`) };
    });
}

/** The made-up prices of examples/backtest.py at these closes. */
export const prices = closesOfNewYork().map((close, n) => ({
  ...close,
  price: Number((100 + 4 * Math.sin(n / 9) + Math.sin(n * 1.7)).toFixed(2)),
}));

/** The end of each quarter of an hour from 9:45 in New York to the close. */
export const bars = closesOfNewYork()
  .filter(({ day }) => day >= '2025-09-29' && day <= '2025-12-31')
  .flatMap(({ day, at }) => {
    const quarters = halfDays.includes(day) ? 14 : 26;
    return Array.from({ length: quarters }, (_, n) => at - (quarters - 1 - n) * 900_000);
  });
