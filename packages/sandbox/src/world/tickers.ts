import type { Subject } from './topics.ts';

/** Suffixes of tickers. Three are likely (docs/service.md, "Asset feeds"); `_EQ` and `_FX` are made up. */
export const ASSET_CLASSES = {
  COM: 'Commodities',
  CRY: 'Cryptocurrencies',
  IND: 'Indices',
  EQ: 'Equities',
  FX: 'Currencies',
} as const;

export type AssetClass = keyof typeof ASSET_CLASSES;

/** Subjects of headlines about a class of assets. Made up. */
export interface TickerTopic extends Subject {
  readonly name: string;
}

/** `weight` is how much is written about an asset: 1 is average, 0 is nothing at all. */
export interface Ticker {
  readonly code: string;
  readonly name: string;
  readonly assetClass: AssetClass;
  /** Codes of the asset's home countries. */
  readonly countries: readonly string[];
  readonly weight: number;
}

type Line = readonly [symbol: string, name: string, countries: string, weight?: number];

const SILENT = 0;
const QUIET = 0.1;
const BUSY = 4;

const LINES: Readonly<Record<AssetClass, readonly Line[]>> = {
  COM: [
    ['BZ', 'Brent Crude Oil', 'GB SA', BUSY],
    ['CL', 'WTI Crude Oil', 'US', BUSY],
    ['NG', 'Natural Gas', 'US', 2],
    ['TTF', 'Dutch Gas', 'NL DE'],
    ['HO', 'Heating Oil', 'US', 0.5],
    ['RB', 'Gasoline', 'US'],
    ['GC', 'Gold', 'US CH', BUSY],
    ['SI', 'Silver', 'US MX'],
    ['HG', 'Copper', 'CL PE', 2],
    ['ALI', 'Aluminium', 'CN'],
    ['NI', 'Nickel', 'ID', 0.5],
    ['ZN', 'Zinc', 'CN', 0.5],
    ['LTH', 'Lithium', 'CL AU'],
    ['ZC', 'Corn', 'US BR'],
    ['ZW', 'Wheat', 'UA RU', 2],
    ['ZS', 'Soybeans', 'BR US'],
    ['KC', 'Coffee', 'BR VN'],
    ['CC', 'Cocoa', 'GH'],
    ['SB', 'Sugar', 'BR IN', 0.5],
    ['OJ', 'Orange Juice', 'BR', QUIET],
    ['TIN', 'Tin', 'ID', SILENT],
  ],
  CRY: [
    ['BTC', 'Bitcoin', 'US', BUSY],
    ['ETH', 'Ether', 'US', 2],
    ['QNT', 'Quanta', 'SG'],
    ['HLX', 'Helix Coin', 'US', 0.5],
    ['OBL', 'Obol', 'CH', QUIET],
    ['TDE', 'Tidecoin', 'SG', QUIET],
    ['LMN', 'Lumen Gold', 'AE', SILENT],
  ],
  IND: [
    ['EUR', 'Euro Area Equities', 'DE FR', 2],
    ['USA', 'US Large Caps', 'US', BUSY],
    ['GBR', 'UK Large Caps', 'GB'],
    ['DEU', 'German Large Caps', 'DE'],
    ['JPN', 'Japanese Equities', 'JP', 2],
    ['CHN', 'Chinese Equities', 'CN', 2],
    ['IND', 'Indian Equities', 'IN'],
    ['BRA', 'Brazilian Equities', 'BR'],
    ['VOL', 'Volatility', 'US', 0.5],
    ['FRT', 'Frontier Markets', 'VN', SILENT],
  ],
  EQ: [
    ['HBR', 'Harbour Lines & Co', 'DK'],
    ['NGT', 'Northgate Semiconductors', 'US', BUSY],
    ['MRD', 'Meridian Bank', 'GB', 2],
    ['ELB', 'Elbwerke', 'DE'],
    ['QUA', 'Quai Luxe', 'FR'],
    ['SKR', 'Sakura Motors', 'JP', 2],
    ['HAN', 'Hanbit Electronics', 'KR', 2],
    ['TPL', 'Temple Foods', 'US', 0.5],
    ['ORB', 'Orbita Airlines', 'ES', 0.5],
    ['VLT', 'Volta Energia', 'IT', 0.5],
    ['RVR', 'Riverside REIT', 'US', QUIET],
    ['PGY', 'Pegasus Mining', 'AU ZA'],
    ['OST', 'Ostrava Steel', 'CZ', SILENT],
  ],
  FX: [
    ['EURUSD', 'Euro / US Dollar', 'DE US', BUSY],
    ['USDJPY', 'US Dollar / Yen', 'US JP', 2],
    ['GBPUSD', 'Pound / US Dollar', 'GB US', 2],
    ['USDCNH', 'US Dollar / Yuan', 'US CN'],
    ['USDCHF', 'US Dollar / Swiss Franc', 'US CH'],
    ['AUDUSD', 'Australian Dollar / US Dollar', 'AU US'],
    ['USDTRY', 'US Dollar / Turkish Lira', 'US TR'],
    ['USDBRL', 'US Dollar / Real', 'US BR', 0.5],
    ['EURNOK', 'Euro / Norwegian Krone', 'NO', QUIET],
    ['USDISK', 'US Dollar / Icelandic Krona', 'US', SILENT],
  ],
};

export const TICKERS: readonly Ticker[] = (Object.keys(LINES) as AssetClass[]).flatMap((assetClass) =>
  LINES[assetClass].map(([symbol, name, countries, weight = 1]) => ({
    code: `${symbol}_${assetClass}`,
    name,
    assetClass,
    countries: countries.split(' '),
    weight,
  })),
);

export const TICKER_BY_CODE: ReadonlyMap<string, Ticker> = new Map(TICKERS.map((it) => [it.code, it]));

export const TICKER_TOPICS: Readonly<Record<AssetClass, readonly TickerTopic[]>> = {
  COM: [
    { name: 'Supply', category: 'trade', phrase: 'supply' },
    { name: 'Demand', category: 'economy', phrase: 'demand' },
    { name: 'Inventories', category: 'economy', phrase: 'inventories' },
    { name: 'Weather', category: 'environment', phrase: 'the weather' },
    { name: 'Geopolitics', category: 'geopolitics', phrase: 'supply routes' },
    { name: 'Price Action', category: 'markets', phrase: 'prices' },
  ],
  CRY: [
    { name: 'Regulation', category: 'politics', phrase: 'the new rules' },
    { name: 'Adoption', category: 'economy', phrase: 'adoption' },
    { name: 'Security/Hacks', category: 'geopolitics', phrase: 'exchange security' },
    { name: 'Fund Flows', category: 'markets', phrase: 'fund flows' },
  ],
  IND: [
    { name: 'Monetary Policy', category: 'monetary', phrase: 'interest rates' },
    { name: 'Growth', category: 'economy', phrase: 'growth' },
    { name: 'Politics', category: 'politics', phrase: 'politics' },
    { name: 'Fund Flows', category: 'markets', phrase: 'fund flows' },
  ],
  EQ: [
    { name: 'Earnings', category: 'markets', phrase: 'earnings' },
    { name: 'Management', category: 'politics', phrase: 'the boardroom' },
    { name: 'Mergers & Acquisitions', category: 'markets', phrase: 'the takeover' },
    { name: 'Litigation', category: 'politics', phrase: 'the lawsuit' },
    { name: 'Analyst Ratings', category: 'markets', phrase: 'analyst ratings' },
  ],
  FX: [
    { name: 'Monetary Policy', category: 'monetary', phrase: 'interest rates' },
    { name: 'Intervention', category: 'monetary', phrase: 'currency intervention' },
    { name: 'Trade Balance', category: 'trade', phrase: 'the trade balance' },
    { name: 'Fiscal Policy', category: 'fiscal', phrase: 'public spending' },
  ],
};
