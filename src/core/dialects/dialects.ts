import type { DialectName } from '../../protocol/dialect.ts';
import type { Dialect } from './dialect.ts';

/** Every dialect that callers may speak. */
export const DIALECTS: Readonly<Partial<Record<DialectName, Dialect>>> = {};
