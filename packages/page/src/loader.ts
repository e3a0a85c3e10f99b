// All that the page takes from the loader: the types of its answers, and the search that the command line shares.
export { findNames, type Named } from '../../../src/config/find-names.ts';
export type { Bucket } from '../../../src/questions/asking.ts';
export type { IndexFeed, NewsKind } from '../../../src/questions/indices.ts';
export type { Answer } from '../../../src/web/endpoint.ts';
export type { allEndpoints } from '../../../src/web/endpoints.ts';
