import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What an editor with TypeScript 7 shows: its language server, asked as an editor asks it. */
export interface LanguageServer {
  /** The text over the first place where this is written: its declaration and its comment. */
  hover(file: string, text: string, written: string): Promise<string>;
  /** What is offered behind the first place where this is written. */
  completions(file: string, text: string, written: string): Promise<readonly string[]>;
  close(): void;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly items?: readonly unknown[] };
  readonly result?: unknown;
}

/** Starts the language server of the compiler that this project uses. */
export async function startLanguageServer(): Promise<LanguageServer> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const server = spawn(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '--lsp', '--stdio'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const waiting = new Map<number, (result: unknown) => void>();
  const opened = new Set<string>();
  let last = 0;
  const send = (message: object): void => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    server.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    server.stdin.write(body);
  };
  const ask = async (method: string, params: object): Promise<unknown> => {
    last += 1;
    const id = last;
    const answered = new Promise<unknown>((resolve) => waiting.set(id, resolve));
    send({ id, method, params });
    return answered;
  };
  readMessages(server, ({ id, method, params, result }) => {
    if (id === undefined) return;
    // What the server asks of an editor: its settings, of which there are none.
    if (method !== undefined) send({ id, result: params?.items?.map(() => null) ?? null });
    else waiting.get(id)?.(result);
  });
  const capabilities = { textDocument: { hover: { contentFormat: ['markdown'] } } };
  await ask('initialize', { processId: process.pid, rootUri: pathToFileURL(root).href, capabilities });
  send({ method: 'initialized', params: {} });
  const at = (file: string, text: string, written: string, behind: boolean): object => {
    const uri = pathToFileURL(file).href;
    if (!opened.has(uri)) {
      send({
        method: 'textDocument/didOpen',
        params: { textDocument: { uri, languageId: 'typescript', version: 1, text } },
      });
      opened.add(uri);
    }
    const place = text.indexOf(written);
    if (place === -1) throw new Error(`"${written}" is not in the program`);
    const before = text.slice(0, place + (behind ? written.length : 0)).split('\n');
    return {
      textDocument: { uri },
      position: { line: before.length - 1, character: before.at(-1)?.length },
    };
  };
  return {
    async hover(file, text, written) {
      const found = (await ask('textDocument/hover', at(file, text, written, false))) as {
        readonly contents?: { readonly value?: string };
      } | null;
      return found?.contents?.value ?? '';
    },
    async completions(file, text, written) {
      const found = (await ask('textDocument/completion', at(file, text, written, true))) as {
        readonly items?: readonly { readonly label: string }[];
      } | null;
      return found?.items?.map(({ label }) => label.replace(/\?$/, '')) ?? [];
    },
    close: () => void server.kill(),
  };
}

/** Messages are a length, an empty line, and as many bytes of JSON. */
function readMessages(server: ChildProcess, heard: (message: Message) => void): void {
  let bytes = Buffer.alloc(0);
  server.stdout?.on('data', (more: Buffer) => {
    bytes = Buffer.concat([bytes, more]);
    for (;;) {
      const head = bytes.indexOf('\r\n\r\n');
      if (head === -1) return;
      const start = head + 4;
      const end = start + Number(/Content-Length: (\d+)/i.exec(bytes.subarray(0, head).toString())?.[1]);
      if (bytes.length < end) return;
      heard(JSON.parse(bytes.subarray(start, end).toString()) as Message);
      bytes = bytes.subarray(end);
    }
  });
}
