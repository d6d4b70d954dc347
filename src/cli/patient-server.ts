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
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
        try {
          const batch = await server.ask(request);
          wasThere = true;
          if (awaySince !== undefined) onBack();
          return batch;
        } catch (error) {
          if (!(error instanceof UnansweredError)) throw error;
          wasThere ||= error.isReached;
          if (!wasThere) throw error;
          const reason = error.message.replace(/\.?$/, '.');
          if (awaySince === undefined) io.complain(`${reason} Asking again for ${PATIENCE_MINUTES} minutes.`);
          awaySince ??= io.now();
          const leftMs = awaySince + PATIENCE_MS - io.now();
          if (leftMs <= 0) throw new CommandError(`No answer for ${PATIENCE_MINUTES} minutes. ${reason}`);
          const wantedMs = Math.min(Math.max(waitMs, error.retryAfterMs), LONGEST_WAIT_MS);
          await io.wait(Math.min(wantedMs, leftMs));
        }
      }
    },
  };
}
