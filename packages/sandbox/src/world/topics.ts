/** The eight categories, each with the key of its subjects in the press of a language. */
export const CATEGORIES = {
  economy: 'Real Economy',
  monetary: 'Monetary Policy',
  fiscal: 'Fiscal Policy',
  markets: 'Financial Markets',
  geopolitics: 'Geopolitics',
  trade: 'Trade & Supply Chains',
  politics: 'Politics & Governance',
  environment: 'Health & Environment',
} as const;

export type Category = keyof typeof CATEGORIES;

/** What a headline is about. In languages other than English, the press only has subjects for categories. */
export interface Subject {
  readonly category: Category;
  readonly phrase: string;
}

export interface Topic extends Subject {
  readonly name: string;
}

const PHRASES: Readonly<Record<Category, Readonly<Record<string, string>>>> = {
  economy: {
    'Inflation-Food': 'food prices',
    'Inflation-Energy': 'energy prices',
    'Inflation-Housing': 'rents and housing costs',
    'Inflation-Core': 'core inflation',
    'Inflation-Producer Prices': 'producer prices',
    'Inflation-Import Prices': 'import prices',
    'Inflation-Expectations': 'inflation expectations',
    'Labour Market-Employment': 'employment',
    'Labour Market-Unemployment': 'jobless claims',
    'Labour Market-Wages': 'wage growth',
    'Labour Market-Strikes': 'the strike wave',
    'Production Growth-Industrial': 'industrial output',
    'Production Growth-Services': 'the service sector',
    'Production Growth-Agriculture': 'the harvest',
    'Production Growth-Construction': 'construction',
    'Production Growth-GDP': 'economic growth',
    'Consumer Demand-Retail': 'retail sales',
    'Consumer Demand-Confidence': 'consumer confidence',
  },
  monetary: {
    'Policy Tools-Interest Rates': 'interest rates',
    'Policy Tools-Balance Sheet': 'the central bank balance sheet',
    'Policy Tools-Reserve Requirements': 'reserve requirements',
    'Policy Tools-FX Intervention': 'currency intervention',
    'Policy Outlook': 'the policy outlook',
    Independence: 'central bank independence',
    Credibility: 'the inflation target',
  },
  fiscal: {
    'Fiscal Stance': 'the fiscal stance',
    'Public Debt': 'public debt',
    'Fiscal Instruments-Taxation': 'tax plans',
    'Fiscal Instruments-Spending': 'public spending',
    'Fiscal Instruments-Subsidies': 'subsidies',
    'Fiscal Instruments-Social Transfers': 'pensions and benefits',
    'Budget Balance': 'the budget deficit',
    'Sovereign Ratings': 'the sovereign rating',
  },
  markets: {
    'Benchmark Equity Indices': 'the benchmark index',
    'Government Bonds': 'government bond yields',
    'Exchange Rate': 'the currency',
    'Corporate Credit': 'corporate bonds',
    'Housing Market': 'house prices',
    'Financial Stability-Banking Stress': 'bank funding',
    'Financial Stability-Credit Conditions': 'lending standards',
    'Financial Stability-Household Debt': 'household debt',
    'Market Stress': 'market volatility',
  },
  geopolitics: {
    Wars: 'the front line',
    Tension: 'border tension',
    Terrorism: 'the terror alert',
    'Military Spending': 'defence spending',
    Diplomacy: 'diplomatic talks',
    'Cyber Security': 'cyber attacks',
  },
  trade: {
    'Supply Chain Risk-Energy': 'gas supplies',
    'Supply Chain Risk-Food': 'grain shipments',
    'Supply Chain Risk-Semiconductors': 'chip supplies',
    'Supply Chain Risk-Shipping': 'port congestion',
    'Tariffs and Sanctions': 'tariffs and sanctions',
    'Trade Activity': 'exports',
    'Trade Agreements': 'the trade deal',
    'Foreign Investment': 'foreign investment',
    'Current Account': 'the current account',
  },
  politics: {
    Elections: 'the election campaign',
    'Policy Reform & Legislation': 'the reform bill',
    'Governance/Corruption': 'the corruption inquiry',
    'Civil Unrest': 'street protests',
    'Government Stability': 'the coalition',
    'Rule of Law': 'the constitutional court',
    Migration: 'migration policy',
  },
  environment: {
    'Public Health': 'hospital admissions',
    'Natural Disasters': 'earthquake relief',
    'Weather-Extreme Heat': 'the heat wave',
    'Weather-Drought': 'the drought',
    'Weather-Floods': 'the floods',
    'Climate Policy': 'emission targets',
  },
};

/** 70 topics in 8 categories (docs/service.md, "Historical headlines"). A few names are likely, the others made up. */
export const TOPICS: readonly Topic[] = (Object.keys(CATEGORIES) as Category[]).flatMap((category) =>
  Object.entries(PHRASES[category]).map(([name, phrase]) => ({ name, category, phrase })),
);

export const TOPIC_BY_NAME: ReadonlyMap<string, Topic> = new Map(TOPICS.map((it) => [it.name, it]));
