/** What keys must be for, by what is done with them. */
import type { Scope } from '../contracts/account.ts';

/** What a key must be for that calls models. */
export const INFERENCE: readonly Scope[] = ['inference'];
/** … that manages its own account. */
export const MANAGEMENT: readonly Scope[] = ['management'];
/** … that sees what all accounts do. */
export const OPERATOR: readonly Scope[] = ['operator'];
