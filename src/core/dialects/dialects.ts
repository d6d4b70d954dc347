import type { DialectName } from '../../protocol/dialect.ts';
import type { Dialect } from './dialect.ts';
import { MESSAGES } from './messages/messages.ts';
import { RESPONSES } from './responses/responses-dialect.ts';

/** Every dialect that callers may speak. */
export const DIALECTS: Readonly<Record<DialectName, Dialect>> = { messages: MESSAGES, responses: RESPONSES };
