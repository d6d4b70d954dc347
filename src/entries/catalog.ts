/** The entry point `signalbox/catalog`: sources of facts about models. */

export { readCatalogLock, writeCatalogLock } from '../runtime/catalog/lock-file.ts';
export { findCatalog, genaiPrices } from '../runtime/catalog/genai-prices.ts';
export type { GenaiPricesOptions } from '../runtime/catalog/genai-prices.ts';
export { parseModelsDev } from '../catalog/models-dev.ts';
export { parseLiteLlm } from '../catalog/litellm.ts';
export { parseGenaiPrices } from '../catalog/genai-prices.ts';
export { mergeFacts } from '../catalog/facts.ts';
export type { CatalogFacts, ModelFacts } from '../catalog/facts.ts';
export type { FactOrigin, EndpointFacts, FactName, KnownInfo } from '../catalog/endpoint.ts';
