// All that the page takes from the loader: the types of its answers, and what the command line and the report share.
export { completeTo } from '../../../src/answer/complete-to.ts';
export { findNames, type Named } from '../../../src/config/find-names.ts';
export type { Bucket } from '../../../src/questions/asking.ts';
export type { IndexFeed, NewsKind } from '../../../src/questions/indices.ts';
export type { Answer } from '../../../src/web/endpoint.ts';
export type { allEndpoints } from '../../../src/web/endpoints.ts';
