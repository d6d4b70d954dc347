import type { DialectName } from '../../protocol/dialect.ts';
import type { Dialect } from './dialect.ts';
import { RESPONSES } from './responses/responses-dialect.ts';

/** Every dialect that callers may speak. */
export const DIALECTS: Readonly<Partial<Record<DialectName, Dialect>>> = { responses: RESPONSES };
