/** Logs what a router does, through the logger of the program. */
import type { Usage } from '../protocol/usage.ts';
import type { RequestFacts, RouterListeners, StageCosts } from '../contracts/events.ts';

/** What a logger must be able to do. pino fits as it is, and so does `console`. */
export interface Logger {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/**
 * Listeners that log what a router does: `createRouter({ on: logSink(pino()) })`.
 *
 * - `debug`: a request begins, an attempt succeeds or is given up for a faster one, a plugin or server tool ends well
 * - `info`: a request is answered, is refused with a status below 500, or loses its caller; a batch changes
 * - `warn`: an attempt, plugin or tool fails, an endpoint is left alone, the router warns, a webhook is given up
 * - `error`: a request fails with a status from 500 on
 *
 * Lines hold ids, names, numbers and words of ours. Prompts, answers, keys, end users, sessions, `metadata` and `trace`
 * of requests, and what plugins throw are never in them.
 */
export function logSink(logger: Logger): RouterListeners {
  return { ...requestLog(logger), ...stageLog(logger), ...stateLog(logger) };
}

/** Requests and their attempts. */
function requestLog(logger: Logger): RouterListeners {
  return {
    request({ request }) {
      logger.debug({ ...aboutRequest(request), stream: request.stream }, 'request began');
    },
    attempt(event) {
      const { request, attempt, hedge, provider, model, endpoint, durationMs, firstTokenMs, failure, usage } = event;
      const details = {
        ...aboutRequest(request),
        attempt,
        ...(hedge === true ? { hedge } : {}),
        provider,
        model,
        endpoint,
        durationMs,
        firstTokenMs,
        ...aboutUsage(usage),
      };
      if (failure === undefined) return logger.debug(details, 'attempt succeeded');
      const { kind, status, retryAfterMs } = failure;
      // Another call of the request was faster: nothing went wrong.
      if (kind === 'superseded')
        return logger.debug({ ...details, givenUpCost: event.givenUpCost }, 'attempt given up');
      const level = kind === 'aborted' ? 'debug' : 'warn';
      logger[level]({ ...details, failure: kind, upstreamStatus: status, retryAfterMs }, 'attempt failed');
    },
    result({ request, provider, model, attempts, durationMs, firstTokenMs, usage, finishReason }) {
      const answered = { provider, model, attempts, durationMs, firstTokenMs, finishReason };
      logger.info({ ...aboutRequest(request), ...answered, ...aboutUsage(usage) }, 'request answered');
    },
    error({ request, provider, model, status, errorType, attempts, durationMs, committed }) {
      const failed = { provider, model, status, errorType, attempts, durationMs, committed };
      const details = { ...aboutRequest(request), ...failed };
      if (status === 499) logger.info(details, 'client disconnected');
      else if (status < 500) logger.info(details, 'request refused');
      else logger.error(details, 'request failed');
    },
  };
}

/** Plugins and server tools. */
function stageLog(logger: Logger): RouterListeners {
  return {
    plugin(event) {
      const { request, stage, plugin, hook, outcome } = event;
      const level = outcome === 'failed' || outcome === 'skipped' ? 'warn' : 'debug';
      logger[level]({ ...aboutRequest(request), stage, plugin, hook, outcome, ...aboutCosts(event) }, 'plugin ended');
    },
    tool(event) {
      const { request, stage, tool, outcome } = event;
      const level = outcome === 'failed' || outcome === 'timeout' ? 'warn' : 'debug';
      logger[level]({ ...aboutRequest(request), stage, tool, outcome, ...aboutCosts(event) }, 'server tool ended');
    },
  };
}

/** Endpoints, batches and the router itself. */
function stateLog(logger: Logger): RouterListeners {
  return {
    health({ listed: _, ...details }) {
      const isGood = details.type === 'breaker' && details.state !== 'open';
      logger[isGood ? 'info' : 'warn'](
        details,
        details.type === 'cooldown' ? 'endpoint cools down' : 'breaker changed',
      );
    },
    warning({ code, message }) {
      logger.warn({ code }, message);
    },
    batch(event) {
      const { account, batch } = event;
      const details = { account, batch: batch.id, status: batch.status, counts: batch.request_counts };
      if (event.type === 'status') return logger.info({ ...details, previous: event.previous }, 'batch changed');
      if (event.type === 'progress') return logger.debug(details, 'batch went on');
      const { outcome, tries, status: receiverStatus } = event;
      const level = outcome === 'delivered' ? 'debug' : outcome === 'again' ? 'info' : 'warn';
      logger[level]({ ...details, outcome, tries, receiverStatus }, 'batch webhook');
    },
  };
}

function aboutRequest({ id, operation, parent, account, requested }: RequestFacts): object {
  return { request: id, operation, ...(parent === undefined ? {} : { parent }), account, requested };
}

function aboutUsage(usage: Usage | undefined): object {
  if (usage === undefined) return {};
  return { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens, costUsd: usage.cost };
}

function aboutCosts({ durationMs, serviceCost, modelCost, modelTokens }: StageCosts): object {
  return { durationMs, serviceCostUsd: serviceCost, modelCostUsd: modelCost, modelTokens };
}
