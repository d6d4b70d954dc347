import type { ApiFormatContext } from '../../src/formats/api-format.ts';

/** What answers in a dialect are made with, in tests. */
export const CONTEXT: ApiFormatContext = {
  body: {},
  generationId: 'gen-1',
  spelling: { metadataField: 'router_metadata', processing: 'ROUTER PROCESSING' },
  created: 1_700_000_000,
  randomText: (length) => 'r'.repeat(length),
};
