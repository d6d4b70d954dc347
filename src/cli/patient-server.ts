import { retry } from '../platform/retry.ts';
import { type BatchServer, UnansweredError } from './batch-client.ts';
import { CommandError, type CommandIo } from './command.ts';

/** Minutes for which a server may be away. */
export const PATIENCE_MINUTES = 10;

const PATIENCE_MS = PATIENCE_MINUTES * 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * A server that is asked again when it does not answer, after waits that double up to a minute. It is said once that it
 * is away. A server that was never there is not waited for: more likely its address is wrong.
 *
 * @param onBack - Called when a server that was away has answered.
 */
export function patientServer(
  server: BatchServer,
  io: Pick<CommandIo, 'complain' | 'wait' | 'now'>,
  onBack: () => void = () => {},
): BatchServer {
  let wasThere = false;
  return {
    async ask(request) {
      let awaySince: number | undefined;

      function waitAfter(error: unknown, tried: number): number | undefined {
        if (!(error instanceof UnansweredError)) return undefined;
        wasThere ||= error.isReached;
        if (!wasThere) return undefined;
        const reason = error.message.replace(/\.?$/, '.');
        if (awaySince === undefined) io.complain(`${reason} Asking again for ${PATIENCE_MINUTES} minutes.`);
        awaySince ??= io.now();
        const leftMs = awaySince + PATIENCE_MS - io.now();
        if (leftMs <= 0) throw new CommandError(`No answer for ${PATIENCE_MINUTES} minutes. ${reason}`);
        const waitMs = Math.max(FIRST_WAIT_MS * 2 ** (tried - 1), error.retryAfterMs);
        return Math.min(waitMs, LONGEST_WAIT_MS, leftMs);
      }

      const batch = await retry(() => server.ask(request), { waitAfter, wait: (ms) => io.wait(ms) });
      wasThere = true;
      if (awaySince !== undefined) onBack();
      return batch;
    },
  };
}
