import type { Account } from '../contracts/account.ts';
import { LeaseLength } from '../core/batch/lease.ts';
import type { Endpoint } from '../catalog/endpoint.ts';
import { planRoute } from '../core/selection/plan-route.ts';
import { createOutbound } from '../net/outbound.ts';
import { localQueue } from '../queue/local.ts';
import { BatchService } from '../runtime/batches/batches.ts';
import { type BatchedRequest, ItemCalls, type OrdinaryCalls } from '../runtime/batches/item-calls.ts';
import { BatchPlaces, SharedPaces } from '../runtime/batches/slots.ts';
import { SharedRuns } from '../runtime/batches/shared-runs.ts';
import { BackgroundTimers } from '../runtime/batches/worker.ts';
import { BatchWatchers } from '../runtime/batches/ports.ts';
import type { Concurrency } from '../runtime/endpoints/concurrency.ts';
import { pausingHost } from '../platform/pausing-host.ts';
import { seldom } from '../platform/seldom.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';
import { warn } from '../runtime/events/events.ts';
import type { ResolvedConfig } from '../config/resolved-config.ts';
import type { BatchRecord } from '../contracts/batch-record.ts';
import { worldOf, endpointsNow } from '../runtime/chat/plan.ts';

/**
 * Puts the batches of a router together. Opens nothing, and sets no timers.
 *
 * @param current - What works by the configuration in force: batches outlive changes of it.
 */
export async function createBatches(
  config: ResolvedConfig,
  current: () => RuntimeServices,
  admission: Concurrency,
  ordinary: Omit<OrdinaryCalls, 'route'>,
): Promise<BatchService> {
  const { batches, webhooks, sharesState, state } = config;
  const timers = new BackgroundTimers(config.environment);
  const { environment } = timers;
  const { limits, accountOf, failPoint } = batches;
  const store = await batches.openStorage();
  const { events } = current();
  const queue = (batches.queue ?? localQueue())({
    store,
    environment,
    onProblem: seldom(environment, (message) => warn(events, { code: 'batch_queue', message })),
  });
  const paces = sharesState ? new SharedPaces(state, environment) : undefined;
  return new BatchService({
    store,
    environment,
    events,
    limits,
    itemLease: new LeaseLength(limits.leaseMs),
    calls: new ItemCalls({ ...ordinary, route: (request) => routeNow(current(), request) }, environment),
    slots: new BatchPlaces(environment, limits, admission, paces),
    watchers: new BatchWatchers(),
    sharedRuns: new SharedRuns(),
    webhooks: {
      outbound: createOutbound(webhooks.outbound, environment, webhooks.createTransport),
      environment,
      secrets: webhooks.secrets,
      brand: config.brand,
    },
    get spending() {
      return current().spending;
    },
    get ledger() {
      return current().ledger;
    },
    get facts() {
      return current().facts;
    },
    checkAccount: (account) => current().checkAccount(account),
    lineLimits: config.limits,
    openState: async () => state.open?.(),
    get providers() {
      return current().providers;
    },
    accountOf: accountFinder(accountOf, current),
    wake: () => queue.wake(),
    failPoint,
    queue,
    findsAccounts: accountOf !== undefined,
    timers,
    startsByItself: batches.worker,
    pausingHost: pausingHost(),
  });
}

/** Where a request of a batch would go now. */
function routeNow(services: RuntimeServices, request: BatchedRequest): readonly Endpoint[] {
  return endpointsNow(services, planRoute(request, worldOf(services)));
}

/** Finds the account of a batch. */
function accountFinder(
  accountOf: ResolvedConfig['batches']['accountOf'],
  current: () => RuntimeServices,
): (batch: BatchRecord) => Promise<Account> {
  return async ({ account: id, rules }) => {
    // Rules of the batch were checked when it was created.
    if (accountOf === undefined) return { id, ...rules };
    const found = await accountOf(id);
    // Without it the keys to use are unknown, and the router's own must not be taken instead.
    if (found === undefined) throw new RangeError('the account of a batch is not there any more');
    current().checkAccount(found);
    return found;
  };
}
