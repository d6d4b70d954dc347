import type { ConfigProblem } from '../../protocol/router-error.ts';
import type { MaxPrice } from '../../protocol/provider-preferences.ts';
import type { Account, AccountProviderKey, RoutingPolicy, Scope } from '../account.ts';
import type { PluginDefault } from '../../contracts/plugin.ts';
import { budget, RATE_LIMITS } from './account-limit-options.ts';
import {
  amount,
  anything,
  either,
  flag,
  group,
  headerText,
  listOf,
  mapOf,
  oneOf,
  type OptionKind,
  type OptionShape,
  text,
} from '../../platform/option-kinds.ts';

const texts = listOf(text);
const maxPrice = either(amount, text);

/** Routing rules, of everybody or of one account. */
export const routingPolicy: OptionKind = group<RoutingPolicy>({
  only: texts,
  ignore: texts,
  dataCollection: oneOf<NonNullable<RoutingPolicy['dataCollection']>>({ allow: true, deny: true }),
  zeroDataRetention: flag,
  enforceDistillableText: flag,
  maxPrice: group<MaxPrice>({
    prompt: maxPrice,
    completion: maxPrice,
    request: maxPrice,
    image: maxPrice,
    audio: maxPrice,
  }),
});

/** Plugins that run without being named. */
export const pluginDefaults: OptionKind = listOf(
  group<PluginDefault>({ id: text, options: mapOf(anything), enabled: flag, preventOverrides: flag }, ['id']),
);

/** Everything that an account may have. */
export const ACCOUNT_OPTIONS: OptionShape<Account> = {
  id: text,
  scopes: listOf(oneOf<Scope>({ inference: true, management: true })),
  policy: routingPolicy,
  defaultModel: text,
  providerKeys: mapOf(group<AccountProviderKey>({ apiKey: headerText, fallback: flag }, ['apiKey'])),
  pluginDefaults,
  rateLimits: group(RATE_LIMITS),
  budget,
  keyId: text,
  keyBudget: budget,
};

/** What is wrong with the limits and budgets of an account. Costs nothing for an account that has none. */
export function accountLimitProblems(account: Account): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const name of ['rateLimits', 'budget', 'keyBudget'] as const) {
    const value = account[name];
    if (value !== undefined) problems.push(...ACCOUNT_OPTIONS[name](value, name));
  }
  return problems;
}
