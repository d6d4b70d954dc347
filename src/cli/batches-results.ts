import { SERVER_HELP, batchArguments, batchServer } from './batch-client.ts';
import { type Command, CommandError } from './command.ts';
import { PATIENCE_MINUTES, patientServer } from './patient-server.ts';

const USAGE = `<id> [options]

Prints the results of a completed batch, one per line, in the order of its requests. Nothing is printed
before all of them are here: when the answer breaks off it is asked for again, for ${PATIENCE_MINUTES} minutes.

${SERVER_HELP}`;

/** Milliseconds for the whole download. */
const DOWNLOAD_MS = 600_000;

/** `signalbox batches results`: prints the results of a batch. */
export const batchesResults: Command = {
  name: 'batches results',
  summary: 'Print the results of a completed batch, one per line',
  usage: USAGE,
  async run(args, io) {
    const { name, values } = batchArguments(args, 'the id of a batch', []);
    const server = patientServer(batchServer(values.url, io), io);
    const { results, status, error } = await server.ask({
      path: `/batches/${encodeURIComponent(name)}`,
      timeoutMs: DOWNLOAD_MS,
    });
    if (results === null) {
      const why = error === null ? '' : `: ${error.message}`;
      throw new CommandError(`The batch is ${status}${why}. Only completed batches have results.`);
    }
    for (const result of results) io.print(JSON.stringify(result));
    return 0;
  },
};
