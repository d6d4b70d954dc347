export { readCatalogLock, writeCatalogLock } from './lock-file.ts';
export { genaiPrices } from './genai-prices.ts';
export type { GenaiPricesOptions } from './genai-prices.ts';
export { findCatalog } from './find-catalog.ts';
export { parseModelsDev } from '../catalog/models-dev.ts';
export { parseGenaiPrices } from '../catalog/genai-prices.ts';
export { mergeFacts } from '../catalog/merge-facts.ts';
export type { FactOrigin } from '../catalog/fact-origin.ts';
export type { CatalogFacts, EndpointFacts, FactName, KnownInfo, ModelFacts } from '../catalog/facts.ts';
