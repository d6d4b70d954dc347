import type { PiiKind } from '../../../protocol/guardrail-options.ts';
import type { Finding } from '../finding.ts';
import { findCreditCards } from './credit-card.ts';
import { findEmails } from './email.ts';
import { findIbans } from './iban.ts';
import { findIpAddresses } from './ip-address.ts';
import { findPhones } from './phone.ts';
import { findSsns } from './ssn.ts';

/** Finds one kind of personal data in a folded text. */
export const PII_FINDERS: Readonly<Record<PiiKind, (folded: string) => readonly Finding[]>> = {
  EMAIL: findEmails,
  PHONE: findPhones,
  CREDIT_CARD: findCreditCards,
  IBAN: findIbans,
  IP_ADDRESS: findIpAddresses,
  SSN: findSsns,
};
