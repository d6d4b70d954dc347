import type { Batch } from '../protocol/batch.ts';
import { batchArguments, batchServer, SERVER_HELP } from './batch-client.ts';
import { type Command, CommandError } from './command.ts';
import { PATIENCE_MINUTES, patientServer } from './patient-server.ts';

const USAGE = `<id> [options]

Shows how far a batch is until it has ended. The exit code is 0 when it is completed, and 1 when it ended otherwise.
A server that goes away meanwhile is asked again, less and less often, for ${PATIENCE_MINUTES} minutes.

  --every <seconds>  Time between two looks. Default: 2
${SERVER_HELP}`;

const DEFAULT_SECONDS = 2;
const BAR_LENGTH = 30;
const ENDS: ReadonlySet<Batch['status']> = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** `signalbox batches watch`: shows the progress of a batch. */
export const batchesWatch: Command = {
  name: 'batches watch',
  summary: 'Show how far a batch is until it has ended',
  usage: USAGE,
  async run(args, io) {
    const { name, values } = batchArguments(args, 'the id of a batch', ['every']);
    const seconds = Number(values.every ?? DEFAULT_SECONDS);
    if (!(seconds > 0)) throw new CommandError(`--every must be a number of seconds, not "${values.every ?? ''}".`);
    let before = '';
    const server = patientServer(batchServer(values.url, io), io, () => (before = ''));
    for (;;) {
      const batch = await server.ask({ path: `/batches/${encodeURIComponent(name)}` });
      const line = progressLine(batch);
      if (line !== before) io.progress(line);
      before = line;
      const { status, error } = batch;
      if (ENDS.has(status)) {
        if (error !== null) io.complain(error.message);
        return status === 'completed' ? 0 : 1;
      }
      await io.wait(seconds * 1_000);
    }
  },
};

/** A line as `in_progress  [#####-----]  50%  5 of 10, 1 failed`. */
function progressLine({ status, request_counts: counts }: Batch): string {
  const { total, completed, failed } = counts;
  const done = completed + failed;
  const part = total > 0 ? done / total : 0;
  const bar = '#'.repeat(Math.floor(part * BAR_LENGTH)).padEnd(BAR_LENGTH, '-');
  const percent = `${Math.floor(part * 100)}%`.padStart(4);
  const failures = failed > 0 ? `, ${failed} failed` : '';
  return `${status.padEnd(11)}  [${bar}] ${percent}  ${done} of ${total}${failures}`;
}
