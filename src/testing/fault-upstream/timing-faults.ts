import type { Fault } from './fault.ts';

const SECOND = 1_000;

/** Faults of time: too late, too slow, or no end. All waits are multiplied by the upstream's `timeScale`. */
export const TIMING_FAULTS = {
  'U-19': {
    does: 'never says its first token; of a stream it sends the role and comments',
    async play(exchange) {
      if (!exchange.streaming) return exchange.silence();
      await exchange.begin();
      while (!exchange.socket.destroyed) {
        await exchange.write(': still there\n\n');
        await exchange.wait(10 * SECOND);
      }
    },
  },
  'U-20': {
    does: 'stops in the middle of a stream and keeps the connection open',
    async play(exchange) {
      await exchange.begin();
      await exchange.silence();
    },
  },
  'U-21': {
    does: 'answers well after a wait of up to four seconds',
    async play(exchange) {
      await exchange.wait((exchange.request.number % 3) * 2 * SECOND);
      exchange.answer();
    },
  },
  'U-22': {
    does: 'answers well at 1 kB per second',
    async play(exchange) {
      exchange.response.writeHead(200, { 'content-type': exchange.contentType });
      await exchange.trickle(exchange.body, 100, 0.1 * SECOND);
      exchange.response.end();
    },
  },
  'U-23': {
    does: 'answers well, one byte at a time',
    async play(exchange) {
      exchange.socket.setNoDelay(true);
      exchange.response.writeHead(200, { 'content-type': exchange.contentType });
      await exchange.trickle(exchange.body, 1, 5);
      exchange.response.end();
    },
  },
  'U-24': {
    does: 'ends a stream in good order, but without a finish reason and without its end mark',
    async play(exchange) {
      await exchange.begin();
      exchange.response.end();
    },
  },
  'U-25': {
    does: 'answers well and keeps the connection open for thirty seconds',
    async play(exchange) {
      if (exchange.streaming) {
        exchange.response.writeHead(200, { 'content-type': exchange.contentType });
        await exchange.write(exchange.body);
      } else {
        await exchange.begin({ connection: 'close' });
        await exchange.write(exchange.body);
      }
      await exchange.wait(30 * SECOND);
      exchange.hangUp();
    },
  },
  'U-62': {
    does: 'sends its headers at once and then nothing at all',
    async play(exchange) {
      exchange.response.writeHead(200, { 'content-type': exchange.contentType });
      exchange.response.flushHeaders();
      await exchange.silence();
    },
  },
  'U-66': {
    does: 'says at the end of its answer that it failed',
    async play(exchange) {
      if (!exchange.streaming) return exchange.reply(200, exchange.wire.failedCompletion(exchange));
      await exchange.begin();
      exchange.response.end(exchange.wire.failedEnding(exchange));
    },
  },
} as const satisfies Record<string, Fault>;
