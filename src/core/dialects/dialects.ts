import type { DialectName } from '../../protocol/dialect.ts';
import type { DialectErrors } from './dialect.ts';
import { MESSAGES_ERRORS } from './messages/errors.ts';
import { RESPONSES_ERRORS } from './responses/errors.ts';

/** Every dialect that clients may use, as far as it is known before it is loaded. */
export const DIALECT_ERRORS: Readonly<Record<DialectName, DialectErrors>> = {
  messages: MESSAGES_ERRORS,
  responses: RESPONSES_ERRORS,
};
